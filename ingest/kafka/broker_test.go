// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/hinged/hinged/internal/testkit"
)

func TestMain(m *testing.M) {
	code := m.Run()
	testkit.StopSharedKafka()
	os.Exit(code)
}

// broker is what a test runs against, with topic names of its own.
type broker struct {
	addrs  []string
	topics Topics
	group  string
	real   *testkit.Kafka // nil: kfake
}

// serial tells the topics of tests apart that share a broker.
var serial atomic.Int32

func newBroker(addrs []string, apache *testkit.Kafka) *broker {
	n := serial.Add(1)
	name := func(what string) string { return fmt.Sprintf("%s-%d", what, n) }
	return &broker{
		addrs: addrs, real: apache, group: name("group"),
		topics: Topics{Input: name("mail"), Decisions: name("decisions"), DeadLetters: name("dead"), Snapshots: name("snapshots")},
	}
}

// onBoth runs a test on the broker in this process and on Apache Kafka.
func onBoth(t *testing.T, body func(t *testing.T, b *broker)) {
	t.Helper()
	t.Run("kfake", func(t *testing.T) {
		c, err := kfake.NewCluster(kfake.NumBrokers(1))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		body(t, newBroker(c.ListenAddrs(), nil))
	})
	t.Run("Apache Kafka", func(t *testing.T) { onReal(t, body) })
}

// onReal runs a test on Apache Kafka alone.
func onReal(t *testing.T, body func(t *testing.T, b *broker)) {
	t.Helper()
	body(t, newBrokerFor(t))
}

// newBrokerFor returns the shared Apache Kafka, with topics of its own.
func newBrokerFor(tb testing.TB) *broker {
	tb.Helper()
	k := testkit.SharedKafka(tb)
	return newBroker(k.Addrs(), k)
}

// patience is how long a test waits for what must come, on the slowest machine.
const patience = 3 * time.Minute

// options are those of a Client that soon looks again, and gives up late.
func (b *broker) options() Options {
	return Options{
		Brokers: b.addrs, Topics: b.topics, Group: b.group,
		RequestTimeout: 30 * time.Second, MetadataAge: 500 * time.Millisecond, MaxWait: 50 * time.Millisecond,
		HeartbeatInterval: 200 * time.Millisecond, SessionTimeout: time.Minute, JoinBackoff: 100 * time.Millisecond,
	}
}

// client returns a Client, its topics created.
func (b *broker) client(t testing.TB, partitions int32, change ...func(*Options)) *Client {
	t.Helper()
	o := b.options()
	for _, f := range change {
		f(&o)
	}
	c := New(o)
	t.Cleanup(func() { _ = c.Close() })
	ensure(t, c, Wanted{Create: true, Partitions: partitions})
	return c
}

// ensure creates the topics, again and again if a broker is slower than the
// client's patience.
func ensure(t testing.TB, c *Client, w Wanted) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var n int32
	if err := stubborn(ctx, func() (err error) { _, n, err = c.EnsureTopics(ctx, w); return err }); err != nil || n != w.Partitions {
		t.Fatalf("got %d partitions, %v, want %d", n, err, w.Partitions)
	}
}

// foreign returns another program's client, which can do what ours cannot.
func (b *broker) foreign(t testing.TB, o ...kgo.Opt) *kgo.Client {
	t.Helper()
	f, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(b.addrs...), kgo.RecordPartitioner(kgo.ManualPartitioner())}, o...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// cut removes the records of partition 0 before an offset, as retention does.
func (b *broker) cut(t testing.TB, topic string, before int64) {
	t.Helper()
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis = 60_000
	one := kmsg.NewDeleteRecordsRequestTopic()
	one.Topic = topic
	p := kmsg.NewDeleteRecordsRequestTopicPartition()
	p.Offset = before
	one.Partitions = append(one.Partitions, p)
	req.Topics = append(req.Topics, one)
	res, err := req.RequestWith(t.Context(), b.foreign(t))
	if err != nil || len(res.Topics) != 1 || res.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatalf("delete records: %v, %+v", err, res)
	}
}

// settled waits until partition 0 of the input ends at an offset: a broker writes
// the marker of a transaction after it acknowledged its end.
func (b *broker) settled(t testing.TB, c *Client, end int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		marks, err := c.Watermarks(ctx, b.topics.Input)
		if err != nil {
			t.Fatal(err)
		}
		if marks[0].End >= end {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// numbered makes records for partition 0 with values "0", "1" and so on.
func numbered(from, n int) []Record {
	out := make([]Record, n)
	for i := range out {
		out[i] = Record{Key: []byte("k"), Value: fmt.Append(nil, from+i)}
	}
	return out
}

// produce writes records and fails the test if that fails.
func produce(t testing.TB, c *Client, topic string, records []Record) []int64 {
	t.Helper()
	offsets, err := c.Produce(t.Context(), topic, records)
	if err != nil {
		t.Fatal(err)
	}
	return offsets
}

// readAll reads partition p of a topic from an offset up to its end.
func readAll(t testing.TB, c *Client, topic string, p int32, from int64) (all []Record, sum Batch) {
	t.Helper()
	marks, err := c.Watermarks(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	r := c.Read(topic, TopicID{}, p, from)
	defer r.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for r.Position() < marks[p].End {
		b, err := r.Next(ctx, 100, 1<<20)
		if err != nil && ctx.Err() == nil && Retryable(err) {
			continue // a loaded machine
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Records) > 100 {
			t.Fatalf("got %d records, want at most 100", len(b.Records))
		}
		all = append(all, b.Records...)
		sum.Markers += b.Markers
		sum.Aborted += b.Aborted
		sum.Next, sum.First, sum.End, sum.Epoch = b.Next, b.First, b.End, b.Epoch
	}
	return all, sum
}

// values joins what records hold.
func values(records []Record) string {
	var all []string
	for _, r := range records {
		all = append(all, string(r.Value))
	}
	return strings.Join(all, " ")
}
