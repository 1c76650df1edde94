// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/hinged/hinged/ingest"
)

// Headers of CloudEvents 1.0 in the binary mode of its Kafka binding
// (cloudevents/spec, kafka-protocol-binding, section 3.2).
const (
	headerID          = "ce_id"
	headerSource      = "ce_source"
	headerSpecVersion = "ce_specversion"
	headerType        = "ce_type"
	headerTime        = "ce_time"
	headerContentType = "content-type"
)

// What ce_type can be.
const (
	TypeMessage  = "io.hinged.message.received.v1" // a raw message (RFC 5322)
	TypeSent     = "io.hinged.message.sent.v1"     // a raw message that the owner sent
	TypeFeedback = "io.hinged.feedback.v1"
	TypeUnlearn  = "io.hinged.unlearn.v1"
	TypeForget   = "io.hinged.forget.v1"
	TypeRules    = "io.hinged.rules.v1"
	TypeDone     = "io.hinged.done.v1"
	TypeDecided  = "io.hinged.message.decided.v1"
)

// The content types of values.
const (
	contentMessage = "message/rfc822"
	contentJSON    = "application/json"
)

// timeLayout is RFC 3339 in UTC to the millisecond, which is what a timestamp of
// Kafka holds.
const timeLayout = "2006-01-02T15:04:05.000Z"

// envelope returns the headers of an event, always in the same order.
func envelope(id, source, kind, content string, at time.Time) []Header {
	return []Header{
		{headerSpecVersion, []byte("1.0")},
		{headerID, []byte(id)},
		{headerSource, []byte(source)},
		{headerType, []byte(kind)},
		{headerTime, []byte(at.UTC().Format(timeLayout))},
		{headerContentType, []byte(content)},
	}
}

// kind returns the ce_type of a record, TypeMessage where there are no headers
// of CloudEvents at all.
func kind(r Record) (string, *Refusal) {
	values := map[string]string{}
	for _, h := range r.Headers {
		if !strings.HasPrefix(h.Key, "ce_") {
			continue
		}
		v := string(h.Value)
		if old, ok := values[h.Key]; ok && old != v {
			return "", refuse(BadHeaders, "header %s is there twice, with different values", ingest.OneLine(h.Key))
		}
		values[h.Key] = v
	}
	if len(values) == 0 {
		return TypeMessage, nil
	}
	if v, ok := values[headerSpecVersion]; ok && v != "1.0" {
		return "", refuse(BadHeaders, "ce_specversion is %q; 1.0 is read", ingest.OneLine(v))
	}
	t, ok := values[headerType]
	if !ok {
		return "", refuse(UnknownType, "there are headers of CloudEvents, but no ce_type")
	}
	return t, nil
}

// source is the ce_source of what we make of a topic, a URI reference.
func source(topic string) string { return "hinged:" + topic }

// identity names a record of the input for good. reused counts how many records had its
// offset before and were lost. Without the topic's id it is as good as long as the topic is
// not created again.
func identity(topic, id string, partition int32, offset int64, reused int) string {
	if id != "" {
		topic += "/" + id
	}
	name := fmt.Sprintf("%s/%d/%d", topic, partition, offset)
	if reused > 0 {
		name += fmt.Sprintf("/%d", reused)
	}
	return name
}

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
	all, refusal := members(value, "the event")
	if refusal != nil {
		return "", nil, refusal
	}
	text := func(name string) (word string, is bool) {
		raw := all[name]
		return word, len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &word) == nil
	}
	if version, is := text("specversion"); all["specversion"] != nil && (!is || version != "1.0") {
		return "", nil, refuse(BadHeaders, "specversion is %s; \"1.0\" is read", ingest.OneLine(string(all["specversion"])))
	}
	typ, is := text("type")
	if !is {
		return "", nil, refuse(UnknownType, "the event in the value has no type")
	}
	data, encoded := all["data"], all["data_base64"]
	if string(data) == "null" {
		data = nil
	}
	switch {
	case data != nil && encoded != nil:
		return "", nil, refuse(BadJSON, "the event: data and data_base64 exclude each other")
	case encoded != nil:
		word, is := text("data_base64")
		if data, err := base64.StdEncoding.DecodeString(word); err == nil && is {
			return typ, data, nil
		}
		return "", nil, refuse(BadValue, "data_base64 is not base64")
	case data == nil, typ != TypeMessage && typ != TypeSent:
		return typ, data, nil
	}
	mail, is := text("data")
	if !is {
		return "", nil, refuse(BadValue, "data of a message is its text as a string; or use data_base64")
	}
	return typ, []byte(mail), nil
}
