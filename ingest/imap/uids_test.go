// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRangesAreSets compares what ranges do with sets of numbers.
func TestRangesAreSets(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	some := func() (uids []uint32) {
		for uid := range uint32(24) {
			if random.IntN(2) == 0 {
				uids = append(uids, uid+1)
			}
		}
		return uids
	}
	list := func(r uidRanges) (uids []uint32) {
		for _, x := range r {
			for uid := x.first; uid <= x.last; uid++ {
				uids = append(uids, uid)
			}
		}
		return uids
	}
	for range 5000 {
		a, b := some(), some()
		ra := rangesOf(a)
		want := slices.DeleteFunc(slices.Clone(a), func(uid uint32) bool { return slices.Contains(b, uid) })
		if got := list(ra.without(b)); !slices.Equal(got, want) {
			t.Fatalf("%v without %v is %v, want %v", a, b, got, want)
		}
		at := random.Uint32N(26)
		if got := ra.has(at); got != slices.Contains(a, at) {
			t.Fatalf("%v has %d: %v", a, at, got)
		}
		low, high := ra.before(at)
		if got := list(low.join(high)); !slices.Equal(got, a) {
			t.Fatalf("%v cut before %d and joined is %v", a, at, got)
		}
	}
}
