// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"reflect"
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
