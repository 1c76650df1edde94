// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Index names one coordinate of the feature space: the 64-bit hash of a
// feature, or Affine.
type Index uint64

// Affine is the index of the constant coordinate by which every vector is
// lifted, so that a separating hyperplane need not pass through the origin
// (Blum, section 3.2). It sorts before every hashed feature: FoldIndex keeps 0
// and Affine free.
const Affine Index = 1

// IndexBits is how many bits of a hash an index has. With a million weights a new
// feature shares its index with another once in 270,000 times, and a feature of a
// packed vector takes about 4 bytes (featurize.Features.Pack).
const IndexBits = 38

// FoldIndex turns any 64-bit hash into an index that a feature may have: its lower
// bits, save that the two reserved values 0 (the empty slot of Weights) and Affine
// are moved out of the way.
func FoldIndex(hash uint64) Index {
	hash &= 1<<IndexBits - 1
	if hash <= uint64(Affine) {
		return Index(hash + 2)
	}
	return Index(hash)
}

// Feature is one non-zero coordinate of a vector.
type Feature struct {
	Index Index
	Value float64
}

// Vector is a sparse vector: features in strictly ascending Index order, all
// values finite. The empty vector is a vector; its score is 0.
type Vector []Feature

// Validate reports the first reason why v is not a vector, or nil.
func (v Vector) Validate() error {
	for i, f := range v {
		if f.Index == 0 {
			return fmt.Errorf("feature %d has index 0, which is reserved for empty slots", i)
		}
		if i > 0 && v[i-1].Index >= f.Index {
			return fmt.Errorf("feature %d (index %#x) does not follow index %#x in ascending order", i, f.Index, v[i-1].Index)
		}
		if math.IsNaN(f.Value) || math.IsInf(f.Value, 0) {
			return fmt.Errorf("feature %d (index %#x) has the value %v, which is not finite", i, f.Index, f.Value)
		}
	}
	return nil
}

// SquaredNorm returns ‖v‖², summed in feature order. O(len(v)) time.
func (v Vector) SquaredNorm() float64 {
	sum := 0.0
	for _, f := range v {
		sum += float64(f.Value * f.Value)
	}
	return sum
}

// Dot returns a·b, summed in feature order. O(len(a) + len(b)) time.
func Dot(a, b Vector) float64 {
	sum := 0.0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i].Index < b[j].Index:
			i++
		case a[i].Index > b[j].Index:
			j++
		default:
			sum += float64(a[i].Value * b[j].Value)
			i++
			j++
		}
	}
	return sum
}

// Sort puts the features of v into ascending order, in place. It does not merge
// features with the same index; that is up to the caller.
func (v Vector) Sort() {
	slices.SortFunc(v, func(a, b Feature) int { return cmp.Compare(a.Index, b.Index) })
}
