// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/hinged/hinged/internal/face/desk"
)

// Times.
const (
	// gather is how long after the first message others are waited for. More than
	// mostSingly are told together.
	gather     = 2 * time.Second
	mostSingly = 3

	retryFirst = time.Second
	retryLast  = 15 * time.Minute
	// grace is for what is being sent when hinged stops.
	grace = 3 * time.Second
)

// line tells one target. Its goroutine owns all but in and missed.
type line struct {
	to    Target
	now   func() time.Time
	after func(time.Duration) <-chan time.Time
	log   *slog.Logger
	path  string
	send  func(context.Context, *Target, *Notification) error

	in     chan desk.Shown
	missed atomic.Int64 // messages that found in full

	mem       memory
	items     map[string]item // what is known of those that wait, by key
	wait      *backoff.ExponentialBackOff
	notBefore time.Time // of the next attempt, after a failed one
}

func newBackOff() *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{InitialInterval: retryFirst, MaxInterval: retryLast, Multiplier: 2, RandomizationFactor: 0.3}
}

// load reads what an earlier run noted. Without that, some may be reported twice, which is
// better than to tell nothing.
func (l *line) load() {
	var err error
	if l.mem, err = readMemory(l.path); err == nil {
		return
	}
	l.log.Warn("can't read what the owner was told; beginning anew", "error", err)
	if errors.Is(err, errDamaged) {
		if err := os.Rename(l.path, l.path+".damaged"); err != nil {
			l.log.Warn("can't set the damaged file aside", "error", err)
		}
	}
}

func (l *line) run(ctx context.Context) {
	l.load()
	for ctx.Err() == nil {
		n, batch, again := l.due(l.now())
		if n != nil {
			l.tell(ctx, n, batch)
			continue
		}
		var timer <-chan time.Time
		if !again.IsZero() {
			timer = l.after(max(again.Sub(l.now()), time.Millisecond))
		}
		select {
		case s := <-l.in:
			l.take(s)
		case <-timer:
		case <-ctx.Done():
		}
	}
	// What came last is reported after the next start.
	for {
		select {
		case s := <-l.in:
			l.take(s)
			continue
		default:
		}
		return
	}
}

func (l *line) take(s desk.Shown) {
	if s.Deed == desk.DeedMarked || s.Deed == desk.DeedConsented { // mail is read: the next time it isn't is told anew
		l.mem.Told = slices.DeleteFunc(l.mem.Told, func(key string) bool { return key == desk.AboutConsent })
	}
	if s.Deed == desk.DeedConsented {
		l.mem.Waiting = slices.DeleteFunc(l.mem.Waiting, func(w waiting) bool { return w.Key == desk.AboutConsent })
		l.keep()
		return
	}
	if s.Deed != desk.DeedMarked && s.Deed != desk.DeedBarred {
		// The mark was taken back, or the owner has said what the message is: there is
		// nothing to tell any more.
		i := slices.IndexFunc(l.mem.Waiting, func(w waiting) bool { return w.Key == s.Message })
		if i < 0 {
			return
		}
		l.mem.told(l.mem.Waiting[i])
		delete(l.items, s.Message)
		l.keep()
		return
	}
	if l.mem.knows(s.Message) {
		return
	}
	l.mem.More += int(l.missed.Swap(0))
	if len(l.mem.Waiting) == mostWaiting {
		l.mem.More++
		l.mem.Told = append(l.mem.Told, s.Message)
		l.mem.told()
	} else {
		now := l.now()
		_, held := l.quiet(now)
		l.mem.Waiting = append(l.mem.Waiting, waiting{Key: s.Message, At: now.UTC(), Held: held})
		l.items[s.Message] = item{s.From, s.Subject, s.Why}
	}
	l.keep()
}

// keep makes what is known durable. If that fails, what waits is reported all the same.
func (l *line) keep() {
	if err := l.mem.write(l.path); err != nil {
		l.log.Warn("can't note what the owner was told; after a restart it may be told again", "error", err)
	}
}

// due returns what to report at this moment, and about which messages; or else when to
// ask again, zero: when something came.
func (l *line) due(now time.Time) (n *Notification, batch []waiting, again time.Time) {
	if len(l.mem.Waiting)+l.mem.More == 0 {
		return nil, nil, time.Time{}
	}
	if end, quiet := l.quiet(now); quiet {
		return nil, nil, end
	}
	if now.Before(l.notBefore) {
		return nil, nil, l.notBefore
	}
	if i := slices.IndexFunc(l.mem.Waiting, func(w waiting) bool { return w.Key == desk.AboutConsent }); i >= 0 {
		return l.to.consent(l.mem.Waiting[i], l.items[desk.AboutConsent]), slices.Clone(l.mem.Waiting[i : i+1]), time.Time{}
	}
	if len(l.mem.Waiting) > 0 {
		// Not for long if the clock was set back.
		if age := now.Sub(l.mem.Waiting[0].At); age >= 0 && age < gather {
			return nil, nil, now.Add(gather - age)
		}
	}
	if day := now.In(l.to.Zone).Format(time.DateOnly); day != l.mem.Day {
		l.mem.Day, l.mem.Sent = day, 0
	}
	if l.to.PerDay > 0 && l.mem.Sent >= l.to.PerDay {
		l.log.Debug("the owner is told no more today (per_day)", "messages", len(l.mem.Waiting)+l.mem.More)
		l.mem.told(slices.Clone(l.mem.Waiting)...)
		l.mem.More = 0
		clear(l.items)
		l.keep()
		return nil, nil, time.Time{}
	}
	first := waiting{Held: true}
	if len(l.mem.Waiting) > 0 {
		first = l.mem.Waiting[0]
	}
	it, known := l.items[first.Key]
	alone := len(l.mem.Waiting)+l.mem.More == 1
	switch {
	case known && (alone || !first.Held && l.mem.More == 0 && len(l.mem.Waiting) <= mostSingly):
		n, batch = l.to.message(first, it), []waiting{first}
	default:
		batch = slices.Clone(l.mem.Waiting)
		n = l.to.summary(batch, l.mem.More, l.items)
	}
	if n.LastToday = l.mem.Sent+1 == l.to.PerDay; n.LastToday {
		n.Text += ". This is the last one today."
	}
	return n, batch, time.Time{}
}

// tell sends a notification. It is noted as sent before, and taken back should it fail.
func (l *line) tell(ctx context.Context, n *Notification, batch []waiting) {
	more := max(0, n.Count-len(batch))
	l.mem.told(batch...)
	l.mem.More -= more
	l.mem.Sent++
	l.keep()

	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var hurry atomic.Pointer[time.Timer]
	unhook := context.AfterFunc(ctx, func() { hurry.Store(time.AfterFunc(grace, cancel)) })
	err := l.send(sending, &l.to, n)
	if unhook(); hurry.Load() != nil {
		hurry.Load().Stop()
	}
	if err == nil {
		l.wait.Reset()
		l.notBefore = time.Time{}
		for _, w := range batch {
			delete(l.items, w.Key)
		}
		l.log.Debug("told the owner", "messages", n.Count)
		return
	}
	if ctx.Err() != nil && sending.Err() != nil {
		l.log.Warn("stopped while the owner was told: that may have gone through or not", "error", err)
		return
	}
	l.mem.untold(batch)
	l.mem.More += more
	l.mem.Sent--
	l.keep()
	pause := l.wait.NextBackOff()
	var asked *pauseError
	if errors.As(err, &asked) {
		pause = max(pause, min(asked.pause, retryLast))
	}
	l.notBefore = l.now().Add(pause)
	l.log.Warn("can't tell the owner of important mail; trying again", "error", err, "wait", pause)
}

// quiet reports whether nothing may be sent now, and until when.
func (l *line) quiet(now time.Time) (end time.Time, quiet bool) {
	from, to := l.to.QuietFrom, l.to.QuietTo
	if from == to {
		return end, false
	}
	local := now.In(l.to.Zone)
	since := time.Duration(local.Hour())*time.Hour + time.Duration(local.Minute())*time.Minute + time.Duration(local.Second())*time.Second
	switch {
	case from < to:
		quiet = since >= from && since < to
	default:
		quiet = since >= from || since < to
	}
	if !quiet {
		return end, false
	}
	day := local.Day()
	if since >= to {
		day++
	}
	return time.Date(local.Year(), local.Month(), day, int(to/time.Hour), int(to%time.Hour/time.Minute), 0, 0, l.to.Zone), true
}
