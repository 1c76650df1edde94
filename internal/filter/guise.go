// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/filter/ledger"
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
