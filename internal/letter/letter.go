// SPDX-License-Identifier: Apache-2.0

// Package letter writes the digest mail: a message in the owner's own mailbox that says what
// hinged marked and why, which answers would teach most, and what was learnt.
//
// Data flow: desk verbs → text → an entry in the account's ledger, committed → APPEND over
// the account's connection → the entry is settled. A letter has a Message-ID of its own that
// is in that entry: an attempt that broke off goes on under the same one, and looks for it
// first. So there is one letter a day at most, also after a kill. Nobody else can guess the
// Message-ID, and the account neither decides nor learns from a message that has it.
//
// Subjects are read from the mail server for the letter, which goes to that same server, and
// are kept nowhere else.
package letter

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/hinged/hinged/internal/desk"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/store"
)

// Times.
const (
	// late is how long after its time a letter is still written, as by a machine that was
	// off.
	late         = 12 * time.Hour
	postPatience = 2 * time.Minute
	retryFirst   = 30 * time.Second
	retryLast    = 30 * time.Minute
	pausedLook   = 10 * time.Minute
	startPause   = 15 * time.Second
	// Subjects may take a moment to come, and the letter is written once.
	headingsPause = 3 * time.Second
	headingsTries = 5
)

// domain is that of the Message-IDs and of the sender; nobody can have it (RFC 2606).
const domain = "hinged.invalid"

// Account says when which owner gets a letter.
type Account struct {
	Name    string
	To      string         // the owner's address
	Mailbox string         // where it is put
	At      time.Duration  // since midnight
	Weekly  bool           // on Mondays alone
	Zone    *time.Location // of the owner's days
}

// Options are what a Writer needs to know.
type Options struct {
	Host     desk.Host
	Accounts []Account
	Logger   *slog.Logger
	Now      func() time.Time
	After    func(time.Duration) <-chan time.Time
}

// Writer writes letters. Make one with New.
type Writer struct{ desks []*writing }

// writing is the Writer of one account. One goroutine owns it.
type writing struct {
	Account
	o    Options
	log  *slog.Logger
	wait *backoff.ExponentialBackOff
}

// New makes a Writer.
func New(o Options) *Writer {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.After == nil {
		o.After = time.After
	}
	w := &Writer{}
	for _, a := range o.Accounts {
		w.desks = append(w.desks, &writing{
			Account: a, o: o, log: o.Logger.With("account", a.Name),
			wait: &backoff.ExponentialBackOff{InitialInterval: retryFirst, MaxInterval: retryLast, Multiplier: 2, RandomizationFactor: 0.3},
		})
	}
	return w
}

// Run writes letters until ctx is done.
func (w *Writer) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, d := range w.desks {
		wg.Go(func() {
			again := d.o.Now().Add(startPause) // the account is not connected at the very start
			for d.sleep(ctx, again.Sub(d.o.Now())) {
				again = d.step(ctx)
			}
		})
	}
	wg.Wait()
}

// sleep waits, and reports whether ctx let it.
func (w *writing) sleep(ctx context.Context, pause time.Duration) bool {
	select {
	case <-w.o.After(max(pause, time.Millisecond)):
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// step does what is due, and returns when to look again.
func (w *writing) step(ctx context.Context) (again time.Time) {
	now := w.o.Now()
	at := w.last(now)
	err := w.write(ctx, at, now)
	switch {
	case err == nil:
		w.wait.Reset()
		return w.next(at)
	case errors.Is(err, desk.ErrPaused):
		return now.Add(pausedLook)
	case ctx.Err() == nil:
		pause := w.wait.NextBackOff()
		w.log.Warn("can't put the digest mail into the mailbox; trying again", "mailbox", w.Mailbox, "error", err, "wait", pause)
		return now.Add(pause)
	}
	return now
}

// last is when the last letter was due by now.
func (w *writing) last(now time.Time) time.Time {
	local := now.In(w.Zone)
	for back := 0; ; back++ {
		at := w.on(local.Year(), local.Month(), local.Day()-back)
		if !at.After(now) && (!w.Weekly || at.Weekday() == time.Monday) {
			return at
		}
	}
}

// next is when the letter after that of at is due, and before is the one before.
func (w *writing) next(at time.Time) time.Time { return w.on(at.Year(), at.Month(), at.Day()+w.days()) }
func (w *writing) before(at time.Time) time.Time {
	return w.on(at.Year(), at.Month(), at.Day()-w.days())
}

func (w *writing) days() int {
	if w.Weekly {
		return 7
	}
	return 1
}

func (w *writing) on(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, int(w.At/time.Hour), int(w.At%time.Hour/time.Minute), 0, 0, w.Zone)
}

// prefix is the beginning of the Message-IDs of a day's letters.
func prefix(at time.Time) string { return "digest." + at.Format("20060102") + "." }

// write writes the letter that was due at a moment, unless that was done or is too late.
func (w *writing) write(ctx context.Context, at, now time.Time) error {
	a, err := w.o.Host.Account(ctx, w.Name)
	if err != nil {
		return err
	}
	todays, stale, err := w.letters(ctx, a, at, now)
	if err != nil {
		return err
	}
	for _, l := range stale {
		if err := w.settle(ctx, a, l.Number, false); err != nil {
			return err
		}
		w.log.Warn("a digest mail was not written in time", "intended", l.Intended.Time())
	}
	if todays != nil && todays.State != store.LetterSending || now.Sub(at) > late {
		return nil
	}
	c, err := w.gather(ctx, w.before(at), at)
	if err != nil || c.empty() && todays == nil {
		return err
	}
	if todays == nil {
		if todays, err = w.intend(ctx, a, at); err != nil {
			return err
		}
	}
	raw, err := w.compose(c, todays.MessageID, now)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, postPatience)
	defer cancel()
	if err := a.Post(ctx, w.Mailbox, todays.MessageID, raw); err != nil {
		return err
	}
	return w.settle(context.WithoutCancel(ctx), a, todays.Number, true)
}

// letters returns the letter of the day of at, nil if there is none, and those that will
// not be written any more.
func (w *writing) letters(ctx context.Context, a desk.Account, at, now time.Time) (todays *filter.Letter, stale []filter.Letter, err error) {
	err = a.Look(ctx, desk.State, func(d *desk.Desk) error {
		if d.Filter.State().Account.Paused {
			return desk.ErrPaused
		}
		for _, l := range d.Filter.Letters() {
			switch ours := strings.HasPrefix(l.MessageID, prefix(at)); {
			case l.State == store.LetterSending && (!ours || now.Sub(at) > late):
				stale = append(stale, l)
			case ours:
				todays = &l
			}
		}
		return nil
	})
	return todays, stale, err
}

// intend enters a letter in the ledger.
func (w *writing) intend(ctx context.Context, a desk.Account, at time.Time) (*filter.Letter, error) {
	var secret [16]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return nil, err
	}
	id := prefix(at) + hex.EncodeToString(secret[:]) + "@" + domain
	var entered *filter.Letter
	err := a.Change(ctx, func(d *desk.Desk) error {
		if _, err := d.Apply(&filter.LetterIntended{At: d.Now(), Mailbox: w.Mailbox, MessageID: id}); err != nil {
			return err
		}
		for _, l := range d.Filter.Letters() {
			if l.MessageID == id {
				entered = &l
			}
		}
		return nil
	})
	if err == nil && entered == nil {
		err = desk.ErrPaused // in between
	}
	return entered, err
}

func (w *writing) settle(ctx context.Context, a desk.Account, number uint64, sent bool) error {
	err := a.Change(ctx, func(d *desk.Desk) error {
		_, err := d.Apply(&filter.LetterSettled{At: d.Now(), Ledger: number, Sent: sent})
		return err
	})
	if err != nil {
		return fmt.Errorf("enter what became of a digest mail: %w", err)
	}
	return nil
}
