// SPDX-License-Identifier: Apache-2.0

// Package ingest defines what a source of mail tells the rest of hinged, and
// what it can be asked to do. The sources themselves are below it: imap, kafka
// and archive.
//
// A source reports facts about the server in the order in which it learnt
// them. It decides nothing: what a change of flags means, and whether it is
// the owner's doing or our own, is the filter's business.
//
// Data flow: server → Source → Event → filter → MarkRequest → Source → MarkResult.
package ingest

import "time"

// Place names one copy of a message on a server. The tags are those of the journal.
type Place struct {
	Mailbox     string `cbor:"1,keyasint"` // decoded name, "INBOX" in upper case
	UIDValidity uint32 `cbor:"2,keyasint,omitempty"`
	UID         uint32 `cbor:"3,keyasint,omitempty"`
}

// Role is what a mailbox is for (RFC 6154 special use, or INBOX).
type Role uint8

// The roles.
const (
	RoleOther Role = iota
	RoleInbox
	RoleSent
	RoleDrafts
	RoleJunk
	RoleTrash
	RoleArchive
	RoleImportant
)

func (r Role) String() string {
	return [...]string{"other", "inbox", "sent", "drafts", "junk", "trash", "archive", "important"}[min(r, RoleImportant)]
}

// Event is one thing that a source saw. The concrete types are those below.
type Event interface{ isEvent() }

// MailboxOpened comes before any other event of a mailbox in a session of the
// source, and again whenever its UIDVALIDITY turned out to have changed; then
// everything known of its UIDs is void (RFC 9051, section 2.3.1.1).
type MailboxOpened struct {
	Mailbox     string
	Role        Role
	UIDValidity uint32
	// Keywords says whether the mailbox takes new keywords permanently
	// (PERMANENTFLAGS contains \*, RFC 9051 section 7.1).
	Keywords bool
	// Flags are the permanent flags, canonical.
	Flags []string
	// Labels says that the mailboxes of this server are labels, as those of Gmail: one
	// message lies in several at once, with the same flags; \Deleted takes it out of one,
	// and no more; and into the mailbox with the role RoleImportant the server puts mail
	// as it sees fit.
	Labels bool
}

// Arrival is a message that was not there before.
type Arrival struct {
	Place
	Internal time.Time // INTERNALDATE
	Flags    []string  // canonical
	Raw      []byte    // its first bytes, up to the source's limit; owned by the receiver
	Size     int64     // its whole size, in bytes
	// Backlog: it was in the mailbox when hinged first opened it.
	Backlog bool
	// Away: found by the first look after the source had been away, not seen
	// live.
	Away bool
	// ModSeq is the number of the copy's last change (RFC 7162, section 3.1); 0: the
	// server has none. Many servers give one number to all that one command changed.
	ModSeq uint64
}

// FlagsChanged gives the flags that a known message has now. They may equal the
// ones known: a source may repeat itself.
type FlagsChanged struct {
	Place
	Flags []string // canonical
	// Away: found by the first look after the source had been away, not seen
	// live.
	Away bool
	// ModSeq is that of the message as it is now; see Arrival.
	ModSeq uint64
}

// Vanished says that messages are no longer in the mailbox.
type Vanished struct {
	Mailbox     string
	UIDValidity uint32
	UIDs        []uint32 // ascending
	// Unclear: nobody can tell what became of them. They were found gone after the source
	// had been away, or may lie in a mailbox that is not watched.
	Unclear bool
}

// Skipped names messages that are in the mailbox and will not be reported: a
// reading of the past left them out for their age. Changes of their flags, and
// that they vanished, may be reported later.
type Skipped struct {
	Mailbox     string
	UIDValidity uint32
	UIDs        []uint32 // ascending
	Flags       []string // canonical, alike for all of them
	// Before is where the reading of the past began: what arrived earlier was left
	// out.
	Before time.Time
}

// Cursor says that everything up to here has been reported by earlier events.
// Committed together with them, it is where the next session begins.
type Cursor struct {
	Mailbox       string
	UIDValidity   uint32
	UIDNext       uint32 // no message below it remains to be reported
	HighestModSeq uint64 // flag changes up to it are reported; 0: the server has none
	// BacklogBefore is the UIDNEXT of the mailbox when hinged first opened it:
	// messages below it are backlog, also when their scan is resumed after a
	// restart. 1: there is no backlog. Never 0.
	BacklogBefore uint32
}

// MarkOutcome is how a MarkRequest ended.
type MarkOutcome uint8

// The outcomes.
const (
	// MarkDone: the flags, read back, are as requested.
	MarkDone MarkOutcome = iota + 1
	// MarkConflict: the message changed before the conditional STORE, which
	// therefore did nothing. Flags are the new ones.
	MarkConflict
	// MarkGone: the message is not there any more.
	MarkGone
	// MarkImpossible: the server refuses the keyword or the mailbox is read-only; or a
	// copy is not as it was put there, and stays.
	MarkImpossible
	// MarkUnsure: it was asked for Again and is not there. Who changed the message since it
	// was first asked for is not known: that request and then its owner, or somebody else.
	// Nothing was done. Flags are those of now.
	MarkUnsure
)

func (o MarkOutcome) String() string {
	return [...]string{"", "done", "conflict", "gone", "impossible", "unsure"}[min(o, MarkUnsure)]
}

// MarkResult answers one MarkRequest.
type MarkResult struct {
	ID      uint64 // the request's
	Place   Place
	Clear   bool // the request's
	Outcome MarkOutcome
	Flags   []string // as read back, canonical; nil when gone
	Detail  string   // the server's words when impossible, cut short
	CopyTo  string   // the request's
	Copied  Copied   // the copy that was asked for, or was there before
}

// Tick says only that time went by.
type Tick struct{}

func (MailboxOpened) isEvent() {}
func (Arrival) isEvent()       {}
func (FlagsChanged) isEvent()  {}
func (Vanished) isEvent()      {}
func (Skipped) isEvent()       {}
func (Cursor) isEvent()        {}
func (MarkResult) isEvent()    {}
func (Tick) isEvent()          {}
