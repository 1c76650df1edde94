// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/hinged/hinged/ingest"
)

// The labels, as they are written.
const (
	labelImportant = "important"
	labelOrdinary  = "ordinary"
)

// Sources are what Feedback.Source can be: how the owner said it.
var sources = []string{"explicit", "mark", "flagged", "answered", "moved", "junk"}

// Ref names a message: either by its Message-ID, or by the key that a decision
// gives for it.
type Ref struct {
	MessageID string   // without angle brackets; "": by Key
	Key       [16]byte // used when MessageID is ""
}

// Feedback is a label that the owner gave to a message.
type Feedback struct {
	Message   Ref
	Important bool
	Source    string // one of explicit, mark, flagged, answered, moved, junk
}

// Type is TypeFeedback.
func (Feedback) Type() string { return TypeFeedback }

// FeedbackValue is the value of a record of TypeFeedback.
type FeedbackValue struct {
	// Message is the Message-ID, with or without angle brackets. Give either this or key.
	Message string `json:"message,omitempty"`
	// Key names the message by the key from its decision: 32 hexadecimal digits.
	Key string `json:"key,omitempty"`
	// Label says what the message is to its owner.
	Label string `json:"label" jsonschema:"enum=important,enum=ordinary"`
	// Source says how the owner expressed it; explicit if absent.
	Source string `json:"source,omitempty" jsonschema:"enum=explicit,enum=mark,enum=flagged,enum=answered,enum=moved,enum=junk"`
}

func (f Feedback) encode() ([]byte, string) {
	v := FeedbackValue{Label: labelWord(f.Important), Source: f.Source}
	v.Message, v.Key = f.Message.words()
	return mustJSON(v), contentJSON
}

// words returns how a reference is written.
func (r Ref) words() (message, key string) {
	if r.MessageID != "" {
		return "<" + r.MessageID + ">", ""
	}
	return "", hex.EncodeToString(r.Key[:])
}

func labelWord(important bool) string {
	if important {
		return labelImportant
	}
	return labelOrdinary
}

// mustJSON encodes a struct of strings.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("kafka: strings cannot be encoded: " + err.Error())
	}
	return b
}

func parseFeedback(value []byte) (Event, *Refusal) {
	f, refusal := object(value, "feedback", "message", "key", "label", "source")
	if refusal != nil {
		return nil, refusal
	}
	out := Feedback{Source: sources[0]}
	if out.Message, refusal = f.ref(); refusal != nil {
		return nil, refusal
	}
	if out.Important, refusal = f.label(); refusal != nil {
		return nil, refusal
	}
	if f.has("source") {
		if out.Source, refusal = f.text("source"); refusal != nil {
			return nil, refusal
		}
		if !slices.Contains(sources, out.Source) {
			return nil, refuse(BadValue, "source is %q; it can be %s", ingest.OneLine(out.Source), strings.Join(sources, ", "))
		}
	}
	return out, nil
}

// label reads the field of that name.
func (f fields) label() (important bool, refusal *Refusal) {
	word, refusal := f.text("label")
	if refusal != nil {
		return false, refusal
	}
	switch word {
	case labelImportant:
		return true, nil
	case labelOrdinary:
		return false, nil
	}
	return false, refuse(BadValue, "label is %q; it can be important or ordinary", ingest.OneLine(word))
}

// maxMessageID is the longest Message-ID, in bytes: a line of mail (RFC 5322,
// section 2.1.1).
const maxMessageID = 998

// ref reads message or key, of which there must be one.
func (f fields) ref() (Ref, *Refusal) {
	if f.has("message") == f.has("key") {
		return Ref{}, refuse(BadJSON, "%s needs either message, a Message-ID, or key, which a decision gives", f.what)
	}
	if f.has("key") {
		return f.refByKey()
	}
	id, refusal := f.text("message")
	if refusal != nil {
		return Ref{}, refusal
	}
	if inner, ok := strings.CutPrefix(id, "<"); ok {
		id = strings.TrimSuffix(inner, ">")
	}
	if id == "" || len(id) > maxMessageID || strings.ContainsFunc(id, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) || r == '<' || r == '>' }) {
		return Ref{}, refuse(BadValue, "message is not a Message-ID")
	}
	return Ref{MessageID: id}, nil
}

func (f fields) refByKey() (Ref, *Refusal) {
	word, refusal := f.text("key")
	if refusal != nil {
		return Ref{}, refusal
	}
	var r Ref
	if n, err := hex.Decode(r.Key[:], []byte(word)[:min(len(word), 2*len(r.Key))]); err != nil || n != len(r.Key) || len(word) != 2*n {
		return Ref{}, refuse(BadValue, "key is not 32 hexadecimal digits")
	}
	return r, nil
}
