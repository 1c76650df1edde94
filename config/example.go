// SPDX-License-Identifier: Apache-2.0

package config

import (
	_ "embed" // of the example
	"regexp"
	"strings"
	"sync"
)

//go:embed example.toml
var example string

// Example returns a configuration file with every key, its default and what it
// is for. It is valid as it stands. What only some need is commented out: with "# "
// a single key, with "#" the section [kafka].
func Example() []byte { return []byte(example) }

// setting is a line of the example with a key or the name of a table, commented out or not.
var setting = regexp.MustCompile(`^#? ?(?:\[+([a-z_.]+)\]+|([a-z_]+) = .*)$`)

// explanations are the comments of the example above each key and table, by its full name.
var explanations = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	table, comment := "", ""
	for line := range strings.Lines(example) {
		line = strings.TrimRight(line, "\n")
		switch m := setting.FindStringSubmatch(line); {
		case line == "":
			comment = ""
		case m == nil:
			comment += strings.TrimPrefix(line, "# ") + "\n"
		default:
			path := table + m[2]
			if m[1] != "" {
				path, table = m[1], m[1]+"."
			}
			all[path], comment = strings.TrimSuffix(comment, "\n"), ""
		}
	}
	return all
})
