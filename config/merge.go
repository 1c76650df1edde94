// SPDX-License-Identifier: Apache-2.0

package config

import (
	"reflect"
	"slices"
)

// Merge returns the configuration with which a process goes on that has c and has read
// next: what next says in the top-level keys and tables named by live, and what c says in
// the others. kept names those of the others in which next differs, in the order of the
// struct. Of a [kafka] that is live, what says to which log the store belongs stays as it is:
// group, topics.input and topics.snapshots; and so does whether there is one. Neither is
// changed.
func (c *Config) Merge(next *Config, live ...string) (merged *Config, kept []string) {
	out := *next
	to, from := reflect.ValueOf(&out).Elem(), reflect.ValueOf(c).Elem()
	for i := range to.NumField() {
		key := keyOf(to.Type().Field(i))
		if slices.Contains(live, key) {
			if key == "kafka" {
				out.Kafka, kept = c.Kafka.merge(next.Kafka, kept)
			}
			continue
		}
		if !reflect.DeepEqual(to.Field(i).Interface(), from.Field(i).Interface()) {
			kept = append(kept, key)
			to.Field(i).Set(from.Field(i))
		}
	}
	return &out, kept
}

// merge is Merge for the section [kafka]; nil: there is none.
func (k *Kafka) merge(next *Kafka, kept []string) (merged *Kafka, _ []string) {
	if k == nil || next == nil {
		if k != next {
			kept = append(kept, "kafka")
		}
		return k, kept
	}
	out := *next
	for _, fixed := range []struct {
		key      string
		now, old *string
	}{
		{"kafka.group", &out.Group, &k.Group},
		{"kafka.topics.input", &out.Topics.Input, &k.Topics.Input},
		{"kafka.topics.snapshots", &out.Topics.Snapshots, &k.Topics.Snapshots},
	} {
		if *fixed.now != *fixed.old {
			kept = append(kept, fixed.key)
			*fixed.now = *fixed.old
		}
	}
	return &out, kept
}
