// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/internal/face/dashboard/plot"
	"github.com/hinged/hinged/internal/face/desk"
)

const (
	messageRowsMost = 50
	// searchMost bounds what may be searched for, in bytes.
	searchMost = 300
)

type messagesData struct {
	Tabs   []tab
	Show   string // which tab: important, unsure, ordinary, wrong; "": all
	Search string
	Days   []dayRows
	Scale  plot.Scale
	Older  string // where older messages are; "": there are none
	Newest string // where the newest ones are; "": here
	// Searched counts the messages that were searched, if there are more.
	Searched int
	Problem  string // why there are no subjects
	None     string // why there are no messages
	Known    bool   // there are messages, if not here
	Oldest   *time.Time
	Paused   bool
}

// Low and High are the ends of the score bars, and Example a score for the key.
func (d messagesData) Low() string      { return scaleEnd(-d.Scale.Range) }
func (d messagesData) High() string     { return scaleEnd(d.Scale.Range) }
func (d messagesData) Example() float64 { return 0.6 * d.Scale.Range }

// scaleEnd writes the end of a scale: +1, −1.5.
func scaleEnd(x float64) string {
	if x < 0 {
		return "−" + strconv.FormatFloat(-x, 'f', -1, 64)
	}
	return "+" + strconv.FormatFloat(x, 'f', -1, 64)
}

type tab struct {
	Name, Href string
	Count      int
	Here       bool
}

type dayRows struct {
	Day   string // its heading
	Date  string // as in 2026-03-12; "" where it is unknown
	Count string // how many were decided on all of it; "" where that is not of interest
	Rows  []messageRow
}

func (s *Server) messages(w http.ResponseWriter, r *http.Request, p *page) error {
	p.Title, p.Active = "Messages", "messages"
	q := r.URL.Query()
	show, search := q.Get("show"), strings.TrimSpace(q.Get("q"))
	if !slices.Contains([]string{"important", "unsure", "ordinary", "wrong"}, show) {
		show = ""
	}
	search = strings.ToValidUTF8(search[:min(len(search), searchMost)], "")
	below, _ := strconv.ParseUint(q.Get("below"), 10, 64)
	ask := desk.MessagesRequest{Search: search, Below: below, Most: messageRowsMost}
	if ask.Wrong = show == "wrong"; !ask.Wrong {
		ask.Outcome = show
	}
	list, err := desk.GetMessages.Do(r.Context(), s.opts.Host, p.Account, ask)
	if err != nil {
		return err
	}
	p.Live = search == "" && below == 0
	d := messagesData{Show: show, Search: search, Oldest: list.Oldest, Paused: p.Paused()}
	d.Tabs = messageTabs(p, &list, show, search)
	d.Known = d.Tabs[0].Count > 0
	if list.More {
		d.Older, d.Searched = messagesURL(p, show, search, list.Next), list.Searched
	}
	if below > 0 {
		d.Newest = messagesURL(p, show, search, 0)
	}
	known := s.headings(r.Context(), p, keysOf(list.Messages))
	rows := changing(p, messageRows(list.Messages, known, scaleOf(list)), r.URL.RequestURI())
	d.Scale = scaleOf(list)
	if len(known.Headings) < len(rows) {
		d.Problem = known.Problem
	}
	note := s.told(p, func(key string) bool {
		return slices.ContainsFunc(rows, func(r messageRow) bool { return r.Message == key })
	})
	for i := range rows {
		if rows[i].Message == note.Message {
			rows[i].Done = note.Text
		}
	}
	d.Days = s.byDay(r.Context(), p, rows, show == "" && search == "")
	d.None = none(&d, list.Wrong)
	return s.render(w, r, p, "messages", d)
}

func messageTabs(p *page, list *desk.Messages, show, search string) (tabs []tab) {
	for _, t := range []struct {
		show, name string
		count      int
	}{
		{"", "All", list.Important + list.Unsure + list.Ordinary}, {"important", "Important", list.Important},
		{"unsure", "Unsure", list.Unsure}, {"ordinary", "Ordinary", list.Ordinary}, {"wrong", "Wrong", list.Wrong},
	} {
		tabs = append(tabs, tab{t.name, messagesURL(p, t.show, search, 0), t.count, t.show == show})
	}
	return tabs
}

func messagesURL(p *page, show, search string, below uint64) string {
	q := url.Values{}
	if show != "" {
		q.Set("show", show)
	}
	if search != "" {
		q.Set("q", search)
	}
	if below > 0 {
		q.Set("below", strconv.FormatUint(below, 10))
	}
	if len(q) == 0 {
		return p.URL("messages")
	}
	return p.URL("messages") + "?" + q.Encode()
}

func keysOf(list []desk.MessageSummary) []string {
	keys := make([]string, 0, len(list))
	for _, m := range list {
		keys = append(keys, m.Message)
	}
	return keys
}

func changing(p *page, rows []messageRow, here string) []messageRow {
	for i := range rows {
		m := &rows[i].MessageSummary
		rows[i].Changes = !m.NoScore && !p.Paused()
		rows[i].Back = here + "#m-" + m.Message
		if m.Wrong {
			rows[i].Wrong, rows[i].SoFar = wrongWords(m), m.Source == "provisional"
		} else if m.Outcome == "important" && m.Mark == "" {
			rows[i].Done = unmarkedWords(m.Reason)
		}
	}
	return rows
}

func wrongWords(m *desk.MessageSummary) string {
	was := "it was called " + m.Outcome
	switch {
	case m.Outcome == "unsure":
		was = "it was unsure"
	case m.Outcome == "important" && m.Mark != "" && m.Mark != "abandoned":
		was = "it was marked"
	}
	return was + ", and " + words.Deed(m.Label, m.Source)
}

// unmarkedWords says why an important message has no mark, where that needs saying.
func unmarkedWords(reason string) string {
	switch reason {
	case "threshold", "rule", "shadow":
		return "" // the whole account marks nothing, or it is about to be marked
	}
	return "Not marked: " + reason + "."
}

// byDay puts rows under the days on which they arrived. counted: the headings say how
// many messages were decided on the whole day.
func (s *Server) byDay(ctx context.Context, p *page, rows []messageRow, counted bool) (days []dayRows) {
	dates := map[string]int{}
	var first, last time.Time
	for _, row := range rows {
		date, heading := "", "Arrival unknown"
		if row.Arrived != nil {
			date, heading = p.local(*row.Arrived).Format(time.DateOnly), p.Day(*row.Arrived)
			if first = *row.Arrived; last.IsZero() {
				last = *row.Arrived
			}
		}
		at, ok := dates[date]
		if !ok {
			at = len(days)
			dates[date], days = at, append(days, dayRows{Day: heading, Date: date})
		}
		days[at].Rows = append(days[at].Rows, row)
	}
	if !counted || last.IsZero() {
		return days
	}
	counts, err := s.dayCounts(ctx, p, int(last.Sub(first).Hours()/24)+2, &last)
	if err != nil {
		s.log.Warn("can't count the days for the dashboard", "account", p.Account, "error", err)
	}
	for _, day := range counts {
		if at, ok := dates[day.Date]; ok {
			days[at].Count = day.Count
		}
	}
	return days
}

func (s *Server) dayCounts(ctx context.Context, p *page, days int, until *time.Time) (counts []dayRows, err error) {
	trend, err := desk.GetTrend.Do(ctx, s.opts.Host, p.Account, desk.TrendRequest{Days: days, Until: until})
	for _, day := range trend.Days {
		counts = append(counts, dayRows{Date: day.Day, Count: count(day.Decided) + " decided, " + count(day.Marked) + " marked"})
	}
	return counts, err
}

func none(d *messagesData, wrong int) string {
	switch {
	case len(d.Days) > 0:
		return ""
	case d.Search != "" && d.Searched > 0:
		return "None of these " + count(d.Searched) + " messages matches “" + d.Search + "”."
	case d.Search != "":
		return "No message matches “" + d.Search + "”."
	case d.Newest != "":
		return "There are no older messages."
	case d.Show == "wrong" && wrong == 0:
		return "No wrong decision is known."
	case d.Show != "":
		return "No message was decided " + d.Show + "."
	}
	return "Nothing has arrived yet."
}
