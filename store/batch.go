// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"time"

	"github.com/hinged/hinged/model"
)

// Batch is what one commit adds to the logs of an account, besides the rows of
// its State that changed. The store reads it during Commit only.
type Batch struct {
	// Journal holds the inputs that led to the change, encoded by the caller, in
	// order. Each gets the next sequence number.
	Journal [][]byte
	// Features holds the frozen vectors of the messages that arrived.
	Features []FeatureRecord
	// Lessons holds what was learnt, in order. Each gets the next order number.
	Lessons []Lesson
	// NamesFor is how long, on the account's clock, the names of features are kept;
	// 0 means NamesFor. It may be exceeded until the commits that follow have trimmed
	// the rest.
	NamesFor time.Duration
}

// NamesFor is how long the names of features are kept unless a Batch says otherwise.
const NamesFor = 30 * 24 * time.Hour

// AccountCommit is what one account has to commit: what Commit takes.
type AccountCommit struct {
	Account string
	State   *State
	Batch   Batch
}

// JournalEntry is one input of an account.
type JournalEntry struct {
	Seq  uint64 // from 1, without gaps
	Data []byte
}

// FeatureRecord is the frozen vector of one message, as the featurizer encoded it.
type FeatureRecord struct {
	Key MessageKey
	// Data is what learning from the message once more needs.
	Data []byte
	// Names says in words what Data consists of. It is kept for a shorter time, see
	// Batch.NamesFor and boltfile.Options.NamesCap; nil: there are none.
	Names []byte
}

// Lesson is one label learnt. The vector is that of Features for Message, which
// the store keeps as long as it keeps the lesson.
type Lesson struct {
	Order   uint64      `cbor:"-"` // from 1, without gaps; Commit gives it
	Message MessageKey  `cbor:"1,keyasint"`
	Label   model.Label `cbor:"2,keyasint"`
	Weight  float64     `cbor:"3,keyasint"`
	Source  Source      `cbor:"4,keyasint,omitempty"`
	Sender  ID          `cbor:"5,keyasint,omitempty"`
	Score   float64     `cbor:"6,keyasint,omitempty"` // w·x before the step
	Step    float64     `cbor:"7,keyasint,omitempty"` // a of w ← w + a·x
	At      Moment      `cbor:"8,keyasint,omitempty"`
	// The judgement that the message got at its arrival, as in its Message, so that
	// the lessons alone tell what the threshold was fitted to.
	Judged        float64 `cbor:"9,keyasint,omitempty"` // its score then
	Outcome       Outcome `cbor:"10,keyasint,omitempty"`
	Above         bool    `cbor:"11,keyasint,omitempty"`
	Correspondent bool    `cbor:"12,keyasint,omitempty"`
	Ruled         bool    `cbor:"13,keyasint,omitempty"` // a rule decided, and not the threshold
	// Before and BeforeSource are the label that the message had until then.
	Before       model.Label `cbor:"14,keyasint,omitempty"`
	BeforeSource Source      `cbor:"15,keyasint,omitempty"`
	// Replayed is Account.Replayed when the lesson was learnt: so many steps of a dual
	// learner's replay came before it.
	Replayed uint64 `cbor:"16,keyasint,omitempty"`
	// TookBack: the lesson before it on the same message was taken out of the weights.
	TookBack bool `cbor:"17,keyasint,omitempty"`
	// Anew is Account.Anew when the lesson was learnt. Of a lesson with another number the
	// learner of now knows nothing.
	Anew uint32 `cbor:"18,keyasint,omitempty"`
	// Tells is how much reading told of the owner when the lesson was learnt from it.
	Tells float64 `cbor:"19,keyasint,omitempty"`
}

// Learnt reports whether the learner heard of the label. If not, the threshold
// alone did: of a marked message that was left alone.
func (l Lesson) Learnt() bool { return l.Weight > 0 }

// Rewrite is what an account's past is to be from now on.
type Rewrite struct {
	// Lessons are all that are still known, in order. Their numbers are given anew,
	// from that of the oldest lesson kept on, without gaps.
	Lessons []Lesson
	// Learner is what was learnt before the first of Lessons, which has the number First in
	// the account's log; nil: what boltfile.Store.LessonBase returns was.
	Learner *State
	First   uint64
	// FromNothing: before the first of them nothing was learnt.
	FromNothing bool
	// Scrub: nothing of what is taken out may stay in the file; see boltfile.Store.ScrubDue.
	Scrub bool
}

// CheckAccountName demands that an account may have the name: 1 to 255 bytes.
func CheckAccountName(name string) error {
	if name == "" || len(name) > maxAccountName {
		return errors.New("name of an account must have 1 to 255 bytes")
	}
	return nil
}

const maxAccountName = 255
