// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/filter/past"
	"github.com/hinged/hinged/internal/writer"
	"github.com/hinged/hinged/store"
)

// ErrTooEarly is wrapped when what is to be taken back or forgotten was learnt
// before the oldest lesson that is kept.
var ErrTooEarly = errors.New("too long ago")

// rewrite has fn go over an account's past, with dry only to say what it would do.
// What would change an account of a stream goes into the input topic, where it has its
// place in the order of the account's records, if it would be obeyed just now.
func rewrite(ctx context.Context, a Account, dry bool, fn func(d *Desk, dry bool) error, event func() kafka.Event) (sent bool, err error) {
	look := func() error { return a.Look(ctx, func(d *Desk) error { return fn(d, true) }) }
	to, sends := a.(Sender)
	switch {
	case dry:
		return false, look()
	case !sends:
		return false, a.Change(ctx, func(d *Desk) error { return fn(d, false) })
	}
	if err := look(); err != nil {
		return false, err
	}
	return true, send(ctx, to, event())
}

func send(ctx context.Context, to Sender, events ...kafka.Event) error {
	if err := to.Send(ctx, events...); err != nil {
		return fmt.Errorf("handing it to the input topic: %w", err)
	}
	return nil
}

// rewrite applies an event that goes over the past, or only says what that would do.
func (d *Desk) rewrite(ctx context.Context, e past.RewriteRequest, dry bool) (past.Rewritten, error) {
	if dry {
		return past.Foresee(d.Filter, e, writer.NewPast(ctx, d.Past.Store, d.Account, d.Filter.State()))
	}
	return d.Rewrite(e)
}

// ceilSecond is the first whole second not before m, so that it can be said
// without fractions.
func ceilSecond(m store.Moment) time.Time {
	return m.Add(time.Second - time.Millisecond).Time().Truncate(time.Second)
}

// tooEarly puts a refusal into words: advice says what can be done, given the
// earliest time.
func tooEarly(err error, advice string) error {
	var early *past.TooEarlyError
	if !errors.As(err, &early) {
		return err
	}
	earliest := ceilSecond(early.Earliest).Format(time.RFC3339)
	return fmt.Errorf("%w: lessons are kept from %s on; what was learnt before can no longer be separated; "+advice,
		ErrTooEarly, earliest, earliest)
}
