// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"fmt"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/testkit"
)

// dial returns a client of a real cluster.
func dial(t *testing.T, k *testkit.Kafka) *kafka.Client {
	t.Helper()
	client, err := kafka.New(kafka.Options{
		Brokers: k.Addrs(), Topics: testTopics, Group: "g", RequestTimeout: 3 * time.Second,
		MetadataAge: time.Second, HeartbeatInterval: 300 * time.Millisecond, SessionTimeout: 6 * time.Second,
		JoinBackoff: 100 * time.Millisecond, MaxWait: 100 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// TestOnARealBroker: two processes share the partitions, one of them leaves, the
// broker is killed and started again, and a third begins with an empty store. All
// of them come to what the filter alone comes to, and repeat no decision with
// other bytes.
func TestOnARealBroker(t *testing.T) {
	k := testkit.StartKafka(t, testkit.KafkaOptions{})
	const partitions = 4
	twin := newCluster(partitions) // has the same records in memory
	client := dial(t, k)
	if _, _, err := client.EnsureTopics(t.Context(), kafka.Wanted{Create: true, Partitions: partitions}); err != nil {
		t.Fatal(err)
	}
	sent := map[int32]int{}
	// A broker would throw away at once what is older than its retention.
	later := time.Since(epoch).Truncate(time.Second) - time.Hour
	send := func(seed uint64) {
		fill(twin, seed, 9, 150)
		for _, l := range twin.topics[testTopics.Input] {
			for i := range l.records {
				if l.records[i].Time.Before(epoch.Add(later)) {
					l.records[i].Time = l.records[i].Time.Add(later)
				}
			}
		}
		var all []kafka.Record
		skip := map[int32]int{}
		for _, r := range twin.all(testTopics.Input) {
			if skip[r.Partition]++; skip[r.Partition] > sent[r.Partition] {
				sent[r.Partition]++
				all = append(all, r)
			}
		}
		if _, err := client.Produce(t.Context(), testTopics.Input, all); err != nil {
			t.Fatal(err)
		}
	}
	// Markers of the twin take no offsets on the broker, and change nothing.
	caught := func(all ...*process) error {
		marks, err := client.Watermarks(t.Context(), testTopics.Input)
		if err != nil {
			return err
		}
		at := map[int32]int64{}
		for _, p := range all {
			for n, next := range p.positions() {
				at[n] = max(at[n], next)
			}
		}
		for n, w := range marks {
			if at[int32(n)] < w.End {
				return fmt.Errorf("partition %d stands at %d of %d", n, at[int32(n)], w.End)
			}
		}
		return nil
	}
	begin := func() *process {
		p := newProcess(t, twin)
		own := dial(t, k)
		p.start(small, func(o *Options) { o.Broker = Client(own) })
		return p
	}

	send(101)
	p, q := begin(), begin()
	eventually(t, func() error { return caught(p, q) })
	eventually(t, func() error {
		if a, b := len(p.engine.Status().Partitions), len(q.engine.Status().Partitions); a != 2 || b != 2 {
			return fmt.Errorf("they have %d and %d partitions", a, b)
		}
		return nil
	})
	p.stop()
	send(102)
	k.Kill(0)
	k.Start(0)
	eventually(t, func() error { return whole(q) })
	eventually(t, func() error { return caught(q) })
	want := plain(t, twin)
	sameDigests(t, newest(t, q), want)
	if q.engine.Status().Rebalances == 0 {
		t.Error("the partitions were never dealt out anew")
	}
	q.stop()

	send(103)
	r := begin()
	eventually(t, func() error { return whole(r) })
	eventually(t, func() error { return caught(r) })
	sameDigests(t, digests(t, r.store), plain(t, twin))
	sound(t, r.store)
	sameBytes(t, client, testTopics.Decisions)
	r.stop()
}

// sameBytes checks that whatever is in a topic under one ce_id is one record,
// however often.
func sameBytes(t *testing.T, client *kafka.Client, topic string) {
	t.Helper()
	marks, err := client.Watermarks(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	repeated := 0
	for n, w := range marks {
		r := client.Read(topic, int32(n), w.First)
		for r.Position() < w.End {
			b, err := r.Next(t.Context(), 1000, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range b.Records {
				id, text := identity(one), fmt.Sprintf("%d %s %s %q", one.Partition, one.Key, one.Value, one.Headers)
				if before, ok := seen[id]; ok {
					repeated++
					if before != text {
						t.Errorf("%s is\n%s and\n%s", id, before, text)
					}
				}
				seen[id] = text
			}
		}
		r.Close()
	}
	if len(seen) < 300 {
		t.Errorf("got %d different records", len(seen))
	}
	t.Logf("%d records, %d of them repeated", len(seen)+repeated, repeated)
}
