// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hinged/hinged/ingest"
)

// AccountPrefix stands before the key of a record to make the name of its
// account, so that no record can ever touch an account of another source.
const AccountPrefix = "kafka:"

// maxKey is the longest key, in bytes.
const maxKey = 200

// ValidKey reports why key cannot belong to an account, or nil: it must be UTF-8
// of 1 to 200 bytes without control characters.
func ValidKey(key []byte) error {
	switch {
	case len(key) == 0:
		return fmt.Errorf("it is empty")
	case len(key) > maxKey:
		return fmt.Errorf("it has %d bytes; at most %d are allowed", len(key), maxKey)
	case !utf8.Valid(key):
		return fmt.Errorf("it is not UTF-8")
	}
	for _, r := range string(key) {
		if unicode.IsControl(r) {
			return fmt.Errorf("it holds a control character, %U", r)
		}
	}
	return nil
}

// Parse says what a record of the input topic means. partitions is how many that
// topic has; 0 leaves out the check that the key belongs where it was found. A
// record that means nothing gives a *Refusal, never another error. The event
// shares memory with r.
func Parse(r Record, partitions int32) (Event, error) {
	e, refusal := parse(r, partitions)
	if refusal != nil {
		return nil, refusal
	}
	return e, nil
}

func parse(r Record, partitions int32) (Event, *Refusal) {
	if refusal := tooLarge(r.Dropped); refusal != nil {
		return nil, refusal
	}
	if len(r.Key) == 0 {
		return nil, refuse(NoKey, "the key of a record is the name of its account")
	}
	if err := ValidKey(r.Key); err != nil {
		return nil, refuse(BadKey, "the key is the name of the account; %v", err)
	}
	if partitions > 0 {
		if p := Partition(r.Key, partitions); p != r.Partition {
			return nil, refuse(WrongPartition, "murmur2 puts the key into partition %d of %d; the producer must use that partitioner", p, partitions)
		}
	}
	if len(r.Value) == 0 {
		return nil, refuse(Empty, "the record has no value")
	}
	kind, value, refusal := meaning(r)
	if refusal != nil {
		return nil, refusal
	}
	if len(value) == 0 {
		return nil, refuse(Empty, "the event has no data")
	}
	switch kind {
	case TypeMessage:
		return Message{Raw: value}, nil
	case TypeSent:
		return Message{Raw: value, Sent: true}, nil
	case TypeFeedback:
		return parseFeedback(value)
	case TypeUnlearn:
		return parseUnlearn(value)
	case TypeForget:
		return parseForget(value)
	case TypeRules:
		return parseRules(value)
	case TypeDone:
		return parseDone(value)
	default:
		return nil, refuse(UnknownType, "ce_type %q is not known", ingest.OneLine(kind))
	}
}

// tooLarge says that a part of a record was not read.
func tooLarge(d Dropped) *Refusal {
	switch {
	case d.Value > 0:
		return refuse(TooLarge, "the value has %d bytes, more than max_message_bytes", d.Value)
	case d.Headers > 0:
		return refuse(TooLarge, "the headers have %d bytes; at most %d headers of together %d bytes are read", d.Headers, maxHeaders, maxText)
	case d.Key > 0:
		return refuse(TooLarge, "the key has %d bytes; at most %d are allowed", d.Key, maxKey)
	}
	return nil
}

// Encode makes the record of the input topic that means e: key is the account's
// name without AccountPrefix, id makes it unique for its source (CloudEvents,
// section 3.1), at is its timestamp. Parse is the inverse.
func Encode(e Event, key, id, source string, at time.Time) Record {
	var value []byte
	content := contentMessage
	if m, ok := e.(Message); ok {
		value = m.Raw
	} else {
		var err error
		if value, err = json.Marshal(e); err != nil {
			panic("kafka: an event cannot be encoded: " + err.Error())
		}
		content = contentJSON
	}
	return Record{
		Partition: ByKey,
		Time:      at,
		Key:       []byte(key),
		Value:     value,
		Headers:   envelope(id, source, e.Type(), content, at),
	}
}

// Reason is why a record was refused: a stable word, for x-hinged-reason and for
// counting.
type Reason string

// The reasons that Parse gives.
const (
	NoKey          Reason = "no-key"          // the record has no key, so no account
	BadKey         Reason = "bad-key"         // the key cannot be the name of an account
	WrongPartition Reason = "wrong-partition" // the key belongs in another partition
	TooLarge       Reason = "too-large"       // above Options.MaxRecord after decompression, or with too many headers
	Empty          Reason = "empty"           // no value, or one of no bytes
	BadHeaders     Reason = "bad-headers"     // headers of CloudEvents that contradict each other
	UnknownType    Reason = "unknown-type"    // a ce_type that we do not know
	UnknownFormat  Reason = "unknown-format"  // an event in a format of CloudEvents that is not read
	BadJSON        Reason = "bad-json"        // not JSON, or fields missing, unknown or repeated
	BadValue       Reason = "bad-value"       // a field holds what it cannot
)

// The reasons that only one who knows the account can give.
const (
	UnknownAccount Reason = "unknown-account"
	UnknownMessage Reason = "unknown-message"
	Expired        Reason = "expired"  // feedback whose message never came
	Conflict       Reason = "conflict" // it contradicts what the account holds
)

// Reasons returns all of them.
func Reasons() []Reason {
	return []Reason{
		NoKey, BadKey, WrongPartition, TooLarge, Empty, BadHeaders, UnknownType, UnknownFormat, BadJSON, BadValue,
		UnknownAccount, UnknownMessage, Expired, Conflict,
	}
}

// Refusal says why a record is not acted upon. It goes to the dead letters.
type Refusal struct {
	Reason Reason
	Detail string // for people: one line, nothing of a message's text
}

func (r *Refusal) Error() string { return string(r.Reason) + ": " + r.Detail }

func refuse(reason Reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Detail: fmt.Sprintf(format, args...)}
}
