// SPDX-License-Identifier: Apache-2.0

package deadletters

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
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
		if err != nil {
			t.Fatal(err)
		}
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
	c, err := kafka.New(kafka.Options{Brokers: addrs, RequestTimeout: time.Minute, MetadataAge: 10 * time.Second, MaxWait: 50 * time.Millisecond, Topics: kafka.Topics{Input: "in", Decisions: "decisions", DeadLetters: "dead", Snapshots: "snapshots"}})
	if err != nil {
		t.Fatal(err)
	}
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

// played returns the records of the input by their values, and how often each is there.
func (w *world) played() (all []kafka.Record, times map[string]int) {
	w.Helper()
	marks, err := w.c.Watermarks(w.Context(), "in")
	if err != nil {
		w.Fatal(err)
	}
	times = map[string]int{}
	for p, m := range marks {
		if err := each(w.Context(), w.c, "in", int32(p), m.First, m.End, func(r *kafka.Record) {
			all = append(all, *r)
			times[string(r.Value)]++
		}); err != nil {
			w.Fatal(err)
		}
	}
	return all, times
}

// later is the clock of a run that finds earlier ones over.
func later() time.Time { return time.Now().Add(2 * patience) }

func TestLettersAreListedAndPlayedOnce(t *testing.T) {
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
		ours := Selection{Topic: "in"}
		dry, err := Play(t.Context(), w.c, ours, PlayOptions{DryRun: true})
		if records, _ := w.played(); err != nil || len(dry.Played) != 8 || len(dry.Unplayable) != 2 || len(records) != 0 {
			t.Fatalf("the dry run played %d letters and left %d, %v; the input has %d records", len(dry.Played), len(dry.Unplayable), err, len(records))
		}
		for round, s := range []Selection{{Topic: "in", IDs: []string{first}}, ours, ours} {
			done, err := Play(t.Context(), w.c, s, PlayOptions{})
			if want := []int{1, 7, 0}[round]; err != nil || len(done.Played) != want {
				t.Fatalf("round %d played %d, want %d: %v", round, len(done.Played), want, err)
			}
		}
		records, times := w.played()
		if len(records) != 8 || len(times) != 8 {
			t.Errorf("the input has %d records, %d different ones, want 8", len(records), len(times))
		}
		// As they were, in the place of their key, in their order.
		last := map[string]int{}
		for _, r := range records {
			var n int
			if _, err := fmt.Sscanf(string(r.Value), "value %d", &n); err != nil {
				t.Fatal(err)
			}
			was := w.records[n]
			if !bytes.Equal(r.Value, was.Value) || !bytes.Equal(r.Key, was.Key) || r.Partition != was.Partition || fmt.Sprint(original(r.Headers)) != fmt.Sprint(was.Headers) || n < last[string(r.Key)] {
				t.Errorf("record %d became %+v", n, r)
			}
			last[string(r.Key)] = n
		}
		again, err := Play(t.Context(), w.c, Selection{Topic: "in", IDs: []string{first}}, PlayOptions{Again: true})
		if _, times := w.played(); err != nil || len(again.Played) != 1 || times[string(w.records[0].Value)] != 2 {
			t.Errorf("once more it played %d letters, %v; it is there %d times", len(again.Played), err, times[string(w.records[0].Value)])
		}
	})
}

// Interrupted at any step, playing comes to what it comes to undisturbed.
func TestInterruptedPlayingPlaysNothingTwice(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		crash := errors.New("crash")
		n := 0
		for _, at := range []string{"intend", "play", "done"} {
			w.die(3)
			n += 3
			_, err := Play(t.Context(), w.c, Selection{}, PlayOptions{Now: later, Hook: func(step string) error {
				if step == at {
					return crash
				}
				return nil
			}})
			if !errors.Is(err, crash) || !strings.Contains(err.Error(), "0 of 3 were played") {
				t.Fatalf("%s: got %v", at, err)
			}
			if at != "intend" {
				if _, err := Play(t.Context(), w.c, Selection{}, PlayOptions{}); !errors.Is(err, ErrBusy) {
					t.Errorf("%s: at once it says %v, want that another run may be at it", at, err)
				}
			}
			// The next run finds out what became of it, also if that one dies, too.
			done, err := Play(t.Context(), w.c, Selection{}, PlayOptions{Now: later})
			want := 3
			if at == "done" {
				want = 0
			}
			if err != nil || len(done.Played) != want || len(done.Played)+len(done.Before) != n {
				t.Fatalf("%s: then it played %d, and %d before, want %d of %d: %v", at, len(done.Played), len(done.Before), want, n, err)
			}
			records, _ := w.played()
			if len(records) != n {
				t.Fatalf("%s: the input has %d records, want %d", at, len(records), n)
			}
		}
	})
}

// Of two runs at the same time, both may give up, and neither repeats the other.
func TestTwoRunsAtATimePlayNothingTwice(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		w.die(5)
		var inner error
		_, outer := Play(t.Context(), w.c, Selection{}, PlayOptions{Hook: func(step string) error {
			if step == "intend" && inner == nil {
				_, inner = Play(t.Context(), w.c, Selection{}, PlayOptions{Hook: func(step string) error {
					if step == "done" {
						return errors.New("it is slow")
					}
					return nil
				}})
			}
			return nil
		}})
		if !errors.Is(outer, ErrBusy) || inner == nil {
			t.Errorf("got %v and %v, want that the first sees the second", outer, inner)
		}
		done, err := Play(t.Context(), w.c, Selection{}, PlayOptions{Now: later})
		if records, _ := w.played(); err != nil || len(records) != 5 || len(done.Before) != 5 {
			t.Errorf("the input has %d records, %d of them played before, %v, want 5", len(records), len(done.Before), err)
		}
	})
}
