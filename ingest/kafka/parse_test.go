// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

// refusedFor reports whether err is a refusal for that reason.
func refusedFor(err error, reason Reason) bool {
	var r *Refusal
	return errors.As(err, &r) && r.Reason == reason
}

// events has one of every kind, as they come out of Parse.
var events = []Event{
	Message{Raw: []byte("Subject: hello\r\n\r\nworld\r\n")},
	Message{Raw: []byte{0}},
	Message{Raw: []byte("From: alice\r\n\r\nsent\r\n"), Sent: true},
	Feedback{Ref: Ref{Message: "a@b.example"}, Label: true, Source: "explicit"},
	Feedback{Ref: Ref{Key: Key{1, 0xff}}, Source: "junk"},
	Unlearn{Since: time.Date(2026, 1, 31, 8, 0, 0, 5, time.UTC)},
	Forget{Ref: Ref{Message: "a@b.example"}},
	Forget{Ref: Ref{Key: Key{15: 1}}},
	Forget{Sender: "someone@example.org"},
	Forget{Before: time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)},
	Rules{Rules: []Rule{}},
	Rules{Rules: []Rule{{"from:boss@example.org", true}, {"list-id:news", false}}},
}

func TestEveryEventComesBackFromItsRecord(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_700_000_000_123).UTC()
	for _, e := range events {
		r := Encode(e, "alice", "id-1", "hinged:test", at)
		again := Encode(e, "alice", "id-1", "hinged:test", at)
		if !reflect.DeepEqual(r, again) {
			t.Errorf("two records of %+v differ", e)
		}
		r.Partition = Partition(r.Key, 7)
		got, err := Parse(r, 7)
		if err != nil || !reflect.DeepEqual(got, e) {
			t.Errorf("got %+v, %v, want %+v", got, err, e)
		}
		if v, ok := r.Header("ce_time"); !ok || string(v) != "2023-11-14T22:13:20.123Z" {
			t.Errorf("ce_time is %q", v)
		}
	}
}

func TestARecordWithoutHeadersOfCloudEventsIsAMessage(t *testing.T) {
	t.Parallel()
	r := Record{Key: []byte("alice"), Value: []byte("{}"), Headers: []Header{{"trace", []byte("1")}}}
	if got, err := Parse(r, 0); err != nil || !reflect.DeepEqual(got, Message{Raw: r.Value}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestWhatMeansNothingIsRefusedForAReason(t *testing.T) {
	t.Parallel()
	ce := func(kind string) []Header { return []Header{{"ce_type", []byte(kind)}} }
	alice := []byte("alice")
	for name, c := range map[string]struct {
		r    Record
		want Reason
	}{
		"no key":                 {Record{Value: alice}, NoKey},
		"an empty key":           {Record{Key: []byte{}, Value: alice}, NoKey},
		"a key of 201 bytes":     {Record{Key: bytes.Repeat([]byte{'a'}, 201), Value: alice}, BadKey},
		"a key that is no UTF-8": {Record{Key: []byte{0xff}, Value: alice}, BadKey},
		"a key of two lines":     {Record{Key: []byte("a\nb"), Value: alice}, BadKey},
		"another partition":      {Record{Key: alice, Value: alice, Partition: 1 - Partition(alice, 2)}, WrongPartition},
		"a tombstone":            {Record{Key: alice}, Empty},
		"an empty value":         {Record{Key: alice, Value: []byte{}, Headers: ce(TypeFeedback)}, Empty},
		"too large":              {Record{Key: alice, Dropped: Dropped{Value: 1}}, TooLarge},
		"another type":           {Record{Key: alice, Value: alice, Headers: ce("io.hinged.message.received.v2")}, UnknownType},
		"no type":                {Record{Key: alice, Value: alice, Headers: []Header{{"ce_id", alice}}}, UnknownType},
		"another version":        {Record{Key: alice, Value: alice, Headers: append(ce(TypeMessage), Header{"ce_specversion", []byte("2.0")})}, BadHeaders},
		"two types":              {Record{Key: alice, Value: alice, Headers: append(ce(TypeMessage), ce(TypeUnlearn)...)}, BadHeaders},
	} {
		partitions := int32(0)
		if c.want == WrongPartition {
			partitions = 2
		}
		if got, err := Parse(c.r, partitions); !refusedFor(err, c.want) || got != nil {
			t.Errorf("%s: got %+v, %v, want %s", name, got, err, c.want)
		}
	}
	for kind, values := range map[string]map[string]Reason{
		TypeFeedback: {
			``: Empty, `[]`: BadJSON, `null`: BadJSON, `{"message":"<a@b>","label":"important"`: BadJSON, `{"message":"<a@b>","label":"important"} {}`: BadJSON,
			`{"message":"<a@b>"}`: BadJSON, `{"label":"important"}`: BadJSON, `{"message":"<a@b>","key":"` + strings.Repeat("f", 32) + `","label":"important"}`: BadJSON,
			`{"message":"<a@b>","label":"important","extra":1}`: BadJSON, `{"message":"<a@b>","LABEL":"important"}`: BadJSON,
			`{"message":"<a@b>","label":"important","label":"ordinary"}`: BadJSON, `{"message":7,"label":"important"}`: BadJSON,
			"{\"message\":\"\xff\",\"label\":\"important\"}": BadJSON,
			`{"message":"<a@b>","label":"Important"}`:        BadValue, `{"message":"<a@b>","label":"important","source":"guess"}`: BadValue,
			`{"message":"","label":"important"}`: BadValue, `{"message":"<>","label":"important"}`: BadValue, `{"message":"a b","label":"important"}`: BadValue,
			`{"key":"00","label":"important"}`: BadValue, `{"key":"` + strings.Repeat("0", 34) + `","label":"important"}`: BadValue, `{"key":"` + strings.Repeat("g", 32) + `","label":"important"}`: BadValue,
			`{"message":"` + strings.Repeat("a", 999) + `","label":"important"}`: BadValue,
		},
		TypeDone:    {`{}`: BadJSON, `[]`: BadJSON, `{"message":"<a@b>","key":"` + strings.Repeat("f", 32) + `"}`: BadJSON, `{"key":"00"}`: BadValue},
		TypeUnlearn: {`{}`: BadJSON, `{"since":1}`: BadJSON, `{"since":"yesterday"}`: BadValue},
		TypeForget:  {`{}`: BadJSON, `{"sender":"a@b","before":"2026-01-31T08:00:00Z"}`: BadJSON, `{"sender":"all"}`: BadValue, `{"sender":"@b"}`: BadValue, `{"before":"2026"}`: BadValue, `{"key":""}`: BadValue},
		TypeRules: {
			`{}`: BadJSON, `{"rules":{}}`: BadJSON, `{"rules":[1]}`: BadJSON, `{"rules":[{"match":"from:a"}]}`: BadJSON, `{"rules":[{"match":"from","label":"important"}]}`: BadValue,
			`{"rules":[{"match":"from:a","label":"never"}]}`: BadValue, `{"rules":[` + strings.Repeat(`{"match":"a:b","label":"important"},`, maxRules) + `{"match":"a:b","label":"important"}]}`: BadValue,
		},
	} {
		for value, want := range values {
			r := Record{Key: alice, Value: []byte(value), Headers: ce(kind)}
			if got, err := Parse(r, 0); !refusedFor(err, want) || got != nil {
				t.Errorf("%s %.60s: got %+v, %v, want %s", kind, value, got, err, want)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, e := range events {
		r := Encode(e, "alice", "id", "source", time.Time{})
		f.Add(r.Key, r.Value, []byte(e.Type()), []byte("1.0"))
	}
	f.Add([]byte("a\x00"), []byte(`{"message":"<a@b>","label":"important"}`), []byte("x"), []byte("2.0"))
	f.Fuzz(func(t *testing.T, key, value, kind, version []byte) {
		r := Record{Key: key, Value: value, Headers: []Header{{"ce_type", kind}, {"ce_specversion", version}}}
		e, err := Parse(r, 0)
		if err != nil {
			var why *Refusal
			if !errors.As(err, &why) || why.Reason == "" || why.Detail == "" || strings.ContainsAny(why.Detail, "\n\r\x00\x1b") {
				t.Fatalf("got %#v", err)
			}
			return
		}
		if ValidKey(key) != nil || e.Type() != string(kind) {
			t.Fatalf("%q of %q became %+v", kind, key, e)
		}
		// What was understood can be said again, and means the same.
		again, err := Parse(Encode(e, string(key), "id", "source", time.Time{}), 0)
		if err != nil || !reflect.DeepEqual(again, e) {
			t.Fatalf("got %+v, %v, want %+v", again, err, e)
		}
	})
}

func TestADecisionHasTheSameBytesEachTime(t *testing.T) {
	t.Parallel()
	d := Decision{
		Account: "alice", MessageID: "a@b.example", Key: strings.Repeat("0", 32), Decision: "important", Mark: true, Score: 1.0 / 3, Threshold: -1e-9,
		Because: []Part{{"from:boss@example.org", 0.25}}, Topic: "mail", Partition: 3, Offset: 42, Arrived: time.UnixMilli(1_700_000_000_123).In(time.FixedZone("", 3600)),
	}
	r, err := d.Record()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"account":"alice","message_id":"a@b.example","key":"00000000000000000000000000000000","decision":"important","mark":true,"score":0.3333333333333333,"threshold":-1e-9,` +
		`"because":[{"feature":"from:boss@example.org","part":0.25}],"topic":"mail","partition":3,"offset":42,"arrived":"2023-11-14T22:13:20.123Z"}`
	headers := "ce_specversion=1.0 ce_id=mail/3/42 ce_source=hinged:mail ce_type=io.hinged.message.decided.v1 ce_time=2023-11-14T22:13:20.123Z content-type=application/json "
	if string(r.Value) != want || written(r) != headers || string(r.Key) != "alice" || r.Partition != ByKey || !r.Time.IsZero() {
		t.Errorf("got %s\n%s\n%+v", r.Value, written(r), r)
	}
	d.Score = math.Inf(1)
	if _, err := d.Record(); err == nil {
		t.Error("an infinite score was encoded")
	}
}

// written is how headers look.
func written(r Record) string {
	var b strings.Builder
	for _, h := range r.Headers {
		fmt.Fprintf(&b, "%s=%s ", h.Key, h.Value)
	}
	return b.String()
}

func TestADeadLetterIsTheRecordWithAReason(t *testing.T) {
	t.Parallel()
	r := Record{
		Partition: 3, Offset: 42, Key: []byte("alice"), Value: []byte("value"), Time: time.Now(),
		Headers: []Header{{"trace", []byte("1")}, {"X-Hinged-Reason", []byte("forged")}, {"x-hinged-offset", []byte("7")}},
	}
	before := fmt.Sprint(r)
	dead := DeadLetter("mail", r, Refusal{BadJSON, "it is not"})
	if want := "trace=1 x-hinged-reason=bad-json x-hinged-detail=it is not x-hinged-topic=mail x-hinged-partition=3 x-hinged-offset=42 "; written(dead) != want || string(dead.Value) != "value" || string(dead.Key) != "alice" || dead.Partition != ByKey || !dead.Time.IsZero() {
		t.Errorf("got %s in %+v", written(dead), dead)
	}
	if fmt.Sprint(r) != before {
		t.Errorf("the record became %+v", r)
	}
	lean, ok := Shrink(dead)
	if want := "x-hinged-dropped=6 x-hinged-dropped-parts=headers "; !ok || string(lean.Value) != "value" || strings.Contains(written(lean), "trace") || !strings.HasSuffix(written(lean), want) {
		t.Errorf("the first smaller one is %+v, %v", lean, ok)
	}
	small, ok := Shrink(lean)
	if want := "x-hinged-dropped=11 x-hinged-dropped-parts=value,headers "; !ok || small.Value != nil || !strings.HasPrefix(written(small), "x-hinged-reason=") || !strings.HasSuffix(written(small), want) {
		t.Errorf("without its value it is %+v, %v", small, ok)
	}
	if _, ok := Shrink(small); ok || !strings.Contains(written(dead), "trace") {
		t.Error("there is always less to be had, or the first one was changed")
	}
	if none := DeadLetter("mail", Record{Dropped: Dropped{Value: 99}}, Refusal{NoKey, "none"}); none.Partition != 0 || !strings.HasSuffix(written(none), "x-hinged-dropped=99 x-hinged-dropped-parts=value ") {
		t.Errorf("without a key it is %+v", none)
	}
	if wide, ok := Shrink(Record{Key: make([]byte, maxKey+1), Partition: ByKey}); !ok || wide.Key != nil || wide.Partition != 0 || wide.Dropped.Key != maxKey+1 {
		t.Errorf("without its key it is %+v, %v", wide, ok)
	}
}
