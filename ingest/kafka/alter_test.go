// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// alter changes the settings of a topic.
func alter(t testing.TB, f *kgo.Client, topic string, settings map[string]string) {
	t.Helper()
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	res := kmsg.NewIncrementalAlterConfigsRequestResource()
	res.ResourceType, res.ResourceName = kmsg.ConfigResourceTypeTopic, topic
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		one := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		one.Name, one.Value = name, kmsg.StringPtr(settings[name])
		res.Configs = append(res.Configs, one)
	}
	req.Resources = append(req.Resources, res)
	got, err := req.RequestWith(t.Context(), f)
	if err != nil || got.Resources[0].ErrorCode != 0 {
		t.Fatalf("alter topic %s: %v, %+v", topic, err, got)
	}
}

// lead makes a broker the leader of partition 0 of a topic, which must have a
// copy there, and waits until it is.
func lead(t testing.TB, f *kgo.Client, topic string, broker int32) {
	t.Helper()
	other := 3 - broker
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	req.TimeoutMillis = 10_000
	one := kmsg.NewAlterPartitionAssignmentsRequestTopic()
	one.Topic = topic
	p := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
	p.Replicas = []int32{broker, other}
	one.Partitions = append(one.Partitions, p)
	req.Topics = append(req.Topics, one)
	elect := kmsg.NewPtrElectLeadersRequest()
	elect.TimeoutMillis = 10_000
	which := kmsg.NewElectLeadersRequestTopic()
	which.Topic, which.Partitions = topic, []int32{0}
	elect.Topics = append(elect.Topics, which)
	deadline := time.Now().Add(patience)
	for {
		// Errors pass: the broker may just be starting.
		_, _ = req.RequestWith(t.Context(), f)
		_, _ = elect.RequestWith(t.Context(), f)
		ask := kmsg.NewPtrMetadataRequest()
		name := kmsg.NewMetadataRequestTopic()
		name.Topic = kmsg.StringPtr(topic)
		ask.Topics = append(ask.Topics, name)
		got, err := ask.RequestWith(t.Context(), f)
		if err == nil && len(got.Topics) == 1 && len(got.Topics[0].Partitions) == 1 && got.Topics[0].Partitions[0].Leader == broker {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("broker %d does not lead topic %s: %v, %+v", broker, topic, err, got)
		}
		time.Sleep(200 * time.Millisecond)
	}
}
