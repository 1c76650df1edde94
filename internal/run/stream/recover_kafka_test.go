// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/testkit"
)

// recreateOn deletes a topic of a real cluster and creates it again.
func recreateOn(t *testing.T, k *testkit.Kafka, client *kafka.Client, topic string, partitions int32) {
	t.Helper()
	admin, err := kgo.NewClient(kgo.SeedBrokers(k.Addrs()...))
	testkit.OK(t, err)
	defer admin.Close()
	was, err := client.TopicID(t.Context(), topic)
	testkit.OK(t, err)
	gone := kmsg.NewPtrDeleteTopicsRequest()
	gone.TopicNames, gone.Topics, gone.TimeoutMillis = []string{topic}, []kmsg.DeleteTopicsRequestTopic{{Topic: &topic}}, 60_000
	if res, err := gone.RequestWith(t.Context(), admin); err != nil || res.Topics[0].ErrorCode != 0 {
		t.Fatalf("delete: %v, %+v", err, res)
	}
	eventually(t, func() error { // while it is being deleted it can't be created
		made := kmsg.NewPtrCreateTopicsRequest()
		one := kmsg.NewCreateTopicsRequestTopic()
		one.Topic, one.NumPartitions, one.ReplicationFactor = topic, partitions, -1
		made.Topics = []kmsg.CreateTopicsRequestTopic{one}
		res, err := made.RequestWith(t.Context(), admin)
		if err != nil || res.Topics[0].ErrorCode != 0 {
			return fmt.Errorf("create: %w, %+v", err, res)
		}
		return nil
	})
	eventually(t, func() error {
		if is, err := client.TopicID(t.Context(), topic); err != nil || is == was {
			return fmt.Errorf("the id is %v, was %v, %w", is, was, err)
		}
		return nil
	})
}

// Apache Kafka's input topic is created again: under the reader, and while nothing runs;
// the new log grows past the old positions. No decision is lost, none is taken for
// another, and the state is that of one log with the records of all three.
func TestATopicCreatedAgainOnARealBroker(t *testing.T) {
	testkit.Computes(t) // the broker does
	t.Parallel()
	k := testkit.StartKafka(t, testkit.KafkaOptions{})
	const partitions = 2
	twin := newCluster(partitions) // has the records of all logs, one after another
	client := dial(t, k)
	if _, _, err := client.EnsureTopics(t.Context(), kafka.Wanted{Create: true, Partitions: partitions}); err != nil {
		t.Fatal(err)
	}
	sent := map[int32]int{}
	send := func(seed uint64, messages int) {
		fill(twin, seed, 6, messages)
		all := unsent(twin, sent)
		eventually(t, func() error { // right after its creation it may have no leader yet
			_, err := client.Produce(t.Context(), testTopics.Input, all)
			var failed *kafka.ProduceError
			if errors.As(err, &failed) { // of a partition all are acknowledged, or none
				all, _ = unacknowledged(all, failed, false)
			}
			return err
		})
	}
	watermarks := func(topic string) (all []kafka.Watermark) {
		t.Helper()
		eventually(t, func() (err error) { // a topic that was just created may have no leader yet
			all, err = client.Watermarks(t.Context(), topic)
			return err
		})
		return all
	}
	marks := func() []kafka.Watermark { return watermarks(testTopics.Input) }
	caught := func(p *process) error {
		all := p.engine.Status().Partitions
		if len(all) != partitions {
			return fmt.Errorf("it has %d partitions", len(all))
		}
		for i, w := range marks() {
			if s := all[i]; s.Stopped || !s.Begun || s.Position < w.End {
				return fmt.Errorf("partition %d: %+v, the log ends at %d", i, s, w.End)
			}
		}
		return nil
	}
	decisions := func() (n int64) {
		t.Helper()
		for _, w := range watermarks(testTopics.Decisions) {
			n += w.End
		}
		return n
	}
	own := dial(t, k)
	p := newProcess(t, twin)
	apache := func(o *Options) { o.Broker = Client(own) }
	r := &Recoverer{Broker: Client(client), Topics: testTopics}
	stoppedAndRecovered := func(at map[int32]int64, produced int64) {
		t.Helper()
		stoppedAll(t, p, "created again", 0, 1)
		for n, w := range marks() {
			if w.End <= at[int32(n)] {
				t.Fatalf("the new log of partition %d ends at %d, the position is %d", n, w.End, at[int32(n)])
			}
		}
		for n := range int32(partitions) {
			eventually(t, func() error {
				c, err := r.Examine(t.Context(), n)
				if err != nil || !c.Stopped || c.Snapshot == nil || c.Snapshot.Offset != at[n] {
					return fmt.Errorf("%+v, %w; want a snapshot at %d", c, err, at[n])
				}
				return nil
			})
		}
		if n := decisions(); n != produced {
			t.Errorf("%d decisions were produced of a log that was not to be read", n-produced)
		}
		for n := range int32(partitions) {
			if done, err := r.Recover(t.Context(), n, FromSnapshot, false); err != nil || done.Next != 0 || done.LostLessons != 0 || !done.OtherLog {
				t.Fatalf("recovery: %+v, %v", done, err)
			}
		}
		eventually(t, func() error { return caught(p) })
	}

	send(401, 120)
	p.start(small, apache)
	eventually(t, func() error { return caught(p) })
	at, produced := p.positions(), decisions()
	recreateOn(t, k, client, testTopics.Input, partitions)
	send(402, 20)
	stoppedAll(t, p, "created again", 0, 1)
	send(403, 250) // the new log grows past the position of a partition that is stopped
	stoppedAndRecovered(at, produced)

	at, produced = p.positions(), decisions()
	p.stop()
	recreateOn(t, k, client, testTopics.Input, partitions)
	send(404, 500)
	p.start(small, apache)
	stoppedAndRecovered(at, produced)
	want := plain(t, twin)
	sameDigests(t, digests(t, p.store), want)
	sound(t, p.store)
	p.stop()

	// One that has nothing takes over from the snapshots, told to read from the start.
	q := newProcess(t, twin)
	q.start(apache, func(o *Options) { o.FromStart = true })
	eventually(t, func() error { return caught(q) })
	eventually(t, func() error { return whole(q) })
	sameDigests(t, digests(t, q.store), want)
	q.stop()

	sameBytes(t, client, testTopics.Decisions)
	mine := newCluster(partitions)
	mine.topics[testTopics.Decisions] = read(t, client, testTopics.Decisions)
	got, ids := said(t, mine)
	_, undisturbed := undisturbed(t, twin)
	wanted, _ := said(t, undisturbed)
	logs := map[string]bool{}
	for id := range ids {
		logs[strings.Split(id, "/")[1]] = true
	}
	if len(logs) != 3 {
		t.Errorf("the ce_ids are of %d logs, want 3", len(logs))
	}
	for account, all := range wanted {
		if !slices.Equal(got[account], all) {
			t.Errorf("account %s has %d decisions, want %d, or others", account, len(got[account]), len(all))
		}
	}
}

// read returns what a topic holds.
func read(t *testing.T, client *kafka.Client, topic string) (out []*log) {
	t.Helper()
	marks, err := client.Watermarks(t.Context(), topic)
	testkit.OK(t, err)
	for n, w := range marks {
		l := newLog(topic, 0)
		r := client.Read(topic, kafka.TopicID{}, int32(n), w.First)
		for r.Position() < w.End {
			b, err := r.Next(context.Background(), 1000, 1<<20)
			testkit.OK(t, err)
			l.records = append(l.records, b.Records...)
		}
		r.Close()
		out = append(out, l)
	}
	return out
}

// While hinged is stopped, Apache Kafka elects a leader that has less than its predecessor, and
// the log grows past the position: the partition stops there, and what is read before and after
// it is not mixed.
func TestAnUncleanElectionWhileStoppedStopsThePartitionOnARealBroker(t *testing.T) {
	testkit.Computes(t) // the broker does
	t.Parallel()
	k := testkit.StartKafka(t, testkit.KafkaOptions{Brokers: 3})
	admin, err := kgo.NewClient(kgo.SeedBrokers(k.Addrs()...))
	testkit.OK(t, err)
	defer admin.Close()
	made := kmsg.NewPtrCreateTopicsRequest()
	one := kmsg.NewCreateTopicsRequestTopic()
	one.Topic, one.NumPartitions, one.ReplicationFactor = testTopics.Input, -1, -1
	one.ReplicaAssignment = []kmsg.CreateTopicsRequestTopicReplicaAssignment{{Replicas: []int32{2, 3}}}
	yes, least := "true", "1"
	one.Configs = []kmsg.CreateTopicsRequestTopicConfig{{Name: "unclean.leader.election.enable", Value: &yes}, {Name: "min.insync.replicas", Value: &least}}
	made.Topics = []kmsg.CreateTopicsRequestTopic{one}
	if res, err := made.RequestWith(t.Context(), admin); err != nil || res.Topics[0].ErrorCode != 0 {
		t.Fatalf("%v, %+v", err, res)
	}
	client := dial(t, k)
	if _, _, err := client.EnsureTopics(t.Context(), kafka.Wanted{Create: true, Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	sent := 0
	send := func(n int) {
		t.Helper()
		for range n {
			sent++
			r := messageRecord("ann", fmt.Appendf(nil, "Message-ID: <%d@x>\r\nFrom: bob@example.net\r\n\r\nhello %d\r\n", sent, sent), epoch.Add(later))
			eventually(t, func() error {
				_, err := client.Produce(t.Context(), testTopics.Input, []kafka.Record{r})
				return err
			})
		}
	}
	end := func() int64 {
		var marks []kafka.Watermark
		eventually(t, func() (err error) { marks, err = client.Watermarks(t.Context(), testTopics.Input); return err })
		return marks[0].End
	}
	send(10)
	k.Stop(2)
	send(15)
	read := func() *process {
		p := newProcess(t, newCluster(1))
		own := dial(t, k)
		p.start(func(o *Options) { o.Broker = Client(own) })
		return p
	}
	p := read()
	eventually(t, func() error {
		if at := p.positions()[0]; at != 25 {
			return fmt.Errorf("the position is %d", at)
		}
		return nil
	})
	p.stop()
	k.Kill(1)
	k.Start(2)
	send(30)
	if n := end(); n < 40 || n > 41 { // one may have been written twice
		t.Fatalf("the log ends at %d, not at 40: this is no unclean election", n)
	}
	own := dial(t, k)
	p.start(func(o *Options) { o.Broker = Client(own) })
	stoppedAll(t, p, "the log has offsets 0 to 10", 0)
	if at := p.positions()[0]; at != 25 {
		t.Errorf("the position is %d; it read on", at)
	}
}
