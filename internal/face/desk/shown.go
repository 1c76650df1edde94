// SPDX-License-Identifier: Apache-2.0

package desk

import "time"

// Deed says what was done.
type Deed uint8

// The deeds.
const (
	DeedMarked    Deed = iota // a mark is on the message: the server has confirmed it
	DeedImportant             // decided important, and not marked
	DeedUnsure
	DeedOrdinary
	DeedLearnt    // from what the owner did
	DeedCorrected // likewise, against the decision at arrival
	DeedSilence   // learnt from the owner's silence
	DeedUndone    // a mark was taken back: the server has confirmed it
	DeedBarred    // the mail can't be read before the owner consents again; Why says what to do
	DeedConsented // it can be read: the owner has consented, or need not
)

// AboutConsent stands for a message in what is told of the owner's consent.
const AboutConsent = "consent"

// Scored is one decision, told once it is committed.
type Scored struct {
	Account string        // "" if it is one of a stream
	Outcome string        // important, unsure or ordinary
	Took    time.Duration // to read the message and to decide, without waiting
}

// Shown is one thing that was done about an account's mail, told once it is committed.
// It is for the owner's eyes, since it has words of the mail: whoever gets it shows it
// and keeps nothing of it.
type Shown struct {
	Account string
	Deed    Deed
	// Message is the key of the message, in hexadecimal; "" where it is about none, and
	// AboutConsent.
	Message string
	// Score and Threshold are those of the decision; of a lesson, the score before it.
	Score, Threshold float64
	// Probability is how likely the message is important; 0: too little is known.
	Probability float64
	// Mistake: a lesson's score was on the wrong side of 0, or exactly 0. Loss is its
	// hinge loss.
	Mistake bool
	Loss    float64
	// From is the sender's name if authserv_id vouches for the address, else the address:
	// anybody can take any name. "" where words are not kept.
	From string
	// Subject is the decoded subject; of a deed of learning words of it, perhaps in
	// another order than there.
	Subject string
	Label   string   // learnt: important or ordinary
	Source  string   // learnt: what the owner did, as store.Source names it
	Why     []string // what speaks for it, or why there is no mark, in words
}
