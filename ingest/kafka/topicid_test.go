// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// id returns the id that a topic has now, which it must have.
func id(t testing.TB, c *Client, topic string) TopicID {
	t.Helper()
	is, err := c.TopicID(t.Context(), topic)
	if err != nil || is == (TopicID{}) {
		t.Fatalf("topic %s has the id %v, %v", topic, is, err)
	}
	return is
}

// remove deletes a topic and waits until that is done.
func (b *broker) remove(t testing.TB, c *Client, topic string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TopicNames, req.TimeoutMillis = []string{topic}, 60_000
	req.Topics = []kmsg.DeleteTopicsRequestTopic{{Topic: &topic}}
	res, err := req.RequestWith(ctx, b.foreign(t))
	if err != nil || len(res.Topics) != 1 || res.Topics[0].ErrorCode != 0 {
		t.Fatalf("delete topic %s: %v, %+v", topic, err, res)
	}
	for {
		_, err := c.TopicID(ctx, topic)
		if errors.Is(err, ErrNoTopic) {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("topic %s is still there: %v", topic, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// recreate deletes a topic and creates it again, with the partitions that it had.
func (b *broker) recreate(t testing.TB, c *Client, topic string, partitions int32) {
	t.Helper()
	b.remove(t, c, topic)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		made, err := c.create(ctx, role{name: topic}, partitions, 0)
		if made {
			break
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	for {
		_, err := c.TopicID(ctx, topic)
		if err == nil {
			_, err = c.await(ctx, topic)
		}
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestATopicCreatedAgainIsNotReadAsTheOldOne(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *broker) {
		c := b.client(t, 1)
		produce(t, c, b.topics.Input, numbered(0, 20))
		was := id(t, c, b.topics.Input)
		if again := id(t, c, b.topics.Input); again != was {
			t.Errorf("the id is %v, then %v", was, again)
		}
		if other := id(t, c, b.topics.Decisions); other == was {
			t.Errorf("two topics have the id %v", was)
		}
		if text := was.String(); len(text) != 22 {
			t.Errorf("it is printed as %q", text)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		r := c.Read(b.topics.Input, was, 0, 0)
		defer r.Close()
		all, err := r.Next(ctx, 100, 1<<20)
		if err != nil || len(all.Records) != 20 || all.End != 20 || all.First != 0 {
			t.Fatalf("got %d records, %+v, %v", len(all.Records), all, err)
		}

		// It has the position that the old one was read up to, and one more.
		b.recreate(t, c, b.topics.Input, 1)
		err = stubborn(ctx, func() error { _, err := c.Produce(ctx, b.topics.Input, numbered(100, 21)); return err })
		if err != nil {
			t.Fatal(err)
		}
		is := id(t, c, b.topics.Input)
		for err = nil; err == nil || Retryable(err) || errors.Is(err, ErrNoTopic); {
			var got Batch
			if got, err = r.Next(ctx, 100, 1<<20); len(got.Records) > 0 {
				t.Fatalf("read %q of the new topic", values(got.Records))
			}
		}
		var other *RecreatedError
		if !errors.As(err, &other) || !errors.Is(err, ErrRecreated) || other.Was != was || other.Is != is || is == was {
			t.Fatalf("got %v, want that the topic %v is now %v", err, was, is)
		}
		if text := err.Error(); !strings.Contains(text, was.String()) || !strings.Contains(text, is.String()) || !strings.Contains(text, b.topics.Input) {
			t.Errorf("it says %q", text)
		}
		// Also where the new log does not reach.
		far := c.Read(b.topics.Input, was, 0, 1000)
		defer far.Close()
		if _, err := far.Next(ctx, 1, 1); !errors.Is(err, ErrRecreated) {
			t.Errorf("above the end: %v", err)
		}
		// The new one is read by its own id.
		r = c.Read(b.topics.Input, is, 0, 20)
		defer r.Close()
		if all, err := r.Next(ctx, 100, 1<<20); err != nil || values(all.Records) != "120" {
			t.Errorf("got %q, %v", values(all.Records), err)
		}
	})
}

// Brokers before Kafka 3.1 tell no id, and are read by name.
func TestOldBrokersTellNoID(t *testing.T) {
	t.Parallel()
	old, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.MaxVersions(kversion.V3_0_0()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(old.Close)
	b := newBroker(old.ListenAddrs(), nil)
	c := b.client(t, 1)
	produce(t, c, b.topics.Input, numbered(0, 3))
	is, err := c.TopicID(t.Context(), b.topics.Input)
	if err != nil || is != (TopicID{}) || fmt.Sprint(is) != "unknown" {
		t.Fatalf("got %v, %v", is, err)
	}
	r := c.Read(b.topics.Input, is, 0, 1)
	defer r.Close()
	if got, err := r.Next(t.Context(), 10, 1<<20); err != nil || values(got.Records) != "1 2" {
		t.Errorf("got %q, %v", values(got.Records), err)
	}
}

// An answer that is cut off anywhere is an error, not a panic and not an id.
func TestAnswersThatAreCutOff(t *testing.T) {
	t.Parallel()
	w := &wireWriter{}
	w.tags()
	w.int32(0)
	w.array(1)
	w.int32(1)
	w.compactString("host")
	w.int32(9092)
	w.uvarint(0)
	w.tags()
	w.compactString("cluster")
	w.int32(1)
	w.array(1)
	w.int16(0)
	w.compactString("mail")
	w.b = append(w.b, "0123456789abcdef"...)
	if r, err := parseTopicID(w.b, "mail"); err != nil || string(r.id[:]) != "0123456789abcdef" {
		t.Fatalf("got %v, %v", r, err)
	}
	for n := range w.b {
		if r, err := parseTopicID(w.b[:n], "mail"); err == nil {
			t.Errorf("%d of %d bytes: got %v", n, len(w.b), r)
		}
	}
	if _, err := parseTopicID(w.b, "other"); err == nil {
		t.Error("the answer about another topic is taken")
	}

	f := &wireWriter{}
	f.tags()
	f.int32(0)
	f.int16(0)
	f.int32(0)
	f.array(1)
	f.b = append(f.b, "0123456789abcdef"...)
	f.array(1)
	f.int32(0)
	f.int16(0)
	f.int64(9)
	f.int64(8)
	f.int64(7)
	f.array(1)
	f.int64(5)
	f.int64(6)
	f.tags()
	f.int32(-1)
	f.compactString("records")
	r, err := parseFetchByID(f.b)
	if err != nil || r.end != 9 || r.stable != 8 || r.start != 7 || len(r.aborted) != 1 || r.aborted[0] != (abortedTransaction{5, 6}) || string(r.recordSets) != "records" {
		t.Fatalf("got %+v, %v", r, err)
	}
	for n := range f.b {
		if r, err := parseFetchByID(f.b[:n]); err == nil {
			t.Errorf("%d of %d bytes: got %+v", n, len(f.b), r)
		}
	}

	e := &wireWriter{}
	e.int32(0)
	e.int32(1)
	e.int16(4)
	e.b = append(e.b, "mail"...)
	e.int32(1)
	e.int16(0)
	e.int32(0)
	e.int32(3)
	e.int64(17)
	if r, err := parseEpoch(e.b, "mail"); err != nil || r.end != 17 || r.code != 0 {
		t.Fatalf("got %+v, %v", r, err)
	}
	for n := range e.b {
		if r, err := parseEpoch(e.b[:n], "mail"); err == nil {
			t.Errorf("%d of %d bytes: got %+v", n, len(e.b), r)
		}
	}
	if _, err := parseEpoch(e.b, "other"); err == nil {
		t.Error("the answer about another topic is taken")
	}
}
