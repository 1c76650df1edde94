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

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/host/service"
	"github.com/hinged/hinged/internal/testkit"
)

// aliveFor is patience for what must not answer.
const aliveFor = 50 * time.Millisecond

func TestAStuckWriterGivesNoSignOfLife(t *testing.T) {
	t.Parallel()
	p := newPost(10, "me", "you")
	d := runs(t, t.TempDir(), p.account("me", "1", testOptions()), p.account("you", "1", testOptions()))
	ctx := t.Context()
	if err := d.Alive(ctx); err != nil {
		t.Fatalf("a daemon that runs: %v", err)
	}
	stuck, release := make(chan struct{}), make(chan struct{})
	held := make(chan error, 1)
	go func() {
		held <- d.all()[1].Look(context.Background(), func(*desk.Desk) error { close(stuck); <-release; return nil })
	}()
	<-stuck
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
	close(release)
	if err := errors.Join(<-held, d.Alive(ctx)); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestAWriterThatWaitsForTheDiskIsAlive(t *testing.T) {
	t.Parallel()
	p := newPost(10, "me")
	d := runs(t, t.TempDir(), p.account("me", "1", testOptions()))
	a := d.all()[0]
	stuck, release := make(chan struct{}), make(chan struct{})
	held := make(chan error, 1)
	go func() {
		held <- a.Look(context.Background(), func(*desk.Desk) error {
			a.resting.Store(true) // as commitUntil does between two attempts
			close(stuck)
			<-release
			a.resting.Store(false)
			return nil
		})
	}()
	<-stuck
	if err := d.Alive(t.Context()); err != nil {
		t.Error(err)
	}
	close(release)
	testkit.OK(t, <-held)
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
	stuck, release := make(chan struct{}), make(chan struct{})
	held := make(chan error, 1)
	go func() {
		held <- d.all()[0].Look(context.Background(), func(*desk.Desk) error { close(stuck); <-release; return nil })
	}()
	<-stuck
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
	close(release)
	next("afterwards", "WATCHDOG=1")
	cancel()
	<-watched
	testkit.OK(t, <-held)
}
