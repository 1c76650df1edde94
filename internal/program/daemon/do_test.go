// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

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
	s := newScript()
	d, _ := start(t, t.TempDir(), s)
	a := (*d.accounts.Load())[0]
	for n := 1; n <= 20; n++ { // whichever way a select would go
		began, hold, held := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			held <- a.do(t.Context(), func() error { close(began); <-hold; return nil })
		}()
		<-began
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
		close(hold)
		testkit.OK(t, errors.Join(<-held, <-asked))
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
