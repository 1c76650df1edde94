// SPDX-License-Identifier: Apache-2.0

package config

import (
	"reflect"
	"slices"
	"testing"
)

func TestMergeTakesWhatIsLiveAndNamesTheRest(t *testing.T) {
	now, next := exampleConfig(), exampleConfig()
	merged, kept := now.Merge(&next, "account")
	if !reflect.DeepEqual(merged, &now) || kept != nil {
		t.Errorf("two equal ones: kept %v", kept)
	}
	next.Accounts[0].Shadow = "on"
	next.Socket, next.LogLevel = "/run/other", "debug"
	kafka := *next.Kafka
	kafka.Group = "other"
	next.Kafka = &kafka
	merged, kept = now.Merge(&next, "account", "log_level")
	if want := []string{"socket", "kafka"}; !slices.Equal(kept, want) {
		t.Errorf("kept %v, want %v", kept, want)
	}
	if merged.Accounts[0].Shadow != "on" || merged.LogLevel != "debug" || merged.Socket != now.Socket || merged.Kafka.Group != "hinged" {
		t.Errorf("merged %+v", merged)
	}
	if now.LogLevel != "info" || next.Kafka.Group != "other" || next.Socket != "/run/other" {
		t.Error("Merge changed what it was given")
	}
	// A section that goes, and a section that comes.
	next.Kafka = nil
	if _, kept = now.Merge(&next, "socket", "account", "log_level"); !slices.Equal(kept, []string{"kafka"}) {
		t.Errorf("kept %v without [kafka]", kept)
	}
}

func TestMergeKeepsTheLogThatTheStoreBelongsTo(t *testing.T) {
	now, next := exampleConfig(), exampleConfig()
	kafka := *next.Kafka
	kafka.Group, kafka.SnapshotEvery, kafka.Threshold.Value = "other", 4711, 0.5
	kafka.Topics = KafkaTopics{Input: "i", Decisions: "d", DeadLetters: "l", Snapshots: "s"}
	next.Kafka = &kafka
	merged, kept := now.Merge(&next, "kafka")
	if want := []string{"kafka.group", "kafka.topics.input", "kafka.topics.snapshots"}; !slices.Equal(kept, want) {
		t.Errorf("kept %v, want %v", kept, want)
	}
	want := kafka
	want.Group, want.Topics.Input, want.Topics.Snapshots = now.Kafka.Group, now.Kafka.Topics.Input, now.Kafka.Topics.Snapshots
	if !reflect.DeepEqual(merged.Kafka, &want) || kafka.Group != "other" {
		t.Errorf("merged %+v, want %+v", merged.Kafka, want)
	}
	// A section that comes, and one that goes.
	next.Kafka = nil
	if merged, kept = next.Merge(&now, "kafka"); merged.Kafka != nil || !slices.Equal(kept, []string{"kafka"}) {
		t.Errorf("a section came: kept %v", kept)
	}
	if merged, kept = now.Merge(&next, "kafka"); merged.Kafka != now.Kafka || !slices.Equal(kept, []string{"kafka"}) {
		t.Errorf("a section went: kept %v", kept)
	}
	if _, kept = next.Merge(&next, "kafka"); kept != nil {
		t.Errorf("there is none: kept %v", kept)
	}
}
