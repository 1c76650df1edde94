// SPDX-License-Identifier: Apache-2.0

package featurize

import "time"

// Message is what could be read of one message. It owns its memory.
type Message struct {
	// Key is the first 16 bytes of the SHA-256 of the message as given, without
	// an mbox "From " line and with every CRLF counted as LF.
	Key [16]byte
	// MessageID stands without angle brackets; "" when absent.
	MessageID  string
	InReplyTo  []string // Message-IDs, in order
	References []string // Message-IDs, oldest first
	From       []string // addresses, lower case, in order, as are To and Cc
	// FromName is the display name of the first address of From, on one line, at most
	// 100 bytes; "" where there is none. Anybody can take any name.
	FromName string
	To       []string
	Cc       []string
	Subject  string    // decoded, on one line
	Date     time.Time // of the Date field; zero when absent or unreadable
	// Received is the date in the first Received field, which the last server wrote (RFC 5321,
	// section 4.4); zero when absent or unreadable.
	Received time.Time
	// FromOwner: From names an address of the owner. That alone says nothing of who
	// wrote the message; see Vouched.
	FromOwner bool
	// Vouched: Options.AuthServID found that it comes from the domain of the one From.
	Vouched bool
	// Doubtful: Options.AuthServID names a server, and it does not vouch for From.
	Doubtful bool
	// Stored: its header has fields in which an mbox keeps flags, which servers believe.
	Stored bool
	// Personal: the owner is in To, and it came through no list and in no bulk.
	Personal bool
	// Program: it comes from no person, or from where nobody reads what is answered, or it is one
	// text for many. It is no answer, and none is due to it. Mail through a list is a person's.
	Program bool
	// Asks: its own text, or the subject of one that begins a thread, has a question mark, and it
	// goes to somebody else than the owner. Always false without a body: see ReadHeader.
	Asks  bool
	Guise Guise
	// Says is what it says, if the owner wrote it, of the messages that it Answers: those of
	// InReplyTo, else the last of References, or the forwarded one.
	Says    Says
	Answers []string
	// Topic is a hash of the subject without marks such as Re:; 0: there is nothing else.
	Topic uint64
	// Defects says in fixed words what was wrong, sorted, without duplicates
	// and without text of the message.
	Defects []string
	// Fault says which panic kept the message from being read (see Unreadable), without
	// text of the message; "" where none did.
	Fault string
	// Content is what the message itself contributes to its vector.
	Content Content

	address address
	place   place
	sender  sender
	crowd   bool // it came through a list or in bulk
}

// Own reports whether the owner wrote the message, by the word of the server that
// Options.AuthServID names.
func (m *Message) Own() bool { return m.FromOwner && m.Vouched }

// Bytes returns how much memory the message takes, roughly and without what it shares
// with others: features, their names, and strings.
func (m *Message) Bytes() int {
	n := 512 + 24*cap(m.Content.terms) + len(m.Content.names) + len(m.MessageID) + len(m.FromName) + len(m.Subject)
	for _, list := range [][]string{m.InReplyTo, m.References, m.From, m.To, m.Cc} {
		for _, s := range list {
			n += 16 + len(s)
		}
	}
	return n
}

// Content holds the features of one message's content, each once.
type Content struct {
	terms []term // by ascending index
	names string // the names of terms, by their start and size; "" without names
	// Links: there is a link to follow. What is shown without a click is none.
	Links bool
}

// Len returns the number of features.
func (c *Content) Len() int { return len(c.terms) }
