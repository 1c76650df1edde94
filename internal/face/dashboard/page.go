// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"net/url"
	"strings"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
)

// page is what every page knows: who looks at it, at which account, and when.
type page struct {
	viewer
	Account string // "" outside an account
	path    string // of the page itself
	reload  bool   // it is open, and loads itself anew
	CSRF    string // for forms
	Title   string
	Active  string // the entry of the menu: overview, messages, ask, owed, words, ledger or whatif
	now     time.Time
	zone    *time.Location // of the owner's days
	Status  *desk.AccountStatus
	Owner   string // the owner's first address
	Asking  int    // questions that wait, at most three
	Notice  string // what came of the last change, in words
	told    bool   // the notice was looked for
	Live    bool   // the page listens for events
	Since   string // up to where it shows what was done
	Several bool   // the viewer may see other accounts, too
}

// What templates ask of a page.
func (p *page) Own() bool                    { return p.owns(p.Account) }
func (p *page) SignedIn() bool               { return p.session != "" }
func (p *page) Viewer() string               { return p.name() }
func (p *page) Operator() bool               { return p.operator() }
func (p *page) Now() time.Time               { return p.now.In(p.zone) }
func (p *page) local(t time.Time) time.Time  { return t.In(p.zone) }
func (p *page) Stamp(t time.Time) string     { return t.UTC().Format(time.RFC3339) }
func (p *page) Long(t time.Time) string      { return p.local(t).Format("Monday 2 January, 15:04") }
func (p *page) Date(t time.Time) string      { return p.local(t).Format("2 January") }
func (p *page) ShortDate(t time.Time) string { return p.local(t).Format("2 Jan") }
func (p *page) Exact(t time.Time) string     { return p.local(t).Format("2 January 2006 15:04:05") }
func (p *page) DayOf(t time.Time) string     { return p.local(t).Format(time.DateOnly) }
func (p *page) Time(t time.Time) string      { return p.local(t).Format("15:04") }

// Paused reports whether the account is known to be paused.
func (p *page) Paused() bool { return p.Status != nil && p.Status.Paused }

// At is a moment as short as it can be told: the time today, else the day.
func (p *page) At(t time.Time) string {
	switch days := p.daysAgo(t); {
	case days == 0:
		return p.local(t).Format("15:04")
	case p.local(t).Year() != p.Now().Year():
		return p.local(t).Format("2 Jan 2006")
	default:
		return p.local(t).Format("2 Jan")
	}
}

// Moment is a moment in a sentence: today 14:31, yesterday 9:10, 3 March.
func (p *page) Moment(t time.Time) string {
	switch p.daysAgo(t) {
	case 0:
		return "today " + p.local(t).Format("15:04")
	case 1:
		return "yesterday " + p.local(t).Format("15:04")
	}
	if p.local(t).Year() != p.Now().Year() {
		return p.local(t).Format("2 January 2006")
	}
	return p.local(t).Format("2 January")
}

// Day is the heading of a day.
func (p *page) Day(t time.Time) string {
	switch p.daysAgo(t) {
	case 0:
		return "Today"
	case 1:
		return "Yesterday"
	}
	return p.local(t).Format("Monday 2 January 2006")
}

// daysAgo counts the midnights between a moment and now, in the owner's days.
func (p *page) daysAgo(t time.Time) int {
	day := func(t time.Time) time.Time {
		y, m, d := p.local(t).Date()
		return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	}
	return int(day(p.now).Sub(day(t)).Hours() / 24)
}

// URL is the path of a page of this account, its parts escaped: URL "messages" key.
func (p *page) URL(parts ...string) string {
	var b strings.Builder
	b.WriteString("/a/" + url.PathEscape(p.Account))
	for _, part := range parts {
		b.WriteString("/" + url.PathEscape(part))
	}
	if len(parts) == 0 {
		b.WriteByte('/')
	}
	return b.String()
}

// Span is some days, given by the dates of the first and the last: 6–12 Mar.
func (p *page) Span(from, to string) string {
	a, err1 := time.Parse(time.DateOnly, from)
	b, err2 := time.Parse(time.DateOnly, to)
	switch {
	case err1 != nil || err2 != nil:
		return from + "–" + to
	case from == to:
		return a.Format("2 Jan")
	case a.Month() == b.Month():
		return a.Format("2") + "–" + b.Format("2 Jan")
	}
	return a.Format("2 Jan") + "–" + b.Format("2 Jan")
}
