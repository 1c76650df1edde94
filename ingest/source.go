// SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// MarkRequest asks for one keyword or flag to be set on one message, or cleared; or
// for a copy of the message (CopyTo).
type MarkRequest struct {
	ID    uint64 // chosen by the asker; comes back in the MarkResult
	Place Place
	Flag  string   // as the server is to store it, for example "$Important"
	Also  string   // a keyword to be set or cleared by the same command, where the mailbox keeps it; "": none
	Clear bool     // clear it instead of setting it
	Known []string // the flags on which the decision rests, canonical
	// Attempt is how often it ended in MarkConflict before. The source waits before it
	// tries again, twice as long each time.
	Attempt int

	// CopyTo asks for a copy of the message at Place in the mailbox of this name, and for
	// no flag. Where the server has the mailbox under its own prefix only, or knows
	// Important as a special use, that one is meant; one that is missing is made.
	// With Clear it asks for the copy Copied to be deleted for good, provided that it is
	// as it was put there: the message lies at Place still, with the same text, and the
	// copy has no flags beyond those there, the ones that say little, and Known.
	CopyTo string
	Copied Copied
	// Again: it may have been carried out before without an answer. Then one copy, of the
	// same text, that is there already is the one asked for; else somebody else's
	// (MarkConflict, with Copied). A flag that is not there is set only if the message was not
	// changed since ModSeq; else it may have been taken off (MarkUnsure). Find: only look for
	// that copy, and make none (MarkGone).
	Again, Find bool
	ModSeq      uint64
}

// Copied is a copy that a source made.
type Copied struct {
	Place // UID 0: the server did not say where it is
	// Sum is made of the message's header, so that another message is not taken for it.
	Sum string
}

// Emit hands one event over. It blocks while the receiver is busy, which is the
// back-pressure of the pipeline, and fails only when ctx is done.
type Emit func(ctx context.Context, e Event) error

// Source watches one account.
type Source interface {
	// Run reports events through emit until ctx is done, reconnecting as often
	// as it must. It returns nil when ctx ended it, and an error only when no
	// retry can help. It does not return before all its goroutines have.
	Run(ctx context.Context, emit Emit) error

	// Mark queues requests, to be carried out in order and each answered by one
	// MarkResult. One that fails is tried again behind the others. It never blocks and
	// is safe for concurrent use. Requests that were not carried out before Run ends are
	// forgotten: the asker has them in its ledger and asks again at the next start.
	Mark(requests ...MarkRequest)

	// Status tells how the source is doing. Safe for concurrent use.
	Status() Status
}

// Status is how a source is doing, for people.
type Status struct {
	Connected bool
	Problem   string // why not, in words; "" when all is well
	// DownSince is when the connection was lost that is not there; zero when all is well.
	DownSince time.Time
	// ConsentNeeded: the problem is that the owner has to consent again, with the
	// provider of the mail, to hinged's reading it.
	ConsentNeeded bool
	// LoginRefused: the problem is the login: a wrong password, none at all, or no way to
	// log in that both sides know. Somebody has to step in.
	LoginRefused bool
	Reconnects   int
	// Remaining is how many messages are known to wait for their first report.
	Remaining int
	// Looks are the last looks at the watched mailboxes, by name, in this run. The caller
	// owns the map.
	Looks map[string]Look
}

// Look is when a source last asked its server about a mailbox and heard the answer.
type Look struct {
	At time.Time
	// Listening: the server is to speak up by itself since then (IDLE).
	Listening bool
	// Shown is how many messages of the mailbox the server shows, Hidden how many more it
	// counts.
	Shown, Hidden int
}

// Parts says in words of which mailboxes the server shows a part only, sorted.
func (st Status) Parts() (parts []string) {
	for mailbox, l := range st.Looks {
		if l.Hidden > 0 {
			parts = append(parts, fmt.Sprintf("the mail server shows %d of %d messages in %s, however it is asked; "+
				"hinged neither learns from the others nor marks them (see docs/large-mailboxes.md)", l.Shown, l.Shown+l.Hidden, mailbox))
		}
	}
	slices.Sort(parts)
	return parts
}

// Known is what the store remembers of one mailbox, from which a source
// resumes: its last Cursor and the flags last reported.
type Known struct {
	Mailbox       string
	UIDValidity   uint32
	UIDNext       uint32
	HighestModSeq uint64
	BacklogBefore uint32
	// Restored: what is remembered is older than what was reported. All that is in
	// the mailbox when it is opened next counts as backlog.
	Restored bool
	Flags    map[uint32][]string // by UID, of every message reported and not vanished
}
