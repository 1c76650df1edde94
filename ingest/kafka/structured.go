// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/hinged/hinged/ingest"
)

// The media types of CloudEvents (cloudevents/spec 1.0.2, kafka-protocol-binding,
// section 3). A content-type that begins with the first says that the value is the
// whole event, attributes and all.
const (
	mediaPrefix     = "application/cloudevents"
	mediaStructured = "application/cloudevents+json"
	mediaBatch      = "application/cloudevents-batch"
)

// mediaType is the content-type of a record, in small letters and without
// parameters; "" if it has none.
func (r Record) mediaType() string {
	for _, h := range r.Headers {
		if strings.EqualFold(h.Key, headerContentType) {
			media, _, _ := strings.Cut(string(h.Value), ";")
			return strings.ToLower(strings.TrimSpace(media))
		}
	}
	return ""
}

// meaning returns the ce_type of a record and the data of its event, in whichever
// mode it was sent.
func meaning(r Record) (typ string, data []byte, refusal *Refusal) {
	said, refusal := kind(r)
	if refusal != nil {
		return "", nil, refusal
	}
	switch media := r.mediaType(); {
	case !strings.HasPrefix(media, mediaPrefix):
		return said, r.Value, nil
	case strings.HasPrefix(media, mediaBatch):
		return "", nil, refuse(UnknownFormat, "a batch of CloudEvents (%s); send one event in each record, since the key of the record names the account", ingest.OneLine(media))
	case media != mediaStructured:
		return "", nil, refuse(UnknownFormat, "CloudEvents in the format %s; send %s, or binary mode with ce_ headers", ingest.OneLine(media), mediaStructured)
	}
	typ, data, refusal = structured(r.Value)
	if _, ok := r.Header(headerType); refusal == nil && ok && said != typ {
		return "", nil, refuse(BadHeaders, "the header ce_type is %q, and the type of the event in the value is %q", ingest.OneLine(said), ingest.OneLine(typ))
	}
	return typ, data, refusal
}

// structured reads an event in the JSON format of CloudEvents (json-format, section
// 3): its type, and its data as bytes. Data of a message is a string, or, for mail
// that is not UTF-8, data_base64. Attributes that we have no use for are passed over.
func structured(value []byte) (typ string, data []byte, refusal *Refusal) {
	all, refusal := members(value)
	if refusal != nil {
		return "", nil, refusal
	}
	f := fields{what: "the event", raw: all}
	if f.has("specversion") {
		version, refusal := f.text("specversion")
		if refusal != nil {
			return "", nil, refusal
		}
		if version != "1.0" {
			return "", nil, refuse(BadHeaders, "specversion is %q; 1.0 is read", ingest.OneLine(version))
		}
	}
	if !f.has("type") {
		return "", nil, refuse(UnknownType, "the event in the value has no type")
	}
	if typ, refusal = f.text("type"); refusal != nil {
		return "", nil, refusal
	}
	switch {
	case f.has("data") && f.has("data_base64"):
		return "", nil, refuse(BadJSON, "the event: data and data_base64 exclude each other")
	case f.has("data_base64"):
		text, refusal := f.text("data_base64")
		if refusal != nil {
			return "", nil, refusal
		}
		if data, err := base64.StdEncoding.DecodeString(text); err == nil {
			return typ, data, nil
		}
		return "", nil, refuse(BadValue, "data_base64 is not base64")
	case typ == TypeMessage || typ == TypeSent:
		if !f.has("data") || string(f.raw["data"]) == "null" {
			return typ, nil, nil
		}
		text, refusal := f.text("data")
		if refusal != nil {
			return "", nil, refuse(BadValue, "data of a message is its text as a string; or use data_base64")
		}
		return typ, []byte(text), nil
	default:
		return typ, f.raw["data"], nil
	}
}

// members reads one JSON object of any members, each once, and nothing behind it.
func members(value []byte) (map[string]json.RawMessage, *Refusal) {
	if !utf8.Valid(value) {
		return nil, refuse(BadJSON, "the event: it is not UTF-8")
	}
	all := map[string]json.RawMessage{}
	d := json.NewDecoder(bytes.NewReader(value))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, refuse(BadJSON, "the event: it is not a JSON object, as content-type says")
	}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return nil, refuse(BadJSON, "the event: it is not JSON")
		}
		if _, twice := all[name]; twice {
			return nil, refuse(BadJSON, "the event: %q is there twice", ingest.OneLine(name))
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, refuse(BadJSON, "the event: the value of %q is not JSON", ingest.OneLine(name))
		}
		all[name] = raw
	}
	if _, err := d.Token(); err != nil {
		return nil, refuse(BadJSON, "the event: the object does not end")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, refuse(BadJSON, "the event: something follows the object")
	}
	return all, nil
}
