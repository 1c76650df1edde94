// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"fmt"
	"maps"
	"sync/atomic"
	"testing"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/store"
)

// looked gives the digests of what Look shows.
func looked(t *testing.T, e *Engine) map[string]string {
	t.Helper()
	names, err := e.Accounts()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	if err := e.Look(t.Context(), names, func(name string, f *filter.Filter) {
		_, out[name] = store.Digest(f.State())
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestALookIsAtWhatIsCommitted(t *testing.T) {
	c := newCluster(1)
	fill(c, 21, 6, 200)
	p := newProcess(t, c)
	var refused, waits atomic.Bool
	p.broker.produce = func(topic string, _ []kafka.Record, _ bool) error {
		if refused.Load() && topic == testTopics.Decisions {
			waits.Store(true)
			return errRefused
		}
		return nil
	}
	few := func(o *Options) { o.BatchRecords, o.CacheAccounts = 10, 2 } // accounts come and go in memory
	p.start(few)
	for caughtUp(c, p) != nil { // while writers work: nothing to compare with, but a race would show
		looked(t, p.engine)
	}
	want := digests(t, p.store)
	sameDigests(t, looked(t, p.engine), want)
	for name := range want {
		h, _ := p.engine.owner(name)
		if !h.ask(t.Context(), name, func(*filter.Filter) {}) {
			t.Errorf("the writer has not answered for %s", name)
		}
	}
	if h, err := p.engine.owner("kafka:nobody"); err != nil || h.ask(t.Context(), "kafka:nobody", func(*filter.Filter) { t.Error("an account that nobody has heard of is shown") }) {
		t.Errorf("the writer knows an account that nobody has heard of; %v", err)
	}

	// What brokers refuse is in the writers' memory and is not committed.
	refused.Store(true)
	fill(c, 22, 6, 30)
	eventually(t, func() error {
		if !waits.Load() {
			return fmt.Errorf("nothing was refused")
		}
		return nil
	})
	if got := looked(t, p.engine); !maps.Equal(got, digests(t, p.store)) {
		t.Error("what is not committed is shown")
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if h, _ := p.engine.owner("kafka:user0"); h.ask(over, "kafka:user0", func(*filter.Filter) {}) {
		t.Error("the writer has answered although its time was over")
	}
	refused.Store(false)
	eventually(t, func() error { return caughtUp(c, p) })
	sameDigests(t, looked(t, p.engine), digests(t, p.store))
}
