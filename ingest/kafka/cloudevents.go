// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"fmt"
	"strings"
	"time"

	"github.com/hinged/hinged/ingest"
)

// Headers of CloudEvents 1.0 in the binary mode of its Kafka binding
// (cloudevents/spec, kafka-protocol-binding, section 3.2). structured.go reads the
// structured mode.
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
