// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"cmp"
	"iter"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/hinged/hinged/model"
)

// Features is the frozen vector of one message with the names behind it. Later changes
// of the options do not change it. Safe for concurrent use once made.
type Features struct {
	entries []entry // ascending by index
	names   string  // those of entries, by their start and size; "" if they were not kept
	factors [groups]float64
	affine  float64
}

// entry is one feature: its value in the vector is its group's factor times
// value. It has no pointer, so that the garbage collector need not look at the hundreds
// of entries of every message.
type entry struct {
	index model.Index
	start uint32 // of its name
	size  uint16
	value uint16
	group Group
}

// Named is one feature with its name, for explanations.
type Named struct {
	Index model.Index
	Value float64
	Group Group
	Name  string // "" when names were not kept; "constant" for the affine coordinate
}

// Len returns the number of features, the affine coordinate aside.
func (x *Features) Len() int { return len(x.entries) }

// Vector returns the vector in ascending order, the affine coordinate first;
// ‖x‖ ≤ 1. The caller owns it.
func (x *Features) Vector() model.Vector {
	return x.AppendVector(make(model.Vector, 0, len(x.entries)+1))
}

// AppendVector appends the vector to v.
func (x *Features) AppendVector(v model.Vector) model.Vector {
	v = slices.Grow(v, len(x.entries)+1)
	if x.affine != 0 {
		v = append(v, model.Feature{Index: model.Affine, Value: x.affine})
	}
	for _, e := range x.entries {
		if value := x.at(e); value != 0 {
			v = append(v, model.Feature{Index: e.index, Value: value})
		}
	}
	return v
}

func (x *Features) at(e entry) float64 { return float64(x.factors[e.group] * float64(e.value)) }

// squaredNorm is that of Vector.
func (x *Features) squaredNorm() float64 {
	sum := float64(x.affine * x.affine)
	for _, e := range x.entries {
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
		for _, e := range x.entries {
			value := x.at(e)
			if value != 0 && !yield(Named{e.index, value, e.group, x.name(e)}) {
				return
			}
		}
	}
}

// Has reports whether the message has the feature, whatever its value is. O(log n).
func (x *Features) Has(index model.Index) bool {
	_, found := slices.BinarySearchFunc(x.entries, index, func(e entry, i model.Index) int { return cmp.Compare(e.index, i) })
	return found
}

// HasNames reports whether the names of the features were kept.
func (x *Features) HasNames() bool { return len(x.entries) > 0 && x.names != "" }

// name returns the name of an entry; "" if names were not kept.
func (x *Features) name(e entry) string {
	if x.names == "" {
		return ""
	}
	return x.names[e.start : e.start+uint32(e.size)]
}

// IndexOf returns the index of the feature with that name.
func IndexOf(name string) model.Index { return model.FoldIndex(xxhash.Sum64String(name)) }

func sortEntries(entries []entry) {
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.index, b.index) })
}
