// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// member runs one member of a group and tells its generations.
type member struct {
	c      *Client
	leave  context.CancelFunc
	ended  chan struct{}
	gens   chan Generation
	inside sync.Mutex // held while a generation lasts
}

func join(t *testing.T, c *Client) *member {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	m := &member{c: c, leave: cancel, ended: make(chan struct{}), gens: make(chan Generation, 100)}
	go func() {
		defer close(m.ended)
		err := c.Run(ctx, Member{Generation: func(ctx context.Context, g Generation) {
			if !m.inside.TryLock() {
				t.Error("two generations at once")
				return
			}
			defer m.inside.Unlock()
			m.gens <- g
			<-ctx.Done()
		}})
		if err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { cancel(); <-m.ended })
	return m
}

// holds waits for a generation in which the members hold these numbers of
// partitions, in whatever order, and all of them together. It returns theirs.
func holds(t *testing.T, total int, members []*member, counts ...int) []Generation {
	t.Helper()
	last := make([]Generation, len(members))
	deadline := time.After(patience)
	for {
		for i, m := range members {
			for more := true; more; {
				select {
				case last[i] = <-m.gens:
				default:
					more = false
				}
			}
		}
		var all []int32
		fits := true
		var have []int
		for _, g := range last {
			fits = fits && g.ID == last[0].ID && slices.IsSorted(g.Partitions)
			have = append(have, len(g.Partitions))
			all = append(all, g.Partitions...)
		}
		slices.Sort(all)
		slices.Sort(have)
		if fits && slices.Equal(have, counts) && len(slices.Compact(all)) == total {
			return last
		}
		select {
		case <-deadline:
			t.Fatalf("in the end the members hold %+v, want %v partitions", last, counts)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// long has timeouts of a group that are long enough that only leaving, not being given up for
// dead, explains a take-over.
func long(o *Options) {
	o.SessionTimeout, o.RebalanceTimeout, o.RequestTimeout = 5*time.Minute, 5*time.Minute, time.Minute
}

func TestMembersShareThePartitionsAndTakeOverFromOneThatLeaves(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *broker) {
		one := join(t, b.client(t, 5, long))
		g := holds(t, 5, []*member{one}, 5)[0]
		if err := one.c.CommitOffsets(t.Context(), g, map[int32]int64{0: 7, 4: 9}); err != nil {
			t.Error(err)
		}
		two := join(t, b.client(t, 5, long))
		holds(t, 5, []*member{one, two}, 2, 3)
		if err := one.c.CommitOffsets(t.Context(), g, map[int32]int64{0: 8}); err == nil || !Retryable(err) {
			t.Errorf("the offset of a generation that is over was taken: %v", err)
		}
		one.leave()
		<-one.ended
		holds(t, 5, []*member{two}, 5)
		got, err := two.c.CommittedOffsets(t.Context())
		if err != nil || fmt.Sprint(got) != "map[0:7 4:9]" {
			t.Errorf("got offsets %v, %v, want those published", got, err)
		}
	})
}

// sluggish is a connection of a busy machine: each write takes longer than half of leaveGrace.
type sluggish struct {
	net.Conn
	now *atomic.Bool
}

func (s sluggish) Write(b []byte) (int, error) {
	if s.now.Load() {
		time.Sleep(leaveGrace * 2 / 3)
	}
	return s.Conn.Write(b)
}

func TestWhoLeavesABusyMachineIsHeard(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *broker) {
		var busy atomic.Bool
		one := join(t, b.client(t, 2, long, func(o *Options) {
			o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, network, address)
				return sluggish{conn, &busy}, err
			}
		}))
		holds(t, 2, []*member{one}, 2)
		two := join(t, b.client(t, 2, long))
		holds(t, 2, []*member{one, two}, 1, 1)
		busy.Store(true)
		one.leave()
		<-one.ended
		holds(t, 2, []*member{two}, 2)
	})
}

// kafka-go compares with what it finds when it begins to watch; this does with what was
// dealt out, such as nothing of a topic that was missing for that moment.
func TestPartitionsThatWereNotDealtOutEndTheGeneration(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *broker) {
		c := b.client(t, 3, func(o *Options) { o.MetadataAge = 50 * time.Millisecond })
		for dealt := range int32(5) {
			if dealt == 3 {
				continue
			}
			if !c.otherPartitions(t.Context(), dealt) {
				t.Errorf("%d were dealt out of 3, and that is well", dealt)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if c.otherPartitions(ctx, 3) {
			t.Error("all three were dealt out, and that is not enough")
		}
	})
	s := sticky{dealt: -1}
	if n := s.dealtOut(); n != -1 {
		t.Errorf("who dealt nothing says %d", n)
	}
	s.AssignGroups(nil, nil)
	if n := s.dealtOut(); n != 0 {
		t.Errorf("who dealt out a missing topic says %d", n)
	}
}

func TestAGroupOfNobodyHasNoOffsets(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *broker) {
		c := b.client(t, 2)
		offsets := func() (got map[int32]int64, err error) {
			err = Insist(t.Context(), func() error { got, err = c.CommittedOffsets(t.Context()); return err })
			return got, err
		}
		if got, err := offsets(); err != nil || len(got) != 0 {
			t.Errorf("got %v, %v, want none", got, err)
		}
		if err := Insist(t.Context(), func() error { return c.CommitOffsets(t.Context(), Generation{}, map[int32]int64{1: 3}) }); err != nil {
			t.Error(err)
		}
		if got, err := offsets(); err != nil || fmt.Sprint(got) != "map[1:3]" {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

func TestLeavingDoesNotWaitForAJoinUnderWay(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *broker) {
		// This one never answers the broker's call to join again.
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stuck, began := make(chan struct{}), make(chan struct{})
		held := make(chan struct{})
		go func() {
			defer close(held)
			_ = b.client(t, 2, long).Run(ctx, Member{Generation: func(context.Context, Generation) {
				select {
				case <-began:
				default:
					close(began)
				}
				<-stuck
			}})
		}()
		<-began
		two := join(t, b.client(t, 2, long))
		select {
		case g := <-two.gens:
			t.Errorf("it got %+v though the other did not let go", g)
		case <-time.After(500 * time.Millisecond):
		}
		two.leave()
		select {
		case <-two.ended:
		case <-time.After(patience):
			t.Error("it waits for the other still")
		}
		cancel()
		close(stuck)
		<-held
	})
}

func TestAProblemOfTheGroupIsToldAndItsEndToo(t *testing.T) {
	t.Parallel()
	c := New(Options{
		Brokers: []string{"127.0.0.1:1"}, JoinBackoff: 10 * time.Millisecond,
		Topics: Topics{Input: "a", Decisions: "b", DeadLetters: "c", Snapshots: "d"},
	})
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var told error
	if err := c.Run(ctx, Member{
		Generation: func(context.Context, Generation) { t.Error("a generation without a broker") },
		Problem:    func(err error) { told = err; cancel() },
	}); err != nil {
		t.Error(err)
	}
	if told == nil || !Retryable(told) {
		t.Errorf("got %v, want a refused connection", told)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := c.Run(t.Context(), Member{}); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want %v", err, ErrClosed)
	}
	if _, err := c.Partitions(t.Context(), "a"); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want %v", err, ErrClosed)
	}
}

// Accounts that move between processes with other settings are judged differently. A member
// that takes other settings up joins again, and has the partitions that it had.
func TestMembersWithOtherSettingsAreNoticed(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *broker) {
		settings := func(o *Options) { o.Settings = "threshold .5"; o.ClientID = "one" }
		one := join(t, b.client(t, 4, settings))
		holds(t, 4, []*member{one}, 4)
		two := join(t, b.client(t, 4, settings))
		had := holds(t, 4, []*member{one, two}, 2, 2)
		for _, step := range []struct {
			settings string
			of       *member
			others   string
		}{{"", nil, "[]"}, {"threshold .6", two, "one at"}, {"threshold .6", one, "[]"}} {
			if step.of != nil {
				step.of.c.SetSettings(step.settings)
				now := holds(t, 4, []*member{one, two}, 2, 2)
				for deadline := time.Now().Add(patience); now[0].ID == had[0].ID && time.Now().Before(deadline); {
					now = holds(t, 4, []*member{one, two}, 2, 2)
				}
				if !slices.Equal(now[0].Partitions, had[0].Partitions) {
					t.Errorf("partitions moved: %+v, %+v", had, now)
				}
				had = now
			}
			others, err := two.c.OtherSettings(t.Context())
			if err != nil || !strings.Contains(fmt.Sprint(others), step.others) {
				t.Errorf("with %q there are other settings: %v, %v; want %s", step.settings, others, err, step.others)
			}
		}
	})
}
