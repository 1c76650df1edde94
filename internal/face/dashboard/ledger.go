// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
)

const ledgerRowsMost = 50

type ledgerData struct {
	Title   string
	Tabs    []tab
	Rows    []markRow
	Older   string // where older entries are; "": there are none
	OlderN  int
	Newest  string
	Choices []sinceChoice // what may be undone at once
	Problem string        // why there are no subjects
}

type markRow struct {
	desk.LedgerEntry
	At            *time.Time
	NewDay        bool // it is the first of its day
	Subject, From string
	Why           string
	Mark          string // the keyword, or where the copy is
	State         string // in words
	Warn          bool   // the owner took it off
	Undo          bool   // it can be taken back
	Plain         bool   // it is about a letter, which has no score
}

// sinceChoice is a span of time whose marks may be undone together.
type sinceChoice struct {
	Value, Name string
	Stand       int
	Here        bool
}

// ledgerStates are the tabs of the ledger and what entries each has; the first has all.
var ledgerStates = []struct {
	show, name string
	states     []string
}{
	{"", "All", nil},
	{"stand", "Stand", []string{"confirmed"}},
	{"off", "You took off", []string{"refused"}},
	{"undone", "Undone", []string{"undone"}},
	{"way", "On the way", []string{"intended", "undoing"}},
	{"other", "Came to nothing", []string{"abandoned", "gone"}},
	{"digest", "Letters", digestStates},
}

func (s *Server) ledger(w http.ResponseWriter, r *http.Request, p *page) error {
	p.Title, p.Active, p.Live = "Ledger", "ledger", true
	all, err := desk.GetLedger.Do(r.Context(), s.opts.Host, p.Account, desk.LedgerRequest{})
	if err != nil {
		return err
	}
	show := r.URL.Query().Get("show")
	skip, _ := strconv.Atoi(r.URL.Query().Get("skip"))
	d := ledgerData{Title: ledgerTitle(all.Entries), Choices: s.sinceChoices(p, all.Entries)}
	var listed []desk.LedgerEntry
	for _, of := range ledgerStates {
		some := entriesIn(all.Entries, of.states)
		here := of.show == show
		if here {
			listed = some
		}
		if len(some) > 0 || here || of.show == "" || of.show == "stand" {
			d.Tabs = append(d.Tabs, tab{of.name, ledgerURL(p, of.show, 0), len(some), here})
		}
	}
	if skip = min(max(skip, 0), len(listed)); skip > 0 {
		d.Newest = ledgerURL(p, show, 0)
	}
	listed = listed[skip:]
	if more := len(listed) - ledgerRowsMost; more > 0 {
		d.Older, d.OlderN = ledgerURL(p, show, skip+ledgerRowsMost), more
		listed = listed[:ledgerRowsMost]
	}
	if d.Rows, d.Problem, err = s.markRows(r.Context(), p, listed); err != nil {
		return err
	}
	s.told(p, nil)
	return s.render(w, r, p, "ledger", d)
}

func ledgerURL(p *page, show string, skip int) string {
	q := url.Values{}
	if show != "" {
		q.Set("show", show)
	}
	if skip > 0 {
		q.Set("skip", strconv.Itoa(skip))
	}
	if len(q) == 0 {
		return p.URL("ledger")
	}
	return p.URL("ledger") + "?" + q.Encode()
}

// entriesIn returns the entries in some states; nil: all. Refusals of marks that were not
// ours are among all only.
func entriesIn(entries []desk.LedgerEntry, states []string) []desk.LedgerEntry {
	if states == nil {
		return entries
	}
	var out []desk.LedgerEntry
	for _, e := range entries {
		if e.Ours && slices.Contains(states, e.State) {
			out = append(out, e)
		}
	}
	return out
}

func ledgerTitle(entries []desk.LedgerEntry) string {
	n := map[string]int{}
	all := 0
	for _, e := range entries {
		if e.Ours && e.State != "abandoned" && !slices.Contains(digestStates, e.State) {
			n[e.State]++
			all++
		}
	}
	if all == 0 {
		return "No marks yet."
	}
	title := plural(all, "mark", "marks") + ": " + count(n["confirmed"]) + plainly(n["confirmed"], " stands", " stand")
	if n["refused"] > 0 {
		title += ", you took off " + count(n["refused"])
	}
	if n["undone"] > 0 {
		title += ", " + count(n["undone"]) + plainly(n["undone"], " was undone", " were undone")
	}
	if n["gone"] > 0 {
		title += ", you removed " + plural(n["gone"], "copy", "copies")
	}
	if way := n["intended"] + n["undoing"]; way > 0 {
		title += ", " + count(way) + plainly(way, " is", " are") + " on the way"
	}
	return title + "."
}

func plainly(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

func (s *Server) markRows(ctx context.Context, p *page, entries []desk.LedgerEntry) (rows []markRow, problem string, err error) {
	var keys []string
	for _, e := range entries {
		if e.Message != "" {
			keys = append(keys, e.Message)
		}
	}
	known := s.headings(ctx, p, keys)
	about, err := s.summaries(ctx, p, keys)
	if err != nil {
		return nil, "", err
	}
	day := ""
	for _, e := range entries {
		m := about[e.Message]
		row := markRow{
			LedgerEntry: e, Subject: subjectOf(known, e.Message, m.Subject), From: fromOf(known, e.Message, m.From), Why: why(m.Rule, "important", m.For, m.Against),
			Mark: e.Keyword, State: stateWords(e.State), Warn: e.State == "refused", Undo: e.State == "confirmed" && !e.Prior, At: e.Intended,
		}
		if e.Copy != "" {
			row.Mark = "copy in " + e.Copy
		}
		if e.Message == "" {
			row.Subject, row.From = "(a message that hinged no longer knows)", ""
		}
		switch {
		case !e.Ours:
			row.State, row.At, row.Why = markWords(&e), e.Settled, ""
		case slices.Contains(digestStates, e.State):
			row.Subject, row.Mark, row.Plain = title(e.Keyword)+" in "+e.Mailbox, "", true
		}
		if row.At != nil {
			row.NewDay = p.ShortDate(*row.At) != day
			day = p.ShortDate(*row.At)
		}
		rows = append(rows, row)
	}
	if len(known.Headings) < len(keys) {
		problem = known.Problem
	}
	return rows, problem, nil
}

// sinceChoices are spans of time with the number of marks that stand in each.
func (s *Server) sinceChoices(p *page, entries []desk.LedgerEntry) []sinceChoice {
	now := p.Now()
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, p.zone)
	choices := []sinceChoice{
		{Value: midnight.Format(time.RFC3339), Name: "today"},
		{Value: midnight.AddDate(0, 0, -6).Format(time.RFC3339), Name: p.Date(midnight.AddDate(0, 0, -6)), Here: true},
		{Value: midnight.AddDate(0, 0, -27).Format(time.RFC3339), Name: p.Date(midnight.AddDate(0, 0, -27))},
		{Value: "all", Name: "ever"},
	}
	for i := range choices {
		since, err := time.Parse(time.RFC3339, choices[i].Value)
		for _, e := range entries {
			if e.Ours && e.State == "confirmed" && e.Intended != nil && (err != nil || !e.Intended.Before(since)) {
				choices[i].Stand++
			}
		}
	}
	return choices
}

func stateWords(state string) string {
	switch state {
	case "intended":
		return "is on its way"
	case "confirmed":
		return "stands"
	case "refused":
		return "you took it off"
	case "abandoned":
		return "was not set"
	case "undoing":
		return "is being taken back"
	case "undone":
		return "was taken back"
	case "gone":
		return "you deleted or moved the copy"
	case "sending":
		return "is being put there"
	case "sent":
		return "was put there"
	case "unsent":
		return "could not be put there"
	}
	return state
}

// digestStates are those of an entry about a letter, which is no mark.
var digestStates = []string{"sending", "sent", "unsent"}

func markWords(e *desk.LedgerEntry) string {
	switch {
	case !e.Ours:
		return "you took a mark off that hinged had not set"
	case e.Copy != "" && e.State == "gone":
		return stateWords(e.State) + " in " + e.Copy
	case e.Copy != "":
		return "a copy in " + e.Copy + " " + stateWords(e.State)
	case e.State == "refused":
		return e.Keyword + ": " + stateWords(e.State)
	}
	return "the mark " + e.Keyword + " " + stateWords(e.State)
}

// standing reports whether a mark in a state can be taken back.
func standing(state string) bool { return state == "confirmed" || state == "intended" }
