// SPDX-License-Identifier: Apache-2.0

// Package service tells a service manager how a daemon is, in the words of systemd's
// sd_notify(3): that it is ready, reloads or stops, one sentence about what it does, and
// signs of life for the watchdog.
//
// Data flow: daemon → Manager → Options.Notify. How a message reaches the service manager
// is the caller's business, as is what being alive means.
package service

import (
	"context"
	"log/slog"
	"strings"
	"time"
)

// statusEvery is how often the sentence is looked after where no watchdog asks for more.
const statusEvery = 30 * time.Second

// Options say who listens. The zero value is for nobody: then a Manager does nothing.
type Options struct {
	// Notify sends one message, lines such as "READY=1"; nil: nobody listens.
	Notify func(state string) error
	// Watchdog is after how long without a sign of life the service manager ends the
	// process; 0: never.
	Watchdog time.Duration
	// Monotonic returns the line MONOTONIC_USEC=… with its line end, which systemd 253
	// wants of a service of Type=notify-reload; nil, or "": there is no such clock.
	Monotonic func() string
	Logger    *slog.Logger // nil discards
}

// Manager speaks to the service manager. Its methods but Watch may be called from one
// goroutine while Watch runs in another.
type Manager struct {
	o     Options
	log   *slog.Logger
	every time.Duration // between two looks at the daemon
}

// New returns a Manager.
func New(o Options) *Manager {
	m := &Manager{o: o, log: o.Logger, every: statusEvery}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	if o.Watchdog > 0 {
		// A look may take as long as this, and there are two more before it is too late.
		m.every = min(statusEvery, o.Watchdog/3)
	}
	return m
}

// Ready says that the daemon has started, or that a reload has ended.
func (m *Manager) Ready(sentence string) { m.say("READY=1", sentence) }

// Stopping says that the daemon is about to end.
func (m *Manager) Stopping() { m.say("STOPPING=1", "stopping") }

// Waiting says why the daemon has not started yet.
func (m *Manager) Waiting(sentence string) { m.say("", sentence) }

// Reloading says that the configuration is being read again. Ready ends that.
func (m *Manager) Reloading() {
	clock := ""
	if m.o.Monotonic != nil {
		clock = m.o.Monotonic()
	}
	m.say(strings.TrimSuffix("RELOADING=1\n"+clock, "\n"), "reading the configuration again")
}

// say sends a message with what the daemon does in one sentence.
func (m *Manager) say(state, sentence string) {
	if m.o.Notify == nil {
		return
	}
	if sentence != "" {
		// A line end would begin another assignment.
		state += "\nSTATUS=" + strings.Join(strings.Fields(sentence), " ")
	}
	if err := m.o.Notify(strings.TrimPrefix(state, "\n")); err != nil {
		m.log.Warn("the service manager was not told", "error", err)
	}
}

// Watched is a daemon that can say how it is.
type Watched interface {
	// Alive returns nil if all that must go on for the daemon to be of use answers
	// before ctx is done.
	Alive(ctx context.Context) error
	// Sentence says what the daemon does, on one line.
	Sentence(ctx context.Context) string
}

// Watch gives signs of life as long as d does, until ctx is done. It returns at once if
// nobody listens.
func (m *Manager) Watch(ctx context.Context, d Watched) {
	if m.o.Notify == nil {
		return
	}
	ticks := time.NewTicker(m.every)
	defer ticks.Stop()
	last := ""
	for {
		last = m.look(ctx, d, last)
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
	}
}

// look gives a sign of life if d does, and says what it does unless that is what was said
// last, which it returns.
func (m *Manager) look(ctx context.Context, d Watched, last string) string {
	patience, cancel := context.WithTimeout(ctx, m.every)
	defer cancel()
	err := d.Alive(patience)
	if ctx.Err() != nil {
		return last // it is about to end
	}
	if err != nil {
		m.log.Error("no sign of life for the service manager", "error", err, "watchdog", m.o.Watchdog)
		m.say("", "not answering: "+err.Error())
		return ""
	}
	now := d.Sentence(patience)
	state := ""
	if m.o.Watchdog > 0 {
		state = "WATCHDOG=1"
	}
	if now == last {
		now = ""
	}
	if state != "" || now != "" {
		m.say(state, now)
	}
	if now == "" {
		return last
	}
	return now
}
