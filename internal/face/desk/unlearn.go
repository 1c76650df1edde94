// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/account/past"
	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/store"
)

// Unlearn takes what is learnt back to what it was at a time. ErrTooEarly: the lessons
// do not reach back so far.
var Unlearn = offer(Verb[UnlearnRequest, UnlearntLessons]{Name: "unlearn", Text: printUnlearned, do: ofAccount(unlearn)})

// UnlearnRequest says which lessons are to be taken back.
type UnlearnRequest struct {
	To     time.Time `json:"to"`                // To is the time to go back to: lessons learnt then and later are taken back.
	DryRun bool      `json:"dry_run,omitempty"` // DryRun: only say what would be taken back.
}

// UnlearntLessons is what `hinged undo --learning` did or, with --dry-run, would do.
type UnlearntLessons struct {
	Account   string     `json:"account"`         // Account is the account whose lessons were taken back.
	DryRun    bool       `json:"dry_run"`         // DryRun reports whether this was a dry run. If so, nothing was changed, and the figures say what would be taken back.
	To        time.Time  `json:"to"`              // To is the time to which the learning was reset. Earlier lessons stay.
	Lessons   int        `json:"lessons"`         // Lessons counts the lessons taken back.
	Important int        `json:"important"`       // Important counts those of the lessons that called a message important.
	Ordinary  int        `json:"ordinary"`        // Ordinary counts those that called a message ordinary.
	Pending   int        `json:"pending"`         // Pending counts labels that were given and not yet learnt. They were dropped, too.
	First     *time.Time `json:"first,omitempty"` // First is the time of the earliest lesson taken back.
	Last      *time.Time `json:"last,omitempty"`  // Last is the time of the latest lesson taken back.
	Left      uint64     `json:"left"`            // Left is the number of lessons that stay.
	Marking   string     `json:"marking"`         // Marking says in words whether marks are set after the undo.
	// Sent reports whether the request was written to Kafka's input topic. It takes
	// effect when its turn comes. The figures say what it would have taken back at this
	// moment.
	Sent bool `json:"sent,omitempty"`
}

func unlearn(ctx context.Context, a Account, q UnlearnRequest) (out UnlearntLessons, err error) {
	out.Sent, err = rewrite(ctx, a, q.DryRun, func(d *Desk, dry bool) (err error) {
		out, err = d.unlearn(ctx, q.To, dry)
		return err
	}, func() kafka.Event { return kafka.Unlearn{Since: q.To} })
	out.DryRun = q.DryRun
	return out, err
}

func (d *Desk) unlearn(ctx context.Context, to time.Time, dry bool) (UnlearntLessons, error) {
	out := UnlearntLessons{Account: d.Account, To: to}
	r, err := d.rewrite(ctx, &past.UnlearnRequested{At: d.Now(), Since: store.MomentOf(to)}, dry)
	if err != nil {
		return out, tooEarly(err, "--learning %s is the earliest")
	}
	out.Lessons, out.Important, out.Ordinary = r.Lessons, r.Important, r.Lessons-r.Important
	out.Pending, out.First, out.Last = r.Pending, TimeOf(r.First), TimeOf(r.Last)
	st := d.Filter.State().Account
	if out.Left = st.Important + st.Ordinary; dry {
		out.Left -= uint64(r.Lessons)
	}
	out.Marking = words.Marking(d.Filter)
	return out, nil
}

// Nothing reports whether nothing would be taken back.
func (u UnlearntLessons) Nothing() bool { return u.Lessons+u.Pending == 0 }

func printUnlearned(w io.Writer, u UnlearntLessons) (err error) {
	say := lines(w, &err)
	verb, stay := "taken back", "stay"
	if u.DryRun {
		verb, stay = "would be taken back", "would stay"
	}
	if u.Sent {
		verb, stay = "will be taken back when their turn comes in the input topic of Kafka", "will stay"
	}
	say("%s: %s %s%s; %d %s", u.Account, Count(u.Lessons, "lesson"), verb, kinds(u.Important, u.Ordinary), u.Left, stay)
	if u.First != nil && u.Last != nil {
		say("  learnt from %s to %s", u.First.Local().Format(time.DateTime), u.Last.Local().Format(time.DateTime))
	}
	if u.Pending > 0 {
		say("  %s not learnt yet, dropped as well", Count(u.Pending, "label"))
	}
	if !u.DryRun {
		say("  marks: %s", u.Marking)
	}
	return err
}

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

func tooEarly(err error, advice string) error {
	var early *past.TooEarlyError
	if !errors.As(err, &early) {
		return err
	}
	earliest := ceilSecond(early.Earliest).Format(time.RFC3339)
	return fmt.Errorf("%w: lessons are kept from %s on; what was learnt before can no longer be separated; "+advice,
		ErrTooEarly, earliest, earliest)
}
