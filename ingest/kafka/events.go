// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"encoding/hex"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/hinged/hinged/ingest"
)

// Event is what a record of the input topic says. The concrete types are Message, Feedback,
// Unlearn, Forget, Rules and Done; all but Message are the JSON value of the record.
type Event interface {
	// Type is the ce_type.
	Type() string
}

// Message is mail that arrived: the raw bytes of it (RFC 5322), whatever they
// are. A record without headers of CloudEvents is one too.
type Message struct {
	Raw []byte
	// Sent: the owner sent it, by the word of the platform that produced the record.
	Sent bool
}

// Ref names a message, in one of the two ways.
type Ref struct {
	// Message is the Message-ID, with or without angle brackets. It excludes key.
	Message MessageID `json:"message,omitempty"`
	// Key names the message by the key from its decision: 32 hexadecimal digits.
	Key Key `json:"key,omitzero"`
}

// Feedback is a label that the owner gave to a message.
type Feedback struct {
	Ref
	// Label says what the message is to its owner.
	Label Label `json:"label" jsonschema:"type=string,enum=important,enum=ordinary"`
	// Source says how the owner expressed it; explicit if absent.
	Source string `json:"source,omitempty" jsonschema:"enum=explicit,enum=mark,enum=flagged,enum=answered,enum=moved,enum=junk"`
}

// Unlearn takes back what the account learnt since a moment.
type Unlearn struct {
	// Since is a time (RFC 3339). Lessons learnt at that time or later are taken back.
	Since time.Time `json:"since"`
}

// Forget makes the account forget a message, everything from a sender, or
// everything before a moment. It has exactly one of these fields.
type Forget struct {
	Ref
	// Sender is an address. Everything from this address is forgotten.
	Sender string `json:"sender,omitempty"`
	// Before is a time (RFC 3339). Everything earlier is forgotten.
	Before time.Time `json:"before,omitzero"`
}

// Done says that nothing is left to answer in the thread of a message.
type Done struct{ Ref }

// Rules replaces all rules of the account.
type Rules struct {
	// Rules replace all rules of the account. The first rule that matches wins.
	Rules []Rule `json:"rules"`
}

// Rule decides every message that it matches.
type Rule struct {
	// Match is the condition, as in from:boss@example.org.
	Match string `json:"match"`
	// Label is the label of every message that matches.
	Label Label `json:"label" jsonschema:"type=string,enum=important,enum=ordinary"`
}

// Type is TypeMessage, or TypeSent for mail that the owner sent.
func (m Message) Type() string {
	if m.Sent {
		return TypeSent
	}
	return TypeMessage
}

// Type is TypeFeedback.
func (Feedback) Type() string { return TypeFeedback }

// Type is TypeUnlearn.
func (Unlearn) Type() string { return TypeUnlearn }

// Type is TypeForget.
func (Forget) Type() string { return TypeForget }

// Type is TypeRules.
func (Rules) Type() string { return TypeRules }

// Type is TypeDone.
func (Done) Type() string { return TypeDone }

// Label is what a message is to its owner: important or ordinary.
type Label bool

// MarshalText implements encoding.TextMarshaler.
func (l Label) MarshalText() ([]byte, error) {
	if l {
		return []byte("important"), nil
	}
	return []byte("ordinary"), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *Label) UnmarshalText(text []byte) error {
	*l = string(text) == "important"
	if !*l && string(text) != "ordinary" {
		return refuse(BadValue, "label is %q; it can be important or ordinary", ingest.OneLine(string(text)))
	}
	return nil
}

// Key is the key that a decision gives for its message.
type Key [16]byte

// MarshalText implements encoding.TextMarshaler.
func (k Key) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, k[:]), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *Key) UnmarshalText(text []byte) error {
	if b, err := hex.AppendDecode(nil, text); err != nil || copy(k[:], b) != len(k) || len(b) != len(k) {
		return refuse(BadValue, "key is not 32 hexadecimal digits")
	}
	return nil
}

// MessageID is a Message-ID without angle brackets.
type MessageID string

// maxMessageID is the longest Message-ID, in bytes: a line of mail (RFC 5322,
// section 2.1.1).
const maxMessageID = 998

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *MessageID) UnmarshalText(text []byte) error {
	id := string(text)
	if inner, ok := strings.CutPrefix(id, "<"); ok {
		id = strings.TrimSuffix(inner, ">")
	}
	if id == "" || len(id) > maxMessageID || strings.ContainsAny(id, "<>") || strings.ContainsFunc(id, notInWord) {
		return refuse(BadValue, "message is not a Message-ID")
	}
	*m = MessageID(id)
	return nil
}

func notInWord(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }

// sources are what Feedback.Source can be: how the owner said it.
var sources = []string{"explicit", "mark", "flagged", "answered", "moved", "junk"}

// Limits, in bytes and number.
const (
	maxAddress = 320 // RFC 5321, section 4.5.3.1
	maxRules   = 1000
	maxMatch   = 1000
)

func parseFeedback(value []byte) (Event, *Refusal) {
	f := Feedback{Source: sources[0]}
	refusal := strict(value, "feedback", &f)
	switch {
	case refusal != nil:
		return nil, refusal
	case (f.Message == "") == (f.Key == Key{}):
		return nil, refuse(BadJSON, "feedback needs either message, a Message-ID, or key, which a decision gives")
	case !slices.Contains(sources, f.Source):
		return nil, refuse(BadValue, "source is %q; it can be %s", ingest.OneLine(f.Source), strings.Join(sources, ", "))
	}
	return f, nil
}

func parseDone(value []byte) (Event, *Refusal) {
	var d Done
	if refusal := strict(value, "done", &d); refusal != nil {
		return nil, refusal
	}
	if (d.Message == "") == (d.Key == Key{}) {
		return nil, refuse(BadJSON, "done needs either message, a Message-ID, or key, which a decision gives")
	}
	return d, nil
}

func parseUnlearn(value []byte) (Event, *Refusal) {
	var u Unlearn
	if refusal := strict(value, "unlearn", &u); refusal != nil {
		return nil, refusal
	}
	return Unlearn{Since: u.Since.UTC()}, nil
}

func parseForget(value []byte) (Event, *Refusal) {
	var f Forget
	if refusal := strict(value, "forget", &f); refusal != nil {
		return nil, refusal
	}
	n := 0
	for _, has := range []bool{f.Message != "", f.Key != Key{}, f.Sender != "", !f.Before.IsZero()} {
		if has {
			n++
		}
	}
	local, domain, _ := strings.Cut(f.Sender, "@")
	switch {
	case n != 1:
		return nil, refuse(BadJSON, "forget needs exactly one of message, key, sender and before")
	case f.Sender != "" && (local == "" || domain == "" || len(f.Sender) > maxAddress || strings.ContainsFunc(f.Sender, notInWord)):
		return nil, refuse(BadValue, "sender is not an address")
	}
	f.Before = f.Before.UTC()
	return f, nil
}

// parseRules reads a list of rules. What a match may say is for the filter to
// judge; here it is only a field, a colon and something.
func parseRules(value []byte) (Event, *Refusal) {
	var r Rules
	if refusal := strict(value, "rules", &r); refusal != nil {
		return nil, refusal
	}
	if len(r.Rules) > maxRules {
		return nil, refuse(BadValue, "there are %d rules; at most %d are allowed", len(r.Rules), maxRules)
	}
	for i, rule := range r.Rules {
		field, what, _ := strings.Cut(rule.Match, ":")
		if field == "" || what == "" || len(rule.Match) > maxMatch || strings.ContainsFunc(rule.Match, unicode.IsControl) {
			return nil, refuse(BadValue, "rule %d matches nothing; a match is like from:boss@example.org", i+1)
		}
	}
	return r, nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *Rule) UnmarshalJSON(value []byte) error {
	type plain Rule
	if refusal := strict(value, "a rule", (*plain)(r)); refusal != nil {
		return refusal
	}
	return nil
}
