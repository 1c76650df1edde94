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

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestWhatIsProducedIsReadBackInOrderWithEachCompression(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *broker) {
		at := time.Now().UTC().Truncate(time.Millisecond) // a broker throws older ones away
		for _, compression := range []Compression{None, Gzip, Snappy, LZ4, Zstd} {
			t.Run(string(compression), func(t *testing.T) {
				b := newBroker(b.addrs, b.real)
				c := b.client(t, 4, func(o *Options) { o.Compression = compression; o.BatchBytes = 2000 })
				var want []Record
				for i := range 100 {
					want = append(want, Record{
						Partition: ByKey, Key: fmt.Appendf(nil, "account%d", i%7), Value: fmt.Appendf(nil, "value %d", i), Time: at.Add(time.Duration(i) * time.Millisecond),
						Headers: []Header{{"a", []byte{0xff}}, {"a", nil}, {"b", []byte{}}},
					})
				}
				want[50].Value, want[51].Value = nil, []byte{}
				offsets := produce(t, c, b.topics.Input, want)
				got := map[int32][]Record{}
				for p := range int32(4) {
					got[p], _ = readAll(t, c, b.topics.Input, p, 0)
				}
				for i, w := range want {
					p := Partition(w.Key, 4)
					if offsets[i] >= int64(len(got[p])) {
						t.Fatalf("record %d is not in partition %d", i, p)
					}
					g := got[p][offsets[i]]
					w.Partition, w.Offset, w.Epoch = p, offsets[i], g.Epoch
					if fmt.Sprintf("%#v", g) != fmt.Sprintf("%#v", w) {
						t.Errorf("record %d came back as\n%#v, want\n%#v", i, g, w)
					}
				}
			})
		}
	})
}

func TestAReaderTakesNoMoreThanItWasAskedFor(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *broker) {
		c := b.client(t, 1)
		records := numbered(0, 50)
		for i := range records {
			records[i].Value = bytes.Repeat([]byte{'x'}, 1000)
		}
		produce(t, c, b.topics.Input, records)
		r := c.Read(b.topics.Input, id(t, c, b.topics.Input), 0, 7)
		for _, step := range []struct{ most, bytes, want int }{{3, 1 << 20, 3}, {100, 3500, 3}, {100, 1, 1}, {0, 0, 1}, {100, 1 << 20, 35}} {
			before := r.Position()
			got, err := r.Next(t.Context(), step.most, step.bytes)
			if err != nil || len(got.Records) != step.want || got.Next != before+int64(step.want) || got.Records[0].Offset != before {
				t.Fatalf("got %d records up to %d, %v for %+v from %d", len(got.Records), got.Next, err, step, before)
			}
			if got.End != 50 || got.First != 0 {
				t.Errorf("the log is said to hold %d to %d, want 0 to 50", got.First, got.End)
			}
		}
		got, err := r.Next(t.Context(), 10, 1000)
		if err != nil || len(got.Records) != 0 || got.Next != 50 {
			t.Errorf("at the end got %+v, %v, want nothing", got, err)
		}
		produce(t, c, b.topics.Input, numbered(0, 1))
		if got, err = r.Next(t.Context(), 10, 1000); err != nil || len(got.Records) != 1 || got.Next != 51 {
			t.Errorf("after the end got %+v, %v, want one record", got, err)
		}
	})
}

func TestAPositionOutsideTheLogIsAnErrorWithItsBounds(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *broker) {
		c := b.client(t, 1)
		produce(t, c, b.topics.Input, numbered(0, 50))
		b.cut(t, b.topics.Input, 20)
		for _, bad := range []struct {
			from int64
			want error
		}{{0, ErrBelowStart}, {19, ErrBelowStart}, {51, ErrAboveEnd}, {1 << 40, ErrAboveEnd}} {
			r := c.Read(b.topics.Input, id(t, c, b.topics.Input), 0, bad.from)
			got, err := r.Next(t.Context(), 10, 1<<20)
			var where *OffsetError
			if !errors.Is(err, bad.want) || !errors.As(err, &where) || where.First != 20 || where.End != 50 || where.Position != bad.from || len(got.Records) != 0 {
				t.Errorf("from %d got %+v, %v, want %v with 20 and 50", bad.from, got, err, bad.want)
			}
			if Retryable(err) || r.Position() != bad.from {
				t.Errorf("from %d: retryable %v, position %d", bad.from, Retryable(err), r.Position())
			}
		}
		for _, good := range []int64{20, 49, 50} {
			if got, err := c.Read(b.topics.Input, id(t, c, b.topics.Input), 0, good).Next(t.Context(), 100, 1<<20); err != nil || len(got.Records) != int(50-good) {
				t.Errorf("from %d got %d records, %v", good, len(got.Records), err)
			}
		}
	})
}

func TestAReaderIsToldWhenItsRecordsAreCutOffBeneathIt(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *broker) {
		c := b.client(t, 1, func(o *Options) { o.FetchBytes = 1024; o.BatchBytes = 1024 })
		produce(t, c, b.topics.Input, numbered(0, 500))
		r := c.Read(b.topics.Input, id(t, c, b.topics.Input), 0, 0)
		if _, err := r.Next(t.Context(), 1, 1<<20); err != nil {
			t.Fatal(err)
		}
		b.cut(t, b.topics.Input, 400)
		for range 500 {
			before := r.Position()
			got, err := r.Next(t.Context(), 100, 1<<20)
			if errors.Is(err, ErrBelowStart) {
				if before >= 400 || r.Position() != before {
					t.Errorf("position %d became %d", before, r.Position())
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Records) > 0 && got.Records[0].Offset != before {
				t.Fatalf("it jumped from %d to %d", before, got.Records[0].Offset)
			}
		}
		t.Error("it read on without a word")
	})
}

func TestATooLargeRecordIsHandedOnWithoutItsValue(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *broker) {
		c := b.client(t, 1, func(o *Options) { o.MaxRecord = 10_000; o.BatchBytes = 100 << 20 })
		large := numbered(0, 5)
		large[1].Value = make([]byte, 10_000)
		large[2].Value = make([]byte, 10_001)
		large[3].Value = make([]byte, 20<<20)
		large[3].Headers = []Header{{"a", []byte("b")}}
		produce(t, c, b.topics.Input, large)
		got, _ := readAll(t, c, b.topics.Input, 0, 0)
		if len(got) != 5 {
			t.Fatalf("got %d records, want 5", len(got))
		}
		for i, g := range got {
			cut := i == 2 || i == 3
			want := Dropped{}
			if cut {
				want.Value = int64(len(large[i].Value))
			}
			if string(g.Key) != "k" || g.Dropped != want || len(g.Headers) != len(large[i].Headers) || cut && g.Value != nil || !cut && !bytes.Equal(g.Value, large[i].Value) {
				t.Errorf("record %d has key %q, %d bytes, %d headers, dropped %+v", i, g.Key, len(g.Value), len(g.Headers), g.Dropped)
			}
		}
		if _, err := Parse(got[3], 1); !refusedFor(err, TooLarge) {
			t.Errorf("parsing it gives %v", err)
		}
	})
}

// Issue 16, fault 8: of a mail with 2,000 headers, or with one of 100 KB, the value
// was not kept.
func TestWhateverTheHeadersTheValueIsKept(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *broker) {
		c := b.client(t, 1)
		many := func(n int) (out []Header) {
			for range n {
				out = append(out, Header{"h", nil})
			}
			return out
		}
		// A name and an empty value have four bytes of lengths.
		const lengths = 4
		for i, tt := range []struct {
			headers []Header
			key     int
			want    Dropped
		}{
			{headers: many(2000)},
			{headers: []Header{{"h", make([]byte, 100_000)}}},
			{headers: many(maxHeaders)},
			{headers: many(maxHeaders + 1), want: Dropped{Headers: 3 * (maxHeaders + 1)}},
			{headers: []Header{{strings.Repeat("h", maxText-lengths), nil}}},
			{headers: []Header{{strings.Repeat("h", maxText-lengths+1), nil}}, want: Dropped{Headers: maxText + 1}},
			{key: maxText},
			{key: maxText + 1, want: Dropped{Key: maxText + 1}},
			{},
		} {
			r := Record{Key: []byte("k"), Value: []byte("From: a@example.org\r\n\r\nhello\r\n"), Headers: tt.headers}
			if tt.key > 0 {
				r.Key = make([]byte, tt.key)
			}
			produce(t, c, b.topics.Input, []Record{r})
			all, _ := readAll(t, c, b.topics.Input, 0, int64(i))
			if len(all) != 1 {
				t.Fatalf("record %d: got %d records", i, len(all))
			}
			got := all[0]
			if !bytes.Equal(got.Value, r.Value) || got.Dropped != tt.want || tt.want.Headers == 0 && len(got.Headers) != len(r.Headers) || tt.want.Key == 0 && !bytes.Equal(got.Key, r.Key) {
				t.Errorf("record %d: got %d bytes, %d headers, a key of %d bytes, dropped %+v, want %+v", i, len(got.Value), len(got.Headers), len(got.Key), got.Dropped, tt.want)
			}
			_, err := Parse(got, 1)
			if want := tt.want.Bytes() > 0; refusedFor(err, TooLarge) != want || !want && tt.key == 0 && err != nil {
				t.Errorf("record %d: parsing it gives %v", i, err)
			}
		}
	})
}

func TestRecordsOfAbortedTransactionsAndControlMarkersArePassedOver(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *broker) {
		c := b.client(t, 1)
		want := ""
		// Two producers, so that batches of an aborted and of a committed
		// transaction stand between each other.
		var producers []*kgo.Client
		for i := range 2 {
			producers = append(producers, b.foreign(t, kgo.TransactionalID(fmt.Sprintf("%s-%d", b.topics.Input, i))))
		}
		send := func(f *kgo.Client, value string) {
			t.Helper()
			if err := f.ProduceSync(t.Context(), &kgo.Record{Topic: b.topics.Input, Key: []byte("k"), Value: []byte(value)}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		for round := range 3 {
			for _, f := range producers {
				if err := f.BeginTransaction(); err != nil {
					t.Fatal(err)
				}
			}
			kept, lost := producers[round%2], producers[1-round%2]
			send(lost, "lost")
			send(kept, fmt.Sprint("a", round))
			send(lost, "lost")
			send(kept, fmt.Sprint("b", round))
			if err := lost.EndTransaction(t.Context(), kgo.TryAbort); err != nil {
				t.Fatal(err)
			}
			if err := kept.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
				t.Fatal(err)
			}
			produce(t, c, b.topics.Input, []Record{{Key: []byte("k"), Value: fmt.Append(nil, "c", round)}})
			want += fmt.Sprintf("a%d b%d c%d ", round, round, round)
		}
		want = strings.TrimSpace(want)
		b.settled(t, c, 21)
		got, sum := readAll(t, c, b.topics.Input, 0, 0)
		if values(got) != want || sum.Aborted != 6 || sum.Markers != 6 || sum.Next != 21 {
			t.Errorf("got %q, %d aborted, %d markers, next %d; want %q, 6, 6, 21", values(got), sum.Aborted, sum.Markers, sum.Next, want)
		}
		// From within a transaction on, too.
		if got, _ := readAll(t, c, b.topics.Input, 0, 2); values(got) != strings.TrimPrefix(want, "a0 ") {
			t.Errorf("from offset 2 got %q", values(got))
		}
	})
}

// A broker lists aborted transactions in the order in which they ended. The one that
// begins first ends last.
func TestAbortedTransactionsMayOverlap(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *broker) {
		c := b.client(t, 1)
		send := func(f *kgo.Client) {
			t.Helper()
			if err := f.ProduceSync(t.Context(), &kgo.Record{Topic: b.topics.Input, Key: []byte("k"), Value: []byte("aborted")}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		abort := func(f *kgo.Client) {
			t.Helper()
			if err := f.EndTransaction(t.Context(), kgo.TryAbort); err != nil {
				t.Fatal(err)
			}
		}
		var producers []*kgo.Client
		for i := range 2 {
			f := b.foreign(t, kgo.TransactionalID(fmt.Sprintf("%s-%d", b.topics.Input, i)))
			if err := f.BeginTransaction(); err != nil {
				t.Fatal(err)
			}
			send(f)
			producers = append(producers, f)
		}
		abort(producers[1])
		send(producers[0])
		abort(producers[0])
		produce(t, c, b.topics.Input, []Record{{Key: []byte("k"), Value: []byte("committed")}})
		b.settled(t, c, 6)
		got, sum := readAll(t, c, b.topics.Input, 0, 0)
		if values(got) != "committed" || sum.Aborted != 3 || sum.Markers != 2 {
			t.Errorf("got %q, %d aborted, %d markers; want only what was committed", values(got), sum.Aborted, sum.Markers)
		}
	})
}

func TestAnOpenTransactionIsWaitedFor(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *broker) {
		c := b.client(t, 1)
		f := b.foreign(t, kgo.TransactionalID(b.topics.Input))
		if err := f.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := f.ProduceSync(t.Context(), &kgo.Record{Topic: b.topics.Input, Value: []byte("open")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		r := c.Read(b.topics.Input, id(t, c, b.topics.Input), 0, 0)
		if got, err := r.Next(t.Context(), 10, 1<<20); err != nil || len(got.Records) != 0 || got.Next != 0 || got.End != 0 || got.High != 1 {
			t.Errorf("before the commit got %+v, %v", got, err)
		}
		if marks, err := c.Watermarks(t.Context(), b.topics.Input); err != nil || marks[0] != (Watermark{First: 0, End: 0, High: 1}) {
			t.Errorf("before the commit the log has %+v, %v", marks, err)
		}
		at, err := c.Timestamp(t.Context(), b.topics.Input, 0, 0)
		if err != nil || time.Since(at).Abs() > time.Hour {
			t.Errorf("the record has the timestamp %v, %v", at, err)
		}
		if at, err := c.Timestamp(t.Context(), b.topics.Input, 0, 1); err != nil || !at.IsZero() {
			t.Errorf("behind it there is %v, %v", at, err)
		}
		if err := f.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
			t.Fatal(err)
		}
		// The marker is written after the commit was acknowledged.
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for {
			got, err := r.Next(ctx, 10, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Records) > 0 {
				if values(got.Records) != "open" {
					t.Errorf("after the commit got %q", values(got.Records))
				}
				return
			}
		}
	})
}

func TestReadingACompactedTopicPassesOverItsGaps(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, b *broker) {
		c := b.client(t, 1)
		f := b.foreign(t)
		alter(t, f, b.topics.Snapshots, map[string]string{"segment.ms": "100", "min.cleanable.dirty.ratio": "0.001", "min.compaction.lag.ms": "0", "delete.retention.ms": "100"})
		latest := map[string]string{}
		var wrote int
		write := func() {
			var records []Record
			for i := range 40 {
				key, value := fmt.Sprint(i%5), fmt.Sprint(wrote, "-", i)
				latest[key] = value
				records = append(records, Record{Key: []byte(key), Value: []byte(value)})
			}
			produce(t, c, b.topics.Snapshots, records)
			wrote += len(records)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for {
			write()
			all, sum := readAll(t, c, b.topics.Snapshots, 0, 0)
			got := map[string]string{}
			last := int64(-1)
			for _, r := range all {
				if r.Offset <= last {
					t.Fatalf("offset %d after %d", r.Offset, last)
				}
				last, got[string(r.Key)] = r.Offset, string(r.Value)
			}
			if fmt.Sprint(got) != fmt.Sprint(latest) || sum.Next != int64(wrote) {
				t.Fatalf("got %v up to %d, want %v up to %d", got, sum.Next, latest, wrote)
			}
			if len(all) < wrote {
				return // it was compacted, and what is left is right
			}
			select {
			case <-ctx.Done():
				t.Fatal("the broker does not compact")
			case <-time.After(150 * time.Millisecond):
			}
		}
	})
}

// A broker answers whoever is over a quota at once, with no records and no topic at all, and
// says how long to wait (KIP-219).
func TestABrokerThatThrottlesReadingIsWaitedFor(t *testing.T) {
	t.Parallel()
	b := newBrokerFor(t)
	quota := kmsg.NewPtrAlterClientQuotasRequest()
	entry := kmsg.NewAlterClientQuotasRequestEntry()
	entry.Entity = []kmsg.AlterClientQuotasRequestEntryEntity{{Type: "client-id", Name: &b.group}}
	entry.Ops = []kmsg.AlterClientQuotasRequestEntryOp{{Key: "consumer_byte_rate", Value: 60_000}}
	quota.Entries = append(quota.Entries, entry)
	if res, err := quota.RequestWith(t.Context(), b.foreign(t)); err != nil || res.Entries[0].ErrorCode != 0 {
		t.Fatalf("setting a quota: %v, %+v", err, res)
	}
	c := b.client(t, 1, func(o *Options) { o.ClientID, o.BatchBytes, o.FetchBytes = b.group, 40_000, 40_000 })
	var records []Record
	for range 6 {
		records = append(records, Record{Key: []byte("k"), Value: noise(30_000)})
	}
	produce(t, c, b.topics.Input, records)
	for _, id := range []TopicID{{}, id(t, c, b.topics.Input)} {
		r := c.Read(b.topics.Input, id, 0, 0)
		defer r.Close()
		for r.Position() < int64(len(records)) {
			if _, err := r.Next(t.Context(), 10, 1<<20); err != nil {
				t.Fatalf("by id %v: %v", id, err)
			}
		}
	}
}

// Each record says who took it, and where that ends in the log can be asked.
func TestTheEpochOfALeaderEndsWhereItsLogDoes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *broker) {
		c := b.client(t, 1)
		produce(t, c, b.topics.Input, numbered(0, 7))
		all, sum := readAll(t, c, b.topics.Input, 0, 0)
		epoch := all[6].Epoch
		if epoch < 1 || sum.Epoch != epoch {
			t.Fatalf("the last record is of epoch %d, the last batch of %d", epoch, sum.Epoch)
		}
		if end, err := c.EpochEnd(t.Context(), b.topics.Input, 0, epoch); err != nil || end != 7 {
			t.Errorf("it ends at %d, %v", end, err)
		}
	})
}
