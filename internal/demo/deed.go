// SPDX-License-Identifier: Apache-2.0

package demo

import "github.com/emersion/go-imap/v2"

// deed is what the owner does with a message.
type deed uint8

const (
	leaves   deed = iota
	reads         // opens it, nothing more
	marks         // sets the mark that was missing
	unmarks       // takes a wrong mark away
	stars         // sets \Flagged
	answers       // replies, the reply in Sent
	junks         // moves it to Junk
	discards      // moves it to Trash, unread
)

// deed decides what the owner does with m, as she finds it: marked or not.
func (m *Message) deed(marked bool) deed {
	switch {
	case m.Spam && m.Junks:
		return junks
	case m.Spam:
		return leaves
	case m.Important && m.Reply != nil:
		return answers
	case m.Important && marked && !m.Stars:
		return reads
	case m.Important && !marked && m.Overlooks:
		return leaves
	case m.Important && m.Stars:
		return stars
	case m.Important:
		return marks
	case marked && m.Overlooks:
		return leaves
	case marked:
		return unmarks
	case m.Discards:
		return discards
	case m.Reads:
		return reads
	}
	return leaves
}

// moves reports whether a deed takes the message out of INBOX.
func (d deed) moves() bool { return d == junks || d == discards }

// teaches returns the label that the daemon should draw from a deed, "" for
// none.
func (d deed) teaches() string {
	switch d {
	case marks, stars, answers:
		return "important"
	case unmarks, junks, discards:
		return "ordinary"
	}
	return ""
}

// story tells a deed; "" when it is not worth a line. marked says whether the
// daemon had marked the message.
func (d deed) story(marked bool) string {
	switch d {
	case marks:
		return "missed: Nora marks it"
	case stars:
		if marked {
			return "Nora stars it"
		}
		return "missed: Nora stars it"
	case unmarks:
		return "wrong: Nora takes the mark off"
	case answers:
		if marked {
			return "Nora answers"
		}
		return "missed: Nora answers all the same"
	case junks:
		if marked {
			return "wrong: Nora moves it to Junk"
		}
		return "Nora moves it to Junk"
	case discards:
		return "Nora throws it away unread"
	}
	return ""
}

// corrects reports whether a deed tells the daemon that it was wrong.
func (d deed) corrects(marked bool) bool {
	switch d {
	case marks, unmarks:
		return true
	case stars, answers:
		return !marked
	case junks:
		return marked
	}
	return false
}

// flag carries out the part of a deed that happens in INBOX. A message is read
// before it is marked: marks that appear on unread mail within seconds of its
// arrival, time and again, would be taken for another program's. Spam is read, too: on the embedded
// server a message is \Deleted for a moment when it moves, which says something, and
// something weaker than its arrival in Junk, of unread mail only.
func (h *hand) flag(d deed, uid imap.UID, mark string) error {
	switch d {
	case reads, junks:
		return h.set(imap.StoreFlagsAdd, uid, imap.FlagSeen)
	case marks:
		return h.set(imap.StoreFlagsAdd, uid, imap.FlagSeen, imap.Flag(mark))
	case stars:
		return h.set(imap.StoreFlagsAdd, uid, imap.FlagSeen, imap.FlagFlagged)
	case answers:
		return h.set(imap.StoreFlagsAdd, uid, imap.FlagSeen, imap.FlagAnswered)
	case unmarks:
		if err := h.set(imap.StoreFlagsAdd, uid, imap.FlagSeen); err != nil {
			return err
		}
		return h.set(imap.StoreFlagsDel, uid, imap.Flag(mark))
	}
	return nil
}

// follow carries out the part of a deed that happens in other mailboxes.
func (h *hand) follow(d deed, m *Message, uid imap.UID) error {
	switch d {
	case answers:
		_, err := h.put("Sent", m.Reply.Raw, m.Reply.Date, imap.FlagSeen)
		return err
	case junks:
		return h.move(uid, "Junk")
	case discards:
		return h.move(uid, "Trash")
	}
	return nil
}
