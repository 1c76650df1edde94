// SPDX-License-Identifier: Apache-2.0

package featurize

import "strconv"

// History is what the account remembers, from earlier mail only, that helps to judge
// one message. Its numbers are plain counts; the zero value is a stranger in a new
// thread.
type History struct {
	// The sender, the first address of From.
	Received uint32 // messages from it
	Answered uint32 // of those, how many the owner answered

	// The thread.
	ByOwner uint32 // the owner's messages in it
	Since   uint32 // messages since the owner's last, where ByOwner > 0

	// The message that this one answers.
	ParentKnown    bool // it is remembered
	ParentOwn      bool // it is the owner's
	ParentAnswered bool // the owner answered it
	ParentSender   bool // it is of this sender, too
}

// each calls fact with the name, in parts, of every feature that the history
// gives for m. All are of the social group.
func (h History) each(m *Message, fact func(name ...string)) {
	to, place := m.address.String(), m.place.String()
	answered := answeredShare(h.Answered, h.Received)
	fact("history:sender answered ", answered)
	fact("history:sender answered ", answered, " | ", to)
	fact("history:sender answered ", answered, " | ", place)
	fact("history:sender answered ", answered, " | ", place, " | ", to)
	switch {
	case h.ParentOwn:
		fact("history:answers the owner")
		fact("history:answers the owner | ", answered)
		fact("history:answers the owner | ", to)
	case h.ParentAnswered:
		fact("history:answers what the owner answered")
	case h.ParentSender:
		fact("history:answers itself")
	case h.ParentKnown:
		fact("history:answers another")
	case len(m.InReplyTo) > 0:
		fact("history:answers something unknown")
	}
	owner := bin(int(h.ByOwner))
	fact("history:thread by owner ", owner)
	fact("history:thread by owner ", owner, " | ", place, " | ", to)
	fact("history:thread by owner ", owner, " | ", answered)
	if h.ByOwner > 0 {
		fact("history:thread since owner ", bin(int(h.Since)))
	}
}

// answeredShare bins the share of messages that were answered. With few
// messages, the share is drawn towards little; none of few and none of many are
// different things.
func answeredShare(answered, received uint32) string {
	switch {
	case received == 0:
		return "new"
	case answered == 0 && received < 5:
		return "0 of few"
	case answered == 0:
		return "0 of many"
	}
	permille := 1000 * uint64(answered) / (uint64(received) + 4)
	for _, edge := range [...]uint64{30, 60, 100, 150, 200, 300, 400, 500, 700} {
		if permille < edge {
			return "under " + strconv.FormatUint(edge/10, 10) + "%"
		}
	}
	return "70% or more"
}
