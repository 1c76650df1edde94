// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hinged/hinged/internal/face/dashboard/plot"
	"github.com/hinged/hinged/internal/face/desk"
)

const (
	// accountsEach is how many accounts one page lists: the figures of each take a look at
	// its lessons.
	accountsEach = 25
	// accountsAtOnce is how many are looked at together.
	accountsAtOnce = 4
	// fewMarks is how many marks say little about how many are kept.
	fewMarks = 10
)

type accountRow struct {
	Name, Href string
	State      string // what it is at, in a few words
	Look       string // why somebody should look at it, in a sentence; ""
	Fault      bool   // State is one
	Status     *desk.AccountStatus
	Trend      *desk.Trend // nil: not known
	Figures    figures
	Spark      template.HTML
	Budget     string
	FewKept    bool
	Ceiling    int64 // -1: none
}

type accountsData struct {
	Headline string
	Rows     []accountRow
	Look     []accountRow // those that need a look
	Sum      desk.TrendCounts
	All      string // "All 5", of those listed
	Days     int
	Foreign  bool     // the viewer sees accounts of others
	Stream   bool     // there may be more than are listed
	Kafka    []string // how the stream is doing, for an operator: a sentence, then each problem
	Search   string
	Earlier  string // pages
	Later    string
}

// accounts is the first page: the accounts that the viewer may see, or the only one.
func (s *Server) accounts(w http.ResponseWriter, r *http.Request, p *page) error {
	ctx, q := r.Context(), r.URL.Query()
	if name := strings.TrimSpace(q.Get("account")); name != "" {
		return back(w, r, pathOf(name), "/")
	}
	seen, kafka, err := s.accountsOf(ctx, p)
	if err != nil {
		return err
	}
	stream := kafka != nil
	if len(seen) == 1 && !stream {
		return back(w, r, pathOf(seen[0].Account), "/")
	}
	search := strings.ToLower(strings.TrimSpace(q.Get("q")))
	seen = slices.DeleteFunc(seen, func(a desk.AccountStatus) bool { return !strings.Contains(strings.ToLower(a.Account), search) })
	slices.SortFunc(seen, func(a, b desk.AccountStatus) int {
		return cmp.Or(cmp.Compare(urgency(&b), urgency(&a)), strings.Compare(a.Account, b.Account))
	})
	from, _ := strconv.Atoi(q.Get("from"))
	from = min(max(from, 0), max(len(seen)-1, 0)/accountsEach*accountsEach)
	d := accountsData{Days: overviewDays, Stream: stream, Kafka: kafka, Search: search}
	to := min(len(seen), from+accountsEach)
	if from > 0 {
		d.Earlier = pageOf(search, from-accountsEach)
	}
	if to < len(seen) {
		d.Later = pageOf(search, to)
	}
	if len(seen) > 0 {
		p.zone = s.opts.Zone(seen[0].Account)
	}
	if d.Rows, err = s.accountRows(ctx, p, seen[from:to]); err != nil {
		return err
	}
	for i := range d.Rows {
		row := &d.Rows[i]
		if row.Look != "" {
			d.Look = append(d.Look, *row)
		}
		d.Foreign = d.Foreign || !p.owns(row.Name)
		if row.Trend != nil {
			d.Sum.Add(&row.Trend.Sum.TrendCounts)
		}
	}
	slices.SortStableFunc(d.Rows, func(a, b accountRow) int {
		return cmp.Compare(min(len(b.Look), 1), min(len(a.Look), 1))
	})
	all, on := "All ", ""
	if len(d.Rows) < len(seen) {
		all, on = "These ", " on this page"
	}
	d.All = all + count(len(d.Rows))
	d.Headline = fmt.Sprintf("%s. %s%s.", plural(len(seen), "account", "accounts"), plural(len(d.Look), "needs a look", "need a look"), on)
	p.Title = "Accounts"
	return s.render(w, r, p, "accounts", d)
}

// accountsOf finds the accounts that the viewer may see. kafka: how the stream is doing, of whose
// accounts there may be more; nil: there is none.
func (s *Server) accountsOf(ctx context.Context, p *page) (seen []desk.AccountStatus, kafka []string, err error) {
	if !p.operator() {
		for _, name := range p.user.Accounts {
			a, err := desk.GetAccount.Do(ctx, s.opts.Host, name, desk.None{})
			if err != nil {
				s.log.Warn("an account of a user of the dashboard can't be shown", "account", name, "error", err)
				continue // that it was removed, say, hides no other
			}
			seen = append(seen, a)
		}
		return seen, nil, nil
	}
	all, err := desk.GetStatus.Do(ctx, s.opts.Host, "", desk.None{})
	return all.Accounts, all.Kafka(), err
}

// accountRows looks at some accounts, each by itself: one that can't be read hides no other.
func (s *Server) accountRows(ctx context.Context, p *page, list []desk.AccountStatus) ([]accountRow, error) {
	rows := make([]accountRow, len(list))
	var all errgroup.Group
	all.SetLimit(accountsAtOnce)
	for i := range list {
		all.Go(func() error {
			rows[i] = s.accountRow(ctx, p, &list[i])
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	return rows, ctx.Err()
}

func (s *Server) accountRow(ctx context.Context, p *page, a *desk.AccountStatus) accountRow {
	row := accountRow{Name: a.Account, Href: pathOf(a.Account), Status: a, Ceiling: -1, Budget: "–"}
	if !a.InSnapshot {
		trend, err := desk.GetTrend.Do(ctx, s.opts.Host, a.Account, desk.TrendRequest{Days: overviewDays})
		if err == nil {
			row.Trend = &trend
		} else if ctx.Err() == nil {
			s.log.Warn("an account's figures can't be read for the dashboard", "account", a.Account, "error", err)
		}
	}
	row.State, row.Fault = stateOf(p, a, row.Trend)
	if t := row.Trend; t != nil {
		row.Figures = figuresOf(t, a, p.owns(a.Account))
		marked := make([]float64, len(t.Days))
		for i, day := range t.Days {
			marked[i] = float64(day.Marked)
		}
		row.Spark = plot.Spark(marked)
		switch {
		case t.Budget > 0:
			row.Budget = percent(t.Budget)
		case t.PerDay > 0:
			row.Budget = count(t.PerDay) + " a day"
		}
		if n := len(t.Mistakes); n > 0 {
			row.Ceiling = t.Mistakes[n-1].Ceiling
		}
		row.FewKept = fewKept(&t.Sum.TrendCounts)
	}
	row.Look = lookAt(a, &row)
	return row
}

// urgency is how much an account needs somebody, as far as its status tells.
func urgency(a *desk.AccountStatus) int {
	switch {
	case a.ConsentNeeded:
		return 3
	case !a.Connected && !a.Paused && a.Problem != "":
		return 2
	case len(a.Warnings) > 0:
		return 1
	}
	return 0
}

func stateOf(p *page, a *desk.AccountStatus, t *desk.Trend) (state string, fault bool) {
	switch {
	case a.InSnapshot:
		return "still in a snapshot", false
	case a.Paused && a.PausedSince != nil:
		return "paused since " + p.Moment(*a.PausedSince), false
	case a.Paused:
		return "paused", false
	case a.ConsentNeeded:
		return "waits for its owner’s consent", true
	case !a.Connected && a.Problem != "":
		return "not connected", true
	case len(a.Warnings) > 0:
		return plural(len(a.Warnings), "warning", "warnings"), true
	case a.InShadow && a.KnownImportant < a.NeedImportant:
		return fmt.Sprintf("in shadow: %s of %s important", count(a.KnownImportant), count(a.NeedImportant)), false
	case a.InShadow:
		return "in shadow", false
	case t != nil && t.MarkingSince != nil:
		return "marking since " + p.Date(*t.MarkingSince), false
	case a.KnownImportant == 0 || a.Ordinary == 0:
		return "learning", false
	}
	return "marking", false
}

// fewKept reports whether the owner took off so many marks that somebody should look.
func fewKept(c *desk.TrendCounts) bool { return c.KeptOrTakenOff() >= fewMarks && tooFewKept(c) }

// lookAt says why somebody should look at an account, "" for nobody need.
func lookAt(a *desk.AccountStatus, row *accountRow) string {
	switch {
	case a.ConsentNeeded:
		return "its mail provider wants its owner to log in again. Nothing is lost."
	case !a.Connected && !a.Paused && a.Problem != "":
		return "the mail server can’t be reached. Nothing is lost."
	case len(a.Warnings) > 0:
		return a.Warnings[0] + "."
	case row.FewKept:
		return fmt.Sprintf("%s of its %s were taken off.", count(row.Trend.Sum.TakenOff), plural(row.Trend.Sum.KeptOrTakenOff(), "mark", "marks"))
	case row.Trend != nil && row.Trend.Sum.Judged >= fewJudged && row.Trend.Sum.Wrong > row.Trend.Sum.SimpleRule && !a.InShadow:
		return fmt.Sprintf("%s, more than the %s of a simple rule.", plural(row.Trend.Sum.Wrong, "wrong decision", "wrong decisions"), count(row.Trend.Sum.SimpleRule))
	}
	return ""
}

func pageOf(search string, from int) string {
	q := url.Values{"from": {strconv.Itoa(from)}}
	if search != "" {
		q.Set("q", search)
	}
	return "/?" + q.Encode()
}

// MarkedShare is the share of all mail that was marked, and KeptShare that of the marks
// that were kept, among those and the ones taken off.
func (d accountsData) MarkedShare() string { return shareOf(d.Sum.Marked, d.Sum.Decided) }

// KeptShare is described at MarkedShare.
func (d accountsData) KeptShare() string { return shareOf(d.Sum.Kept, d.Sum.KeptOrTakenOff()) }

func shareOf(n, of int) string {
	if of == 0 {
		return "–"
	}
	return percent(share(n, of))
}

// Last is when the account learnt last.
func (a accountRow) Last() *time.Time { return a.Status.LastLesson }

// CeilingShare is which part of the ceiling the mistakes are.
func (a accountRow) CeilingShare() float64 {
	if a.Ceiling <= 0 || a.Trend == nil || len(a.Trend.Mistakes) == 0 {
		return 0
	}
	return float64(a.Trend.Mistakes[len(a.Trend.Mistakes)-1].Mistakes) / float64(a.Ceiling)
}
