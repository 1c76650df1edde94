// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/testkit"
)

// dial returns a client of a real cluster.
func dial(t *testing.T, k *testkit.Kafka) *kafka.Client {
	t.Helper()
	client := kafka.New(kafka.Options{
		Brokers: k.Addrs(), Topics: testTopics, Group: "g", RequestTimeout: time.Minute,
		MetadataAge: time.Second, HeartbeatInterval: 300 * time.Millisecond, SessionTimeout: 6 * time.Second,
		JoinBackoff: 100 * time.Millisecond, MaxWait: 100 * time.Millisecond,
	})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// later is how much later than in memory the mail for a broker is, which would throw away
// at once what is older than its retention.
var later = time.Since(epoch).Truncate(time.Second) - time.Hour

// unsent returns the input that a twin in memory has and that was not sent yet, made later,
// and counts it as sent, by partition.
func unsent(twin *cluster, sent map[int32]int) (all []kafka.Record) {
	for _, l := range twin.topics[testTopics.Input] {
		for i := range l.records {
			if l.records[i].Time.Before(epoch.Add(later)) {
				l.records[i].Time = l.records[i].Time.Add(later)
			}
		}
	}
	skip := map[int32]int{}
	for _, r := range twin.all(testTopics.Input) {
		if skip[r.Partition]++; skip[r.Partition] > sent[r.Partition] {
			sent[r.Partition]++
			all = append(all, r)
		}
	}
	return all
}

// TestOnARealBroker: two processes share the partitions, one of them leaves, the
// broker is killed and started again, and a third begins with an empty store. All
// of them come to what the filter alone comes to, and repeat no decision with
// other bytes.
func TestOnARealBroker(t *testing.T) {
	t.Parallel() // it mostly waits
	k := testkit.StartKafka(t, testkit.KafkaOptions{})
	const partitions = 4
	twin := newCluster(partitions) // has the same records in memory
	client := dial(t, k)
	if _, _, err := client.EnsureTopics(t.Context(), kafka.Wanted{Create: true, Partitions: partitions}); err != nil {
		t.Fatal(err)
	}
	sent := map[int32]int{}
	send := func(seed uint64) {
		fill(twin, seed, 9, 150)
		all := unsent(twin, sent)
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
	testkit.OK(t, err)
	seen := map[string]string{}
	repeated := 0
	for n, w := range marks {
		r := client.Read(topic, kafka.TopicID{}, int32(n), w.First)
		for r.Position() < w.End {
			b, err := r.Next(t.Context(), 1000, 1<<20)
			testkit.OK(t, err)
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

// TestLagOnARealBroker: a producer leaves a transaction open, the broker is away, and a
// partition is stopped at its beginning. Each time the status says what waits, and never
// that nothing does.
func TestLagOnARealBroker(t *testing.T) {
	testkit.Computes(t) // the broker does
	t.Parallel()
	k := testkit.StartKafka(t, testkit.KafkaOptions{})
	client := dial(t, k)
	if _, _, err := client.EnsureTopics(t.Context(), kafka.Wanted{Create: true, Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	foreign := func(o ...kgo.Opt) *kgo.Client {
		f, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(k.Addrs()...), kgo.TransactionTimeout(10 * time.Minute)}, o...)...)
		testkit.OK(t, err)
		t.Cleanup(f.Close)
		return f
	}
	send := func(f *kgo.Client, from, n int) {
		t.Helper()
		for i := from; i < from+n; i++ {
			r := &kgo.Record{Topic: testTopics.Input, Key: []byte("a"), Value: fmt.Appendf(nil, "Message-ID: <%d@x>\r\nFrom: s@example.net\r\n\r\nplan\r\n", i)}
			testkit.OK(t, f.ProduceSync(t.Context(), r).FirstErr())
		}
	}
	p := newProcess(t, newCluster(1))
	own := dial(t, k)
	begin := func(tunes ...tune) {
		p.start(append(tunes, func(o *Options) { o.Broker = Client(own) })...)
	}
	begin(func(o *Options) { o.SnapshotEvery = 1 << 40 })
	plain, hanging := foreign(), foreign(kgo.TransactionalID("hanging"))
	send(plain, 0, 3)
	says(t, p, "nothing waits", func(s Status, one PartitionStatus) bool { return s.CaughtUp() && one.Position == 3 })

	testkit.OK(t, hanging.BeginTransaction())
	send(hanging, 3, 2)
	send(plain, 5, 4) // behind it
	says(t, p, "6 records wait for a transaction", func(s Status, one PartitionStatus) bool {
		return s.Lag != nil && *s.Lag == 6 && s.InTransaction == 6 && s.OldestSeconds != nil && one.Position == 3
	})

	brokers := len(k.Addrs())
	for i := range brokers {
		k.Stop(brokers - 1 - i) // the first, which leads them, last
	}
	says(t, p, "what waits is unknown", func(s Status, _ PartitionStatus) bool { return s.Lag == nil && s.OldestSeconds == nil })
	for i := range brokers {
		k.Start(i)
	}
	says(t, p, "6 records wait still", func(s Status, _ PartitionStatus) bool { return s.Lag != nil && *s.Lag == 6 })
	testkit.OK(t, hanging.EndTransaction(t.Context(), kgo.TryCommit))
	// The marker takes an offset, too.
	says(t, p, "nothing waits", func(s Status, one PartitionStatus) bool { return s.CaughtUp() && one.Position == 10 })
	p.stop()

	send(plain, 9, 8)
	req := kmsg.NewPtrDeleteRecordsRequest()
	topic := kmsg.NewDeleteRecordsRequestTopic()
	topic.Topic = testTopics.Input
	cut := kmsg.NewDeleteRecordsRequestTopicPartition()
	cut.Offset = 15
	topic.Partitions, req.TimeoutMillis = append(topic.Partitions, cut), 60_000
	req.Topics = append(req.Topics, topic)
	if res, err := req.RequestWith(t.Context(), plain); err != nil || res.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatalf("cutting the log: %+v, %v", res, err)
	}
	begin()
	says(t, p, "it is stopped, and 8 records wait", func(s Status, one PartitionStatus) bool {
		return one.Stopped && s.Lag != nil && *s.Lag == 8 && s.OldestSeconds != nil
	})
	send(plain, 17, 1)
	says(t, p, "it is stopped, and 9 records wait", func(s Status, _ PartitionStatus) bool { return s.Lag != nil && *s.Lag == 9 })
}

// noise is what no compression makes smaller.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(b) // never fails
	return b
}

// topicOf creates a topic with one partition that takes batches of so many bytes.
func topicOf(t *testing.T, k *testkit.Kafka, name string, most int, settings ...string) {
	t.Helper()
	o := kafkago.TopicConfig{Topic: name, NumPartitions: 1, ReplicationFactor: -1, ConfigEntries: []kafkago.ConfigEntry{{ConfigName: "max.message.bytes", ConfigValue: fmt.Sprint(most)}}}
	for i := 0; i < len(settings); i += 2 {
		o.ConfigEntries = append(o.ConfigEntries, kafkago.ConfigEntry{ConfigName: settings[i], ConfigValue: settings[i+1]})
	}
	c := &kafkago.Client{Addr: kafkago.TCP(k.Addrs()...), Transport: new(kafkago.Transport)}
	res, err := c.CreateTopics(t.Context(), &kafkago.CreateTopicsRequest{Topics: []kafkago.TopicConfig{o}})
	if err == nil {
		err = res.Errors[name]
	}
	testkit.OK(t, err)
}

// Issue 16, fault 8: the bytes of a record were not in its dead letter if it had
// 2,000 headers or one of 100 KB, or if it was as large as the input allows; and an
// event in structured mode was decided as mail.
func TestADeadLetterHasTheBytesOfItsRecord(t *testing.T) {
	t.Parallel() // it mostly waits
	k := testkit.StartKafka(t, testkit.KafkaOptions{})
	client := dial(t, k)
	if _, _, err := client.EnsureTopics(t.Context(), kafka.Wanted{Create: true, Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	now := time.Now().Truncate(time.Millisecond)
	nonsense := kafka.Header{Key: "ce_type", Value: []byte("nonsense")}
	bad := func(value []byte, headers ...kafka.Header) kafka.Record {
		return kafka.Record{Partition: kafka.ByKey, Key: []byte("a"), Value: value, Time: now, Headers: append(headers, nonsense)}
	}
	var many []kafka.Header
	for i := range 2000 {
		many = append(many, kafka.Header{Key: fmt.Sprint("x-", i), Value: []byte("y")})
	}
	raw := []byte("Message-ID: <one@x>\r\nFrom: b@example.net\r\nSubject: caf\xe9\r\n\r\nhello\r\n")
	event, err := json.Marshal(map[string]string{"specversion": "1.0", "type": kafka.TypeMessage, "id": "1", "source": "test", "data_base64": base64.StdEncoding.EncodeToString(raw)})
	testkit.OK(t, err)
	structured := bad(event)
	structured.Headers = []kafka.Header{{Key: "content-type", Value: []byte("application/cloudevents+json")}}
	batch := bad([]byte("["+string(event)+"]"), kafka.Header{Key: "content-type", Value: []byte("application/cloudevents-batch+json")})
	batch.Headers = batch.Headers[:1]
	refused := []kafka.Record{
		bad([]byte("many headers"), many...),
		bad([]byte("a large header"), kafka.Header{Key: "x", Value: noise(100_000)}),
		bad(noise(1_048_350)), // with what surrounds it 1,048,4xx of 1,048,588 bytes
		batch,
	}
	for _, r := range append(refused, structured) {
		if _, err := client.Produce(t.Context(), testTopics.Input, []kafka.Record{r}); err != nil {
			t.Fatal(err)
		}
	}
	p := newProcess(t, newCluster(1))
	p.start(func(o *Options) { o.Broker = Client(client) })
	letters := readTopic(t, client, testTopics.DeadLetters, len(refused))
	for i, r := range letters {
		want := refused[i]
		if !bytes.Equal(r.Value, want.Value) || len(r.Headers) != len(want.Headers)+5 || !bytes.Equal(r.Headers[0].Value, want.Headers[0].Value) {
			t.Errorf("letter %d has %d bytes and %d headers, want %d and %d", i, len(r.Value), len(r.Headers), len(want.Value), len(want.Headers)+5)
		}
		if n, ok := r.Header(kafka.HeaderDropped); ok {
			t.Errorf("of letter %d %s bytes were left out", i, n)
		}
	}
	if why, _ := letters[3].Header(kafka.HeaderReason); string(why) != string(kafka.UnknownFormat) {
		t.Errorf("the batch was refused for %q", why)
	}
	var d kafka.Decision
	if err := json.Unmarshal(readTopic(t, client, testTopics.Decisions, 1)[0].Value, &d); err != nil || d.MessageID != "one@x" {
		t.Errorf("the event in structured mode became %+v, %v", d, err)
	}
}

// Where the dead letters take less than the input, the value outlasts the headers.
func TestADeadLetterThatIsTooLargeLosesItsHeadersFirst(t *testing.T) {
	t.Parallel() // it mostly waits
	k := testkit.StartKafka(t, testkit.KafkaOptions{})
	client := dial(t, k)
	topicOf(t, k, testTopics.Input, 4<<20)
	topicOf(t, k, testTopics.DeadLetters, 1<<20)
	topicOf(t, k, testTopics.Decisions, 1<<20)
	topicOf(t, k, testTopics.Snapshots, 1<<20, "cleanup.policy", "compact")
	r := kafka.Record{Partition: kafka.ByKey, Key: []byte("a"), Time: time.Now(), Headers: []kafka.Header{{Key: "ce_type", Value: []byte("nonsense")}, {Key: "x", Value: noise(200_000)}}}
	small, large := r, r
	small.Value, large.Value = noise(1_000_000), noise(2_000_000)
	if _, err := client.Produce(t.Context(), testTopics.Input, []kafka.Record{small, large}); err != nil {
		t.Fatal(err)
	}
	p := newProcess(t, newCluster(1))
	p.start(func(o *Options) { o.Broker = Client(client) })
	letters := readTopic(t, client, testTopics.DeadLetters, 2)
	for i, want := range []struct {
		value          []byte
		dropped, parts string
	}{{small.Value, "200016", "headers"}, {nil, "2200016", "value,headers"}} {
		got := letters[i]
		dropped, _ := got.Header(kafka.HeaderDropped)
		parts, _ := got.Header(kafka.HeaderDroppedParts)
		why, _ := got.Header(kafka.HeaderReason)
		if !bytes.Equal(got.Value, want.value) || string(dropped) != want.dropped || string(parts) != want.parts || string(why) != string(kafka.UnknownType) || len(got.Headers) != 7 {
			t.Errorf("letter %d has %d bytes, %d headers, %q of %q left out, reason %q", i, len(got.Value), len(got.Headers), dropped, parts, why)
		}
	}
}

// readTopic waits until the first partition of a topic has so many records.
func readTopic(t *testing.T, client *kafka.Client, topic string, n int) (all []kafka.Record) {
	t.Helper()
	r := client.Read(topic, kafka.TopicID{}, 0, 0)
	defer r.Close()
	eventually(t, func() error {
		b, err := r.Next(t.Context(), 1000, 8<<20)
		if all = append(all, b.Records...); err == nil && len(all) < n {
			err = fmt.Errorf("%s has %d records, want %d", topic, len(all), n)
		}
		return err
	})
	return all
}
