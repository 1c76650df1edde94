// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
)

// stubborn calls f until it succeeds, as long as its errors are worth it.
func stubborn(ctx context.Context, f func() error) error {
	for {
		err := f()
		if err == nil || ctx.Err() != nil || !Retryable(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// stream produces n numbered records to partition 0 of the input and reads them
// at the same time, while disturb does its worst. None may be missing, and the
// first of each must be in order. It returns how many came twice.
func stream(t *testing.T, c *Client, n int, disturb func(reached func(int))) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	topic := c.Options().Topics.Input
	var wait sync.WaitGroup
	defer wait.Wait()
	progress := make(chan int, n)
	wait.Go(func() {
		for i := 0; i < n; i += 5 {
			if err := stubborn(ctx, func() error {
				_, err := c.Produce(ctx, topic, numbered(i, 5))
				return err
			}); err != nil {
				t.Errorf("record %d: %v", i, err)
				cancel()
				return
			}
			progress <- i
		}
	})
	wait.Go(func() {
		disturb(func(least int) {
			for {
				select {
				case at := <-progress:
					if at >= least {
						return
					}
				case <-ctx.Done():
					return
				}
			}
		})
	})
	r := c.Read(topic, TopicID{}, 0, 0)
	next, repeats, offset := 0, 0, int64(0)
	for next < n {
		var b Batch
		if err := stubborn(ctx, func() (err error) {
			b, err = r.Next(ctx, 100, 1<<20)
			return err
		}); err != nil {
			t.Fatalf("after %d records: %v", next, err)
		}
		for _, rec := range b.Records {
			if rec.Offset != offset {
				t.Fatalf("offset %d after %d", rec.Offset, offset-1)
			}
			offset++
			switch got := string(rec.Value); {
			case got == fmt.Sprint(next):
				next++
			case len(got) > 0:
				repeats++
			}
		}
	}
	return repeats
}

func TestReadingAndProducingGoOnAfterTheBrokerWasKilledAndPaused(t *testing.T) {
	onReal(t, func(t *testing.T, b *broker) {
		c := b.client(t, 1, func(o *Options) { o.RequestTimeout = time.Second })
		repeats := stream(t, c, 1500, func(reached func(int)) {
			reached(200)
			b.real.Kill(0)
			b.real.Start(0)
			reached(800)
			b.real.Pause(0)
			time.Sleep(1500 * time.Millisecond) // longer than the request timeout
			b.real.Continue(0)
			reached(1000)
		})
		t.Logf("%d records came twice", repeats)
	})
}

func TestABrokerThatStandsStillIsAnErrorInTime(t *testing.T) {
	onReal(t, func(t *testing.T, b *broker) {
		c := b.client(t, 1, func(o *Options) { o.RequestTimeout = time.Second })
		r := c.Read(b.topics.Input, TopicID{}, 0, 0)
		if err := errors.Join(
			stubborn(t.Context(), func() error { _, err := c.Produce(t.Context(), b.topics.Input, numbered(0, 1)); return err }),
			stubborn(t.Context(), func() error { _, err := r.Next(t.Context(), 1, 1); return err }),
		); err != nil || r.Position() != 1 {
			t.Fatalf("%v, at %d", err, r.Position())
		}
		b.real.Pause(0)
		// t.Context has no deadline, so what ends these is ours.
		if _, err := c.Produce(t.Context(), b.topics.Input, numbered(1, 1)); err == nil || !Retryable(err) {
			t.Errorf("producing gave %v", err)
		}
		if _, err := r.Next(t.Context(), 1, 1); err == nil || !Retryable(err) || r.Position() != 1 {
			t.Errorf("reading gave %v at %d", err, r.Position())
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := r.Next(ctx, 1, 1); !errors.Is(err, context.Canceled) || Retryable(err) {
			t.Errorf("reading without leave gave %v", err)
		}
		b.real.Continue(0)
		if err := stubborn(t.Context(), func() error {
			_, err := c.Produce(t.Context(), b.topics.Input, numbered(1, 1))
			return err
		}); err != nil {
			t.Error(err)
		}
	})
}

func TestANewLeaderIsFound(t *testing.T) {
	t.Parallel() // it has brokers of its own
	k := testkit.StartKafka(t, testkit.KafkaOptions{Brokers: 2})
	b := newBroker(k.Addrs(), k)
	o := b.options()
	o.RequestTimeout = 2 * time.Second
	c := New(o)
	defer c.Close()
	ensure(t, c, Wanted{Create: true, Partitions: 1, Replication: 2})
	f := b.foreign(t)
	lead(t, f, b.topics.Input, 2)
	repeats := stream(t, c, 1000, func(reached func(int)) {
		reached(200)
		k.Kill(1)
		reached(900)
	})
	t.Logf("%d records came twice", repeats)
}
