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
	if merged, _ = next.Merge(&now, "kafka"); merged.Kafka == nil {
		t.Error("a section that is live did not come")
	}
}
