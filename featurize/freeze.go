// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/hinged/hinged/model"
)

// Freeze turns a message that was read, and what is remembered of its sender and
// thread, into its vector. Each group is normalised to its share, so a message with
// all groups has norm 1 and one that lacks some has less. Freeze does not change m.
func (f *Featurizer) Freeze(m *Message, h History) *Features {
	facts := f.facts(m, h)
	terms := m.Content.terms
	named := f.named(m)
	x := &Features{entries: make([]entry, 0, len(terms)+len(facts))}
	for i := range terms {
		t := &terms[i]
		for ; len(facts) > 0 && facts[0].index <= t.index; facts = facts[1:] {
			if facts[0].index < t.index { // else the message itself says it
				x.entries = append(x.entries, facts[0])
			}
		}
		e := entry{index: t.index, group: t.group, value: f.value(t)}
		if named {
			e.name = m.Content.names[t.start : t.start+uint32(t.size)]
		}
		x.entries = append(x.entries, e)
	}
	x.entries = append(x.entries, facts...)
	x.scale(f.Shares, f.Affine)
	return x
}

// named reports whether the features of a message get names: all of them or none.
func (f *Featurizer) named(m *Message) bool { return f.Names && m.Content.names != "" }

// facts returns the features of the history, by ascending index, each once.
func (f *Featurizer) facts(m *Message, h History) []entry {
	facts := make([]entry, 0, 40)
	named := f.named(m)
	var name [200]byte
	h.each(m, func(fact ...string) {
		b := name[:0]
		if m.Doubtful {
			b, fact[0] = append(b, "history?:"...), strings.TrimPrefix(fact[0], "history:")
		}
		for _, part := range fact {
			b = append(b, part...)
		}
		e := entry{index: model.FoldIndex(xxhash.Sum64(b)), group: Social, value: 1}
		if named {
			e.name = string(b)
		}
		facts = append(facts, e)
	})
	sortEntries(facts)
	return slices.CompactFunc(facts, func(a, b entry) bool { return a.index == b.index })
}

// value returns the number of a feature, before normalisation: a whole number, so that
// sums of squares are exact.
func (f *Featurizer) value(t *term) uint16 {
	value := uint16(1)
	switch f.Values {
	case Counts:
		value = t.count
	case LogCounts:
		value = uint16(bits.Len16(t.count))
	}
	if t.twice {
		value = min(value, math.MaxUint16/2) * 2
	}
	return value
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
