// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/hinged/hinged/model"
)

// Freeze turns a message that was read, and what is remembered of its sender and
// thread, into its vector. Each group is normalised to its share, so a message with
// all groups has norm 1 and one that lacks some has less. Freeze does not change m.
func (f *Featurizer) Freeze(m *Message, h History) *Features {
	x := new(Features)
	f.FreezeInto(x, m, h)
	return x
}

// FreezeInto is Freeze into x, whose memory it takes over: for a vector that is looked at once.
func (f *Featurizer) FreezeInto(x *Features, m *Message, h History) {
	facts := f.facts(m, h)
	terms := m.Content.terms
	*x = Features{entries: slices.Grow(x.entries[:0], len(terms)+len(facts))}
	if f.Names && m.Content.names != "" { // all features get names, or none
		x.names = m.Content.names + string(f.history.names)
	}
	for i := range terms {
		t := &terms[i]
		for ; len(facts) > 0 && facts[0].index <= t.index; facts = facts[1:] {
			if facts[0].index < t.index { // else the message itself says it
				x.entries = append(x.entries, facts[0])
			}
		}
		x.entries = append(x.entries, entry{index: t.index, start: t.start, size: t.size, group: t.group, value: t.value})
	}
	x.entries = append(x.entries, facts...)
	x.scale(f.Shares, f.Affine)
}

// facts returns the features of the history, by ascending index, each once. Their names
// stand in f.history.names, as if behind those of the message's content. Both hold until
// the next call.
func (f *Featurizer) facts(m *Message, h History) []entry {
	l := &f.history
	l.prefix, l.entries, l.names = "history:", l.entries[:0], l.names[:0]
	if m.Doubtful {
		l.prefix = "history?:"
	}
	h.each(m, l)
	for i := range l.entries {
		l.entries[i].start += uint32(len(m.Content.names))
	}
	sortEntries(l.entries)
	return slices.CompactFunc(l.entries, func(a, b entry) bool { return a.index == b.index })
}

// factList gathers the features of a history.
type factList struct {
	prefix  string // of all names
	entries []entry
	names   []byte
}

// add adds the feature whose name, behind the prefix, has these parts.
func (l *factList) add(parts ...string) {
	start := len(l.names)
	l.names = append(l.names, l.prefix...)
	for _, part := range parts {
		l.names = append(l.names, part...)
	}
	name := l.names[start:]
	l.entries = append(l.entries, entry{
		index: model.FoldIndex(xxhash.Sum64(name)), start: uint32(start), size: uint16(len(name)), group: Social, value: 1,
	})
}

// Lone returns the values that a feature of a group and the affine coordinate have in a
// message with nothing else; 0 for a group that the shares leave out.
func (o Options) Lone(g Group) (value, affine float64) {
	x := Features{entries: []entry{{value: 1, group: g}}}
	x.scale(o.Shares, o.Affine)
	return x.at(x.entries[0]), x.affine
}

// scale sets the factor of each group, by which its values are multiplied, and
// the affine coordinate.
func (x *Features) scale(shares [groups]float64, affine float64) {
	total := float64(affine * affine)
	for _, share := range shares {
		total += float64(share * share)
	}
	unit := 1 / math.Sqrt(total)
	x.affine = float64(affine * unit)
	var squares [groups]float64
	for _, e := range x.entries {
		squares[e.group] += float64(float64(e.value) * float64(e.value))
	}
	for g, square := range squares {
		if square > 0 {
			x.factors[g] = float64(shares[g]*unit) / math.Sqrt(square)
		}
	}
}
