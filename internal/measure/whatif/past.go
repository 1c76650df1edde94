// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"time"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/past"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// known is what is known of a message today.
type known struct {
	label  model.Label
	source store.Source
	own    bool // it turned out to be the owner's own
}

// knownOf gathers it from a state. A provisional label is none yet.
func knownOf(st *store.State) map[store.MessageKey]known {
	out := make(map[store.MessageKey]known, st.Messages.Len())
	for _, k := range st.Messages.Keys() {
		m, _ := st.Messages.Get(k)
		if m.Outcome == store.Undecided {
			continue
		}
		n := known{m.Label, m.Source, m.Own}
		if m.Source == store.SourceProvisional {
			n.label = 0
		}
		out[store.MessageKey([]byte(k))] = n
	}
	return out
}

// record is what a replay keeps of one decision.
type record struct {
	key   store.MessageKey
	at    store.Moment
	live  store.Outcome
	known known
	by    [2]judgement // today's settings, the other ones
}

// judgement is a decision of one group of settings.
type judgement struct {
	score, threshold float64
	outcome          store.Outcome
	marked           bool
}

// judged reports whether the owner's word about the message, or silence, is known.
func (r *record) judged() bool { return r.known.label != 0 && !r.known.own }

// course is what is known of a replay so far.
type course struct {
	known            map[store.MessageKey]known
	zone             *time.Location
	first, next, end uint64 // journal entries
	decided          uint64 // by the account, ever
	total            int    // decisions to be replayed
	fromStart        bool
	trials           [2]*past.Trial

	records []record
	at      map[store.MessageKey]int // in records, of the last decision about a message
	learnt  [2]past.Learnt
}

// begin says where it begins: at a base, before the journal entry next.
func (p *course) begin(base *store.State, next uint64) {
	p.first, p.next = next, next
	p.total = int(p.decided - min(p.decided, base.Account.Decided))
	p.fromStart = !filter.HasLearnt(base)
}

// take notes what a journal entry led to.
func (p *course) take(s *past.Step) {
	if d := s.Recorded.Decision; d != nil {
		r := record{key: d.Message, at: s.At, live: d.Outcome, known: p.known[d.Message]}
		for i, j := range s.Judged {
			r.by[i] = judgement{j.Score, j.Threshold, j.Outcome, j.Marked}
		}
		p.at[d.Message] = len(p.records)
		p.records = append(p.records, r)
	}
	for _, l := range s.Recorded.Lessons {
		p.hear(&l)
	}
	for i, t := range p.trials {
		p.learnt[i] = t.Since()
	}
}

// hear notes a label where the account itself knows none any more: the message was marked
// and left alone, which is no label of the message, or it was forgotten since.
func (p *course) hear(l *store.Lesson) {
	i, ok := p.at[l.Message]
	if !ok {
		return
	}
	k := &p.records[i].known
	if _, kept := p.known[l.Message]; kept && (k.label != 0 || l.Learnt()) || !l.Learnt() && l.Label == model.Important {
		return
	}
	k.label, k.source = l.Label, l.Source
	if l.Source == store.SourceProvisional {
		k.label = 0
	}
}
