package model

import (
	"math"
	"math/big"
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
//
// Long: the table, its first basis and the pivots belong together.
func exactCombination(rows []Vector, sums []float64) (y []*big.Rat, found bool) {
	places := map[Index]int{}
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
	// Row r of the table is an equation; its last cell the right side; basis[r] the
	// variable that it is solved for, from wide on an artificial one. Those are
	// never needed again once they have left, and have no cells.
	table := make([][]*big.Rat, high)
	for r := range table {
		table[r] = make([]*big.Rat, wide+1)
		for c := range table[r] {
			table[r][c] = new(big.Rat)
		}
	}
	for c, x := range rows {
		for _, f := range x {
			table[places[f.Index]][c].SetFloat64(f.Value)
		}
		table[high-1][c].SetFloat64(sums[c])
	}
	table[high-1][wide].SetInt64(1)
	basis := make([]int, high)
	// What is left to bring down is the sum of the artificial variables.
	left := make([]*big.Rat, wide+1)
	for c := range left {
		left[c] = new(big.Rat)
		for r := range table {
			left[c].Add(left[c], table[r][c])
		}
	}
	for r := range basis {
		basis[r] = wide + r
	}
	for range mostPivots {
		if left[wide].Sign() == 0 {
			y = make([]*big.Rat, wide)
			for c := range y {
				y[c] = new(big.Rat)
			}
			for r, v := range basis {
				if v < wide {
					y[v].Set(table[r][wide])
				}
			}
			return y, true
		}
		enter := -1
		for c := range wide {
			if left[c].Sign() > 0 {
				enter = c
				break
			}
		}
		if enter < 0 {
			return nil, false
		}
		leave := -1
		ratio, least := new(big.Rat), new(big.Rat)
		for r := range table {
			if table[r][enter].Sign() <= 0 {
				continue
			}
			ratio.Quo(table[r][wide], table[r][enter])
			if cmp := ratio.Cmp(least); leave < 0 || cmp < 0 || cmp == 0 && basis[r] < basis[leave] {
				leave = r
				least.Set(ratio)
			}
		}
		if leave < 0 {
			return nil, false // cannot be: the sum of what is left has a least value
		}
		pivot(table, left, leave, enter)
		basis[leave] = enter
	}
	return nil, false
}

// pivot solves equation r for variable c and puts it into the others.
func pivot(table [][]*big.Rat, left []*big.Rat, r, c int) {
	inverse := new(big.Rat).Inv(table[r][c])
	for k, v := range table[r] {
		if v.Sign() != 0 {
			table[r][k] = new(big.Rat).Mul(v, inverse)
		}
	}
	part := new(big.Rat)
	eliminate := func(row []*big.Rat) {
		factor := new(big.Rat).Set(row[c])
		if factor.Sign() == 0 {
			return
		}
		for k, v := range table[r] {
			if v.Sign() != 0 {
				row[k].Sub(row[k], part.Mul(factor, v))
			}
		}
	}
	for k := range table {
		if k != r {
			eliminate(table[k])
		}
	}
	eliminate(left)
}

// exactSlack returns the sign of a·w − b and a·w − b as the nearest float, without
// any rounding before.
func exactSlack(a, w Vector, b float64) (sign int, slack float64) {
	const scale = 2300 // every product of two floats is a whole multiple of 2^−scale
	sum := new(big.Int)
	add := func(x, y float64) {
		m, e := math.Frexp(x)
		n, f := math.Frexp(y)
		p := new(big.Int).Mul(big.NewInt(int64(math.Ldexp(m, 53))), big.NewInt(int64(math.Ldexp(n, 53))))
		sum.Add(sum, p.Lsh(p, uint(scale+e+f-106)))
	}
	for i, j := 0, 0; i < len(a) && j < len(w); {
		switch {
		case a[i].Index < w[j].Index:
			i++
		case a[i].Index > w[j].Index:
			j++
		default:
			add(a[i].Value, w[j].Value)
			i++
			j++
		}
	}
	add(-b, 1)
	v := new(big.Float).SetInt(sum)
	slack, _ = v.SetMantExp(v, -scale).Float64()
	return sum.Sign(), slack
}
