// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/testkit"
)

// patience is how long a test waits for what must come, on the slowest machine.
const patience = 5 * time.Minute

// recorder is a receiver of events that remembers all of them, and builds from
// them what a store would know.
type recorder struct {
	t testing.TB

	mu     sync.Mutex
	cond   *sync.Cond
	events []ingest.Event
	hook   func(ingest.Event) // called without the lock, before the event is recorded
}

func newRecorder(t testing.TB) *recorder {
	r := &recorder{t: t}
	r.cond = sync.NewCond(&r.mu)
	return r
}

func (r *recorder) emit(ctx context.Context, e ingest.Event) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if r.hook != nil {
		r.hook(e)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	r.cond.Broadcast()
	return nil
}

func (r *recorder) all() []ingest.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// await waits until an event, from index from on, satisfies is, and returns it
// and the index behind it.
func (r *recorder) await(what string, from int, is func(ingest.Event) bool) (ingest.Event, int) {
	r.t.Helper()
	timeout := time.AfterFunc(patience, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.cond.Broadcast()
	})
	defer timeout.Stop()
	deadline := time.Now().Add(patience)
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := from; ; {
		for ; i < len(r.events); i++ {
			if is(r.events[i]) {
				return r.events[i], i + 1
			}
		}
		if !time.Now().Before(deadline) {
			r.t.Fatalf("no %s came in %v; got:\n%s", what, patience, describeEvents(r.events[from:]))
		}
		r.cond.Wait()
	}
}

func describeEvents(events []ingest.Event) string {
	var b bytes.Buffer
	for _, e := range events {
		if a, ok := e.(ingest.Arrival); ok {
			fmt.Fprintf(&b, "  Arrival %v %q backlog=%v, %d of %d bytes\n", a.Place, a.Flags, a.Backlog, len(a.Raw), a.Size)
			continue
		}
		fmt.Fprintf(&b, "  %T %+v\n", e, e)
	}
	return b.String()
}

// The things to wait for.
func arrivalOf(mailbox string, uid uint32) func(ingest.Event) bool {
	return func(e ingest.Event) bool {
		a, ok := e.(ingest.Arrival)
		return ok && a.Mailbox == mailbox && a.UID == uid
	}
}

func flagsOf(mailbox string, uid uint32, flags ...string) func(ingest.Event) bool {
	return func(e ingest.Event) bool {
		f, ok := e.(ingest.FlagsChanged)
		return ok && f.Mailbox == mailbox && f.UID == uid && slices.Equal(f.Flags, ingest.CanonicalFlags(flags))
	}
}

func resultOf(id uint64) func(ingest.Event) bool {
	return func(e ingest.Event) bool {
		m, ok := e.(ingest.MarkResult)
		return ok && m.ID == id
	}
}

func cursorOf(mailbox string, next uint32) func(ingest.Event) bool {
	return func(e ingest.Event) bool {
		c, ok := e.(ingest.Cursor)
		return ok && c.Mailbox == mailbox && c.UIDNext == next
	}
}

// known replays events as a store would and returns what it would remember.
// Events behind the last Cursor of a mailbox count too: they were committed.
func known(start []ingest.Known, events []ingest.Event) []ingest.Known {
	boxes := map[string]*ingest.Known{}
	for _, k := range start {
		k.Flags = maps.Clone(k.Flags)
		boxes[k.Mailbox] = &k
	}
	for _, e := range events {
		switch e := e.(type) {
		case ingest.MailboxOpened:
			if k := boxes[e.Mailbox]; k == nil || k.UIDValidity != e.UIDValidity {
				boxes[e.Mailbox] = &ingest.Known{Mailbox: e.Mailbox, UIDValidity: e.UIDValidity, UIDNext: 1, Flags: map[uint32][]string{}}
			}
		case ingest.Arrival:
			boxes[e.Mailbox].Flags[e.UID] = e.Flags
		case ingest.FlagsChanged:
			boxes[e.Mailbox].Flags[e.UID] = e.Flags
		case ingest.Vanished:
			for _, uid := range e.UIDs {
				delete(boxes[e.Mailbox].Flags, uid)
			}
		case ingest.Cursor:
			k := boxes[e.Mailbox]
			k.UIDNext, k.HighestModSeq, k.BacklogBefore = e.UIDNext, e.HighestModSeq, e.BacklogBefore
		case ingest.MarkResult:
			if k := boxes[e.Place.Mailbox]; k != nil && e.Outcome == ingest.MarkDone {
				k.Flags[e.Place.UID] = e.Flags
			}
		}
	}
	var out []ingest.Known
	for _, k := range boxes {
		out = append(out, *k)
	}
	return out
}

// options are those of a test against a server.
func options(addr, username, password string) Options {
	return Options{
		Address: addr, TLS: TLSNone, Username: username,
		Password:     func(context.Context) (string, error) { return password, nil },
		PollInterval: 200 * time.Millisecond,
		BackoffMin:   20 * time.Millisecond, BackoffMax: 200 * time.Millisecond,
		AuthBackoffMin: 50 * time.Millisecond, AuthBackoffMax: 400 * time.Millisecond,
		CommandTimeout: time.Minute, LoginEvery: time.Millisecond,
	}
}

func dovecotOptions(d *testkit.Dovecot) Options {
	o := options(d.Addr, d.User, d.Password)
	if d.TLSConfig != nil {
		o.TLS, o.TLSConfig = TLSImplicit, d.TLSConfig
	}
	return o
}

// running is a source that runs until the test, or stop, ends it.
type running struct {
	*recorder
	source *Source
	stop   func() // ends the run and waits; may be called twice
}

func startSource(t testing.TB, o Options, known ...ingest.Known) *running {
	t.Helper()
	return startWith(t, o, newRecorder(t), known...)
}

func startWith(t testing.TB, o Options, r *recorder, known ...ingest.Known) *running {
	t.Helper()
	if o.Logger == nil && testing.Verbose() {
		o.Logger = slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	s, err := New(o, known)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, r.emit) }()
	var once sync.Once
	stop := func() {
		once.Do(func() {
			cancel()
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("Run returned %v", err)
				}
			case <-time.After(patience):
				t.Errorf("Run did not return %v after its context ended", patience)
			}
		})
	}
	t.Cleanup(stop)
	return &running{recorder: r, source: s, stop: stop}
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Logf("%s", bytes.TrimSpace(p))
	return len(p), nil
}

// awaitProblem waits until the status tells of a problem that holds words.
func awaitProblem(t *testing.T, r *running, words string) (problem string) {
	t.Helper()
	testkit.Until(t, func() bool {
		problem = r.source.Status().Problem
		return strings.Contains(problem, words)
	}, "the status never told of ", words)
	return problem
}

// awaitConnected waits until both connections are up.
func awaitConnected(t *testing.T, r *running) {
	t.Helper()
	testkit.Until(t, func() bool { return r.source.Status().Connected }, "never connected")
}

// boxes has a Fake show its one mailbox under these names. It answers LIST and STATUS.
func boxes(f *testkit.Fake, c *testkit.FakeConn, cmd testkit.FakeCommand, names ...string) bool {
	switch cmd.Name {
	case "LIST":
		for _, name := range names {
			c.Line(`* LIST () "/" %s`, name)
		}
	case "STATUS":
		name, _, _ := strings.Cut(cmd.Args, " ")
		f.Lock()
		defer f.Unlock()
		top := uint64(1)
		for _, m := range f.Messages {
			top = max(top, m.ModSeq)
		}
		c.Line("* STATUS %s (MESSAGES %d UIDNEXT %d UIDVALIDITY %d HIGHESTMODSEQ %d)", name, len(f.Messages), f.UIDNext, f.UIDValidity, top)
	default:
		return false
	}
	c.OK(cmd)
	return true
}
