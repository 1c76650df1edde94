// SPDX-License-Identifier: Apache-2.0

package kafka

import "fmt"

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
