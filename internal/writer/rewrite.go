// SPDX-License-Identifier: Apache-2.0

package writer

import (
	"context"
	"errors"
	"iter"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// ErrDirty is returned by Rewrite while there is something to commit.
var ErrDirty = errors.New("what was applied before is not committed yet")

// past is what an account in a store has learnt. It implements filter.Past.
type past struct {
	ctx     context.Context // of one Rewrite
	store   *boltfile.Store
	account string
}

// NewPast returns what an account has learnt, as committed. Nothing more of it is learnt anew
// when ctx is done.
func NewPast(ctx context.Context, s *boltfile.Store, account string) filter.Past {
	return past{ctx, s, account}
}

// Learner implements filter.Past.
func (p past) Learner() (*store.State, error) { return p.store.LessonBase(p.account) }

// Lessons implements filter.Past.
func (p past) Lessons() iter.Seq2[store.Lesson, error] { return p.store.Lessons(p.account, 0) }

// Interrupted implements filter.Past.
func (p past) Interrupted() error { return p.ctx.Err() }

// Rewrite gives an event that rewrites the past to the filter, and what it led to
// to commit, which makes it durable with store.Rewrite or RewritePartition.
//
// When ctx is done before commit is called, it ends soon, with ctx's error, and nothing has
// changed. If commit fails, the account is loaded anew, so that it is what the store has;
// Filter is another one then. Only if that fails, too, the account cannot go on:
// then broken is true.
func (w *Writer) Rewrite(ctx context.Context, e filter.RewriteRequest, commit func(*store.State, store.Rewrite) error) (r filter.Rewritten, broken bool, err error) {
	if w.Dirty() {
		return r, false, ErrDirty
	}
	r, err = w.filter.Rewrite(e, NewPast(ctx, w.vectors.store, w.vectors.account))
	if err != nil || !r.Changed {
		return r, false, err
	}
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
