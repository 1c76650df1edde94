// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/host/service"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
)

// aliveFor is patience for what must not answer.
const aliveFor = 50 * time.Millisecond

func TestAStuckWriterGivesNoSignOfLife(t *testing.T) {
	t.Parallel()
	p := newPost(10, "me", "you")
	d := runs(t, t.TempDir(), p.account("me", "1", testOptions()), p.account("you", "1", testOptions()))
	ctx := t.Context()
	testkit.OK(t, d.Alive(ctx))
	release := hold(t, d.all()[1])
	// What is asked beside it may need as long as that on a busy machine.
	for wait := aliveFor; ; wait *= 2 {
		short, cancel := context.WithTimeout(ctx, wait)
		err := d.Alive(short)
		cancel()
		if err != nil && err.Error() == "account you does not answer" {
			break
		}
		if err == nil || !strings.Contains(err.Error(), "account you does not answer") || wait > patience {
			t.Fatalf("with a writer that is stuck: %v", err)
		}
	}
	release()
	testkit.OK(t, d.Alive(ctx))
}

// hold keeps an account's writer busy until release is called.
func hold(t *testing.T, a *account) (release func()) {
	t.Helper()
	begun, ended, held := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		held <- a.do(context.Background(), func() error { close(begun); <-ended; return nil })
	}()
	<-begun
	return func() { t.Helper(); close(ended); testkit.OK(t, <-held) }
}

func TestAWriterThatWaitsForTheDiskIsAlive(t *testing.T) {
	t.Parallel()
	p := newPost(10, "me")
	d := runs(t, t.TempDir(), p.account("me", "1", testOptions()))
	a := d.all()[0]
	release := hold(t, a)
	a.resting.Store(true) // as commitUntil does between two attempts
	testkit.OK(t, d.Alive(t.Context()))
	a.resting.Store(false)
	release()
}

func TestAServerThatDoesNotAnswerGivesNoSignOfLife(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := newPost(10, "me")
	d := runs(t, dir, p.account("me", "1", testOptions()))
	testkit.OK(t, d.Alive(t.Context()))
	testkit.OK(t, os.Remove(filepath.Join(dir, "s")))
	if err := d.Alive(t.Context()); err == nil || !strings.Contains(err.Error(), "the control socket does not answer") {
		t.Errorf("without a server: %v", err)
	}
}

func TestAWarningStandsUntilAnotherTakesItsPlace(t *testing.T) {
	t.Parallel()
	p := newPost(10, "me")
	d := runs(t, t.TempDir(), p.account("me", "1", testOptions()))
	warnings := func() string {
		t.Helper()
		s, err := do(t.Context(), d, desk.GetStatus, "", desk.None{})
		if err != nil || s.Warnings == nil {
			t.Fatal(s, err)
		}
		return strings.Join(s.Warnings, ", ")
	}
	if got := warnings(); got != "" {
		t.Errorf("warnings %q", got)
	}
	d.Warn("b", "second")
	d.Warn("a", "first")
	if got := warnings(); got != "first, second" {
		t.Errorf("warnings %q", got)
	}
	if s := d.Sentence(t.Context()); !strings.HasPrefix(s, "1 account, ") || !strings.HasSuffix(s, "2 warnings (hinged status)") {
		t.Errorf("Sentence() = %q", s)
	}
	d.Warn("b", "")
	d.Warn("a", "other")
	if got := warnings(); got != "other" {
		t.Errorf("warnings %q", got)
	}
}

// The chain from a stuck writer to the watchdog: no sign of life is given while it is stuck.
func TestAStuckWriterMissesTheWatchdog(t *testing.T) {
	t.Parallel()
	p := newPost(10, "me")
	d := runs(t, t.TempDir(), p.account("me", "1", testOptions()))
	told := make(chan string, 1000)
	m := service.New(service.Options{
		Notify:   func(state string) error { told <- state; return nil },
		Watchdog: 3 * aliveFor,
	})
	ctx, cancel := context.WithCancel(t.Context())
	watched := make(chan struct{})
	go func() { m.Watch(ctx, d); close(watched) }()
	next := func(what, begins string) {
		t.Helper()
		for {
			select {
			case s := <-told:
				if strings.HasPrefix(s, begins) {
					return
				}
			case <-time.After(patience):
				t.Fatalf("%s: never told %s", what, begins)
			}
		}
	}
	next("running", "WATCHDOG=1")
	release := hold(t, d.all()[0])
	next("stuck", "STATUS=not answering: account me")
	for range 3 { // whatever was under way has ended by now
		select {
		case s := <-told:
			if strings.HasPrefix(s, "WATCHDOG=1") {
				t.Errorf("told %q of a daemon whose writer is stuck", s)
			}
		case <-time.After(patience):
			t.Fatal("nothing is told any more")
		}
	}
	release()
	next("afterwards", "WATCHDOG=1")
	cancel()
	<-watched
}

// What a request writes to belongs to its caller once do has returned: one that
// was given up before it began never runs, and one that has begun is waited for.
func TestARequestRunsBeforeDoReturnsOrNever(t *testing.T) {
	t.Parallel()
	a := &account{requests: make(chan func(), 1), gone: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ran := false
	for range 100 { // whichever way the selects go
		if err := a.do(ctx, func() error { ran = true; return nil }); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want the end of the context", err)
		}
		select {
		case request := <-a.requests:
			request()
		default:
		}
	}
	if ran {
		t.Error("a request ran after its caller had gone")
	}

	ctx, cancel = context.WithCancel(t.Context())
	finished := false
	go func() { (<-a.requests)() }()
	err := a.do(ctx, func() error {
		cancel()
		finished = true // the race detector sees this when do has returned before
		return nil
	})
	if err != nil || !finished {
		t.Errorf("got %v, finished %v; want a request that has begun to be waited for", err, finished)
	}

	a.requests <- func() {} // so that the next one waits to be taken
	close(a.gone)
	if err := a.do(t.Context(), func() error { return nil }); err == nil {
		t.Error("a stopped account took a request")
	}
}

func TestMailGoesBeforeThoseWhoAsk(t *testing.T) {
	t.Parallel()
	d, s, _ := began(t, t.TempDir())
	a := (*d.accounts.Load())[0]
	for n := 1; n <= 20; n++ { // whichever way a select would go
		release := hold(t, a)
		s.events <- arrival(uint32(n), mail(n, "a@example.com", "words"))
		for len(a.stage.Order()) == 0 {
			time.Sleep(time.Millisecond)
		}
		var messages uint64
		asked := make(chan error, 1)
		go func() {
			asked <- a.do(t.Context(), func() error { messages = desk.Summarise("me", a.filter).Messages; return nil })
		}()
		for len(a.requests) == 0 {
			time.Sleep(time.Millisecond)
		}
		release()
		testkit.OK(t, <-asked)
		if messages != uint64(n) {
			t.Fatalf("who asked was told of %d messages, and %d had come", messages, n)
		}
	}
}

// answerer is a *control.At or a host.
type answerer interface{ Close() error }

func do[Q, A any](ctx context.Context, at answerer, v desk.Verb[Q, A], account string, q Q) (A, error) {
	if at, ok := at.(*control.At); ok {
		return control.Ask(ctx, at, v, account, q)
	}
	return v.Do(ctx, at.(desk.Host), account, q)
}

// digestsOf returns the digests of all accounts.
func digestsOf(ctx context.Context, b answerer) ([]desk.Digest, error) {
	v, err := do(ctx, b, desk.Verify, "", desk.VerifyRequest{})
	return v.Digests(), err
}

// TestHowOldAMessageIs: the older of what the server and what the message says; of the
// latter the last delivery, and what its sender wrote where it tells of none.
func TestHowOldAMessageIs(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	day := func(n int) time.Time { return now.AddDate(0, 0, -n) }
	for _, c := range []struct {
		name                     string
		internal, received, date time.Time
		want                     time.Time
	}{
		{"nothing is known", time.Time{}, time.Time{}, time.Time{}, now},
		{"moved: INTERNALDATE stays", day(100), time.Time{}, time.Time{}, day(100)},
		{"copied by a tool that gives no date", day(0), day(100), day(101), day(100)},
		{"the same, and no delivery is told of", time.Time{}, time.Time{}, day(100), day(100)},
		{"a sender with a wrong clock", day(0), day(0), day(9000), day(0)},
		{"dates in the future", day(-1), day(-2), day(-3), now},
		{"before 1970", day(0), time.Time{}, time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC), time.UnixMilli(1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := convert(prepared{
				event:   ingest.Arrival{Internal: c.internal, ModSeq: 7},
				message: &featurize.Message{Received: c.received, Date: c.date},
			}, store.MomentOf(now))
			testkit.OK(t, err)
			a := e.(*filter.Arrived)
			if a.Dated != store.MomentOf(c.want) || a.Seen != store.MomentOf(now) || a.ModSeq != 7 {
				t.Errorf("dated %v, seen %v, MODSEQ %d; want %v, %v, 7", a.Dated.Time(), a.Seen.Time(), a.ModSeq, c.want, now)
			}
		})
	}
}
