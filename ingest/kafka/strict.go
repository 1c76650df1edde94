// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hinged/hinged/ingest"
)

// strict reads one JSON object into v, which points to a struct. The object must have v's
// fields, but for those that may be omitted, and no others. encoding/json alone takes "LABEL"
// for label, the last of two, null for nothing, and what is not UTF-8.
func strict(value []byte, what string, v any) *Refusal {
	all, refusal := members(value, what)
	if refusal != nil {
		return refusal
	}
	var names []string
	for _, f := range reflect.VisibleFields(reflect.TypeOf(v).Elem()) {
		if f.Anonymous {
			continue
		}
		name, optional, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
		if _, there := all[name]; !there && optional == "" {
			return refuse(BadJSON, "%s needs %s", what, name)
		}
	}
	for name, raw := range all {
		switch {
		case !slices.Contains(names, name):
			return refuse(BadJSON, "%s: field %q is not known; the fields are %s", what, ingest.OneLine(name), strings.Join(names, ", "))
		case string(raw) == "null":
			return refuse(BadJSON, "%s: %s is null", what, name)
		}
	}
	err := json.Unmarshal(value, v)
	var wrong *json.UnmarshalTypeError
	var moment *time.ParseError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refusal):
		return refusal
	case errors.As(err, &moment):
		return refuse(BadValue, "%s: %q is no time; one is like 2026-01-31T08:00:00Z (RFC 3339)", what, ingest.OneLine(moment.Value))
	case errors.As(err, &wrong):
		return refuse(BadJSON, "%s: %s can't be a %s", what, wrong.Field, wrong.Value)
	}
	return refuse(BadJSON, "%s: %s", what, ingest.OneLine(err.Error()))
}

// members reads one JSON object, with each member once and nothing behind it.
func members(value []byte, what string) (map[string]json.RawMessage, *Refusal) {
	if !utf8.Valid(value) {
		return nil, refuse(BadJSON, "%s: it is not UTF-8", what)
	}
	d := json.NewDecoder(bytes.NewReader(value))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, refuse(BadJSON, "%s: it is not a JSON object", what)
	}
	all := map[string]json.RawMessage{}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return nil, refuse(BadJSON, "%s: it is not JSON", what)
		}
		if _, twice := all[name]; twice {
			return nil, refuse(BadJSON, "%s: %q is there twice", what, ingest.OneLine(name))
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, refuse(BadJSON, "%s: the value of %q is not JSON", what, ingest.OneLine(name))
		}
		all[name] = raw
	}
	if _, err := d.Token(); err != nil {
		return nil, refuse(BadJSON, "%s: the object does not end", what)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, refuse(BadJSON, "%s: something follows the object", what)
	}
	return all, nil
}
