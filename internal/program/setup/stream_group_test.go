// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/run/stream"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// Issue 16, fault 8: who may describe the group and not work in it was told that all
// is well, since the positions can be seen with less. Only a real broker makes that
// difference as Kafka does.
func TestRightsOnARealKafka(t *testing.T) {
	t.Parallel()
	k := testkit.StartKafka(t, testkit.KafkaOptions{Authorizer: true})
	good(t, k.Addrs())
	s := streamCase{brokers: k.LoginAddrs(), password: testkit.KafkaPassword, more: "sasl = 'scram-sha-256'\nusername = '" + testkit.KafkaUser + "'\npassword_file = 'password'"}
	topicRight := func(name string, rights ...kafkago.ACLOperationType) {
		for _, right := range rights {
			k.Allow(kafkago.ResourceTypeTopic, name, right)
		}
	}
	topicRight("hinged.input", kafkago.ACLOperationTypeRead)
	topicRight("hinged.snapshots", kafkago.ACLOperationTypeWrite)
	topicRight("hinged.decisions", kafkago.ACLOperationTypeWrite)
	topicRight("hinged.dead-letters", kafkago.ACLOperationTypeWrite)
	k.Allow(kafkago.ResourceTypeGroup, "hinged", kafkago.ACLOperationTypeDescribe)
	s.finds(t, false,
		`FAIL  kafka: rights: we may not read hinged.snapshots\. Fix: kafka-acls.sh .* --allow-principal User:hinged --operation Read --topic hinged.snapshots$`,
		`FAIL  kafka: group: .*Group Authorization Failed.* Fix: kafka-acls.sh .* --allow-principal User:hinged --operation Read --group hinged$`)
	topicRight("hinged.snapshots", kafkago.ACLOperationTypeRead)
	k.Allow(kafkago.ResourceTypeGroup, "hinged", kafkago.ACLOperationTypeRead)
	s.finds(t, true,
		`WARN  kafka: retention: how long topics keep records cannot be told: .* Fix: give us the right DescribeConfigs`,
		`WARN  kafka: rights: we may not write hinged.input, so hinged learn cannot send lessons there\. Fix: kafka-acls.sh .* --operation Write --topic hinged.input$`,
		`OK    kafka: group: hinged has no positions yet; 0 records wait$`)
	// The test left nobody in the group.
	c := &kafkago.Client{Addr: kafkago.TCP(k.Addrs()...), Transport: new(kafkago.Transport)}
	groups, err := c.ListGroups(t.Context(), &kafkago.ListGroupsRequest{})
	if err != nil || len(groups.Groups) != 0 {
		t.Errorf("there are the groups %+v, %v", groups, err)
	}
}

// produced puts so many records into partitions of a topic.
func produced(t *testing.T, brokers []string, topic string, n ...int) {
	t.Helper()
	c := admin(t, brokers)
	for p, n := range n {
		for range n {
			testkit.OK(t, c.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Partition: int32(p), Key: []byte("k"), Value: []byte("v")}).FirstErr())
		}
	}
}

func admin(t *testing.T, brokers []string) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	testkit.OK(t, err)
	t.Cleanup(c.Close)
	return c
}

// committed publishes where the group is to go on in partition 0 of the input.
func committed(t *testing.T, brokers []string, next int64) {
	t.Helper()
	c := &kafkago.Client{Addr: kafkago.TCP(brokers...), Transport: new(kafkago.Transport)}
	res, err := c.OffsetCommit(t.Context(), &kafkago.OffsetCommitRequest{GroupID: "hinged", GenerationID: -1, Topics: map[string][]kafkago.OffsetCommit{"hinged.input": {{Partition: 0, Offset: next}}}})
	if err == nil {
		err = res.Topics["hinged.input"][0].Error
	}
	testkit.OK(t, err)
}

// cut deletes the first records of partition 0 of the input.
func cut(t *testing.T, brokers []string, first int64) {
	t.Helper()
	req := kmsg.NewPtrDeleteRecordsRequest()
	topic := kmsg.NewDeleteRecordsRequestTopic()
	topic.Topic = "hinged.input"
	p := kmsg.NewDeleteRecordsRequestTopicPartition()
	p.Offset = first
	topic.Partitions = append(topic.Partitions, p)
	req.Topics = append(req.Topics, topic)
	res, err := req.RequestWith(t.Context(), admin(t, brokers))
	if err != nil || res.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatal(err, res)
	}
}

// Issue 16, fault 8: records that are gone before they were decided were a warning, and
// the exit code 0.
func TestAPositionOutsideOfTheLogIsAFailure(t *testing.T) {
	t.Parallel()
	brokers := cluster(t)
	good(t, brokers)
	produced(t, brokers, "hinged.input", 10)
	s := streamCase{brokers: brokers}
	committed(t, brokers, 4)
	s.finds(t, true, `OK    kafka: group: hinged knows 1 position; 6 records wait$`)
	cut(t, brokers, 4) // just what was decided
	s.finds(t, true, `OK    kafka: group: hinged knows 1 position; 6 records wait$`)
	cut(t, brokers, 5)
	s.finds(t, false, `FAIL  kafka: group: partition 0: hinged is to go on at offset 4, and the log begins at 5: 1 record were deleted .* Fix: docs/kafka-operation.md, “A partition is stopped”`)
	// The store is at 7, which the group has not heard of.
	s.store = at(store.Partition{Topic: "hinged.input"}, 7, 4)
	s.finds(t, true, `OK    kafka: group: hinged knows 1 position; 3 records wait$`)
	s.store = at(store.Partition{Topic: "hinged.input"}, 11, 4)
	s.finds(t, false, `FAIL  kafka: group: partition 0: hinged is to go on at offset 11, and the log ends at 10: `)
	s.store = nil
	committed(t, brokers, 11)
	s.finds(t, false, `FAIL  kafka: group: partition 0: hinged is to go on at offset 11, and the log ends at 10: `)
}

// at makes a store that got somewhere in a partition.
func at(p store.Partition, next int64, partitions int32) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		testkit.OK(t, os.Mkdir(filepath.Dir(path), 0o700))
		s, err := boltfile.Open(path, boltfile.Options{NoSync: true})
		testkit.OK(t, err)
		files, err := stream.OpenFiles(path, boltfile.Options{NoSync: true})
		testkit.OK(t, err)
		begin := func(f *boltfile.Store) error {
			return f.BeginPartition(p, store.LogPosition{Next: next, Partitions: partitions})
		}
		testkit.OK(t, errors.Join(files.Begin(p, begin), files.Close(), s.Close()))
	}
}

// Issue 16, fault 8: who had added partitions to the input was told to make another
// topic for snapshots, and would have lost what was learnt.
func TestPartitionsThatWereAddedAreNoReasonForAnotherTopicOfSnapshots(t *testing.T) {
	t.Parallel()
	const added = `.* Fix: Kafka can't take partitions away: docs/kafka-operation.md, “How many partitions”`
	d := config.DefaultKafka().Topics
	more := func(t *testing.T, snapshots int) []string {
		brokers := cluster(t)
		good(t, brokers, d.Input, d.Snapshots)
		topic(t, brokers, 6, d.Input)
		topic(t, brokers, snapshots, d.Snapshots, cleanupPolicy, "compact")
		return brokers
	}
	t.Run("to the input, after snapshots were made", func(t *testing.T) {
		brokers := more(t, 4)
		produced(t, brokers, d.Snapshots, 0, 1)
		s := streamCase{brokers: brokers}
		s.finds(t, false, `FAIL  kafka: partitions: hinged.input has 6 partitions and hinged.snapshots has 4, with snapshots in it: partitions were added`+added)
	})
	t.Run("to both, and the store knows", func(t *testing.T) {
		s := streamCase{brokers: more(t, 6), store: at(store.Partition{Topic: d.Input, Number: 3}, 0, 4)}
		s.finds(t, false, `FAIL  kafka: partitions: hinged.input has 6 partitions, and had 4 when partition 3 was begun: `+added)
	})
	t.Run("to neither, and the topic for snapshots was made wrong", func(t *testing.T) {
		streamCase{brokers: more(t, 4)}.finds(t, false, `FAIL  kafka: partitions: hinged.input has 6 partitions and hinged.snapshots has 4: .* Fix: use another topic for snapshots, with as many partitions as the input$`)
	})
	t.Run("to neither, and there are too many for snapshots", func(t *testing.T) {
		brokers := more(t, 7)
		produced(t, brokers, d.Snapshots, 1)
		streamCase{brokers: brokers}.finds(t, false, `FAIL  kafka: partitions: .* Fix: use another topic for snapshots`)
	})
	t.Run("another topic's partitions say nothing", func(t *testing.T) {
		s := streamCase{brokers: more(t, 6), store: at(store.Partition{Topic: "other", Number: 3}, 0, 4)}
		s.finds(t, true, `OK    kafka: partitions: hinged.input and hinged.snapshots have as many$`)
	})
	if docs, err := os.ReadFile("../../../docs/kafka-operation.md"); err != nil || !strings.Contains(string(docs), "\n## How many partitions\n") || !strings.Contains(string(docs), "\n### A partition is stopped\n") {
		t.Error(fmt.Errorf("the page does not have the parts that the advice names: %w", err))
	}
}
