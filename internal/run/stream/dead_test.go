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

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/testkit"
)

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
