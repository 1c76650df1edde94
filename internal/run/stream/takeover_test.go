// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
	"github.com/hinged/hinged/store/snapshot"
)

// fillTwo gives two clusters the same records.
func fillTwo(a, b *cluster, seed uint64, accounts, messages int) {
	fill(a, seed, accounts, messages)
	fill(b, seed, accounts, messages)
}

// snapshots is by partition the position of the newest whole snapshot.
func snapshots(t *testing.T, c *cluster) map[int32]int64 {
	t.Helper()
	out := map[int32]int64{}
	for p := range c.marks(testTopics.Snapshots) {
		v := newVault(&broker{c: c}, testTopics.Snapshots, int32(p))
		testkit.OK(t, v.scan(t.Context(), epoch))
		m, err := v.newest(t.Context(), kafka.TopicID{}, kafka.Watermark{End: 1 << 40})
		testkit.OK(t, err)
		if m != nil {
			out[int32(p)] = m.Next
		}
	}
	return out
}

// allSaved waits until each partition has a whole snapshot.
func allSaved(t *testing.T, c *cluster) {
	t.Helper()
	eventually(t, func() error {
		if n, all := len(snapshots(t, c)), len(c.marks(testTopics.Snapshots)); n < all {
			return fmt.Errorf("%d of %d partitions have snapshots", n, all)
		}
		return nil
	})
}

// retain cuts the input off below the newest snapshots, as retention may.
func retain(t *testing.T, c *cluster) {
	t.Helper()
	cut := 0
	for p, at := range snapshots(t, c) {
		c.cut(testTopics.Input, int(p), at)
		if at > 0 {
			cut++
		}
	}
	if cut == 0 {
		t.Fatal("there is no snapshot")
	}
}

// makeSnapshot has a process do all that is there, and leave a snapshot of partition 0.
func makeSnapshot(t *testing.T, c *cluster) {
	t.Helper()
	p := running(t, c, small)
	eventually(t, func() error { return atLeast(t, c, 1) })
	p.stop()
}

// takenOver waits until all of a process's accounts have come in, and then until it
// has caught up: before, it may find the snapshot broken and begin anew.
func takenOver(t *testing.T, c *cluster, p *process) {
	t.Helper()
	eventually(t, func() error { return whole(p) })
	eventually(t, func() error { return caughtUp(c, p) })
}

// takesOver has a process take over and demands the digests of an undisturbed one.
func takesOver(t *testing.T, c *cluster, p *process, want map[string]string) {
	t.Helper()
	p.start(small)
	takenOver(t, c, p)
	sameDigests(t, digests(t, p.store), want)
	sound(t, p.store)
}

// scrubbed reports whether the store still holds what was forgotten.
func scrubbed(p *process) error {
	for _, s := range p.store.All() {
		if due, err := s.ScrubDue(); err != nil || due {
			return fmt.Errorf("%s still holds what was forgotten, %w", s.Path(), err)
		}
	}
	return nil
}

// whole reports what of an engine's accounts is still to come in.
func whole(p *process) error {
	if len(p.engine.Status().Partitions) == 0 {
		return errors.New("it has no partition yet")
	}
	for _, part := range p.engine.Status().Partitions {
		if !part.Begun || part.Restoring > 0 {
			return fmt.Errorf("partition %d: begun %v, %d accounts to come, problem: %s", part.Partition, part.Begun, part.Restoring, part.Problem)
		}
	}
	return nil
}

func sound(t *testing.T, files testFiles) {
	t.Helper()
	for _, s := range files.All() {
		report, err := s.Verify(context.Background())
		testkit.OK(t, err)
		for _, problem := range report.Problems {
			t.Error(problem)
		}
	}
}

func TestANewOwnerTakesOverFromSnapshots(t *testing.T) {
	c, all := newCluster(3), newCluster(3)
	fillTwo(c, all, 41, 9, 300)
	p := running(t, c, small)
	allSaved(t, c)
	fillTwo(c, all, 42, 12, 40)
	eventually(t, func() error { return caughtUp(c, p) })
	p.stop()
	retain(t, c)
	c.compact(testTopics.Snapshots)
	fillTwo(c, all, 43, 12, 200)
	want, twin := undisturbed(t, all)

	q := newProcess(t, c)
	takesOver(t, c, q, want)
	sameRecords(t, testTopics.Decisions, c.all(testTopics.Decisions), twin.all(testTopics.Decisions))
	for n := range want {
		if _, _, err := q.engine.View(t.Context(), n); err != nil {
			t.Error(err)
		}
	}
}

func TestTheFirstDecisionWaitsForItsAccountAlone(t *testing.T) {
	c := filled(1, 44, 30, 300)
	makeSnapshot(t, c)
	retain(t, c)
	q := newProcess(t, c)
	q.run(func(o *Options) { o.SnapshotEvery = 1 << 40 })
	q.stop()

	// Nothing of a snapshot can be fetched but what the scan reads.
	r := newProcess(t, c)
	c.put(testTopics.Input, messageRecord("user0", []byte("Subject: one more\r\n\r\nx\r\n"), epoch.Add(time.Hour)))
	var fetches atomic.Int32
	first := make(chan int32, 1)
	r.broker.read = func(topic string, _ int32) error {
		if topic == testTopics.Snapshots {
			fetches.Add(1)
		}
		return nil
	}
	r.broker.produce = func(topic string, _ []kafka.Record, written bool) error {
		if topic == testTopics.Decisions && written {
			select {
			case first <- int32(r.engine.Status().Partitions[0].Restoring):
			default:
			}
		}
		return nil
	}
	r.start(func(o *Options) { o.SnapshotEvery = 1 << 40; o.BatchRecords = 1 })
	if left := <-first; left == 0 {
		t.Error("at the first decision all 30 accounts had come in")
	}
	takenOver(t, c, r)
	sound(t, r.store)
}

func TestOldSnapshotsAreTakenBack(t *testing.T) {
	c := newCluster(1)
	p := newProcess(t, c)
	p.start(small)
	var seen int64
	for round := range 6 {
		fill(c, 50+uint64(round), 6, 60)
		eventually(t, func() error { return caughtUp(c, p) })
		eventually(t, func() error { return atLeast(t, c, seen+1) })
		seen = snapshots(t, c)[0]
	}
	eventually(t, func() error {
		// Stopped in the middle of one it would leave chunks that nobody names yet.
		if at, end := snapshots(t, c)[0], c.marks(testTopics.Input)[0].End; end-at >= 40 {
			return fmt.Errorf("the newest snapshot is at %d of %d", at, end)
		}
		return tidied(t, c)
	})
	p.stop()
	c.compact(testTopics.Snapshots)
	if err := tidied(t, c); err != nil {
		t.Error(err)
	}
}

// tidied reports what is in the snapshots topic beside the newest snapshots.
func tidied(t *testing.T, c *cluster) error {
	t.Helper()
	v := newVault(&broker{c: c}, testTopics.Snapshots, 0)
	if err := v.scan(t.Context(), epoch); err != nil {
		return err
	}
	all, _ := v.positions(kafka.TopicID{})
	if n := len(all); n < 1 || n > keptManifests {
		return fmt.Errorf("%d manifests are left", n)
	}
	named := map[snapshot.ChunkID]bool{}
	for _, id := range all {
		m, err := v.manifest(t.Context(), id)
		if err != nil || m == nil {
			return fmt.Errorf("the manifest at %d is not whole: %w", id.next, err)
		}
		for _, id := range m.Chunks() {
			named[id] = true
		}
	}
	if got, want := slices.Sorted(keysOf(v.chunks)), slices.Sorted(keysOf(named)); !slices.Equal(got, want) {
		return fmt.Errorf("%d chunks are left, %d are named", len(got), len(want))
	}
	return nil
}

func keysOf[V any](m map[snapshot.ChunkID]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for id := range maps.Keys(m) {
			if !yield(id.String()) {
				return
			}
		}
	}
}

// Something is forgotten while the snapshots topic refuses everything. The older snapshots, which
// know it still, are taken back as soon as it takes records again: also by a process that was
// started anew, or that got other settings, before that.
func TestSnapshotsThatKnowWhatWasForgottenAreTakenBackLater(t *testing.T) {
	for name, again := range map[string]func(p *process, o ...tune){
		"the same process": func(*process, ...tune) {},
		"a restart":        func(p *process, o ...tune) { p.stop(); p.start(o...) },
		"another process": func(p *process, o ...tune) {
			p.stop()
			p.path += "2"
			p.start(o...)
		},
		"other settings": func(p *process, o ...tune) {
			testkit.OK(p.t, p.engine.Renew(p.t.Context(), p.engine.o))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(1)
			n := 0
			put := func(e kafka.Event) {
				n++
				c.put(testTopics.Input, kafka.Encode(e, "a", fmt.Sprint(n), "test", epoch.Add(time.Duration(n)*time.Minute)))
			}
			p := newProcess(t, c)
			var away atomic.Bool // of the snapshots topic
			p.broker.produce = func(topic string, _ []kafka.Record, _ bool) error {
				if topic == testTopics.Snapshots && away.Load() {
					return errRefused
				}
				return nil
			}
			for range 5 {
				put(kafka.Message{Raw: fmt.Appendf(nil, "Message-ID: <%d@x>\r\nFrom: s%d@example.net\r\n\r\nsecret%d\r\n", n+1, n+1, n+1)})
			}
			tuned := func(o *Options) { o.SnapshotEvery = 5 } // all of them, however many a batch has
			p.run(tuned)
			eventually(t, func() error { return atLeast(t, c, 5) })
			away.Store(true)
			put(kafka.Forget{Sender: "s3@example.net"})
			eventually(t, func() error { return caughtUp(c, p) })
			forgot := p.positions()[0]
			if name == "another process" {
				away.Store(false)
				eventually(t, func() error { return atLeast(t, c, forgot) })
				away.Store(true)
			}
			again(p, tuned)
			away.Store(false)
			eventually(t, func() error {
				v := newVault(&broker{c: c}, testTopics.Snapshots, 0)
				if err := v.scan(t.Context(), epoch); err != nil {
					return err
				}
				all, _ := v.positions(kafka.TopicID{})
				if len(all) == 0 {
					return errors.New("there is no snapshot")
				}
				for _, id := range all {
					if id.next < forgot {
						return fmt.Errorf("the snapshot at %d is still there; something was forgotten at %d", id.next, forgot)
					}
				}
				return nil
			})
		})
	}
}

// A vault is safe for concurrent use; the race detector looks on.
func TestAManifestMayBeAskedForBySeveralAtOnce(t *testing.T) {
	c := newCluster(1)
	v := newVault(&broker{c: c}, testTopics.Snapshots, 0)
	m := snapshot.Manifest{Partition: store.Partition{Topic: testTopics.Input, Number: 0}, LogPosition: store.LogPosition{Next: 7, Partitions: 1}}
	data, err := m.Encode(nil) // it has no chunks
	testkit.OK(t, err)
	c.put(testTopics.Snapshots, kafka.Record{Partition: 0, Key: manifestKey(manifestIDOf(m.LogPosition)), Value: data})
	testkit.OK(t, v.scan(t.Context(), epoch))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got, err := v.manifest(t.Context(), manifestIDOf(m.LogPosition)); err != nil || got == nil || got.Next != m.Next {
				t.Errorf("manifest() = %v, %v", got, err)
			}
		})
	}
	all.Wait()
}

// atLeast reports whether the newest snapshot is below a position.
func atLeast(t *testing.T, c *cluster, position int64) error {
	t.Helper()
	if at := snapshots(t, c)[0]; at < position {
		return fmt.Errorf("the newest snapshot is at %d", at)
	}
	return nil
}

func TestATakeoverThatIsInterruptedGoesOn(t *testing.T) {
	c, all := newCluster(2), newCluster(2)
	fillTwo(c, all, 80, 20, 300)
	p := running(t, c, small)
	allSaved(t, c)
	p.stop()
	retain(t, c)
	fillTwo(c, all, 81, 20, 100)
	want, _ := undisturbed(t, all)
	q := newProcess(t, c)
	interrupted := 0
	for n := range 12 {
		ctx, dead := context.WithCancel(t.Context())
		var reads atomic.Int32
		q.broker.read = func(string, int32) error {
			if reads.Add(1) > int32(6+3*n) {
				dead()
				return errRefused
			}
			return nil
		}
		q.start(small)
		eventually(t, func() error {
			err := whole(q)
			if err == nil {
				err = caughtUp(c, q)
			}
			if dead := ctx.Err() != nil; dead {
				err = nil
			}
			return err
		})
		if ctx.Err() != nil {
			interrupted++
		}
		q.stop()
		dead()
	}
	if interrupted < 2 {
		t.Errorf("interrupted %d times only", interrupted)
	}
	q.broker.read = nil
	q.start(small)
	takenOver(t, c, q)
	sameDigests(t, digests(t, q.store), want)
	sound(t, q.store)
}

func TestAnAccountIsFetchedByOneAtATime(t *testing.T) {
	var p pending
	p.set(nil, []string{"ann"})
	release, err := p.claim(t.Context(), "ann")
	testkit.OK(t, err)
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.claim(impatient, "ann"); !errors.Is(err, context.Canceled) {
		t.Errorf("while another fetches it: %v, want to wait until ctx is done", err)
	}
	if other, err := p.claim(impatient, "ben"); err != nil {
		t.Errorf("another account: %v", err)
	} else {
		other()
	}
	got := make(chan error)
	go func() {
		again, err := p.claim(t.Context(), "ann")
		if err == nil {
			again()
		}
		got <- err
	}()
	release()
	testkit.OK(t, <-got)
}

// A request may bring an account into the file that a partition had before it began anew.
func TestAnAccountIsStillToComeIntoTheFileOfAPartitionThatBeganAnew(t *testing.T) {
	var p pending
	before, now := new(boltfile.Store), new(boltfile.Store)
	p.set(now, []string{"ann", "ben"})
	if left := p.arrived(before, "ann"); left != 2 || !p.has("ann") {
		t.Errorf("it came into the file before, and %d are left", left)
	}
	if left := p.arrived(now, "ann"); left != 1 || p.has("ann") {
		t.Errorf("it came into the file, and %d are left", left)
	}
}
