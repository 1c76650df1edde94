// SPDX-License-Identifier: Apache-2.0

package featurize

// History is what the account remembers, from earlier mail only, that helps to judge
// one message. Its numbers are plain counts; the zero value is a stranger in a new
// thread.
type History struct {
	// The sender, the first address of From.
	Received uint32 // messages from it
	Answered uint32 // of those, how many the owner answered
	Written  uint32 // messages of the owner to it
	Kept     uint32 // of those received, how many the owner read and kept, or wanted
	Left     uint32 // and how many were thrown away, left unread, or unwanted
	Booked   bool   // it is in the owner's address book

	// The thread.
	ByOwner uint32 // the owner's messages in it
	Since   uint32 // messages since the owner's last, where ByOwner > 0

	// The message that this one answers.
	ParentKnown    bool // it is remembered
	ParentOwn      bool // it is the owner's
	ParentAnswered bool // the owner answered it
	ParentSender   bool // it is of this sender, too
}

// each adds the features that the history gives for m. All are of the social group.
func (h History) each(m *Message, to *factList) {
	address, place := m.address.String(), m.place.String()
	answered := answeredShare(h.Answered, h.Received)
	to.add("sender answered ", answered)
	to.add("sender answered ", answered, " | ", address)
	to.add("sender answered ", answered, " | ", place)
	to.add("sender answered ", answered, " | ", place, " | ", address)
	kind, known := m.sender.String(), "stranger"
	if h.Written > 0 {
		known = "correspondent"
	}
	to.add(known)
	to.add(known, " | ", address, " | ", kind)
	if n := h.Kept + h.Left; n > 0 {
		to.add("sender kept ", keptShare(h.Kept, n))
	}
	if h.Booked {
		to.add("in the address book")
	}
	switch {
	case h.ParentOwn:
		to.add("answers the owner")
		to.add("answers the owner | ", answered)
		to.add("answers the owner | ", address)
	case h.ParentAnswered:
		to.add("answers what the owner answered")
	case h.ParentSender:
		to.add("answers itself")
	case h.ParentKnown:
		to.add("answers another")
	case len(m.InReplyTo) > 0:
		to.add("answers something unknown")
	}
	owner := bin(int(h.ByOwner))
	to.add("thread by owner ", owner)
	to.add("thread by owner ", owner, " | ", place, " | ", address)
	to.add("thread by owner ", owner, " | ", answered)
	if h.ByOwner > 0 {
		to.add("thread since owner ", bin(int(h.Since)))
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
	for i, edge := range shareEdges {
		if permille < edge {
			return shareNames[i]
		}
	}
	return "70% or more"
}

// shareEdges are where the bins of answeredShare end, in permille; shareNames has what
// lies under each.
var (
	shareEdges = [...]uint64{30, 60, 100, 150, 200, 300, 400, 500, 700}
	shareNames = [len(shareEdges)]string{
		"under 3%", "under 6%", "under 10%", "under 15%", "under 20%", "under 30%", "under 40%", "under 50%", "under 70%",
	}
)

// keptShare bins the share of n ≥ 1 messages that were kept.
func keptShare(kept, n uint32) string {
	few := ""
	if n < 4 {
		few = " of few"
	}
	switch percent := 100 * uint64(kept) / uint64(n); {
	case kept == 0:
		return "none" + few
	case percent < 25:
		return "under 25%" + few
	case percent < 50:
		return "under 50%" + few
	case percent < 75:
		return "under 75%" + few
	case kept < n:
		return "75% or more" + few
	default:
		return "all" + few
	}
}
