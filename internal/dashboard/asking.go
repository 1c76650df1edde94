// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hinged/hinged/internal/desk"
)

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
	lessons := p.status.Important + p.status.Ordinary
	s.askings.mu.Lock()
	known, ok := s.askings.of[p.account]
	s.askings.mu.Unlock()
	if !taught && ok && known.lesson == lessons && known.put == len(later) && p.now.Sub(known.at) < questionsFor {
		return known.q, len(later), nil
	}
	q, err = desk.Ask.Do(ctx, s.opts.Host, p.account, desk.AskRequest{Since: p.now.AddDate(0, 0, -desk.AskDays), Most: desk.MostInvited + len(later), Teach: taught})
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
	s.askings.of[p.account] = asked{at: p.now, lesson: lessons, put: len(later), q: q}
	return q, len(later), nil
}

// asking is the number of questions. A page does without where that can't be found out.
func (s *Server) asking(ctx context.Context, p *page) int {
	if !p.owns(p.account) || p.status.Paused {
		return 0
	}
	q, _, err := s.questions(ctx, p, false)
	if err != nil {
		s.log.Debug("the number of questions is not known", "account", p.account, "error", err)
	}
	return len(q.Questions)
}
