// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/hinged/hinged/model"
)

// Features is the frozen vector of one message with the names behind it. Later changes
// of the options do not change it. Safe for concurrent use once made.
type Features struct {
	terms   []term // ascending by index
	names   string // those of terms, by their start and size; "" if they were not kept
	factors [groups]float64
	affine  float64
}

// Named is one feature with its name, for explanations.
type Named struct {
	Index model.Index
	Value float64
	Group Group
	Name  string // "" when names were not kept; "constant" for the affine coordinate
}

// Len returns the number of features, the affine coordinate aside.
func (x *Features) Len() int { return len(x.terms) }

// Vector returns the vector in ascending order, the affine coordinate first;
// ‖x‖ ≤ 1. The caller owns it.
func (x *Features) Vector() model.Vector {
	return x.AppendVector(make(model.Vector, 0, len(x.terms)+1))
}

// AppendVector appends the vector to v.
func (x *Features) AppendVector(v model.Vector) model.Vector {
	v = slices.Grow(v, len(x.terms)+1)
	if x.affine != 0 {
		v = append(v, model.Feature{Index: model.Affine, Value: x.affine})
	}
	for _, e := range x.terms {
		if value := x.at(e); value != 0 {
			v = append(v, model.Feature{Index: e.index, Value: value})
		}
	}
	return v
}

func (x *Features) at(e term) float64 { return float64(x.factors[e.group] * float64(e.value)) }

// squaredNorm is that of Vector.
func (x *Features) squaredNorm() float64 {
	sum := float64(x.affine * x.affine)
	for _, e := range x.terms {
		value := x.at(e)
		sum += float64(value * value)
	}
	return sum
}

// All yields the features of Vector, in its order, with their names.
func (x *Features) All() iter.Seq[Named] {
	return func(yield func(Named) bool) {
		if x.affine != 0 && !yield(Named{model.Affine, x.affine, Constant, Constant.String()}) {
			return
		}
		for _, e := range x.terms {
			value := x.at(e)
			if value != 0 && !yield(Named{e.index, value, e.group, x.name(e)}) {
				return
			}
		}
	}
}

// Has reports whether the message has the feature, whatever its value is. O(log n).
func (x *Features) Has(index model.Index) bool {
	_, found := slices.BinarySearchFunc(x.terms, index, func(e term, i model.Index) int { return cmp.Compare(e.index, i) })
	return found
}

// HasNames reports whether the names of the features were kept.
func (x *Features) HasNames() bool { return len(x.terms) > 0 && x.names != "" }

// name returns the name of a feature; "" if names were not kept.
func (x *Features) name(e term) string {
	if x.names == "" {
		return ""
	}
	return x.names[e.start : e.start+uint32(e.size)]
}

// IndexOf returns the index of the feature with that name.
func IndexOf(name string) model.Index { return model.FoldIndex(xxhash.Sum64String(name)) }

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
	*x = Features{terms: slices.Grow(x.terms[:0], len(terms)+len(facts))}
	if f.Names && m.Content.names != "" { // all features get names, or none
		x.names = m.Content.names + string(f.history.names)
	}
	for i := range terms {
		t := &terms[i]
		for ; len(facts) > 0 && facts[0].index <= t.index; facts = facts[1:] {
			if facts[0].index < t.index { // else the message itself says it
				x.terms = append(x.terms, facts[0])
			}
		}
		x.terms = append(x.terms, *t)
	}
	x.terms = append(x.terms, facts...)
	x.scale(f.Shares, f.Affine)
}

// facts returns the features of the history, by ascending index, each once. Their names
// stand in f.history.names, as if behind those of the message's content. Both hold until
// the next call.
func (f *Featurizer) facts(m *Message, h History) []term {
	l := &f.history
	l.prefix, l.terms, l.names = "history:", l.terms[:0], l.names[:0]
	if m.Doubtful {
		l.prefix = "history?:"
	}
	h.each(m, l)
	for i := range l.terms {
		l.terms[i].start += uint32(len(m.Content.names))
	}
	sortTerms(l.terms)
	return slices.CompactFunc(l.terms, func(a, b term) bool { return a.index == b.index })
}

// factList gathers the features of a history.
type factList struct {
	prefix string // of all names
	terms  []term
	names  []byte
}

// add adds the feature whose name, behind the prefix, has these parts.
func (l *factList) add(parts ...string) {
	start := len(l.names)
	l.names = append(l.names, l.prefix...)
	for _, part := range parts {
		l.names = append(l.names, part...)
	}
	name := l.names[start:]
	l.terms = append(l.terms, term{
		index: model.FoldIndex(xxhash.Sum64(name)), start: uint32(start), size: uint16(len(name)), group: Social, value: 1,
	})
}

// Lone returns the values that a feature of a group and the affine coordinate have in a
// message with nothing else; 0 for a group that the shares leave out.
func (o Options) Lone(g Group) (value, affine float64) {
	x := Features{terms: []term{{value: 1, group: g}}}
	x.scale(o.Shares, o.Affine)
	return x.at(x.terms[0]), x.affine
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
	for _, e := range x.terms {
		squares[e.group] += float64(float64(e.value) * float64(e.value))
	}
	for g, square := range squares {
		if square > 0 {
			x.factors[g] = float64(shares[g]*unit) / math.Sqrt(square)
		}
	}
}
