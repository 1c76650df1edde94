// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
)

type askData struct {
	Threshold float64
	Since     time.Time
	Cards     []card
	Why       string // why there is no question
	Put       int    // questions that were put off
	// Answered is the message that was answered a moment ago, if one was: with the buttons
	// that take it back, and what the answer did.
	Answered []messageRow
	Problem  string

	list desk.Messages
}

// card is one question. Its Outcome is that of now.
type card struct {
	messageRow
	Reasons []sided
}

// sided speaks for a message or against it.
type sided struct{ Side, Text string }

// Headline asks.
func (d askData) Headline() string {
	switch len(d.Cards) {
	case 0:
		return "No questions now."
	case 1:
		return "Does this one matter to you?"
	case 2:
		return "Do these two matter to you?"
	}
	return "Do these three matter to you?"
}

func (s *Server) questionsPage(w http.ResponseWriter, r *http.Request, p *page) error {
	p.Title, p.Active, p.Live = "Ask me", "ask", true
	d, err := s.askOf(r.Context(), p)
	if err != nil {
		return err
	}
	d.show(s.headings(r.Context(), p, keysOf(d.list.Messages)))
	p.Asking = len(d.Cards)
	if err := s.answered(r.Context(), p, &d); err != nil {
		return err
	}
	return s.render(w, r, p, "ask", d)
}

// answered shows the message that the notice is about.
func (s *Server) answered(ctx context.Context, p *page, d *askData) error {
	note := s.told(p, isKey)
	if note.Message == "" {
		return nil
	}
	list, err := desk.GetMessages.Do(ctx, s.opts.Host, p.Account, desk.MessagesRequest{Messages: []string{note.Message}})
	if err != nil {
		return err
	}
	d.Answered = changing(p, messageRows(list.Messages, s.headings(ctx, p, []string{note.Message}), scaleOf(list)), p.URL("ask"))
	for i := range d.Answered {
		d.Answered[i].Back, d.Answered[i].Done = p.URL("ask"), note.Text
	}
	if len(d.Answered) == 0 {
		p.Notice = note.Text
	}
	return nil
}

// askOf finds the questions that the owner of the page's account may answer now, at most
// desk.MostInvited, without those that were put off.
func (s *Server) askOf(ctx context.Context, p *page) (d askData, err error) {
	later := s.later.of(p)
	q, err := desk.Ask.Do(ctx, s.opts.Host, p.Account, desk.AskRequest{Since: p.now.AddDate(0, 0, -desk.AskDays), Most: desk.MostInvited + len(later)})
	if err != nil {
		return d, err
	}
	d = askData{Since: q.Since, Put: len(later), Threshold: q.Threshold, Why: q.Why}
	q.Questions = slices.DeleteFunc(q.Questions, func(q desk.Question) bool { return later[q.Message] })
	q.Questions = q.Questions[:min(len(q.Questions), desk.MostInvited)]
	d.list = desk.Messages{Threshold: q.Threshold, UnsureFrom: q.Threshold}
	for _, one := range q.Questions {
		one.Outcome = one.OutcomeNow
		d.list.Messages = append(d.list.Messages, one.MessageSummary)
	}
	return d, nil
}

func (d *askData) show(known desk.Headings) {
	d.Problem = known.Problem
	for _, row := range messageRows(d.list.Messages, known, scaleOf(d.list)) {
		c := card{messageRow: row}
		for _, text := range row.For {
			c.Reasons = append(c.Reasons, sided{"for", curly(text)})
		}
		for _, text := range row.Against {
			c.Reasons = append(c.Reasons, sided{"against", curly(text)})
		}
		d.Cards = append(d.Cards, c)
	}
}

func (s *Server) answerQuestion(w http.ResponseWriter, r *http.Request, p *page) error {
	key, say := r.PathValue("key"), r.PostFormValue("say")
	if say == "later" && isKey(key) {
		s.later.put(p, key)
		s.tell(p, noticed{Text: "Put off until tomorrow."})
		return back(w, r, r.PostFormValue("back"), p.URL("ask"))
	}
	n, err := s.label(r, p, key, say)
	if err != nil {
		return err
	}
	s.tell(p, n)
	return back(w, r, r.PostFormValue("back"), p.URL("ask"))
}

// later are questions that were put off, by account. Safe for concurrent use; the zero
// value has none.
type later struct {
	mu sync.Mutex
	by map[string]map[string]time.Time
}

const (
	// laterFor is for how long a question is put off, and mostLater how many are at once.
	laterFor  = 24 * time.Hour
	mostLater = 100
)

func (l *later) put(p *page, key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by == nil {
		l.by = map[string]map[string]time.Time{}
	}
	if l.by[p.Account] == nil || len(l.by[p.Account]) >= mostLater {
		l.by[p.Account] = map[string]time.Time{}
	}
	l.by[p.Account][key] = p.now.Add(laterFor)
}

func (l *later) of(p *page) map[string]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.by[p.Account], func(_ string, until time.Time) bool { return p.now.After(until) })
	out := map[string]bool{}
	for key := range l.by[p.Account] {
		out[key] = true
	}
	return out
}
