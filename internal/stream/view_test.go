// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"fmt"
	"maps"
	"sync/atomic"
	"testing"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/store"
)

// looked gives the digests of what View shows.
func looked(t *testing.T, e *Engine) map[string]string {
	t.Helper()
	names, err := e.Accounts()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, name := range names {
		_, f, err := e.View(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		_, out[name] = store.Digest(f.State())
	}
	return out
}

func TestAViewIsOfWhatIsCommitted(t *testing.T) {
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
	h, err := p.engine.owner("kafka:user0")
	if err != nil || !h.answers(t.Context()) {
		t.Errorf("the writer has not answered: %v", err)
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
	if h.answers(over) {
		t.Error("the writer has answered although its time was over")
	}
	refused.Store(false)
	eventually(t, func() error { return caughtUp(c, p) })
	sameDigests(t, looked(t, p.engine), digests(t, p.store))
}
