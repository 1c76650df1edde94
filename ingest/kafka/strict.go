// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hinged/hinged/ingest"
)

// fields are those of one JSON object.
type fields struct {
	what string
	raw  map[string]json.RawMessage
}

// object reads one JSON object that may have the fields named, each once and in
// that spelling, and nothing behind it. encoding/json alone takes "LABEL" for
// label, the last of two, and what is not UTF-8.
func object(value []byte, what string, names ...string) (fields, *Refusal) {
	f := fields{what: what, raw: map[string]json.RawMessage{}}
	if !utf8.Valid(value) {
		return f, refuse(BadJSON, "%s: it is not UTF-8", what)
	}
	d := json.NewDecoder(bytes.NewReader(value))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return f, refuse(BadJSON, "%s: it is not a JSON object", what)
	}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return f, refuse(BadJSON, "%s: it is not JSON", what)
		}
		if !slices.Contains(names, name) {
			return f, refuse(BadJSON, "%s: field %q is not known; the fields are %s", what, ingest.OneLine(name), strings.Join(names, ", "))
		}
		if _, twice := f.raw[name]; twice {
			return f, refuse(BadJSON, "%s: field %s is there twice", what, name)
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return f, refuse(BadJSON, "%s: the value of %s is not JSON", what, name)
		}
		f.raw[name] = raw
	}
	if _, err := d.Token(); err != nil {
		return f, refuse(BadJSON, "%s: the object does not end", what)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return f, refuse(BadJSON, "%s: something follows the object", what)
	}
	return f, nil
}

func (f fields) has(name string) bool {
	_, ok := f.raw[name]
	return ok
}

// text reads a field that must be there and be a string.
func (f fields) text(name string) (string, *Refusal) {
	raw, ok := f.raw[name]
	if !ok {
		return "", refuse(BadJSON, "%s needs %s", f.what, name)
	}
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", refuse(BadJSON, "%s: %s is not a string", f.what, name)
	}
	return s, nil
}

// time reads a moment (RFC 3339).
func (f fields) time(name string) (time.Time, *Refusal) {
	word, refusal := f.text(name)
	if refusal != nil {
		return time.Time{}, refusal
	}
	t, err := time.Parse(time.RFC3339, word)
	if err != nil {
		return time.Time{}, refuse(BadValue, "%s is %q; a time is like 2026-01-31T08:00:00Z (RFC 3339)", name, ingest.OneLine(word))
	}
	return t.UTC(), nil
}
