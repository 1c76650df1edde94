// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
)

// forgetful are the options of accounts that soon forget: what can be taken back begins later
// again and again, by time and by number, and so do the windows.
func forgetful(o *Options) {
	l := &o.Filter.Limits
	l.Keep, l.Journal, l.Messages, l.Weights, l.Senders, l.IDs = 400*time.Second, 40, 100, 150, 100, 100
	o.Filter.Dual.Window, o.Filter.Dual.Steps = 30, 3
}

// states are the digests of all accounts, and what digests leave out of their rows.
func states(t *testing.T, p *process) (map[string]string, map[string]store.Account) {
	t.Helper()
	names, err := p.store.Accounts()
	testkit.OK(t, err)
	rows := map[string]store.Account{}
	for _, n := range names {
		st, err := p.store.Load(n)
		testkit.OK(t, err)
		rows[n] = st.Account
	}
	return digests(t, p.store), rows
}

// The store keeps more or less of the past by when it commits and makes checkpoints. None of
// that decides what a record does: what is carried out, what is refused, and the bytes of every
// decision are those of a run that commits after each record and drops nothing.
func TestWhenItIsCommittedDecidesNothing(t *testing.T) {
	t.Parallel()
	c := newCluster(2)
	c.frequent = true
	fill(c, 81, 3, 500)
	run := func(n uint64) (*process, *cluster) {
		own := c.anew()
		p := newProcess(t, own)
		rng := rand.New(rand.NewPCG(n, 2))
		limits := func(o *Options) { o.BatchRecords = 1 }
		if n > 0 {
			p.journalCap, p.checkpointEvery = 1+rng.IntN(30), 1+rng.IntN(12)
			limits = func(o *Options) { o.BatchRecords, o.CacheAccounts = 1+rng.IntN(60), 1+rng.IntN(3) }
		}
		for stops := rng.IntN(6); n > 0 && stops > 0; stops-- {
			p.start(forgetful, limits)
			time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
			p.stop()
		}
		p.run(forgetful, limits)
		return p, own
	}
	p, want := run(0)
	digest, rows := states(t, p)
	pin(t, p, want)
	p.stop()
	if !slices.ContainsFunc(slices.Collect(maps.Values(rows)), func(a store.Account) bool { return a.Reach.Entries > 0 }) {
		t.Fatal("in no account what can be taken back has moved on")
	}
	for n := range uint64(5) {
		t.Run(fmt.Sprint(n+1), func(t *testing.T) {
			p, got := run(n + 1)
			again, others := states(t, p)
			p.stop()
			sameDigests(t, again, digest)
			for name, row := range rows {
				if !reflect.DeepEqual(row, others[name]) {
					t.Errorf("account %s is\n%+v, want\n%+v", name, others[name], row)
				}
			}
			sameOutput(t, got, want)
		})
	}
}

// Two processes that come to different states by the same records, as with other settings, are
// noticed by the snapshots.
func TestProcessesThatDifferAreNoticed(t *testing.T) {
	for name, steps := range map[string]int{"the same": 0, "other settings": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(1)
			c.mindful = true // what is to be forgotten makes a snapshot
			never := func(o *Options) { o.SnapshotEvery, o.SnapshotInterval = 1<<40, time.Hour }
			p, q := newProcess(t, c), newProcess(t, c)
			run := func(p *process, tunes ...tune) {
				p.run(tunes...)
			}
			fill(c, 91, 3, 60)
			run(p, never)
			p.stop()
			fill(c, 92, 1, 300)
			snap := func(o *Options) { o.SnapshotEvery = 1 }
			made := func(p *process) (out PartitionStatus) {
				eventually(t, func() error {
					if out = p.engine.Status().Partitions[0]; out.Snapshots == 0 || len(snapshots(t, c)) == 0 {
						return fmt.Errorf("no snapshot yet: %+v", out)
					}
					return nil
				})
				return out
			}
			saved := func(p *process, more ...tune) PartitionStatus {
				run(p, append(more, never)...)
				p.stop()
				fill(c, 93, 1, 1) // so that a snapshot is due
				run(p, append(more, snap)...)
				return made(p)
			}
			saved(q, func(o *Options) { o.Filter.Dual.Steps += steps })
			q.stop()
			if got := saved(p).Differs; (len(got) > 0) != (steps > 0) {
				t.Errorf("the accounts %q differ", got)
			}
			if carried := c.all(testTopics.Decisions); !slices.ContainsFunc(carried, func(r kafka.Record) bool { _, ok := r.Header(kafka.HeaderState); return ok }) {
				t.Errorf("none of %d decisions has the digest of its account's state", len(carried))
			}
		})
	}
}
