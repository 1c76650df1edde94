// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hinged/hinged/model"
)

func TestTermsAreSortedAsByComparison(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	anywhere := func() model.Index { return model.FoldIndex(random.Uint64()) }
	for _, test := range []struct {
		name  string
		index func() model.Index
	}{
		{"hashes that are spread evenly", anywhere},
		{"hashes that an attacker chose to meet in one bucket", func() model.Index { return model.Index(random.Uint64N(1 << 20)) }},
		{"hashes at both ends", func() model.Index {
			if low := model.Index(2 + random.Uint64N(1<<16)); random.IntN(2) == 0 {
				return low
			}
			return model.Index(1<<model.IndexBits - 1 - random.Uint64N(1<<16))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var c collector
			for _, n := range []int{0, 1, 2, 3, 11, 12, 13, 31, 32, 33, 500, 5000} {
				c.reset(n, false)
				met := map[model.Index]bool{}
				for len(c.terms) < n {
					if i := test.index(); !met[i] {
						met[i] = true
						c.terms = append(c.terms, term{index: i, value: uint16(len(c.terms))})
					}
				}
				want := slices.Clone(c.terms)
				slices.SortFunc(want, func(a, b term) int { return cmp.Compare(a.index, b.index) })
				if got := c.sorted(); !slices.Equal(got, want) {
					t.Fatalf("%d terms: got %v\nwant %v", n, got, want)
				}
			}
		})
	}
}
