// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/ledger"
	"github.com/hinged/hinged/store"
)

// A mark is a recommendation, and phishing lives on those. So no threshold has mail marked
//   - that a server found forged, or that lacks the pass that its domain's mail has;
//   - whose sender takes the guise of another: uses a name that this mailbox knows from
//     elsewhere. A name belongs to a sender whom the owner trusts, else to its first user;
//   - with a link, or for which the believed server does not vouch, from a domain that this
//     mailbox has known for less than newDomain, and that does not answer the owner. The
//     domains of phishing live for hours.
//
// The names are rows among the senders, under hashes of their own, so that what bounds,
// forgets and digests senders does the same to them. What is known of domains follows from
// the messages that are remembered.

const (
	newDomain = 24 * time.Hour
	// trustKept is how much read and kept mail makes a sender trusted.
	trustKept = 5
	// trustPassed is how many messages of a domain must have passed for each that did not and
	// was read, and one more, for the next one that does not to be suspect.
	trustPassed = 2
)

// guiseOf is the key under which a name is known.
func guiseOf(name uint64) store.ID {
	return store.ID(xxhash.Sum64(binary.LittleEndian.AppendUint64([]byte{'g'}, name)))
}

// lookalike reports whether m may not be from whom it seems to be.
func (f *People) lookalike(m *Meta) bool {
	g := &m.Guise
	elsewhere := func(name uint64) bool {
		known, ok := f.st.Senders.Get(guiseOf(name).Key())
		return ok && known.Home != 0 && known.Home != store.ID(g.Home)
	}
	return g.Failed || !f.trusts(m) && slices.ContainsFunc(g.Names, elsewhere)
}

// trusts reports whether the owner has shown that they know the sender of m.
func (f *People) trusts(m *Meta) bool {
	s, ok := f.st.Senders.Get(m.From.Key())
	return ok && m.From != 0 && !m.Doubtful &&
		(s.Written > 0 || s.Answered > 0 || s.Wanted > 0 || s.Read >= trustKept && s.Read > s.Binned+s.Unread+s.Unwanted)
}

// noteGuise enters into row, which is new, what suspect needs of others' mail, and remembers
// whose the names of its sender are.
func (f *People) noteGuise(m *Meta, row *store.Message, role ingest.Role) {
	g := &m.Guise
	if row.Lookalike, row.Passed = f.lookalike(m), g.Passed; len(g.Domains) > 0 {
		row.Domain = store.ID(g.Domains[0])
	}
	if row.Claimed || row.Lookalike || ledger.Excluded(role) {
		return
	}
	trusted := f.trusts(m)
	for _, name := range g.Names[:min(g.Own, len(g.Names))] {
		changeSender(f.st, guiseOf(name), func(s *store.Sender) {
			if s.Home == 0 || trusted && !s.Firm {
				s.Home = store.ID(g.Home)
			}
			if s.Home == store.ID(g.Home) {
				s.Seq, s.Firm = row.Seq, s.Firm || trusted
			}
		})
	}
}

// suspect returns why no threshold has m marked, or ReasonThreshold.
func (f *People) suspect(e *Arrived, m *store.Message) store.Reason {
	switch {
	case m.Rule != 0:
	case m.Lookalike, !m.Passed && f.lacksPass(m):
		return store.ReasonLookalike
	case (e.Meta.Links || e.Meta.Doubtful) && m.Domain != 0 && !f.trusts(&e.Meta) && !f.answersOwner(&e.Meta) && f.isNew(e, m):
		return store.ReasonStranger
	}
	return store.ReasonThreshold
}

// eachFrom calls fn with the messages of others from a domain that came before m, without junk.
func (f *People) eachFrom(domain store.ID, m *store.Message, fn func(*store.Message)) {
	f.st.Messages.Each(func(_ string, row *store.Message) {
		if row.Domain == domain && domain != 0 && row.Seq < m.Seq && ingest.Role(row.Role) != ingest.RoleJunk {
			fn(row)
		}
	})
}

// lacksPass reports whether mail from the domain of m has passed the check that m did not.
func (f *People) lacksPass(m *store.Message) bool {
	passed, bare := 0, 0
	f.eachFrom(m.Domain, m, func(row *store.Message) {
		switch {
		case row.Passed:
			passed++
		case row.Seen: // many that nobody opens change nothing
			bare++
		}
	})
	return passed >= trustPassed*(bare+1)
}

// isNew reports whether the domain of m, and those above it, are not known for long.
func (f *People) isNew(e *Arrived, m *store.Message) bool {
	known := false
	for _, domain := range e.Meta.Guise.Domains {
		f.eachFrom(store.ID(domain), m, func(row *store.Message) { known = known || row.Arrived.Add(newDomain) <= m.Arrived })
	}
	return !known
}

// answersOwner reports whether m answers a message of the owner's.
func (f *People) answersOwner(m *Meta) bool {
	return slices.ContainsFunc(m.Parents, func(id store.ID) bool {
		parent, ok := f.st.IDs.Get(id.Key())
		return ok && id != 0 && parent.Own
	})
}

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

// answeredBy binds the owner's reply to the copy that the owner must have seen, among the messages
// with the Message-ID that it answers. ok is false if it answers none of them. A message that shares
// its Message-ID with no other was answered, unless it lies in Junk and the reply goes to somebody
// else. Of several, those count whose sender the reply goes to; of those, if there are any, the ones
// outside of Junk and Trash, then those that are vouched for, then those that were read.
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
		c.row.SilenceFrom = 0
		c.row.Quiet = store.QuietNothing
		f.st.Messages.Put(string(c.key[:]), c.row)
		if c.row.Sender != a.sender {
			a.sender = 0
		}
	}
	return a, a.sender != 0
}
