// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"testing"
	"time"

	describe "github.com/invopop/jsonschema"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/internal/testkit/published"
)

// records are the forms of what flows through Kafka as JSON. They are published
// beside those of what verbs print.
var records = []record{
	{name: "kafka-decision", ceType: kafka.TypeDecided, value: kafka.Decision{}},
	{name: "kafka-feedback", ceType: kafka.TypeFeedback, value: kafka.Feedback{}, closed: true, refine: func(s *describe.Schema) {
		s.OneOf = []*describe.Schema{{Required: []string{"message"}}, {Required: []string{"key"}}}
	}},
	{name: "kafka-unlearn", ceType: kafka.TypeUnlearn, value: kafka.Unlearn{}, closed: true},
	{name: "kafka-forget", ceType: kafka.TypeForget, value: kafka.Forget{}, closed: true, refine: func(s *describe.Schema) {
		one := uint64(1)
		s.MinProperties, s.MaxProperties = &one, &one
	}},
	{name: "kafka-done", ceType: kafka.TypeDone, value: kafka.Done{}, closed: true, refine: func(s *describe.Schema) {
		s.OneOf = []*describe.Schema{{Required: []string{"message"}}, {Required: []string{"key"}}}
	}},
	{name: "kafka-rules", ceType: kafka.TypeRules, value: kafka.Rules{}, closed: true},
}

// record is the form of the value of one type of record.
type record struct {
	name   string // of the published schema, without its ending
	ceType string
	value  any
	// closed: a key that is not named makes a dead letter of the record.
	closed bool
	// refine adds what types cannot say; nil: nothing.
	refine func(*describe.Schema)
}

func (r record) file() string { return r.name + ".schema.json" }

func (r record) reflect() (*describe.Schema, error) {
	reflector, err := published.Reflector(r.closed)
	if err != nil {
		return nil, err
	}
	reflector.Mapper = func(t reflect.Type) *describe.Schema {
		if t == reflect.TypeFor[kafka.Key]() {
			return &describe.Schema{Type: "string"}
		}
		return nil
	}
	out := reflector.Reflect(r.value)
	out.ID = describe.ID(schemaURL + r.file())
	out.Title = "The value of a record with ce_type " + r.ceType
	if r.refine != nil {
		r.refine(out)
	}
	return out, nil
}

// validates checks the value of a record of a type against the published schema.
func validates(t *testing.T, ceType string, value []byte) error {
	t.Helper()
	i := slices.IndexFunc(records, func(r record) bool { return r.ceType == ceType })
	if i < 0 {
		t.Fatalf("no schema for %s", ceType)
	}
	described, err := records[i].reflect()
	if err != nil {
		t.Fatal(err)
	}
	return validate(described, value)
}

// Whoever checks with the schema before producing gets no dead letters for the
// form of it.
func TestTheSchemasOfRecordsSayWhatIsAccepted(t *testing.T) {
	const key = `"key":"0123456789abcdef0123456789abcdef"`
	for _, tt := range []struct {
		ceType, value string
		ok            bool
	}{
		{kafka.TypeFeedback, `{"message":"<a@b.example>","label":"important"}`, true},
		{kafka.TypeFeedback, `{` + key + `,"label":"ordinary","source":"junk"}`, true},
		{kafka.TypeFeedback, `{"label":"important"}`, false},
		{kafka.TypeFeedback, `{"message":"a@b.example",` + key + `,"label":"important"}`, false},
		{kafka.TypeFeedback, `{"message":"a@b.example"}`, false},
		{kafka.TypeFeedback, `{"message":"a@b.example","label":"spam"}`, false},
		{kafka.TypeFeedback, `{"message":"a@b.example","label":"important","source":"rumour"}`, false},
		{kafka.TypeFeedback, `{"message":"a@b.example","label":"important","weight":1}`, false},
		{kafka.TypeFeedback, `{"message":7,"label":"important"}`, false},
		{kafka.TypeFeedback, `[]`, false},
		{kafka.TypeUnlearn, `{"since":"2026-01-31T08:00:00Z"}`, true},
		{kafka.TypeUnlearn, `{"since":"yesterday"}`, false},
		{kafka.TypeUnlearn, `{}`, false},
		{kafka.TypeForget, `{"sender":"a@b.example"}`, true},
		{kafka.TypeForget, `{"before":"2026-01-31T08:00:00Z"}`, true},
		{kafka.TypeForget, `{"message":"a@b.example"}`, true},
		{kafka.TypeForget, `{` + key + `}`, true},
		{kafka.TypeForget, `{}`, false},
		{kafka.TypeForget, `{"sender":"a@b.example","before":"2026-01-31T08:00:00Z"}`, false},
		{kafka.TypeForget, `{"all":true}`, false},
		{kafka.TypeDone, `{"message":"a@b.example"}`, true},
		{kafka.TypeDone, `{` + key + `}`, true},
		{kafka.TypeDone, `{}`, false},
		{kafka.TypeDone, `{"message":"a@b.example",` + key + `}`, false},
		{kafka.TypeRules, `{"rules":[{"match":"from:boss@example.org","label":"important"}]}`, true},
		{kafka.TypeRules, `{"rules":[]}`, true},
		{kafka.TypeRules, `{"rules":[{"match":"from:boss@example.org"}]}`, false},
		{kafka.TypeRules, `{"rules":[{"match":"from:boss@example.org","label":"x"}]}`, false},
		{kafka.TypeRules, `{"rules":{}}`, false},
		{kafka.TypeRules, `{}`, false},
	} {
		err := validates(t, tt.ceType, []byte(tt.value))
		if (err == nil) != tt.ok {
			t.Errorf("the schema of %s says of %s: %v", tt.ceType, tt.value, err)
		}
		_, err = kafka.Parse(kafka.Record{
			Key: []byte("ann"), Value: []byte(tt.value),
			Headers: []kafka.Header{{Key: "ce_type", Value: []byte(tt.ceType)}},
		}, 0)
		if (err == nil) != tt.ok {
			t.Errorf("hinged says to %s of %s: %v", tt.value, tt.ceType, err)
		}
	}
}

func TestWhatIsProducedFitsItsSchema(t *testing.T) {
	at := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	ref := kafka.Ref{Message: "a@b.example"}
	for _, e := range []kafka.Event{
		kafka.Feedback{Ref: ref, Label: true, Source: "explicit"},
		kafka.Feedback{Ref: kafka.Ref{Key: kafka.Key{1, 2}}, Source: "junk"},
		kafka.Unlearn{Since: at}, kafka.Forget{Ref: ref}, kafka.Forget{Sender: "a@b.example"}, kafka.Forget{Before: at},
		kafka.Done{Ref: ref},
		kafka.Rules{Rules: []kafka.Rule{{Match: "from:a@b.example", Label: true}}}, kafka.Rules{Rules: []kafka.Rule{}},
	} {
		r := kafka.Encode(e, "ann", "1", "test", at)
		if err := validates(t, e.Type(), r.Value); err != nil {
			t.Errorf("%s: %v", r.Value, err)
		}
	}
	for _, d := range []kafka.Decision{
		{Account: "ann", Key: "0123456789abcdef0123456789abcdef", Decision: "unsure", Reason: "too few labels yet", Topic: "in", Arrived: at},
		{
			Account: "ann", MessageID: "a@b.example", Key: "0123456789abcdef0123456789abcdef", Decision: "important", Mark: true, Score: 0.5,
			Threshold: -0.25, Because: []kafka.Part{{Feature: "subject:invoice", Part: 0.25}}, Topic: "in", Partition: 3, Offset: 7, Arrived: at,
		},
	} {
		r, err := d.Record()
		if err != nil {
			t.Fatal(err)
		}
		if err := validates(t, kafka.TypeDecided, r.Value); err != nil {
			t.Errorf("%s: %v", r.Value, err)
		}
	}
}

// What the page shows must be what can be sent, and what comes.
func TestTheRecordsOfThePageFitASchema(t *testing.T) {
	text := testkit.Read(t, filepath.Join(docsDir, "kafka.md"))
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 6 {
		t.Errorf("the page shows %d records, want at least 6", len(blocks))
	}
	shown := map[string]bool{}
	for _, b := range blocks {
		fits := false
		for _, r := range records { // "done" has the form of a "forget"
			if validates(t, r.ceType, []byte(b[1])) == nil {
				fits, shown[r.name] = true, true
			}
		}
		if !fits {
			t.Errorf("this fits no schema:\n%s", b[1])
		}
	}
	for _, r := range records {
		if !shown[r.name] {
			t.Errorf("the page shows no %s", r.name)
		}
	}
}
