// SPDX-License-Identifier: Apache-2.0

package writer

import (
	"cmp"
	"context"
	"errors"
	"iter"

	"github.com/hinged/hinged/internal/account/past"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// ErrDirty is returned by Rewrite while there is something to commit.
var ErrDirty = errors.New("what was applied before is not committed yet")

// learnt is what an account in a store has learnt since a moment of its own, wherever the
// store's base lies by then. It implements past.Past.
type learnt struct {
	ctx     context.Context // of one Rewrite
	store   *boltfile.Store
	account string
	reach   uint64       // so many journal entries come before
	learner *store.State // a copy of what Base returned; nil: of what the store has
	first   uint64       // number of the first lesson after it; 0: the first that the store has
}

// NewPast returns what an account whose state is now has learnt, as committed. Nothing more of
// it is learnt anew when ctx is done.
func NewPast(ctx context.Context, s *boltfile.Store, account string, now *store.State) past.Past {
	return &learnt{ctx: ctx, store: s, account: account, reach: now.Account.Reach.Entries}
}

// Base implements past.Past.
func (p *learnt) Base() (*store.State, error) {
	base, next, err := p.store.Base(p.account)
	if err != nil {
		return nil, err
	}
	if next > p.reach+1 {
		return p.store.LessonBase(p.account) // a Rewrite came since, and kept that
	}
	lesson := base.LessonNext()
	f, lessons, err := past.Replay(base, p.entries(next), NewReplayVectors(p.store, p.account))
	if err != nil {
		return nil, err
	}
	p.first, p.learner = lesson+uint64(lessons), f.State().Scratch()
	return f.State(), nil
}

// entries yields the journal entries from next to reach.
func (p *learnt) entries(next uint64) iter.Seq2[store.JournalEntry, error] {
	return func(yield func(store.JournalEntry, error) bool) {
		if next > p.reach {
			return
		}
		for entry, err := range p.store.Journal(p.account, next) {
			if !yield(entry, cmp.Or(err, p.ctx.Err())) || entry.Seq >= p.reach {
				return
			}
		}
	}
}

// Lessons implements past.Past.
func (p *learnt) Lessons() iter.Seq2[store.Lesson, error] { return p.store.Lessons(p.account, p.first) }

// Interrupted implements past.Past.
func (p *learnt) Interrupted() error { return p.ctx.Err() }

// Rewrite gives an event that rewrites the past to the filter, and what it led to
// to commit, which makes it durable with store.Rewrite or RewritePartition.
//
// When ctx is done before commit is called, it ends soon, with ctx's error, and nothing has
// changed. If commit fails, the account is loaded anew, so that it is what the store has;
// Filter is another one then. Only if that fails, too, the account cannot go on:
// then broken is true.
func (w *Writer) Rewrite(ctx context.Context, e past.RewriteRequest, commit func(*store.State, store.Rewrite) error) (r past.Rewritten, broken bool, err error) {
	if w.Dirty() {
		return r, false, ErrDirty
	}
	p := NewPast(ctx, w.vectors.store, w.vectors.account, w.filter.State()).(*learnt)
	r, err = past.Rewrite(w.filter, e, p)
	if err != nil || !r.Changed {
		return r, false, err
	}
	r.Rewrite.Learner, r.Rewrite.First = p.learner, p.first
	if err = commit(w.filter.State(), r.Rewrite); err == nil {
		return r, false, nil
	}
	again, lost := Open(w.vectors.store, w.vectors.account)
	if lost != nil {
		return r, true, errors.Join(err, lost)
	}
	*w = *again
	return r, false, err
}
