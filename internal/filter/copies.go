// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"cmp"
	"slices"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/filter/ledger"
	"github.com/hinged/hinged/store"
)

// Anybody can write any Message-ID, so several messages may have the same one: two ways
// of one message (from a list, and as a copy), or a forgery before or after the message
// that it steals the Message-ID of.

// copyIndex finds the known messages with a Message-ID, in order of arrival. It is derived
// from the table of messages when somebody asks for the first time, as few accounts that are
// loaded for one message do.
type copyIndex struct {
	messages *store.Table[store.Message]
	byID     map[store.ID][]store.MessageKey // nil: not derived yet
}

func (ix *copyIndex) add(id store.ID, k store.MessageKey) {
	if id != 0 && ix.byID != nil {
		ix.byID[id] = append(ix.byID[id], k)
	}
}

func (ix *copyIndex) drop(id store.ID, k store.MessageKey) {
	rest := slices.DeleteFunc(ix.byID[id], func(other store.MessageKey) bool { return other == k })
	if len(rest) == 0 {
		delete(ix.byID, id)
	} else {
		ix.byID[id] = rest
	}
}

func (ix *copyIndex) of(id store.ID) []store.MessageKey {
	if ix.byID == nil {
		ix.byID = make(map[store.ID][]store.MessageKey, ix.messages.Len())
		ids := map[store.MessageKey]store.ID{}
		for _, k := range bySeq(ix.messages, func(k store.MessageKey, m *store.Message) { ids[k] = m.ID }) {
			ix.add(ids[k], k)
		}
	}
	return slices.Clone(ix.byID[id])
}

// People is what an account remembers of those who write to its owner: their history, and which
// messages have one Message-ID. It alone writes the tables Senders, Threads and IDs of the state.
type People struct {
	*parts
	copies copyIndex
}

// Copies returns the known messages with a Message-ID. First comes the one that the owner
// most likely means: the newest in INBOX, else the newest in another folder whose mail is
// decided, else the newest.
func (f *People) Copies(id store.ID) []store.MessageKey {
	all := f.copies.of(id)
	rank := func(k store.MessageKey) (where int, seq uint64) {
		m, _ := f.st.Messages.Get(string(k[:]))
		switch role := ingest.Role(m.Role); {
		case role == ingest.RoleInbox && !m.Own:
			return 0, m.Seq
		case !ledger.Excluded(role) && !m.Own:
			return 1, m.Seq
		default:
			return 2, m.Seq
		}
	}
	slices.SortFunc(all, func(a, b store.MessageKey) int {
		x, xs := rank(a)
		y, ys := rank(b)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(ys, xs))
	})
	return all
}

// named returns the message that a label by Message-ID is about. sure is false if several
// messages have it and not just one of them is vouched for: any of them may be meant.
func (f *People) named(id store.ID) (k store.MessageKey, sure bool) {
	all := f.copies.of(id)
	if len(all) == 0 {
		return k, false
	}
	if len(all) == 1 {
		return all[0], true
	}
	for _, is := range []func(store.Message) bool{
		func(m store.Message) bool { return !m.Own }, // or a copy in Sent would be one more
		func(m store.Message) bool { return !m.Own && m.Vouched },
	} {
		var fit []store.MessageKey
		for _, k := range all {
			if m, _ := f.st.Messages.Get(string(k[:])); is(m) {
				fit = append(fit, k)
			}
		}
		if len(fit) == 1 {
			return fit[0], true
		}
	}
	return all[0], false
}

// Doubtful reports whether a server is believed and does not vouch for the sender of m.
func (f *People) Doubtful(m *store.Message) bool {
	return f.opts.Featurize.AuthServID != "" && !m.Vouched
}

// answered is a known message that a reply of the owner's answers.
type answered struct {
	key      store.MessageKey // zero: which of several was answered is not known
	sender   store.ID         // zero: nor whose
	doubtful bool             // nobody vouches for the sender
}

// answeredBy binds the owner's reply to the copy that the owner must have seen, among the
// messages with the Message-ID that it answers. ok is false if it answers none of them.
//
// A message that nobody else shares its Message-ID with was answered, unless it lies in
// Junk and the reply goes to somebody else. Of several, those count whose sender the reply
// goes to; of those, if there are any, the ones outside of Junk and Trash, then those that
// are vouched for, then those that were read.
func (f *People) answeredBy(reply Meta, id store.ID, known store.KnownID) (a answered, ok bool) {
	type candidate struct {
		key store.MessageKey
		row store.Message
	}
	var all []candidate
	for _, k := range f.copies.of(id) {
		if m, _ := f.st.Messages.Get(string(k[:])); !m.Own {
			all = append(all, candidate{k, m})
		}
	}
	narrow := func(fits func(store.Message) bool) {
		var fit []candidate
		for _, c := range all {
			if fits(c.row) {
				fit = append(fit, c)
			}
		}
		if len(fit) > 0 {
			all = fit
		}
	}
	addressed := func(m store.Message) bool { return slices.Contains(reply.Recipients, m.Sender) }
	switch len(all) {
	case 0: // forgotten: of no use but for the history
		return answered{known.Message, known.Sender, known.Doubtful}, true
	case 1:
		if ingest.Role(all[0].row.Role) == ingest.RoleJunk && !addressed(all[0].row) {
			return a, false
		}
	default:
		all = slices.DeleteFunc(all, func(c candidate) bool { return !addressed(c.row) })
		narrow(func(m store.Message) bool { return !ledger.Excluded(ingest.Role(m.Role)) })
		narrow(func(m store.Message) bool { return m.Vouched })
		narrow(func(m store.Message) bool { return m.Seen })
	}
	if len(all) == 0 {
		return a, false
	}
	doubtful := f.Doubtful(&all[0].row)
	if len(all) == 1 {
		return answered{all[0].key, all[0].row.Sender, doubtful}, true
	}
	a = answered{sender: all[0].row.Sender, doubtful: doubtful}
	for _, c := range all {
		// One of them was answered, so silence about them says nothing.
		f.Waits.waitForSilence(&c.row, 0)
		c.row.Quiet = store.QuietNothing
		f.st.Messages.Put(string(c.key[:]), c.row)
		if c.row.Sender != a.sender {
			a.sender = 0
		}
	}
	return a, a.sender != 0
}
