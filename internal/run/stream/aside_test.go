// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// flood puts mail of one account among that of others, so many of it for one of theirs.
func flood(c *cluster, seed uint64, accounts, messages, times int) {
	rng := rand.New(rand.NewPCG(seed, 7))
	for n := range messages {
		at := epoch.Add(time.Duration(n) * time.Minute)
		for k := range times {
			c.put(testTopics.Input, messageRecord("flood", mail(rng, "flood", n*times+k), at))
			if k%9 == 0 {
				c.put(testTopics.Input, feedbackRecord("flood", fmt.Sprintf("%d.flood@example.net", n*times+k), "important", "explicit", at))
			}
		}
		c.put(testTopics.Input, feedbackRecord("flood", "1.flood@example.net", "perhaps", "explicit", at)) // refused
		account := fmt.Sprintf("user%d", n%accounts)
		c.put(testTopics.Input, messageRecord(account, mail(rng, account, n), at))
	}
}

// heldBack is a broker of which only the first reader of the input reads, until it is let go.
type heldBack struct {
	*broker
	reads atomic.Int32
	free  chan struct{}
}

func (h *heldBack) Read(topic string, id kafka.TopicID, partition int32, from int64) Reader {
	r := h.broker.Read(topic, id, partition, from)
	if topic == testTopics.Input && h.reads.Add(1) > 1 {
		return &heldReader{r, h.free}
	}
	return r
}

type heldReader struct {
	Reader
	free chan struct{}
}

func (r *heldReader) Next(ctx context.Context, most, bytes int) (kafka.Batch, error) {
	select {
	case <-r.free:
		return r.Reader.Next(ctx, most, bytes)
	default:
		return kafka.Batch{}, errRefused
	}
}

// An account that floods waits, and nobody else does; who it is and how much of it waits is
// said; and in the end all is as if it had not waited.
func TestOthersGoBeforeAnAccountThatFloods(t *testing.T) {
	t.Parallel()
	const limit = 20
	c := newCluster(1)
	flood(c, 401, 3, 40, 30)
	want, twin := undisturbed(t, c)
	own := c.anew()
	p := newProcess(t, own)
	way := &heldBack{broker: p.broker, free: make(chan struct{})}
	p.start(func(o *Options) { o.Broker, o.AccountLimit = way, limit })
	end := own.marks(testTopics.Input)[0].End
	var s Status
	eventually(t, func() error {
		s = p.engine.Status()
		if len(s.Partitions) != 1 || len(s.Partitions[0].SetAside) != 1 || s.Partitions[0].next != end {
			return fmt.Errorf("the status is %+v", s)
		}
		return nil
	})
	one := s.Partitions[0]
	decided := map[string]int{}
	for _, r := range own.all(testTopics.Decisions) {
		decided[string(r.Key)]++
	}
	// Which of its records were read before the writer could catch up is for chance.
	waits := one.SetAside[0]
	if n := decided["user0"] + decided["user1"] + decided["user2"]; n < 35 || waits.Account != "kafka:flood" || decided["flood"] > int(end-waits.Records) {
		t.Errorf("%d of the others are decided and %d of the one, which is %+v", n, decided["flood"], waits)
	}
	if one.Lag == nil || *one.Lag != waits.Records || one.Position >= end || s.Lag == nil || *s.Lag != waits.Records {
		t.Errorf("%d wait, and the status is %+v", waits.Records, one)
	}
	if doing := p.engine.Status().Doing; doing != fmt.Sprintf("deciding and learning, %d records behind; 1 account is set aside", waits.Records) {
		t.Errorf("it says that it is %s", doing)
	}
	eventually(t, func() error { // so that tools show its lag
		own.mu.Lock()
		defer own.mu.Unlock()
		if at := own.published[0]; at != one.Position {
			return fmt.Errorf("the group's offset is %d, want %d", at, one.Position)
		}
		return nil
	})
	close(way.free)
	eventually(t, func() error { return caughtUp(own, p) })
	p.while(func(s Status) bool { return !s.CaughtUp() || len(s.Partitions[0].SetAside) > 0 })
	sameDigests(t, digests(t, p.store), want)
	sameInOrder(t, own, twin)
}

// sameInOrder checks that decisions and dead letters are those of an undisturbed twin, and
// that those of each account, repetitions left out, are in its order.
func sameInOrder(t *testing.T, c, twin *cluster) {
	t.Helper()
	sameOutput(t, c, twin)
	got, _ := said(t, c)
	want, _ := said(t, twin)
	for account, all := range want {
		if !slices.Equal(got[account], all) {
			t.Errorf("account %s has %d decisions, want %d, or others, or in another order", account, len(got[account]), len(all))
		}
	}
}

// Accounts are set aside and catch up all the time, while the process is killed at random,
// half of the time with its disk, and goes on from its store or from a snapshot.
func TestKilledWhileAccountsAreBehindItComesToTheSame(t *testing.T) {
	seeds := testkit.Rounds(t, 2, 1)
	for _, seed := range []uint64{411, 412}[:seeds] {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			c := newCluster(2)
			flood(c, seed, 5, 15, 25)
			c.frequent = true
			fill(c, seed, 9, 150)
			flood(c, seed+1000, 5, 10, 40)
			want, twin := undisturbed(t, c, forgetful)
			own := c.anew()
			rng := rand.New(rand.NewPCG(seed, 3))
			p := newProcess(t, own)
			p.journalCap, p.checkpointEvery = 5, 2
			var dead atomic.Bool
			kills, behind := 0, 0
			slow := func(o *Options) { small(o); forgetful(o); o.AccountLimit = 1 + rng.IntN(8) }
			p.flaky(rng, &dead)
			p.start(slow)
			eventually(t, func() error {
				if !dead.Load() {
					return caughtUp(own, p)
				}
				p.stop()
				for _, at := range p.stored() {
					behind += len(at.Aside)
				}
				if kills++; kills%2 == 0 {
					q := newProcess(t, own)
					p.path = q.path // its disk is gone
				}
				dead.Store(false)
				p.broker.produce = nil
				if kills < 25 {
					p.flaky(rng, &dead)
				}
				p.start(slow)
				return errors.New("it was killed")
			})
			if kills < 10 || behind < 5 {
				t.Errorf("killed %d times, with %d accounts behind; the test is to have more", kills, behind)
			}
			eventually(t, func() error { return whole(p) })
			sameDigests(t, digests(t, p.store), want)
			sameInOrder(t, own, twin)
			sound(t, p.store)
		})
	}
}

// stored are the positions of a process, which may be stopped, by number of their partition.
func (p *process) stored() map[int32]store.LogPosition {
	p.t.Helper()
	files := p.store
	if p.cancel == nil {
		var err error
		files.Files, err = OpenFiles(p.path, boltfile.Options{LockTimeout: time.Minute})
		testkit.OK(p.t, err)
		defer func() { testkit.OK(p.t, files.Close()) }()
	}
	return files.positions(p.t)
}

// More accounts than can be named in a position send more than they may.
func TestOnlySoManyAccountsAreSetAside(t *testing.T) {
	t.Parallel()
	c := newCluster(1)
	rng := rand.New(rand.NewPCG(421, 1))
	for n := range 5 {
		for user := range 2 * store.MostAside {
			account := fmt.Sprintf("user%d", user)
			c.put(testTopics.Input, messageRecord(account, mail(rng, account, n), epoch))
			c.put(testTopics.Input, feedbackRecord(account, "1@x", "perhaps", "explicit", epoch)) // refused
		}
	}
	want, twin := undisturbed(t, c)
	own := c.anew()
	p := newProcess(t, own)
	way := &heldBack{broker: p.broker, free: make(chan struct{})}
	p.start(func(o *Options) { o.Broker, o.AccountLimit, o.CacheAccounts = way, 1, 1000 })
	end := own.marks(testTopics.Input)[0].End
	p.while(func(s Status) bool {
		return len(s.Partitions) == 0 || s.Partitions[0].Stopped || s.Partitions[0].next != end || len(s.Partitions[0].SetAside) != store.MostAside
	})
	close(way.free)
	eventually(t, func() error { return caughtUp(own, p) })
	sameDigests(t, digests(t, p.store), want)
	sameInOrder(t, own, twin)
}

// What an account that is set aside still has to read is deleted by retention. The partition
// stops rather than to lose it unnoticed, and goes on when it was recovered: nobody else has
// lost anything, and the account only that.
func TestRetentionThatOvertakesAnAccountStopsThePartition(t *testing.T) {
	t.Parallel()
	c := newCluster(1)
	c.mindful = true
	flood(c, 431, 3, 30, 10)
	p := newProcess(t, c)
	way := &heldBack{broker: p.broker, free: make(chan struct{})}
	p.start(func(o *Options) { o.Broker, o.AccountLimit = way, 5 })
	end := c.marks(testTopics.Input)[0].End
	p.while(func(s Status) bool { return len(s.Partitions) == 0 || s.Partitions[0].next != end })
	p.stop()
	at := p.stored()[0]
	cut := (at.Behind + end) / 2
	c.cut(testTopics.Input, 0, cut)
	p.start()
	p.while(func(s Status) bool { return len(s.Partitions) == 0 || !s.Partitions[0].Stopped })
	allSaved(t, c)
	r, err := recoverer(c).Recover(t.Context(), 0, FromSnapshot, false)
	testkit.OK(t, err)
	if r.Next != end || r.Unread != cut-at.Behind {
		t.Errorf("it goes on at %d without %d records, want %d and %d", r.Next, r.Unread, end, cut-at.Behind)
	}
	eventually(t, func() error { return caughtUp(c, p) })
	p.while(func(s Status) bool { return s.Partitions[0].Stopped || !s.CaughtUp() })
	// All messages of the others are decided, and of the one all that were left.
	decided := map[string]bool{}
	for _, r := range c.all(testTopics.Decisions) {
		id, _ := r.Header("ce_id")
		decided[string(id[bytes.LastIndexByte(id, '/')+1:])] = true
	}
	messages := 0
	for _, r := range c.all(testTopics.Input) {
		if len(r.Headers) > 0 {
			continue // feedback
		}
		if messages++; !decided[strconv.FormatInt(r.Offset, 10)] {
			t.Errorf("the message of %s at offset %d is not decided", r.Key, r.Offset)
		}
	}
	if messages < 100 {
		t.Errorf("the log has %d messages left", messages)
	}
}
