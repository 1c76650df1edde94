// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

// inStructured says in the structured mode what Encode says in the binary mode.
func inStructured(t testing.TB, e Event, withBytes bool) Record {
	t.Helper()
	r := Encode(e, "alice", "id-1", "hinged:test", time.UnixMilli(1_700_000_000_123))
	event := map[string]any{"specversion": "1.0", "id": "id-1", "source": "hinged:test", "type": e.Type(), "time": "2023-11-14T22:13:20.123Z", "traceparent": "00-1"}
	switch {
	case withBytes:
		event["data_base64"] = base64.StdEncoding.EncodeToString(r.Value)
	case e.Type() == TypeMessage || e.Type() == TypeSent:
		event["datacontenttype"], event["data"] = contentMessage, string(r.Value)
	default:
		event["data"] = json.RawMessage(r.Value)
	}
	value, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	r.Value, r.Headers = value, []Header{{"Content-Type", []byte("Application/CloudEvents+JSON; charset=UTF-8")}}
	return r
}

// Issue 16, fault 8: such an event was decided as if its JSON were mail.
func TestAnEventInStructuredModeMeansWhatItMeansInBinaryMode(t *testing.T) {
	t.Parallel()
	for _, want := range events {
		for _, withBytes := range []bool{false, true} {
			got, err := Parse(inStructured(t, want, withBytes), 0)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
		}
	}
	latin := Message{Raw: []byte("Subject: caf\xe9\r\n\r\n\x00")}
	if got, err := Parse(inStructured(t, latin, true), 0); err != nil || !reflect.DeepEqual(got, latin) {
		t.Errorf("got %+v, %v, want %+v", got, err, latin)
	}
	// The headers of the binary mode may be there as well.
	both := inStructured(t, events[3], false)
	both.Headers = append(both.Headers, Header{"ce_type", []byte(TypeFeedback)})
	if got, err := Parse(both, 0); err != nil || !reflect.DeepEqual(got, events[3]) {
		t.Errorf("got %+v, %v", got, err)
	}
	// In the binary mode content-type is that of the data.
	mail := Record{Key: []byte("alice"), Value: []byte("From: a\r\n\r\n"), Headers: []Header{{"content-type", []byte("message/rfc822")}}}
	if got, err := Parse(mail, 0); err != nil || !reflect.DeepEqual(got, Message{Raw: mail.Value}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestEventsInStructuredModeThatMeanNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		media, value string
		want         Reason
	}{
		"a batch":               {"application/cloudevents-batch+json", `[]`, UnknownFormat},
		"avro":                  {"application/cloudevents+avro", "\x01", UnknownFormat},
		"protobuf":              {"application/cloudevents+protobuf", "\x01", UnknownFormat},
		"no format":             {"application/cloudevents", `{}`, UnknownFormat},
		"mail":                  {mediaStructured, "From: a@example.org\r\n\r\nhello\r\n", BadJSON},
		"a list":                {mediaStructured, `[{"type":"` + TypeMessage + `"}]`, BadJSON},
		"no end":                {mediaStructured, `{"type":"x"`, BadJSON},
		"two objects":           {mediaStructured, `{"type":"x"} {}`, BadJSON},
		"a member twice":        {mediaStructured, `{"type":"x","type":"x"}`, BadJSON},
		"not UTF-8":             {mediaStructured, "{\"type\":\"\xff\"}", BadJSON},
		"no type":               {mediaStructured, `{"id":"1"}`, UnknownType},
		"another type":          {mediaStructured, `{"type":"com.example.mail","data":"x"}`, UnknownType},
		"another version":       {mediaStructured, `{"specversion":"2.0","type":"` + TypeMessage + `","data":"x"}`, BadHeaders},
		"no data":               {mediaStructured, `{"type":"` + TypeMessage + `"}`, Empty},
		"data is null":          {mediaStructured, `{"type":"` + TypeMessage + `","data":null}`, Empty},
		"no feedback":           {mediaStructured, `{"type":"` + TypeFeedback + `"}`, Empty},
		"data twice":            {mediaStructured, `{"type":"` + TypeMessage + `","data":"x","data_base64":"eA=="}`, BadJSON},
		"no base64":             {mediaStructured, `{"type":"` + TypeMessage + `","data_base64":"%"}`, BadValue},
		"mail as an object":     {mediaStructured, `{"type":"` + TypeMessage + `","data":{"subject":"x"}}`, BadValue},
		"feedback as a string":  {mediaStructured, `{"type":"` + TypeFeedback + `","data":"{}"}`, BadJSON},
		"feedback without more": {mediaStructured, `{"type":"` + TypeFeedback + `","data":{}}`, BadJSON},
	} {
		r := Record{Key: []byte("alice"), Value: []byte(c.value), Headers: []Header{{"content-type", []byte(c.media)}}}
		got, err := Parse(r, 0)
		if !refusedFor(err, c.want) || got != nil {
			t.Errorf("%s: got %+v, %v, want %s", name, got, err, c.want)
		}
	}
	other := inStructured(t, events[0], false)
	other.Headers = append(other.Headers, Header{"ce_type", []byte(TypeFeedback)})
	if _, err := Parse(other, 0); !refusedFor(err, BadHeaders) {
		t.Errorf("two types: got %v", err)
	}
}

func FuzzParseStructured(f *testing.F) {
	for _, e := range events {
		f.Add(inStructured(f, e, false).Value)
		f.Add(inStructured(f, e, true).Value)
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		r := Record{Key: []byte("alice"), Value: value, Headers: []Header{{"content-type", []byte(mediaStructured)}}}
		e, err := Parse(r, 0)
		if err != nil {
			var why *Refusal
			if !errors.As(err, &why) || why.Reason == "" || why.Detail == "" || strings.ContainsAny(why.Detail, "\n\r\x00\x1b") {
				t.Fatalf("got %#v", err)
			}
			return
		}
		again, err := Parse(inStructured(t, e, true), 0)
		if err != nil || !reflect.DeepEqual(again, e) {
			t.Fatalf("got %+v, %v, want %+v", again, err, e)
		}
	})
}
