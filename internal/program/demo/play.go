// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-imap/v2"

	"github.com/hinged/hinged/internal/face/desk"
)

const glance = 15 * time.Millisecond

// atOnce is how many messages of a fast demo come together.
const atOnce = 10

// The owner's delay between a message's arrival and what she does about it.
const (
	leastDelay = 700 * time.Millisecond
	mostDelay  = 3500 * time.Millisecond
)

// play waits until the daemon has taken over, then plays the live part. running
// is the daemon's own context.
func (s *stage) play(ctx, running context.Context) error {
	ready := func(a desk.AccountStatus) bool { return s.scanned(a) && s.settled(a) }
	if err := s.until(ctx, "take over from the bootstrap", ready); err != nil {
		return err
	}
	status, err := s.status(running)
	if err != nil {
		return err
	}
	s.tally.before = status
	link, err := desk.OpenDashboard.Do(running, s.daemon, "", desk.None{})
	if err != nil {
		return err
	}
	s.url = link.URL
	s.intro(status)
	s.began = time.Now()
	if !s.o.Fast {
		return s.realtime(ctx)
	}
	if err := s.wake(ctx); err != nil {
		return err
	}
	return s.lockstep(ctx)
}

// wake has the owner write a note to herself. So her day begins before any mail comes,
// and what her silence until today teaches is learnt before that is decided. Else it
// would be learnt beside the first labels, in an order that timing decides.
func (s *stage) wake(ctx context.Context) error {
	at := s.plan.Live[0].Date
	note := fmt.Sprintf("From: %s <%s>\r\nTo: %[2]s\r\nSubject: Today\r\nMessage-ID: <today@larkfield.example>\r\nDate: %[3]s\r\n\r\nBuy tea.\r\n",
		OwnerName, OwnerAddress, at.Format(time.RFC1123Z))
	if _, err := s.postman.put("Sent", []byte(note), at, imap.FlagSeen); err != nil {
		return err
	}
	s.there["Sent"]++
	return s.until(ctx, "see what the owner wrote", s.scanned)
}

func (s *stage) status(ctx context.Context) (desk.AccountStatus, error) {
	all, err := desk.GetStatus.Do(ctx, s.daemon, "", desk.None{})
	if err != nil {
		return desk.AccountStatus{}, err
	}
	return all.Accounts[0], nil
}

// scanned reports whether the daemon knows every message that was put into a
// mailbox or moved there.
func (s *stage) scanned(a desk.AccountStatus) bool {
	for mailbox, n := range s.there {
		known := func(m desk.MailboxStatus) bool { return m.Mailbox == mailbox && m.Messages == n }
		if !slices.ContainsFunc(a.Mailboxes, known) {
			return false
		}
	}
	return a.Connected
}

// settled reports whether every label has been learnt and every mark set.
func (s *stage) settled(a desk.AccountStatus) bool { return a.Pending == 0 && a.MarksIntended == 0 }

// until waits until the daemon's figures are as wanted, and shows meanwhile what
// it does.
func (s *stage) until(ctx context.Context, what string, done func(desk.AccountStatus) bool) error {
	tick := time.NewTicker(glance)
	defer tick.Stop()
	deadline := time.Now().Add(s.o.Patience)
	for {
		if err := s.watch(ctx); err != nil {
			return err
		}
		a, err := s.status(ctx)
		if err != nil {
			return err
		}
		if done(a) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w: the daemon did not %s within %v %s", ErrLoop, what, s.o.Patience, a.Problem)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// watch asks about every message whose decision or lesson is still to come. Messages are
// decided in the order in which they came; in a fast demo they are shown so, too, also
// when several are decided between two of the questions.
func (s *stage) watch(ctx context.Context) error {
	undecided := false
	for _, e := range s.tally.open() {
		if undecided && !e.decided {
			continue
		}
		ex, err := desk.Explain.Do(ctx, s.daemon, "", desk.ExplainRequest{Message: desk.Message{Name: e.m.ID}})
		if errors.Is(err, desk.ErrNoMessage) {
			undecided = s.o.Fast
			continue
		}
		if err != nil {
			return err
		}
		if !e.decided {
			s.tally.decide(e, ex)
			s.screen.line(s.screen.decision(s.clock(), e))
		}
		e.learnt = e.expects != "" && ex.Label == e.expects
	}
	return nil
}

func (s *stage) clock() time.Duration { return time.Since(s.began) }

func (s *stage) deliver(m *Message) (*entry, error) {
	uid, err := s.postman.put(inbox, m.Raw, m.Date)
	if err != nil {
		return nil, err
	}
	s.there[inbox]++
	return s.tally.deliver(m, uid), nil
}

// look finds out what the owner will do with a message as she finds it.
func (s *stage) look(e *entry) error {
	flags, there, err := s.owner.flags(e.uid)
	if err != nil {
		return err
	}
	if !there {
		e.deed = leaves // somebody who looks in has moved it
		return nil
	}
	e.marked = has(flags, s.o.Mark)
	e.deed = e.m.deed(e.marked)
	if e.deed == stars && e.marked && strings.EqualFold(s.o.Mark, string(imap.FlagFlagged)) {
		e.deed = reads // the star is there already
	}
	return nil
}

// act carries out what the owner does to a message in INBOX, as she finds it.
func (s *stage) act(e *entry) error {
	if err := s.look(e); err != nil {
		return err
	}
	if err := s.owner.flag(e.deed, e.uid, s.o.Mark); err != nil {
		return err
	}
	if !e.deed.moves() {
		s.tell(e)
	}
	return nil
}

// follow carries out what she does to it in another mailbox.
func (s *stage) follow(e *entry) error {
	if err := s.owner.follow(e.deed, e.m, e.uid); err != nil {
		return err
	}
	switch e.deed {
	case answers:
		s.there["Sent"]++
		s.tally.know(e.m.Reply.To)
	case junks:
		s.there[inbox]--
		s.there["Junk"]++
		s.tell(e)
	case discards:
		s.there[inbox]--
		s.there["Trash"]++
		s.tell(e)
	}
	return nil
}

// tell counts and shows what the owner has just done.
func (s *stage) tell(e *entry) {
	e.expects = e.deed.teaches()
	e.acted = true
	if text := e.deed.story(e.marked); text != "" {
		s.screen.line(s.screen.deed(s.clock(), e, text))
	}
}

// lockstep delivers some messages, waits for their marks, lets the owner act and
// waits until that was learnt, and so on. What she does in other mailboxes goes
// one mailbox at a time, so that lessons come in one order, whatever the timing.
func (s *stage) lockstep(ctx context.Context) error {
	decided := func(a desk.AccountStatus) bool { return s.tally.undecided() == 0 && s.settled(a) }
	var moves []*entry
	round := 0
	for batch := range slices.Chunk(s.plan.Live, atOnce) {
		from := len(s.tally.entries)
		for _, m := range batch {
			if _, err := s.deliver(m); err != nil {
				return err
			}
		}
		if err := s.until(ctx, "decide and mark what came", decided); err != nil {
			return err
		}
		entries := s.tally.entries[from:]
		for _, e := range entries {
			if err := s.act(e); err != nil {
				return err
			}
		}
		if err := s.learn(ctx); err != nil {
			return err
		}
		moves = append(moves, entries...)
		// Junk and Trash in turn: she tidies up now and then.
		for _, d := range []deed{answers, []deed{discards, junks}[round%2]} {
			if err := s.followAll(ctx, d, moves); err != nil {
				return err
			}
			moves = slices.DeleteFunc(moves, func(e *entry) bool { return e.deed == d })
		}
		if err := s.redraw(ctx); err != nil {
			return err
		}
		round++
	}
	return nil
}

// learn waits until the daemon has learnt all that the owner did.
func (s *stage) learn(ctx context.Context) error {
	return s.until(ctx, "learn what the owner did", func(a desk.AccountStatus) bool {
		return s.tally.unlearnt() == 0 && s.settled(a) && s.scanned(a)
	})
}

// followAll carries out what a deed does to messages in other mailboxes. Discards go one
// by one: the embedded server shows what moves as \Deleted for a moment, and whether the
// daemon sees that decides when the label settles.
func (s *stage) followAll(ctx context.Context, d deed, of []*entry) error {
	for _, e := range of {
		if e.deed != d {
			continue
		}
		if err := s.follow(e); err != nil {
			return err
		}
		if d != discards {
			continue
		}
		if err := s.learn(ctx); err != nil {
			return err
		}
	}
	return s.learn(ctx)
}

// realtime delivers messages over the span, and the owner gets to each a little
// later, whatever the daemon has done with it by then.
func (s *stage) realtime(ctx context.Context) error {
	tick := time.NewTicker(glance)
	defer tick.Stop()
	var todo []*entry
	var drawn, done time.Duration
	all := len(s.plan.Live)
	for next := 0; ; {
		now := s.clock()
		for ; next < all && now >= s.o.Span*time.Duration(next)/time.Duration(all); next++ {
			e, err := s.deliver(s.plan.Live[next])
			if err != nil {
				return err
			}
			e.due = now + leastDelay + time.Duration(e.m.Patience*float64(mostDelay-leastDelay))
			todo = append(todo, e)
			done = e.due
		}
		if err := s.getTo(todo, now); err != nil {
			return err
		}
		todo = slices.DeleteFunc(todo, func(e *entry) bool { return e.due <= now })
		if err := s.watch(ctx); err != nil {
			return err
		}
		if now-drawn > 200*time.Millisecond {
			drawn = now
			if err := s.redraw(ctx); err != nil {
				return err
			}
		}
		// Lessons settle a moment after the last correction. One that does not,
		// because somebody who looks in undid it, is not waited for.
		if next == all && len(todo) == 0 && (s.tally.unlearnt() == 0 || now > done+mostDelay+5*time.Second) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func (s *stage) getTo(todo []*entry, now time.Duration) error {
	for _, e := range todo {
		if e.due > now {
			continue
		}
		if err := s.act(e); err != nil {
			return err
		}
		if err := s.follow(e); err != nil {
			return err
		}
	}
	return nil
}
