// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/past"
	"github.com/hinged/hinged/store"
)

// rewrite does what an unlearn or a forget says, and commits it with the position.
// Nothing else is in the batch.
func (p *partition) rewrite(ctx context.Context, h *held, it *item) (*kafka.Refusal, error) {
	if !h.known {
		p.cache.drop(h)
		return refuse(kafka.UnknownAccount, "no record of this account came before"), nil
	}
	e, refused := rewriting(h, it)
	if refused != nil {
		return refused, nil
	}
	at := p.at
	if _, forgets := e.(*past.ForgetRequested); forgets {
		at.Forgot = at.Next
	}
	for n := 1; ; n++ {
		r, _, err := h.work.Rewrite(ctx, e, func(st *store.State, w store.Rewrite) error {
			return p.file().RewritePartition(at, h.name, st, w)
		})
		var early *past.TooEarlyError
		switch {
		case errors.As(err, &early):
			return refuse(kafka.Conflict, "%v", early), nil
		case errors.Is(err, past.ErrForgetRequest):
			return refuse(kafka.BadValue, "%v", err), nil
		case err == nil && !r.Changed:
			return unchanged(e), nil
		case err == nil:
			p.rewritten(h, &at)
			return nil, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if inVain(err) {
			return nil, fmt.Errorf("account %s: %w", h.name, err)
		}
		p.trouble(fmt.Errorf("%s: %w", cannotCommit, err))
		if err := p.pause(ctx, n); err != nil {
			return nil, err
		}
		// What was tried last may count after all; then the account is as it shall be.
		info, err := p.file().PartitionInfo()
		if err != nil {
			return nil, err
		}
		p.cache.drop(h)
		if h, err = p.account(ctx, h.key); err != nil {
			return nil, err
		}
		if info.Next >= at.Next {
			p.rewritten(h, &at)
			return nil, nil
		}
	}
}

// unchanged refuses a request that named a message and changed nothing.
func unchanged(e past.RewriteRequest) *kafka.Refusal {
	if named, ok := e.(*past.ForgetRequested); ok && (named.ID != 0 || named.Key != store.MessageKey{}) {
		return refuse(kafka.UnknownMessage, "the account knows no such message")
	}
	return nil
}

// rewritten notes that an event that goes over the past has done so, at a position.
func (p *partition) rewritten(h *held, at *store.LogPosition) {
	p.trouble(nil)
	p.cache.count(h)
	h.configured = false
	p.batch.tally.Rewritten++
	if at.Forgot == 0 {
		return
	}
	// Neither the file nor a snapshot shall tell of it any more.
	p.purge.Store(at.Forgot)
	select {
	case p.e.forgot <- struct{}{}:
	default:
	}
}

// rewriting turns an unlearn or a forget into the filter's event.
func rewriting(h *held, it *item) (past.RewriteRequest, *kafka.Refusal) {
	at := momentOf(&it.record)
	switch e := it.event.(type) {
	case kafka.Unlearn:
		return &past.UnlearnRequested{At: at, Since: store.MomentOf(e.Since)}, nil
	case kafka.Forget:
		out := &past.ForgetRequested{At: at}
		switch {
		case e.Message != "":
			out.ID = filter.IDOf(string(e.Message))
		case e.Key != kafka.Key{}:
			out.Key = store.MessageKey(e.Key)
		case e.Sender != "":
			if h.work.Filter().People.IsOwner(e.Sender) {
				return nil, refuse(kafka.BadValue, "the sender is the owner")
			}
			out.Sender = filter.SenderOf(e.Sender)
		default:
			out.Before = store.MomentOf(e.Before)
		}
		return out, nil
	default:
		return nil, refuse(kafka.UnknownType, "%s is not known here", it.event.Type())
	}
}

const (
	// scrubAfter is how long is waited for more to be forgotten before the files are
	// written anew.
	scrubAfter = 2 * time.Second
	// scrubShare is how many times as long as that took is waited at least: commits wait
	// for it, so it must not be done all the time.
	scrubShare = 10
)

// scrub writes the files anew after something was forgotten, until ctx is
// done. What was left undone by a crash, or by the end of ctx, is done first.
func (e *Engine) scrub(ctx context.Context) {
	for failed := 0; ; {
		began := time.Now()
		if err := e.o.Files.scrub(ctx); err != nil {
			if ctx.Err() != nil {
				e.log.Info("what was forgotten is still in free pages of the store; that goes on after the next start")
				return
			}
			failed++
			e.log.Warn("what was forgotten is still in free pages of the store; trying again", "error", err)
			if wait(ctx, e.o.Pause(failed)) != nil {
				return
			}
			continue
		}
		failed = 0
		took := time.Since(began)
		select {
		case <-ctx.Done():
			return
		case <-e.forgot:
		}
		if wait(ctx, max(scrubAfter, scrubShare*took)) != nil {
			return
		}
	}
}
