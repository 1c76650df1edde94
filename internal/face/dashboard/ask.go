// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/hinged/hinged/internal/face/dashboard/plot"
	"github.com/hinged/hinged/internal/face/desk"
)

// askData is what the page of questions shows.
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
}

// card is one question.
type card struct {
	Key, From, Subject, Outcome string

	Arrived *time.Time
	Score   float64
	Scale   plot.Scale
	Label   string // learnt from silence
	Marked  bool
	Reasons []sided
	Teach   []teach
}

// sided speaks for a message or against it.
type sided struct{ Side, Text string }

// teach is what an answer would do.
type teach struct{ If, Text string }

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

// questionsPage is the page of questions.
func (s *Server) questionsPage(w http.ResponseWriter, r *http.Request, p *page) error {
	p.Title, p.Active, p.Live = "Ask me", "ask", true
	d, err := s.askOf(r.Context(), p, true)
	if err != nil {
		return err
	}
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
	d.Answered = s.changing(p, list, messageRows(list, s.headings(ctx, p, []string{note.Message}), scaleOf(list)), p.URL("ask"))
	for i := range d.Answered {
		d.Answered[i].Back, d.Answered[i].Done = p.URL("ask"), note.Text
		d.Answered[i].Href, d.Answered[i].Link = note.Href, note.Link
	}
	if len(d.Answered) == 0 {
		p.Notice = note.Text
	}
	return nil
}

// askOf finds the questions, without those that were put off; with taught, also what
// answers would do.
func (s *Server) askOf(ctx context.Context, p *page, taught bool) (d askData, err error) {
	q, put, err := s.questions(ctx, p, taught)
	if err != nil {
		return d, err
	}
	d = askData{Since: q.Since, Put: put}
	d.Threshold, d.Why = q.Threshold, q.Why
	var keys []string
	scores := []float64{q.Threshold}
	for _, one := range q.Questions {
		keys, scores = append(keys, one.Message), append(scores, one.Score)
	}
	known := s.headings(ctx, p, keys)
	d.Problem = known.Problem
	scale := plot.Scale{Threshold: q.Threshold, UnsureFrom: q.Threshold, Range: plot.RangeOf(scores...)}
	for _, one := range q.Questions {
		c := card{
			Key: one.Message, From: fromOf(known, one.Message, one.From), Subject: subjectOf(known, one.Message, one.Subject),
			Outcome: one.Outcome, Arrived: one.Arrived, Score: one.Score, Scale: scale, Label: one.Label, Marked: one.Marked,
		}
		for _, text := range one.For {
			c.Reasons = append(c.Reasons, sided{"for", curly(text)})
		}
		for _, text := range one.Against {
			c.Reasons = append(c.Reasons, sided{"against", curly(text)})
		}
		for _, t := range one.Teach {
			c.Teach = append(c.Teach, teach{"If " + t.Label, teachText(t, q.Compared)})
		}
		d.Cards = append(d.Cards, c)
	}
	return d, nil
}

// teachText says what an answer would do to other messages.
func teachText(t desk.Teaching, compared int) string {
	of := " of the last " + plural(compared, "message", "messages")
	switch {
	case t.Above == 0 && t.Below == 0:
		return "None" + of + " would change sides."
	case t.Below == 0:
		return count(t.Above) + of + " would come above the threshold."
	case t.Above == 0:
		return count(t.Below) + of + " would fall below the threshold."
	}
	return count(t.Above) + of + " would come above the threshold, and " + count(t.Below) + " fall below it."
}

// answerQuestion takes an answer: important, ordinary or later.
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

// put puts a question off.
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

// of returns the questions that are put off now.
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

// questionsFor is for how long questions, whose number all pages show, are not looked up
// anew, unless something was learnt or put off.
const questionsFor = 30 * time.Second

// askings are the questions of the accounts, as they were looked up last. Safe for
// concurrent use; the zero value knows none.
type askings struct {
	mu sync.Mutex
	of map[string]asked
}

type asked struct {
	at     time.Time
	lesson uint64 // lessons learnt by then
	put    int    // questions put off by then
	q      desk.Questions
}

// questions are those that the owner of the page's account may answer now, at most
// desk.MostInvited, without those that were put off, whose number is put. With taught they
// say what answers would do.
func (s *Server) questions(ctx context.Context, p *page, taught bool) (q desk.Questions, put int, err error) {
	later := s.later.of(p)
	lessons := p.Status.Important + p.Status.Ordinary
	s.askings.mu.Lock()
	known, ok := s.askings.of[p.Account]
	s.askings.mu.Unlock()
	if !taught && ok && known.lesson == lessons && known.put == len(later) && p.now.Sub(known.at) < questionsFor {
		return known.q, len(later), nil
	}
	q, err = desk.Ask.Do(ctx, s.opts.Host, p.Account, desk.AskRequest{Since: p.now.AddDate(0, 0, -desk.AskDays), Most: desk.MostInvited + len(later), Teach: taught})
	if err != nil {
		return q, len(later), err
	}
	q.Questions = slices.DeleteFunc(q.Questions, func(q desk.Question) bool { return later[q.Message] })
	q.Questions = q.Questions[:min(len(q.Questions), desk.MostInvited)]
	s.askings.mu.Lock()
	defer s.askings.mu.Unlock()
	if s.askings.of == nil {
		s.askings.of = map[string]asked{}
	}
	s.askings.of[p.Account] = asked{at: p.now, lesson: lessons, put: len(later), q: q}
	return q, len(later), nil
}

// asking is the number of questions. A page does without where that can't be found out.
func (s *Server) asking(ctx context.Context, p *page) int {
	if !p.owns(p.Account) || p.Status.Paused {
		return 0
	}
	q, _, err := s.questions(ctx, p, false)
	if err != nil {
		s.log.Debug("the number of questions is not known", "account", p.Account, "error", err)
	}
	return len(q.Questions)
}
