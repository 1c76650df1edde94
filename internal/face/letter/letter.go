// SPDX-License-Identifier: Apache-2.0

// Package letter writes messages into the owner's own mailbox: the digest mail, which says
// what hinged marked and why, which answers would teach most, and what was learnt; and until
// marks begin, letters that ask about one message each. A star on such a letter says that
// the message matters, and to throw the letter away says that it doesn't.
//
// Data flow: desk verbs → text → an entry in the account's ledger, committed → APPEND over
// the account's connection → the entry is settled. A letter has a Message-ID of its own that
// is in that entry: an attempt that broke off goes on under the same one, and looks for it
// first. So no letter comes twice, also after a kill. Nobody else can guess the Message-ID,
// and the account neither decides nor learns from the text of a message that has it; what an
// answer teaches, internal/account/filter knows by the entry.
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

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/ledger"
	"github.com/hinged/hinged/internal/face/desk"
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
	// Questions is how many letters a day ask about a message until marks begin.
	Questions int
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
	at, today := w.last(now), w.lastDay(now)
	err := w.write(ctx, at, now)
	if again = w.next(at); err == nil && w.Questions > 0 {
		err, again = w.question(ctx, today, now), w.on(today.Year(), today.Month(), today.Day()+1)
	}
	switch {
	case err == nil:
		w.wait.Reset()
		return again
	case errors.Is(err, desk.ErrPaused):
		return now.Add(pausedLook)
	case ctx.Err() == nil:
		pause := w.wait.NextBackOff()
		w.log.Warn("can't put a letter into the mailbox; trying again", "mailbox", w.Mailbox, "error", err, "wait", pause)
		return now.Add(pause)
	}
	return now
}

func (w *writing) last(now time.Time) time.Time {
	at := w.lastDay(now)
	for w.Weekly && at.Weekday() != time.Monday {
		at = w.on(at.Year(), at.Month(), at.Day()-1)
	}
	return at
}

func (w *writing) lastDay(now time.Time) time.Time {
	local := now.In(w.Zone)
	at := w.on(local.Year(), local.Month(), local.Day())
	if at.After(now) {
		at = w.on(local.Year(), local.Month(), local.Day()-1)
	}
	return at
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

// The kinds of letters, with which their Message-IDs begin.
const (
	digest = "digest."
	asking = desk.QuestionLetters
)

// prefix is the beginning of the Message-IDs of a day's letters of a kind.
func prefix(kind string, at time.Time) string { return kind + at.Format("20060102") + "." }

// write writes the digest mail that was due at a moment, unless that was done or is too late.
func (w *writing) write(ctx context.Context, at, now time.Time) error {
	a, err := w.o.Host.Account(ctx, w.Name)
	if err != nil {
		return err
	}
	todays, err := w.letters(ctx, a, digest, at, now)
	if err != nil || len(todays) > 0 && todays[0].State != store.LetterSending || now.Sub(at) > late {
		return err
	}
	c, err := w.gather(ctx, a, w.before(at), at)
	if err != nil || c.empty() && len(todays) == 0 {
		return err
	}
	if len(todays) == 0 {
		if todays, err = w.intend(ctx, a, digest, at, store.MessageKey{}); err != nil {
			return err
		}
	}
	raw, err := w.compose(w.subject(c), w.text(c), todays[0].MessageID, now)
	if err != nil {
		return err
	}
	return w.post(ctx, a, todays[0], raw)
}

func (w *writing) post(ctx context.Context, a desk.Account, l ledger.Letter, raw []byte) error {
	ctx, cancel := context.WithTimeout(ctx, postPatience)
	defer cancel()
	mail, err := a.Mail()
	if err == nil {
		err = mail.Post(ctx, w.Mailbox, l.MessageID, raw)
	}
	if err != nil {
		return err
	}
	return w.settle(context.WithoutCancel(ctx), a, l.Number, true)
}

// letters returns the letters of a kind of the day of at, by number, and gives up those that
// will not be written any more.
func (w *writing) letters(ctx context.Context, a desk.Account, kind string, at, now time.Time) (todays []ledger.Letter, err error) {
	var stale []ledger.Letter
	err = a.Look(ctx, func(d *desk.Desk) error {
		if d.Filter.State().Account.Paused {
			return desk.ErrPaused
		}
		for _, l := range d.Filter.Ledger().Letters.All() {
			switch ours := strings.HasPrefix(l.MessageID, prefix(kind, at)); {
			case l.State == store.LetterSending && strings.HasPrefix(l.MessageID, kind) && (!ours || now.Sub(at) > late):
				stale = append(stale, l)
			case ours:
				todays = append(todays, l)
			}
		}
		return nil
	})
	for _, l := range stale {
		if err == nil {
			w.log.Warn("a letter was not written in time", "intended", l.Intended.Time())
			err = w.settle(ctx, a, l.Number, false)
		}
	}
	return todays, err
}

// intend enters letters in the ledger, one about each of the messages.
func (w *writing) intend(ctx context.Context, a desk.Account, kind string, at time.Time, about ...store.MessageKey) ([]ledger.Letter, error) {
	var entered []ledger.Letter
	err := a.Change(ctx, func(d *desk.Desk) error {
		for _, k := range about {
			var secret [16]byte
			if _, err := rand.Read(secret[:]); err != nil {
				return err
			}
			id := prefix(kind, at) + hex.EncodeToString(secret[:]) + "@" + domain
			if _, err := d.Apply(&filter.LetterIntended{At: d.Now(), Mailbox: w.Mailbox, MessageID: id, Asks: k}); err != nil {
				return err
			}
		}
		for _, l := range d.Filter.Ledger().Letters.All() {
			if strings.HasPrefix(l.MessageID, prefix(kind, at)) {
				entered = append(entered, l)
			}
		}
		return nil
	})
	if err == nil && len(entered) < len(about) {
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
		return fmt.Errorf("enter what became of a letter: %w", err)
	}
	return nil
}
