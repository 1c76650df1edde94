// SPDX-License-Identifier: Apache-2.0

package config

import (
	"reflect"
	"slices"
)

// Merge returns the configuration with which a process goes on that has c and has read
// next: what next says in the top-level keys and tables named by live, and what c says in
// the others. kept names those of the others in which next differs, in the order of the
// struct. Neither is changed.
func (c *Config) Merge(next *Config, live ...string) (merged *Config, kept []string) {
	out := *next
	to, from := reflect.ValueOf(&out).Elem(), reflect.ValueOf(c).Elem()
	for i := range to.NumField() {
		key := keyOf(to.Type().Field(i))
		if slices.Contains(live, key) {
			continue
		}
		if !reflect.DeepEqual(to.Field(i).Interface(), from.Field(i).Interface()) {
			kept = append(kept, key)
			to.Field(i).Set(from.Field(i))
		}
	}
	return &out, kept
}
