// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"math/big"
	"slices"

	"github.com/hinged/hinged/model"
)

// Limits of exact work, beyond which it says nothing.
const (
	mostCells  = 8000 // of the table of fractions
	mostPivots = 500
)

// exactCombination looks for y ≥ 0 with Σ y_i·rows_i = 0 and Σ y_i·sums_i = 1, in
// fractions of whole numbers, of which floats are some: phase 1 of the simplex
// method with Bland's rule, which always ends (Bland 1977). Not found: there is
// none, or the rows are too many to say.
func exactCombination(rows []model.Vector, sums []float64) (y []*big.Rat, found bool) {
	s, ok := newSimplex(rows, sums)
	if !ok {
		return nil, false
	}
	for range mostPivots {
		if s.left[s.wide].Sign() == 0 {
			return s.solution(), true
		}
		enter := s.entering()
		if enter < 0 {
			return nil, false
		}
		leave := s.leaving(enter)
		if leave < 0 {
			return nil, false // cannot be: the sum of what is left has a least value
		}
		s.pivot(leave, enter)
	}
	return nil, false
}

// simplex is the table of equations. Artificial variables are never needed again
// once they have left the basis, and have no cells.
type simplex struct {
	wide  int          // how many variables there are
	table [][]*big.Rat // an equation in each row; its last cell is the right side
	basis []int        // the variable that each row is solved for; from wide on an artificial one
	left  []*big.Rat   // the sum of the artificial variables, which is to be brought down to 0
}

func newSimplex(rows []model.Vector, sums []float64) (*simplex, bool) {
	places := map[model.Index]int{}
	for _, x := range rows {
		for _, f := range x {
			if _, ok := places[f.Index]; !ok {
				places[f.Index] = len(places)
			}
		}
	}
	high, wide := len(places)+1, len(rows)
	if high*(wide+1) > mostCells {
		return nil, false
	}
	s := &simplex{wide: wide, table: make([][]*big.Rat, high), basis: make([]int, high), left: zeros(wide + 1)}
	for r := range s.table {
		s.table[r], s.basis[r] = zeros(wide+1), wide+r
	}
	for c, x := range rows {
		for _, f := range x {
			s.table[places[f.Index]][c].SetFloat64(f.Value)
		}
		s.table[high-1][c].SetFloat64(sums[c])
	}
	s.table[high-1][wide].SetInt64(1)
	for c := range s.left {
		for r := range s.table {
			s.left[c].Add(s.left[c], s.table[r][c])
		}
	}
	return s, true
}

func zeros(n int) []*big.Rat {
	out := make([]*big.Rat, n)
	for i := range out {
		out[i] = new(big.Rat)
	}
	return out
}

func (s *simplex) solution() []*big.Rat {
	y := zeros(s.wide)
	for r, v := range s.basis {
		if v < s.wide {
			y[v].Set(s.table[r][s.wide])
		}
	}
	return y
}

// entering returns the first variable that brings the sum of what is left down; -1:
// none does.
func (s *simplex) entering() int {
	return slices.IndexFunc(s.left[:s.wide], func(v *big.Rat) bool { return v.Sign() > 0 })
}

// leaving returns the row whose variable makes room for enter: the first that would
// become negative, of several the one whose variable is the first; -1: none.
func (s *simplex) leaving(enter int) int {
	leave := -1
	ratio, least := new(big.Rat), new(big.Rat)
	for r, row := range s.table {
		if row[enter].Sign() <= 0 {
			continue
		}
		ratio.Quo(row[s.wide], row[enter])
		if cmp := ratio.Cmp(least); leave < 0 || cmp < 0 || cmp == 0 && s.basis[r] < s.basis[leave] {
			leave = r
			least.Set(ratio)
		}
	}
	return leave
}

// pivot solves equation r for variable c and puts it into the others.
func (s *simplex) pivot(r, c int) {
	inverse := new(big.Rat).Inv(s.table[r][c])
	for k, v := range s.table[r] {
		if v.Sign() != 0 {
			s.table[r][k] = new(big.Rat).Mul(v, inverse)
		}
	}
	part := new(big.Rat)
	eliminate := func(row []*big.Rat) {
		factor := new(big.Rat).Set(row[c])
		if factor.Sign() == 0 {
			return
		}
		for k, v := range s.table[r] {
			if v.Sign() != 0 {
				row[k].Sub(row[k], part.Mul(factor, v))
			}
		}
	}
	for k := range s.table {
		if k != r {
			eliminate(s.table[k])
		}
	}
	eliminate(s.left)
	s.basis[r] = c
}

// exactSlack returns the sign of a·w − b and a·w − b as the nearest float, without
// any rounding before.
func exactSlack(a, w model.Vector, b float64) (sign int, slack float64) {
	sum, x, y := new(big.Rat).SetFloat64(-b), new(big.Rat), new(big.Rat)
	for i, j := 0, 0; i < len(a) && j < len(w); {
		switch {
		case a[i].Index < w[j].Index:
			i++
		case a[i].Index > w[j].Index:
			j++
		default:
			sum.Add(sum, x.Mul(x.SetFloat64(a[i].Value), y.SetFloat64(w[j].Value)))
			i++
			j++
		}
	}
	slack, _ = sum.Float64()
	return sum.Sign(), slack
}
