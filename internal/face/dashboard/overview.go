// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"html/template"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/hinged/hinged/internal/face/dashboard/plot"
	"github.com/hinged/hinged/internal/face/desk"
)

// Overview shows so many days, and so many of the latest decisions and lessons.
const (
	overviewDays = 28
	latestRows   = 3
)

type overviewData struct {
	Verdict verdict
	Next    next
	Fault   bool // the mail server can't be reached
	Account *desk.AccountStatus
	Trend   *desk.Trend
	Figures figures
	Curve   picture
	Marks   picture
	Latest  []messageRow
	// Questions come first while it marks nothing, and Would are the messages that it would
	// have marked.
	Questions askData
	Would     []messageRow
	Lessons   []lessonRow
	Checks    []check // before it marks
	Own       bool
	Days      int
	// Unanswered counts the letters without an answer in words; "": such are not listed.
	Unanswered string
}

// picture is a plot with the sentence above it, which is what the plot shows.
type picture struct {
	Title string
	Sub   string
	Plot  template.HTML
	None  string // why there is no plot
}

type check struct {
	Done  bool
	Text  string
	Share float64 // of what is asked for
	Mark  float64 // a tick beside it
	Count string
	Note  string
}

func (s *Server) overview(w http.ResponseWriter, r *http.Request, p *page) error {
	p.Title, p.Active, p.Live = "Overview of "+p.Account, "overview", true
	d, err := s.overviewOf(r.Context(), p)
	if err != nil {
		return err
	}
	return s.render(w, r, p, "overview", d)
}

func (s *Server) overviewOf(ctx context.Context, p *page) (d overviewData, err error) {
	d = overviewData{Account: p.Status, Own: p.owns(p.Account), Days: overviewDays}
	trend, err := desk.GetTrend.Do(ctx, s.opts.Host, p.Account, desk.TrendRequest{Days: overviewDays})
	if err != nil {
		return d, err
	}
	for n := len(trend.Weeks); n > 1 && trend.Weeks[n-1].Decided == 0; n-- {
		trend.Weeks = trend.Weeks[:n-1] // weeks before its first mail
	}
	d.Trend = &trend
	d.Fault = !p.Status.Connected && !p.Status.Paused && p.Status.Problem != ""
	d.Verdict, d.Next = judge(p.Status, d.Trend, d.Own), advise(p, p.Status)
	d.Figures = figuresOf(d.Trend, p.Status, d.Own)
	d.Curve, d.Marks = curvePicture(p, d.Trend), marksPicture(p, d.Trend, d.Own)
	if p.Status.InShadow && p.Status.EndOfShadow != "" {
		d.Checks = checksOf(p.Status)
	}
	if !d.Own {
		return d, nil
	}
	if p.Status.InShadow && p.Asking > 0 {
		if d.Questions, err = s.askOf(ctx, p); err != nil {
			return d, err
		}
	}
	return d, s.mailOf(ctx, p, &d)
}

func (s *Server) mailOf(ctx context.Context, p *page, d *overviewData) error {
	list, err := desk.GetMessages.Do(ctx, s.opts.Host, p.Account, desk.MessagesRequest{Most: latestRows})
	if err != nil {
		return err
	}
	lessons, err := desk.GetLessons.Do(ctx, s.opts.Host, p.Account, desk.LessonsRequest{Most: latestRows, ByOwner: true})
	if err != nil {
		return err
	}
	would := desk.Messages{}
	if len(p.Status.WouldMarked) > 0 {
		would, err = desk.GetMessages.Do(ctx, s.opts.Host, p.Account, desk.MessagesRequest{Messages: p.Status.WouldMarked})
		if err != nil {
			return err
		}
	}
	// Past the end of the lists there are the counts alone, and no mail server is asked.
	if open, err := desk.GetOwed.Do(ctx, s.opts.Host, p.Account, desk.OwedRequest{Skip: math.MaxInt}); err != nil {
		return err
	} else if open.Days > 0 {
		d.Unanswered = owedTitle(open)
	}
	keys := slices.Concat(keysOf(list.Messages), keysOf(would.Messages), keysOf(d.Questions.list.Messages))
	for _, l := range lessons.Lessons {
		keys = append(keys, l.Message)
	}
	known := s.headings(ctx, p, keys)
	d.Questions.show(known)
	rows := func(list desk.Messages) []messageRow {
		out := changing(p, messageRows(list.Messages, known, scaleOf(list)), p.URL())
		for i := range out {
			out[i].Dated = true
		}
		return out
	}
	// A message has one row.
	list.Messages = slices.DeleteFunc(list.Messages, func(m desk.MessageSummary) bool {
		return slices.ContainsFunc(would.Messages, func(w desk.MessageSummary) bool { return w.Message == m.Message })
	})
	d.Latest, d.Would, d.Lessons = rows(list), rows(would), lessonRows(lessons, known)
	return nil
}

type figures struct {
	Marked, Kept, Found, Mistakes figure
}

type figure struct {
	Name  string
	Value string
	Of    string
	Share float64
	Mark  float64
	Below string
}

// All returns them in their order.
func (f figures) All() []figure { return []figure{f.Marked, f.Kept, f.Found, f.Mistakes} }

func figuresOf(t *desk.Trend, st *desk.AccountStatus, own bool) (f figures) {
	s := &t.Sum
	kept := "Marks kept"
	if own {
		kept = "Marks you kept"
	}
	f.Marked = figure{Name: "Marked", Value: percent(t.MarkedShare), Of: "of mail", Share: t.MarkedShare, Mark: t.Budget, Below: count(s.Marked) + " of " + plural(s.Decided, "message", "messages")}
	switch {
	case st.InShadow:
		f.Marked.Value, f.Marked.Of, f.Marked.Share = percent(share(s.Important, s.Decided)), "would be marked", share(s.Important, s.Decided)
		f.Marked.Below = count(s.Important) + " of " + plural(s.Decided, "message", "messages")
	case s.Decided == 0:
		f.Marked.Value, f.Marked.Of = "–", ""
	}
	switch {
	case t.Budget > 0:
		f.Marked.Below += ", budget " + percent(t.Budget)
	case t.PerDay > 0:
		f.Marked.Below += ", at most " + count(t.PerDay) + " a day"
	}
	f.Kept = figure{Name: kept, Value: "–", Below: "none was set"}
	if s.Undone > 0 {
		f.Kept.Below = count(s.Undone) + " undone"
	}
	if t.KeptShare != nil {
		f.Kept.Value, f.Kept.Share = percent(*t.KeptShare), *t.KeptShare
		f.Kept.Of, f.Kept.Below = count(s.Kept)+" of "+count(s.KeptOrTakenOff()), count(s.TakenOff)+" taken off"
		if s.Undone > 0 {
			f.Kept.Below += ", " + count(s.Undone) + " undone"
		}
	}
	f.Found = figure{Name: "Important mail found", Value: "–", Below: "none is known yet"}
	if t.FoundShare != nil {
		f.Found.Value, f.Found.Share = percent(*t.FoundShare), *t.FoundShare
		f.Found.Of, f.Found.Below = count(s.Found)+" of "+count(s.Found+s.Missed), count(s.Missed)+" missed"
	}
	mistakes, ceiling := uint64(0), int64(-1)
	if n := len(t.Mistakes); n > 0 {
		mistakes, ceiling = t.Mistakes[n-1].Mistakes, t.Mistakes[n-1].Ceiling
	}
	f.Mistakes = figure{Name: "Mistakes in learning", Value: count(mistakes), Of: "in " + plural(t.Lessons, "lesson", "lessons"),
		Share: share(int(mistakes), t.Lessons), Below: "no ceiling: " + t.NoCeiling}
	if ceiling >= 0 {
		f.Mistakes.Below = "certified ceiling " + plot.Count(ceiling)
		if t.Lessons > 0 {
			f.Mistakes.Mark = float64(ceiling) / float64(t.Lessons)
		}
	} else if t.Lessons == 0 {
		f.Mistakes.Below = "nothing is learnt yet"
	}
	return f
}

// Waiting says which of the owner's deeds are not learnt yet, "" if there are none.
func (d overviewData) Waiting() string {
	var parts []string
	if n := d.Account.Pending; n > 0 {
		parts = append(parts, plural(n, "change of yours is settling", "changes of yours are settling"))
	}
	if n := d.Account.Waiting; n > 0 {
		parts = append(parts, plural(n, "message waits for your silence", "messages wait for your silence"))
	}
	if n := d.Account.Unknown; n > 0 {
		parts = append(parts, plural(int(n), "personal letter was", "personal letters were")+" read and kept, which tells nothing")
	}
	if len(parts) == 0 {
		return ""
	}
	return title(strings.Join(parts, "; ")) + "."
}

func share(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

func checksOf(st *desk.AccountStatus) []check {
	have, need := st.KnownImportant, st.NeedImportant
	return []check{{Text: "Messages known to be important", Done: have >= need, Share: min(1, share(have, max(1, need))), Count: count(have) + " of " + count(need), Note: title(st.Marking) + "."}}
}
