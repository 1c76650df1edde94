// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"encoding/binary"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/store"
)

// A mark is a recommendation, and phishing lives on those. So a message is not marked that a
// server found forged, or whose sender takes the guise of another: uses a name that this
// mailbox knows from elsewhere. The first who uses a name has it. Whom the owner writes to,
// answers, or calls important is nobody's guise.
//
// The names are rows among the senders, under hashes of their own, so that what bounds,
// forgets and digests senders does the same to them.

// guiseOf is the key under which a name is known.
func guiseOf(name uint64) store.ID {
	return store.ID(xxhash.Sum64(binary.LittleEndian.AppendUint64([]byte{'g'}, name)))
}

// lookalike reports whether m may not be from whom it seems to be.
func (f *Filter) lookalike(m *Meta) bool {
	g := &m.Guise
	elsewhere := func(name uint64) bool {
		known, ok := f.st.Senders.Get(guiseOf(name).Key())
		return ok && known.Home != 0 && known.Home != store.ID(g.Home)
	}
	return !m.Own && (g.Failed || !f.trusts(m.From) && slices.ContainsFunc(g.Names, elsewhere))
}

// trusts reports whether the owner has shown that they know a sender.
func (f *Filter) trusts(from store.ID) bool {
	s, ok := f.st.Senders.Get(from.Key())
	return ok && from != 0 && (s.Written > 0 || s.Answered > 0 || s.Wanted > 0)
}

// noteGuise remembers whose the names of a sender are, unless somebody has them already.
func noteGuise(st *store.State, g *featurize.Guise, seq uint64) {
	for _, name := range g.Names[:min(g.Own, len(g.Names))] {
		changeSender(st, guiseOf(name), func(s *store.Sender) {
			if s.Home == 0 {
				s.Home = store.ID(g.Home)
			}
			if s.Home == store.ID(g.Home) {
				s.Seq = seq
			}
		})
	}
}
