// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"strings"
	"time"
	"unicode"
)

// Forget makes the account forget a message, everything from a sender, or
// everything before a moment. Exactly one of them is set.
type Forget struct {
	Message *Ref
	Sender  string // an address
	Before  time.Time
}

// Type is TypeForget.
func (Forget) Type() string { return TypeForget }

func (f Forget) encode() ([]byte, string) {
	var v ForgetValue
	switch {
	case f.Message != nil:
		v.Message, v.Key = f.Message.words()
	case f.Sender != "":
		v.Sender = f.Sender
	default:
		v.Before = f.Before.UTC().Format(time.RFC3339Nano)
	}
	return mustJSON(v), contentJSON
}

// ForgetValue is the value of a record of TypeForget. It has exactly one of these fields.
type ForgetValue struct {
	// Message is the Message-ID, with or without angle brackets.
	Message string `json:"message,omitempty"`
	// Key names the message by the key from its decision: 32 hexadecimal digits.
	Key string `json:"key,omitempty"`
	// Sender is an address. Everything from this address is forgotten.
	Sender string `json:"sender,omitempty"`
	// Before is a time (RFC 3339). Everything earlier is forgotten.
	Before string `json:"before,omitempty" jsonschema:"format=date-time"`
}

// maxAddress is the longest address, in bytes (RFC 5321, section 4.5.3.1).
const maxAddress = 320

func parseForget(value []byte) (Event, *Refusal) {
	f, refusal := object(value, "forget", "message", "key", "sender", "before")
	if refusal != nil {
		return nil, refusal
	}
	if len(f.raw) != 1 {
		return nil, refuse(BadJSON, "forget needs exactly one of message, key, sender and before")
	}
	var out Forget
	switch {
	case f.has("sender"):
		if out.Sender, refusal = f.text("sender"); refusal != nil {
			return nil, refusal
		}
		local, domain, at := strings.Cut(out.Sender, "@")
		if !at || local == "" || domain == "" || len(out.Sender) > maxAddress || strings.ContainsFunc(out.Sender, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) {
			return nil, refuse(BadValue, "sender is not an address")
		}
	case f.has("before"):
		if out.Before, refusal = f.time("before"); refusal != nil {
			return nil, refusal
		}
	default:
		ref, refusal := f.ref()
		if refusal != nil {
			return nil, refusal
		}
		out.Message = &ref
	}
	return out, nil
}
