// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/testkit"
)

// flaky makes a process die now and then in the middle of a call of Produce, and
// tells when it has.
func (p *process) flaky(rng *rand.Rand, dead *atomic.Bool) {
	var left atomic.Int32
	left.Store(int32(2 + rng.IntN(12)))
	written := rng.IntN(2) == 0
	p.broker.produce = func(_ string, _ []kafka.Record, w bool) error {
		if dead.Load() {
			return errRefused
		}
		if w != written {
			return nil
		}
		if left.Add(-1) < 0 {
			dead.Store(true)
			return errRefused
		}
		return nil
	}
}

func TestThreeProcessesKilledAtRandomComeToTheSame(t *testing.T) {
	seeds := testkit.Rounds(t, 3, 1)
	for _, seed := range []uint64{11, 12, 13}[:seeds] {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			c := newCluster(6)
			c.frequent = true
			fill(c, seed, 20, 400)
			want, twin := undisturbed(t, c, forgetful)
			own := c.anew()
			rng := rand.New(rand.NewPCG(seed, 2))
			var all []*process
			var dead [3]atomic.Bool
			for i := range 3 {
				p := newProcess(t, own)
				p.flaky(rng, &dead[i])
				p.journalCap, p.checkpointEvery = 1+rng.IntN(20), 1+rng.IntN(5)
				p.start(small, forgetful)
				all = append(all, p)
			}
			kills := 0
			eventually(t, func() error {
				for i, p := range all {
					if dead[i].Load() {
						kills++
						p.stop()
						dead[i].Store(false)
						p.broker.produce = nil
						if kills < 12 {
							p.flaky(rng, &dead[i])
						}
						p.start(small, forgetful)
					}
				}
				return caughtUp(own, all...)
			})
			if kills < 3 {
				t.Errorf("killed %d times only", kills)
			}
			sameDigests(t, newest(t, all...), want)
			sameOutput(t, own, twin)
		})
	}
}

func small(o *Options) {
	o.BatchRecords = 8
	o.SnapshotEvery = 40
	o.Behind = 20
}

func TestAZombieDoesNoHarm(t *testing.T) {
	c := filled(2, 21, 6, 150)
	p, q := newProcess(t, c), newProcess(t, c)
	var slow atomic.Bool
	p.broker.produce = func(string, []kafka.Record, bool) error {
		if slow.Load() {
			time.Sleep(2 * time.Millisecond)
		}
		return nil
	}
	p.run(small)
	// It goes on beside the new owner, commits and snapshots late.
	slow.Store(true)
	c.bury(0)
	q.start(small)
	fill(c, 22, 6, 250)
	eventually(t, func() error { return caughtUp(c, q) })
	eventually(t, func() error { return caughtUp(c, p) })
	fill(c, 23, 6, 50)
	eventually(t, func() error { return caughtUp(c, q) })
	eventually(t, func() error { return caughtUp(c, p) })
	want, twin := undisturbed(t, c)
	sameDigests(t, digests(t, q.store), want)
	sameDigests(t, digests(t, p.store), want)
	sameOutput(t, c, twin)
	// A third begins from what the two of them left.
	r := newProcess(t, c)
	p.stop()
	q.stop()
	r.run(small)
	for n := range want {
		if _, _, err := r.engine.View(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	sameDigests(t, digests(t, r.store), want)
}

func TestOnePartitionIsStoppedAndSaysSoAndTheOthersGoOn(t *testing.T) {
	c := filled(3, 31, 9, 200)
	p := running(t, c, func(o *Options) { o.SnapshotEvery = 1 << 40; o.SnapshotInterval = time.Hour })
	p.stop()
	fill(c, 32, 9, 200)
	end := c.marks(testTopics.Input)[1].End
	c.cut(testTopics.Input, 1, end-3)
	p.start()
	eventually(t, func() error {
		s := p.engine.Status()
		if len(s.Partitions) != 3 || !s.Partitions[1].Stopped {
			return fmt.Errorf("it says %+v", s)
		}
		at := p.positions()
		for _, n := range []int32{0, 2} {
			if at[n] != c.marks(testTopics.Input)[n].End {
				return fmt.Errorf("partition %d stands at %d", n, at[n])
			}
		}
		return nil
	})
	problem := p.engine.Status().Partitions[1].Problem
	for _, word := range []string{"partition 1 is stopped", fmt.Sprint(end - 3), "“hinged kafka recover 1” shows what can be done", "docs/kafka-operation.md"} {
		if !strings.Contains(problem, word) {
			t.Errorf("the problem does not say %q: %s", word, problem)
		}
	}
}

func TestTheLogIsCutUnderAReader(t *testing.T) {
	c := filled(1, 33, 3, 50)
	p := newProcess(t, c)
	var cut atomic.Bool
	p.broker.read = func(topic string, _ int32) error {
		if cut.Load() || topic != testTopics.Input {
			return nil
		}
		return errRefused
	}
	p.start()
	p.while(func(s Status) bool { return len(s.Partitions) != 1 || s.Partitions[0].Problem == "" })
	c.cut(testTopics.Input, 0, 20)
	cut.Store(true)
	p.while(func(s Status) bool { return !s.Partitions[0].Stopped })
}

func TestAnotherNumberOfPartitionsStopsAll(t *testing.T) {
	c := filled(2, 34, 5, 60)
	p := running(t, c)
	p.stop()
	for _, topic := range testTopics.All() {
		c.topics[topic] = append(c.topics[topic], newLog(topic, 0))
	}
	p.start()
	p.while(func(s Status) bool {
		return len(s.Partitions) != 3 || !s.Partitions[0].Stopped || !s.Partitions[1].Stopped
	})
	if problem := p.engine.Status().Partitions[0].Problem; !strings.Contains(problem, "has 3, it had 2") {
		t.Errorf("it says %s", problem)
	}
}

func TestAnAccountOfAnotherProcessIsNotShown(t *testing.T) {
	c := filled(2, 35, 6, 60)
	p := running(t, c)
	q := newProcess(t, c)
	q.start()
	eventually(t, func() error {
		if n := len(q.engine.Status().Partitions); n != 1 {
			return fmt.Errorf("the second has %d partitions", n)
		}
		for _, one := range []*process{p, q} {
			s := one.engine.Status()
			for _, part := range s.Partitions {
				if !part.Begun || !part.CaughtUp() {
					return fmt.Errorf("partition %d is at %d of %d", part.Partition, part.Position, part.End)
				}
			}
		}
		return nil
	})
	var here, there int
	for n := range digests(t, p.store) {
		_, _, errP := p.engine.View(context.Background(), n)
		_, _, errQ := q.engine.View(context.Background(), n)
		switch {
		case errP == nil && errQ != nil:
			here++
		case errP != nil && errQ == nil:
			there++
		default:
			t.Errorf("account %s: %v, %v; one of them is to have it", n, errP, errQ)
		}
	}
	if here == 0 || there == 0 {
		t.Errorf("%d accounts here, %d there", here, there)
	}
	if _, _, err := p.engine.View(t.Context(), "kafka:nobody"); err == nil {
		t.Error("an account that nobody has heard of is shown")
	}
}
