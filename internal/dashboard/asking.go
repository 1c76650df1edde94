// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hinged/hinged/internal/desk"
)

// questionsFor is for how long the number of questions, which all pages show, is not looked up
// anew, unless something was learnt or put off.
const questionsFor = 30 * time.Second

// askings are the numbers of questions of the accounts, as they were looked up last. Safe
// for concurrent use; the zero value knows none.
type askings struct {
	mu sync.Mutex
	of map[string]asked
}

type asked struct {
	at     time.Time
	lesson uint64 // lessons learnt by then
	put    int    // questions put off by then
	n      int
}

// asking is how many questions the owner of the page's account may answer now, at most
// desk.MostInvited, without those that were put off. A page does without where that can't be found out.
func (s *Server) asking(ctx context.Context, p *page) int {
	if !p.owns(p.account) || p.status == nil || p.status.Paused {
		return 0
	}
	lessons, put := p.status.Important+p.status.Ordinary, s.later.of(p)
	s.askings.mu.Lock()
	known, ok := s.askings.of[p.account]
	s.askings.mu.Unlock()
	if ok && known.lesson == lessons && known.put == len(put) && p.now.Sub(known.at) < questionsFor {
		return known.n
	}
	q, err := desk.Ask.Do(ctx, s.opts.Host, p.account, desk.AskRequest{Since: p.now.AddDate(0, 0, -desk.AskDays), Most: desk.MostInvited + len(put)})
	if err != nil {
		s.log.Debug("the number of questions is not known", "account", p.account, "error", err)
		return 0
	}
	s.askings.mu.Lock()
	defer s.askings.mu.Unlock()
	if s.askings.of == nil {
		s.askings.of = map[string]asked{}
	}
	n := len(open(q.Questions, put))
	s.askings.of[p.account] = asked{at: p.now, lesson: lessons, put: len(put), n: n}
	return n
}

// open returns the questions that are not among those put off, desk.MostInvited at most.
func open(all []desk.Question, put map[string]bool) []desk.Question {
	left := slices.DeleteFunc(all, func(q desk.Question) bool { return put[q.Message] })
	return left[:min(len(left), desk.MostInvited)]
}
