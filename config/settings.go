// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Set changes some settings. Each is "key=value" with a key of [[account]] about how mail is
// judged, such as learner.kind, and a value in TOML; a value that is not TOML counts as a
// string. Keys and values are checked as in a file: mistakes come back as one *Error, whose
// lines count the settings. given has the values by their full keys.
func (j *Judging) Set(settings []string) (given map[string]any, err error) {
	m := &mistakes{file: "--set"}
	var text strings.Builder
	for i, setting := range settings {
		key, value, found := strings.Cut(setting, "=")
		if !found || strings.ContainsAny(setting, "\r\n") {
			m.add(i+1, "", "not a setting", describe(setting), `key=value, such as threshold.share=0.05`)
			continue
		}
		if toml.Unmarshal([]byte("v="+value), new(map[string]any)) != nil {
			value = strconv.Quote(value)
		}
		text.WriteString(key + "=" + value + "\n")
	}
	if err := m.err(); err != nil {
		return nil, err
	}
	doc := parseDocument([]byte(text.String()), m)
	d := decoder{m}
	d.table(reflect.ValueOf(j).Elem(), doc.values, doc.root, "")
	if len(m.list) == 0 {
		v := validator{mistakes: m, doc: doc, env: environment{Getenv: os.Getenv}}
		table{&v, doc.root, 1, ""}.judging(j, DefaultAccount().Learner)
	}
	given = map[string]any{}
	flatten(given, doc.values, "")
	return given, m.err()
}

// flatten puts the values of a table and of those in it under their full keys.
func flatten(to, values map[string]any, path string) {
	for key, v := range values {
		if table, ok := v.(map[string]any); ok {
			flatten(to, table, path+key+".")
		} else {
			to[path+key] = v
		}
	}
}

// Merge returns the configuration with which a process goes on that has c and has read
// next: what next says in the top-level keys and tables named by live, and what c says in
// the others. kept names those of the others in which next differs, in the order of the
// struct. Of a [kafka] that is live, what says to which log the store belongs stays as it is:
// group, topics.input and topics.snapshots; and so does whether there is one. A [milter] stays
// as it is if its socket changed. Neither c nor next is changed.
func (c *Config) Merge(next *Config, live ...string) (merged *Config, kept []string) {
	out := *next
	to, from := reflect.ValueOf(&out).Elem(), reflect.ValueOf(c).Elem()
	for i := range to.NumField() {
		key := keyOf(to.Type().Field(i))
		if slices.Contains(live, key) {
			switch key {
			case "kafka":
				out.Kafka, kept = c.Kafka.merge(next.Kafka, kept)
			case "milter":
				if (c.Milter == nil) != (next.Milter == nil) || c.Milter != nil && c.Milter.Socket != next.Milter.Socket {
					out.Milter, kept = c.Milter, append(kept, "milter.socket")
				}
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
