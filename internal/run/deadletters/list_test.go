// SPDX-License-Identifier: Apache-2.0

package deadletters

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/testkit"
)

// onBoth runs a test against a stand-in and against Apache Kafka.
func onBoth(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Run("kfake", func(t *testing.T) {
		c, err := kfake.NewCluster(kfake.NumBrokers(1))
		testkit.OK(t, err)
		t.Cleanup(c.Close)
		test(t, newWorld(t, c.ListenAddrs()))
	})
	t.Run("Apache Kafka", func(t *testing.T) { test(t, newWorld(t, testkit.StartKafka(t, testkit.KafkaOptions{}).Addrs())) })
}

type world struct {
	*testing.T
	c       *kafka.Client
	records []kafka.Record // that became dead letters
}

const partitions = 3

func newWorld(t *testing.T, addrs []string) *world {
	t.Helper()
	c := kafka.New(kafka.Options{Brokers: addrs, RequestTimeout: time.Minute, MetadataAge: 10 * time.Second, MaxWait: 50 * time.Millisecond, Topics: kafka.Topics{Input: "in", Decisions: "decisions", DeadLetters: "dead", Snapshots: "snapshots"}})
	t.Cleanup(func() { _ = c.Close() })
	if _, _, err := c.EnsureTopics(t.Context(), kafka.Wanted{Create: true, Partitions: partitions}); err != nil {
		t.Fatal(err)
	}
	return &world{T: t, c: c}
}

// die makes dead letters of n records, in the order in which they were in the input, the
// first of them twice, as a crash leaves it.
func (w *world) die(n int) {
	w.Helper()
	for range n {
		i := len(w.records)
		key := fmt.Sprintf("user%d", i%4)
		r := kafka.Record{Partition: kafka.Partition([]byte(key), partitions), Offset: int64(10 + i), Key: []byte(key), Value: fmt.Appendf(nil, "value %d\xff", i), Headers: []kafka.Header{{Key: "ce_type", Value: []byte("x")}, {Key: "trace", Value: nil}}}
		reason := kafka.UnknownType
		if i%2 == 1 {
			reason = kafka.BadJSON
		}
		dead := []kafka.Record{kafka.DeadLetter("in", r, kafka.Refusal{Reason: reason, Detail: "it is so"})}
		if i == 0 {
			dead = append(dead, dead[0])
		}
		if _, err := w.c.Produce(w.Context(), "dead", dead); err != nil {
			w.Fatal(err)
		}
		w.records = append(w.records, r)
	}
}

func TestLettersAreListed(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		w.die(8)
		other := kafka.Record{Partition: 0, Key: []byte("k"), Value: []byte("no letter")}
		nobody := kafka.DeadLetter("in", kafka.Record{Partition: 2, Offset: 5, Value: []byte("whose?")}, kafka.Refusal{Reason: kafka.NoKey, Detail: "none"})
		large := kafka.DeadLetter("in", kafka.Record{Partition: 2, Offset: 6, Key: []byte("a"), Dropped: kafka.Dropped{Value: 7}}, kafka.Refusal{Reason: kafka.TooLarge, Detail: "large"})
		foreign := kafka.DeadLetter("elsewhere", kafka.Record{Key: []byte("a"), Value: []byte("not ours")}, kafka.Refusal{Reason: kafka.Empty, Detail: "x"})
		if _, err := w.c.Produce(t.Context(), "dead", []kafka.Record{other, nobody, large, foreign}); err != nil {
			t.Fatal(err)
		}
		all, err := List(t.Context(), w.c, Selection{})
		if err != nil || len(all.Letters) != 11 || all.Others != 1 {
			t.Fatalf("got %d letters, %d others, %v, want 11 and 1", len(all.Letters), all.Others, err)
		}
		if some, err := List(t.Context(), w.c, Selection{Reason: kafka.BadJSON}); err != nil || len(some.Letters) != 4 {
			t.Errorf("got %d letters with bad JSON, %v, want 4", len(some.Letters), err)
		}
		first := fmt.Sprintf("%d/10", w.records[0].Partition)
		one, err := List(t.Context(), w.c, Selection{IDs: []string{first}})
		if err != nil || len(one.Letters) != 1 {
			t.Fatalf("got %+v, %v", one, err)
		}
		got, err := Read(t.Context(), w.c, &one.Letters[0])
		if err != nil || !bytes.Equal(got.Value, w.records[0].Value) || fmt.Sprint(got.Headers) != fmt.Sprint(w.records[0].Headers) {
			t.Errorf("the record is %+v, %v", got, err)
		}
		if some, err := List(t.Context(), w.c, Selection{Topic: "elsewhere"}); err != nil || len(some.Letters) != 1 {
			t.Errorf("got %d letters of another topic, %v, want 1", len(some.Letters), err)
		}
	})
}
