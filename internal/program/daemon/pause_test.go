// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store/boltfile"
)

// server is a source over a mailbox that remembers what it was told to resume
// from: each run reports all messages from the known position on, and then what
// comes live.
type server struct {
	running atomic.Int32
	runs    atomic.Int32
	mail    func() [][]byte // all messages, by UID from 1
	more    chan struct{}   // there may be new mail
	known   []ingest.Known
	marked  atomic.Int32
}

func (s *server) Mark(requests ...ingest.MarkRequest) { s.marked.Add(int32(len(requests))) }
func (s *server) Status() ingest.Status               { return ingest.Status{Connected: s.running.Load() > 0} }

func (s *server) Run(ctx context.Context, emit ingest.Emit) error {
	s.running.Add(1)
	s.runs.Add(1)
	defer s.running.Add(-1)
	next := uint32(1)
	if len(s.known) > 0 {
		next = s.known[0].UIDNext
	}
	if emit(ctx, opened) != nil {
		return nil
	}
	for {
		for all := s.mail(); int(next) <= len(all); next++ {
			if emit(ctx, arrival(next, all[next-1])) != nil ||
				emit(ctx, ingest.Cursor{Mailbox: "INBOX", UIDValidity: 1, UIDNext: next + 1, BacklogBefore: 1}) != nil {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.more:
		}
	}
}

func startServer(t *testing.T, dir string, s *server) *Daemon {
	t.Helper()
	d, _ := startSource(t, dir, func(known []ingest.Known) (ingest.Source, error) { s.known = known; return s, nil }, nil)
	return d
}

func TestAPauseStopsTheSourceAndAResumeGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	var count atomic.Int32
	var all [][]byte
	for i := range 2000 {
		all = append(all, mail(i, "a@example.com", fmt.Sprint("words ", i)))
	}
	s := &server{more: make(chan struct{}, 1), mail: func() [][]byte { return all[:count.Load()] }}
	more := func(n int32) {
		count.Add(n)
		select {
		case s.more <- struct{}{}:
		default:
		}
	}
	d := startServer(t, t.TempDir(), s)
	ctx := context.Background()
	for i := range 20 {
		more(100)
		if i%3 == 0 {
			until(t, d, "some messages", func(a desk.AccountStatus) bool { return a.Messages > uint64(100*i) })
		}
		// In the middle of the stream, most times.
		if p, err := do(ctx, d, desk.Pause, "", desk.SwitchRequest{}); err != nil || !p[0].Paused || !p[0].Changed || p[0].Since == nil {
			t.Fatalf("pause gave %+v, %v", p, err)
		}
		if n := s.running.Load(); n != 0 {
			t.Fatalf("after the pause %d runs of the source go on", n)
		}
		before := until(t, d, "the pause", func(a desk.AccountStatus) bool { return a.Paused && a.PausedSince != nil && !a.Connected })
		if i%4 == 0 {
			more(0)
			if p, err := do(ctx, d, desk.Pause, "", desk.SwitchRequest{}); err != nil || p[0].Changed {
				t.Fatalf("paused again: %+v, %v", p, err)
			}
			if after := until(t, d, "it still", func(a desk.AccountStatus) bool { return a.Paused }); after.Messages != before.Messages {
				t.Fatalf("messages went from %d to %d while paused", before.Messages, after.Messages)
			}
		}
		if r, err := do(ctx, d, desk.Resume, "", desk.SwitchRequest{}); err != nil || r[0].Paused || !r[0].Changed {
			t.Fatalf("resume gave %+v, %v", r, err)
		}
	}
	until(t, d, "every message", func(a desk.AccountStatus) bool { return a.Messages == 2000 && !a.Paused })
	v, err := do(ctx, d, desk.Verify, "", desk.VerifyRequest{})
	if err != nil || !v.OK {
		t.Fatalf("verify: %+v, %v", v, err)
	}
	if s.runs.Load() != 21 {
		t.Errorf("the source ran %d times, want 21", s.runs.Load())
	}
}

// A pause and a resume that cross each other lose nothing either.
func TestPausesAndResumesAtOnceLoseNothing(t *testing.T) {
	t.Parallel()
	var all [][]byte
	for i := range 3000 {
		all = append(all, mail(i, "a@example.com", fmt.Sprint("words ", i)))
	}
	s := &server{more: make(chan struct{}, 1), mail: func() [][]byte { return all }}
	d := startServer(t, t.TempDir(), s)
	ctx := context.Background()
	for range 30 {
		errs := make(chan error, 2)
		go func() { _, err := do(ctx, d, desk.Pause, "", desk.SwitchRequest{}); errs <- err }()
		go func() { _, err := do(ctx, d, desk.Resume, "", desk.SwitchRequest{}); errs <- err }()
		testkit.OK(t, errors.Join(<-errs, <-errs))
	}
	if _, err := do(ctx, d, desk.Resume, "", desk.SwitchRequest{}); err != nil {
		t.Fatal(err)
	}
	until(t, d, "every message", func(a desk.AccountStatus) bool { return a.Messages == 3000 })
}

func TestAPausedAccountStartsPaused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newScript()
	d, stop := start(t, dir, s)
	teach(s)
	until(t, d, "two lessons", func(a desk.AccountStatus) bool { return a.Important+a.Ordinary == 2 })
	stop()
	off, err := OpenStore(filepath.Join(dir, "store.db"), "test", boltfile.Options{})
	testkit.OK(t, err)
	if p, err := do(context.Background(), off, desk.Pause, "", desk.SwitchRequest{}); err != nil || !p[0].Changed {
		t.Fatalf("pause gave %+v, %v", p, err)
	}
	until(t, off, "the pause in the store", func(a desk.AccountStatus) bool { return a.Paused })
	testkit.OK(t, off.Close())

	all := [][]byte{mail(1, "boss@example.com", "urgent matter"), mail(2, "news@example.net", "newsletter"), mail(3, "boss@example.com", "urgent thing")}
	srv := &server{more: make(chan struct{}, 1), mail: func() [][]byte { return all }}
	d = startServer(t, dir, srv)
	until(t, d, "the pause", func(a desk.AccountStatus) bool { return a.Paused })
	if _, err := do(context.Background(), d, desk.Label, "", desk.LabelRequest{Label: "important", Messages: []desk.Message{{Name: "<m1@x>"}}}); !errors.Is(err, desk.ErrPaused) {
		t.Errorf("learning while paused gave %v, want ErrPaused", err)
	}
	if srv.runs.Load() != 0 {
		t.Error("the source ran")
	}
	if _, err := do(context.Background(), d, desk.Resume, "", desk.SwitchRequest{}); err != nil {
		t.Fatal(err)
	}
	until(t, d, "the third message", func(a desk.AccountStatus) bool { return a.Messages == 3 })
}

// TestADaemonEndsInTheMidstOfWhatItWasAskedFor: what may take minutes ends when the daemon
// is to end, says so, and what is left of it is done after the next start.
func TestADaemonEndsInTheMidstOfWhatItWasAskedFor(t *testing.T) {
	t.Parallel()
	for what, ask := range map[string]func(*control.At) (said string){
		"compact": func(c *control.At) string {
			_, err := control.Ask(context.Background(), c, desk.Verify, "", desk.VerifyRequest{Compact: true})
			if err == nil {
				return "it is compact"
			}
			return err.Error()
		},
		"forget": func(c *control.At) string {
			f, err := control.Ask(context.Background(), c, desk.Forget, "me", desk.ForgetRequest{Sender: "boss@example.com"})
			if err != nil || f.Messages != 1 || f.Scrubbed {
				t.Errorf("forgetting gave %+v, %v; want one message forgotten, and still in free pages", f, err)
			}
			return f.Why
		},
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			s := newScript()
			d, stop := start(t, dir, s)
			teach(s)
			until(t, d, "both lessons", func(a desk.AccountStatus) bool { return a.Messages == 2 })
			stop()

			ctx, cancel := context.WithCancel(t.Context())
			copied := 0
			o := Options{
				StorePath: filepath.Join(dir, "store.db"), Socket: filepath.Join(dir, "s"),
				Store: boltfile.Options{NoSync: true, Hooks: boltfile.Hooks{Copy: 500, Step: func(step string) error {
					if step == "copied" {
						copied++
						cancel()
					}
					return nil
				}}},
				Accounts: []AccountOptions{{Name: "me", Filter: testOptions(), NewSource: func(known []ingest.Known) (ingest.Source, error) {
					again := newScript()
					again.known = known
					return again, nil
				}}},
			}
			d, err := New(o)
			testkit.OK(t, err)
			done := make(chan error, 1)
			go func() { done <- d.Run(ctx) }()
			client, err := control.Dial(t.Context(), o.Socket)
			testkit.OK(t, err)
			said := ask(client)
			if !strings.Contains(said, "stopping") && !strings.Contains(said, "interrupted") {
				t.Errorf("it said %q", said)
			}
			select {
			case err := <-done:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(5 * time.Minute):
				t.Fatal("the daemon did not end")
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			if copied != 1 {
				t.Errorf("it went on copying: %d transactions", copied)
			}

			d, _ = start(t, dir, newScript())
			for end := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Millisecond) {
				due, err := d.store.ScrubDue()
				if err != nil || time.Now().After(end) {
					t.Fatalf("what was forgotten is in free pages still: %v", err)
				}
				if !due {
					break
				}
			}
		})
	}
}

// startIdle runs a daemon over n accounts, each of which has read one message of
// size bytes and waits, until the test ends.
func startIdle(tb testing.TB, n, size int) {
	tb.Helper()
	o := Options{StorePath: filepath.Join(tb.TempDir(), "store.db"), Store: boltfile.Options{NoSync: true}}
	var sources []*script
	for i := range n {
		s := newScript()
		s.events = make(chan ingest.Event, 2) // what waits in a longer one is not the daemon's
		sources = append(sources, s)
		o.Accounts = append(o.Accounts, AccountOptions{
			Name: fmt.Sprint("me", i), Filter: testOptions(),
			NewSource: func([]ingest.Known) (ingest.Source, error) { return s, nil },
		})
	}
	d, err := New(o)
	testkit.OK(tb, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			tb.Errorf("Run: %v", err)
		}
		if err := d.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	text := mail(0, "a@example.org", "words")
	for len(text) < size {
		text = fmt.Appendf(text, "word%d and another line of it\r\n", len(text))
	}
	for _, s := range sources {
		s.events <- opened
		s.events <- arrival(1, text)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		s, err := d.Status(context.Background())
		testkit.OK(tb, err)
		read := 0
		for _, a := range s.Accounts {
			read += int(a.Messages)
		}
		if read == n {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("%d of %d messages were read", read, n)
		}
	}
}

// What reads messages is shared: an account of its own has the goroutines of its
// source and its writer, on however many processors.
func TestAnIdleAccountHasNoGoroutinesToReadWith(t *testing.T) {
	const accounts, each, processors = 20, 5, 64
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
	before := runtime.NumGoroutine()
	startIdle(t, accounts, 0)
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		n := runtime.NumGoroutine() - before
		if n <= accounts*each {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d accounts have %d goroutines, more than %d each", accounts, n, each)
		}
	}
}

// BenchmarkIdleAccounts measures what accounts cost a daemon that wait for mail,
// the connections of their sources aside. Each has read one message of 35 KB. Run
// with -benchtime 1x.
func BenchmarkIdleAccounts(b *testing.B) {
	for range b.N {
		const accounts = 1000
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		goroutines := runtime.NumGoroutine()
		startIdle(b, accounts, 35_000)
		runtime.GC()
		runtime.GC() // what finalizers let go of
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapInuse+after.StackInuse-before.HeapInuse-before.StackInuse)/accounts/1024, "KiB/account")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/accounts, "goroutines/account")
		b.ReportMetric(0, "ns/op")
	}
}
