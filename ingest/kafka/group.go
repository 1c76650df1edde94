// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

// Generation is what the group gave us: partitions of the input topic that are
// ours until the generation ends.
type Generation struct {
	ID         int32   // rises with every change in the group
	Partitions []int32 // ascending; may be empty
	member     string
}

// Member takes part in the consumer group.
type Member struct {
	// Generation is called for each generation, one at a time, and owns its
	// partitions until its ctx is done; then it must return within a second, or the
	// group may go on without us. Returning earlier leaves the partitions idle until
	// the generation ends.
	Generation func(ctx context.Context, g Generation)
	// Problem is told why there is no generation just now, and nil once there is one
	// again. May be nil.
	Problem func(err error)
}

// A member that leaves lets requests under way finish for leaveGrace, then it breaks their
// connections: joining can take the whole rebalance timeout. To leave takes connections of
// its own, which are broken only after leavePatience: whoever goes without a word keeps the
// others waiting for the whole session timeout.
const (
	leaveGrace    = 300 * time.Millisecond
	leavePatience = 3 * time.Second
)

// Run takes part in the group Options.Group until ctx is done, and joins again
// as often as it must. Then the generation's ctx is done too, and the group is
// told that we leave, so that others take over at once. It returns nil when ctx
// ended it.
//
// The order at the end of a generation: its ctx is done; m.Generation returns;
// only then does this member join again, so no two calls of m.Generation
// overlap. Another process may have our partitions already by then, if we were
// silent for longer than Options.SessionTimeout.
func (c *Client) Run(ctx context.Context, m Member) error {
	if c.closed.Load() {
		return ErrClosed
	}
	problem := m.Problem
	if problem == nil {
		problem = func(error) {}
	}
	d, balancer := newDialer(c.o), &sticky{settings: &c.settings, dealt: -1}
	group, err := kafkago.NewConsumerGroup(kafkago.ConsumerGroupConfig{
		ID:      c.o.Group,
		Brokers: c.o.Brokers,
		Topics:  []string{c.o.Topics.Input},
		Dialer: &kafkago.Dialer{
			ClientID: c.o.ClientID,
			Timeout:  c.o.RequestTimeout,
			DialFunc: d.dial,
		},
		GroupBalancers:         []kafkago.GroupBalancer{balancer, kafkago.RangeGroupBalancer{}},
		HeartbeatInterval:      c.o.HeartbeatInterval,
		SessionTimeout:         c.o.SessionTimeout,
		RebalanceTimeout:       c.o.RebalanceTimeout,
		JoinGroupBackoff:       c.o.JoinBackoff,
		WatchPartitionChanges:  true,
		PartitionWatchInterval: c.o.MetadataAge,
		Timeout:                c.o.RequestTimeout,
	})
	if err != nil {
		return fmt.Errorf("join group %s: %w", c.o.Group, err)
	}
	// Close waits for our functions and then leaves the group.
	var leaving sync.WaitGroup
	leaving.Go(func() {
		<-ctx.Done()
		underWay := d.connections()
		defer time.AfterFunc(leaveGrace, func() { breakOff(underWay) }).Stop()
		defer time.AfterFunc(leaveGrace+leavePatience, func() { breakOff(d.connections()) }).Stop()
		_ = group.Close() // it returns nothing else
	})
	defer leaving.Wait()

	for {
		gen, err := group.Next(ctx)
		switch {
		case ctx.Err() != nil || errors.Is(err, kafkago.ErrGroupClosed):
			return nil
		case err != nil:
			// kafka-go pauses for JoinBackoff by itself where that is called for.
			problem(fmt.Errorf("join group %s: %w", c.o.Group, err))
			continue
		}
		g := Generation{ID: gen.ID, member: gen.MemberID}
		for _, a := range gen.Assignments[c.o.Topics.Input] {
			g.Partitions = append(g.Partitions, int32(a.ID))
		}
		slices.Sort(g.Partitions)
		balancer.has(g)
		changed := balancer.said
		problem(nil)
		done := make(chan struct{})
		gen.Start(func(over context.Context) {
			defer close(done)
			c.generation(ctx, over, m, g, balancer.dealtOut(), changed)
		})
		<-done
	}
}

// generation runs m's until over is done, changed is closed, or the input topic has other
// partitions than we dealt out for it; dealt is -1 if another member did.
func (c *Client) generation(ctx, over context.Context, m Member, g Generation, dealt int32, changed <-chan struct{}) {
	// The context of kafka-go has no cause and no values; ours has both.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(over, func() { cancel(over.Err()) })
	defer stop()
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() {
		select {
		case <-ctx.Done():
		case <-changed:
			cancel(errOtherSettings)
		}
	})
	if dealt >= 0 {
		watching.Go(func() {
			if c.otherPartitions(ctx, dealt) {
				cancel(errOtherPartitions)
			}
		})
	}
	m.Generation(ctx, g)
	<-ctx.Done() // returning would end the generation
}

var (
	errOtherPartitions = errors.New("the input topic has other partitions than were dealt out")
	errOtherSettings   = errors.New("the settings have changed, which the group is to know")
)

// otherPartitions waits until the input topic has another number of partitions, 0 if it is
// missing, or until ctx is done; it reports whether it has. kafka-go watches, too, but only
// from the time after the partitions were dealt out: what was created in between, such as
// the whole topic, it would never see.
func (c *Client) otherPartitions(ctx context.Context, dealt int32) bool {
	tick := time.NewTicker(c.o.MetadataAge)
	defer tick.Stop()
	// What we know may be older than the dealing, by MetadataAge at most. So it has to
	// differ twice.
	for others := 0; others < 2; {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		n, err := c.Partitions(ctx, c.o.Topics.Input)
		switch {
		case err != nil && !errors.Is(err, ErrNoTopic): // nothing is known
		case n == dealt:
			others = 0
		default:
			others++
		}
	}
	return ctx.Err() == nil
}
