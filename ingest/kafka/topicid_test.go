// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"bytes"
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
	id, topic, host := TopicID([]byte("0123456789abcdef")), "mail", "host"
	metadata := &kmsg.MetadataResponse{
		Version: metadataByID,
		Brokers: []kmsg.MetadataResponseBroker{{NodeID: 1, Host: host, Port: 9092}},
		Topics:  []kmsg.MetadataResponseTopic{{Topic: &topic, TopicID: id}},
	}
	fetch := &kmsg.FetchResponse{Version: fetchByID, Topics: []kmsg.FetchResponseTopic{{TopicID: id, Partitions: []fetched{{
		HighWatermark: 9, LastStableOffset: 8, LogStartOffset: 7,
		AbortedTransactions: []aborted{{ProducerID: 5, FirstOffset: 6}}, RecordBatches: []byte("records"),
	}}}}}
	epoch := &kmsg.OffsetForLeaderEpochResponse{Version: epochVersion, Topics: []kmsg.OffsetForLeaderEpochResponseTopic{{
		Topic: topic, Partitions: []kmsg.OffsetForLeaderEpochResponseTopicPartition{{LeaderEpoch: 3, EndOffset: 17}},
	}}}
	for name, answer := range map[string]kmsg.Response{"metadata": metadata, "fetch": fetch, "epoch": epoch} {
		var head []byte
		if answer.RequestKind().IsFlexible() {
			head = []byte{0}
		}
		body := answer.AppendTo(head)
		for n := range len(body) + 1 {
			got := answer.RequestKind().ResponseKind()
			err := parseAnswer(body[:n], got)
			if (err == nil) != (n == len(body)) {
				t.Errorf("%s: %d of %d bytes: %v", name, n, len(body), err)
			}
			if err == nil && !bytes.Equal(got.AppendTo(nil), answer.AppendTo(nil)) {
				t.Errorf("%s: got %+v, want %+v", name, got, answer)
			}
		}
	}
}
