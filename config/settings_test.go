// SPDX-License-Identifier: Apache-2.0

package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestSettingsAreReadAsInAFile(t *testing.T) {
	j := DefaultAccount().Judging
	given, err := j.Set([]string{"learner.kind=perceptron", `threshold.mode = "budget"`, "threshold.share=0.05", "settle=5m", `rule=[{match="From:Boss@Example.org", label="important"}]`})
	if err != nil {
		t.Fatal(err)
	}
	want := DefaultAccount().Judging
	want.Learner.Kind, want.Threshold.Mode, want.Threshold.Share = "perceptron", "budget", 0.05
	want.Settle, want.Rules = Duration(300e9), []Rule{{Match: "from:boss@example.org", Label: "important"}}
	if !reflect.DeepEqual(j, want) {
		t.Errorf("got\n%+v\nwant\n%+v", j, want)
	}
	if len(given) != 5 || given["threshold.share"] != 0.05 || given["learner.kind"] != "perceptron" {
		t.Errorf("given are %v", given)
	}
	for _, tt := range []struct{ settings, want string }{
		{"learner.window", `--set:1: not a setting, got "learner.window"`},
		{"learner.kind=dual|mark=$X", "--set:2: mark: unknown key"},
		{"learner.kind=dual|learner.kind=margin", "--set:2: not valid TOML"},
		{"imap.address=x", "--set:1: imap: unknown key"},
		{"settle=soon|keep_days=-1", "--set:1: settle: "},
		{"keep_days=-1", "--set:1: keep_days: out of range"},
		{"learner.margin=2", `has no effect with kind = "dual"`},
		{"=1", "--set:1: not valid TOML"},
	} {
		j := DefaultAccount().Judging
		if _, err := j.Set(strings.Split(tt.settings, "|")); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.settings, err, tt.want)
		}
	}
}

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
