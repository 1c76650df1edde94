// SPDX-License-Identifier: Apache-2.0

package persons

import "time"

// Life is what happens in one mailbox: the mail that comes, what its owner wants of it, and
// what its owner does with it. The two are not the same, and that is why mailboxes are made
// up here: of a real one nobody knows what its owner wanted.
type Life struct {
	Person string   // who it is, in a word
	Owner  []string // the owner's addresses
	// Mail is all that comes, and what the owner writes, in order of time.
	Mail []Mail
	// TakesOff is of how many wrong marks the owner takes one off, as a share: 0 to 1.
	TakesOff float64
	// TrashKept is how long the server keeps what lies in Trash; 0: for ever.
	TrashKept time.Duration
}

// The folders of a mailbox.
const (
	Inbox   = "INBOX"
	Sent    = "Sent"
	Trash   = "Trash"
	Junk    = "Junk"
	Archive = "Archive"
	Filed   = "Filed" // a folder of the owner's own
)

// Mail is one message.
type Mail struct {
	At     time.Time
	Raw    []byte // RFC 5322
	Folder string // where it comes to: Inbox, Junk (the server's filter), or Sent: the owner wrote it
	Kind   string // what it is, in a word or two: see Kinds of the generator
	Wanted bool   // the owner wants it marked
	Acts   []Act  // what the owner does with it, in order of time
}

// Act is one thing that an owner does with one message.
type Act struct {
	At time.Time
	Do Do
}

// Do says what.
type Do uint8

// What an owner does.
const (
	Read      Do = iota // \Seen
	Star                // \Flagged
	Unstar              // takes it off
	Answer              // \Answered; the answer itself is a Mail in Sent
	Forward             // $Forwarded; what is passed on is a Mail in Sent
	Delete              // a move to Trash
	ToArchive           // a move to Archive
	ToFolder            // a move to Filed
	ToJunk              // a move to Junk
	Rescue              // a move from Junk to INBOX
)
