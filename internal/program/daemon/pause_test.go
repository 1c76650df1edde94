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

func launched(t *testing.T, dir string, s *server) *Daemon {
	t.Helper()
	d, _ := launch(t, options(dir, from("me", testOptions(), s)), nil)
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
	d := launched(t, t.TempDir(), s)
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
	sound(t, d)
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
	d := launched(t, t.TempDir(), s)
	ctx := context.Background()
	for range 30 {
		errs := make(chan error, 2)
		go func() { _, err := do(ctx, d, desk.Pause, "", desk.SwitchRequest{}); errs <- err }()
		go func() { _, err := do(ctx, d, desk.Resume, "", desk.SwitchRequest{}); errs <- err }()
		testkit.OK(t, errors.Join(<-errs, <-errs))
	}
	must(t, d, desk.Resume, desk.SwitchRequest{})
	until(t, d, "every message", func(a desk.AccountStatus) bool { return a.Messages == 3000 })
}

func TestAPausedAccountStartsPaused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, s, stop := began(t, dir)
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
	d = launched(t, dir, srv)
	until(t, d, "the pause", func(a desk.AccountStatus) bool { return a.Paused })
	if _, err := do(context.Background(), d, desk.Label, "", desk.LabelRequest{Label: "important", Messages: []desk.Message{{Name: "<m1@x>"}}}); !errors.Is(err, desk.ErrPaused) {
		t.Errorf("learning while paused gave %v, want ErrPaused", err)
	}
	if srv.runs.Load() != 0 {
		t.Error("the source ran")
	}
	must(t, d, desk.Resume, desk.SwitchRequest{})
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
			d, s, stop := began(t, dir)
			teach(s)
			until(t, d, "both lessons", func(a desk.AccountStatus) bool { return a.Messages == 2 })
			stop()

			ctx, cancel := context.WithCancel(t.Context())
			copied := 0
			o := options(dir, from("me", testOptions(), newScript()))
			o.Store.Hooks = boltfile.Hooks{Copy: 500, Step: func(step string) error {
				if step == "copied" {
					copied++
					cancel()
				}
				return nil
			}}
			d, err := New(o)
			testkit.OK(t, err)
			done := make(chan error, 1)
			go func() { done <- d.Run(ctx) }()
			said := ask(dialled(t, dir))
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
			testkit.OK(t, d.Close())
			if copied != 1 {
				t.Errorf("it went on copying: %d transactions", copied)
			}

			d, _ = start(t, dir, newScript())
			await(t, "what was forgotten gone from free pages", func() (any, bool) {
				due, err := d.store.ScrubDue()
				testkit.OK(t, err)
				return nil, !due
			})
		})
	}
}

// startIdle runs a daemon over n accounts, each of which has read one message of
// size bytes and waits, until the test ends.
func startIdle(tb testing.TB, n, size int) {
	tb.Helper()
	o := options(tb.TempDir())
	var sources []*script
	for i := range n {
		s := newScript()
		s.events = make(chan ingest.Event, 2) // what waits in a longer one is not the daemon's
		sources = append(sources, s)
		o.Accounts = append(o.Accounts, from(fmt.Sprint("me", i), testOptions(), s))
	}
	d, _ := launch(tb, o, nil)
	text := mail(0, "a@example.org", "words")
	for len(text) < size {
		text = fmt.Appendf(text, "word%d and another line of it\r\n", len(text))
	}
	for _, s := range sources {
		s.events <- opened
		s.events <- arrival(1, text)
	}
	await(tb, "all messages read", func() (any, bool) {
		read := 0
		for _, a := range must(tb, d, desk.GetStatus, desk.None{}).Accounts {
			read += int(a.Messages)
		}
		return read, read == n
	})
}

// What reads messages is shared: an account of its own has the goroutines of its
// source and its writer, on however many processors.
func TestAnIdleAccountHasNoGoroutinesToReadWith(t *testing.T) {
	const accounts, each, processors = 20, 5, 64
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
	before := runtime.NumGoroutine()
	startIdle(t, accounts, 0)
	await(t, "few goroutines", func() (any, bool) {
		n := runtime.NumGoroutine() - before
		return n, n <= accounts*each
	})
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
