// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/emersion/go-imap/v2"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/program/bootstrap"
	"github.com/hinged/hinged/internal/program/daemon"
)

// Options say how the demo goes.
type Options struct {
	Messages int    // to deliver
	Mark     string // keyword or flag that the daemon sets
	// Fast delivers as fast as everybody keeps up, ends by itself, and is an error
	// when the loop did not work. Every step waits for the one before, so that two
	// runs decide alike.
	Fast bool
	// Span is over what time the messages come, unless Fast.
	Span time.Duration
	// Patience is how long the daemon may take over any one step; 0 is a minute.
	Patience time.Duration

	// Bootstrap reads the past into the store of a configuration file, as `hinged
	// bootstrap` does.
	Bootstrap func(ctx context.Context, path string, log *slog.Logger) (bootstrap.Report, error)
	// Open builds the daemon from a configuration file, as `hinged run` does, and opens its
	// dashboard. Once the daemon has run, stop ends that.
	Open func(ctx context.Context, path string, log *slog.Logger) (d *daemon.Daemon, stop func() error, err error)
	// Explain prints an explanation as `hinged explain` does.
	Explain func(io.Writer, desk.Explanation) error
	// Program is what to type to call hinged from another terminal.
	Program string
	Screen  *Screen
}

// ErrLoop is returned by a fast demo whose loop did not work.
var ErrLoop = errors.New("the demo did not work as it should")

const account = "nora"

const seed = 8

// stage is everything of a running demo. Its methods belong to one goroutine.
type stage struct {
	o       Options
	screen  *Screen
	dir     string
	config  string // path
	host    Host
	daemon  *daemon.Daemon
	url     string // opens its dashboard, once
	postman *hand
	owner   *hand
	plan    *Plan
	start   time.Time // in the time zone of the account
	tally   tally
	began   time.Time // of the live part
	there   map[string]int
}

// Run plays the demo until it is over or ctx is done, which is no error, and
// leaves nothing behind. The Summary is nil when nothing was delivered.
func Run(ctx context.Context, o Options) (sum *Summary, err error) {
	if o.Patience == 0 {
		o.Patience = time.Minute
	}
	s := &stage{o: o, screen: o.Screen, there: map[string]int{}}
	if s.dir, err = os.MkdirTemp("", "hinged-demo"); err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	var undo []func() error
	defer func() {
		s.screen.footer(nil)
		for i := len(undo) - 1; i >= 0; i-- {
			err = errors.Join(err, undo[i]())
		}
	}()
	undo = append(undo, func() error { return os.RemoveAll(s.dir) })

	logFile, err := os.OpenFile(filepath.Join(s.dir, "hinged.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	undo = append(undo, logFile.Close)
	log := slog.New(slog.NewTextHandler(logFile, nil))

	e, err := startEmbedded(ctx, log)
	if err != nil {
		return nil, quiet(ctx, err)
	}
	undo = append(undo, e.close)
	s.host = e.Host
	for _, h := range []**hand{&s.postman, &s.owner} {
		if *h, err = reach(context.WithoutCancel(ctx), s.host); err != nil {
			return nil, quiet(ctx, err)
		}
		undo = append(undo, func() error { (*h).close(); return nil })
	}
	span := o.Span
	if o.Fast {
		span = time.Duration(o.Messages) * 40 * time.Millisecond // about what it takes
	}
	if s.start, err = night(time.Now()); err != nil {
		return nil, err
	}
	s.plan = NewPlan(seed, s.start, o.Messages, span)
	if err := s.history(ctx); err != nil {
		return nil, quiet(ctx, err)
	}
	if err := s.writeConfig(); err != nil {
		return nil, err
	}
	s.screen.line(fmt.Sprintf("%s's mailbox, on an embedded IMAP server: %d messages of the last %d days.", OwnerName, len(s.plan.History), HistoryDays))
	past, err := o.Bootstrap(ctx, s.config, log)
	if err != nil || ctx.Err() != nil {
		return nil, quiet(ctx, err)
	}
	s.screen.line(fmt.Sprintf("hinged bootstrap has read them: of %d whose worth she has shown, it would have decided %d wrongly, knowing nothing at first.",
		past.Judgement.Messages, past.Judgement.Wrong))
	err = s.live(ctx, log, func(ctx, running context.Context) error {
		err := s.play(ctx, running)
		if len(s.tally.order) > 0 {
			sum = s.summary(running)
		}
		if err == nil || ctx.Err() != nil && !errors.Is(context.Cause(ctx), errStopped) {
			err = s.close(ctx, running, sum)
		}
		return err
	})
	return sum, err
}

// live runs the daemon for as long as play takes. play's second context is the
// daemon's own, which outlives a Ctrl-C for as long as the summary needs it.
func (s *stage) live(ctx context.Context, log *slog.Logger, play func(ctx, running context.Context) error) error {
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	var stop func() error
	var err error
	if s.daemon, stop, err = s.o.Open(running, s.config, log); err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	ended := make(chan error, 1)
	go func() {
		err := s.daemon.Run(running)
		if running.Err() == nil {
			fail(errStopped)
		}
		ended <- err
	}()
	err = play(ctx, running)
	if errors.Is(context.Cause(ctx), errStopped) {
		err = errStopped // and what it stopped over, below
	}
	end()
	return errors.Join(err, <-ended, stop(), s.daemon.Close())
}

var errStopped = errors.New("the daemon stopped by itself")

// quiet drops the error of something that was interrupted.
func quiet(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}

func (s *stage) history(ctx context.Context) error {
	for _, m := range s.plan.History {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		mailbox := inbox
		var flags []imap.Flag
		switch {
		case m.Junks:
			mailbox = "Junk"
		case m.Discards:
			mailbox = "Trash"
		case m.Reply != nil:
			flags = append(flags, imap.FlagSeen, imap.FlagAnswered)
		case m.Important && m.Stars:
			flags = append(flags, imap.FlagSeen, imap.FlagFlagged)
		case m.Reads:
			flags = append(flags, imap.FlagSeen)
		}
		if _, err := s.postman.put(mailbox, m.Raw, m.Date, flags...); err != nil {
			return err
		}
		s.there[mailbox]++
		if m.Reply == nil {
			continue
		}
		if _, err := s.postman.put("Sent", m.Reply.Raw, m.Reply.Date, imap.FlagSeen); err != nil {
			return err
		}
		s.there["Sent"]++
		s.tally.know(m.Reply.To)
	}
	return nil
}

// writeConfig writes the configuration, as a person would, and the password.
func (s *stage) writeConfig() error {
	settle, poll := time.Second, time.Second
	if s.o.Fast {
		settle, poll = 50*time.Millisecond, 100*time.Millisecond
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# Written by "hinged demo"; gone when it ends.
state_dir = "state"
socket = "hinged.sock"

# The pages in your browser: on a port that is free.
[dashboard]
listen = "127.0.0.1:0"

[[account]]
name = %q
owner = [%q]
mark = [%s]
time_zone = %q
# Your own account would begin in shadow: it decides and marks nothing until it
# has learnt enough. Here it may mark at once.
shadow = "off"
# How long a correction must stand before it counts: 60 s by default.
settle = "%v"

[account.imap]
address = %q
tls = "none" # it does not leave this machine
username = %q
password_file = "password"
poll_interval = "%v"
`, account, OwnerAddress, strconv.Quote(s.o.Mark), s.start.Location(), settle, s.host.Addr, s.host.User, poll)
	s.config = filepath.Join(s.dir, "hinged.toml")
	err := os.WriteFile(filepath.Join(s.dir, "password"), []byte(s.host.Password+"\n"), 0o600)
	if err == nil {
		err = os.WriteFile(s.config, []byte(b.String()), 0o600)
	}
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	return nil
}
