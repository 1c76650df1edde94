// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/hinged/hinged/model"
)

// row is a·w over the indices from 10 on.
func rowOf(a ...float64) model.Vector {
	var v model.Vector
	for i, c := range a {
		if c != 0 {
			v = append(v, model.Feature{Index: model.Index(10 + i), Value: c})
		}
	}
	return v
}

// solve solves and checks whatever is claimed, by means of its own.
func solve(t *testing.T, s System, passes int) Feasibility {
	t.Helper()
	f, err := s.Solve(passes)
	if err != nil {
		t.Fatal(err)
	}
	if f.Point != nil {
		if f.Infeasible || f.NotStrictly || len(f.Slack) != len(s.Rows) {
			t.Fatalf("a point and a proof that there is none: %+v", f)
		}
		for i, a := range s.Rows {
			slack := new(big.Rat).Neg(new(big.Rat).SetFloat64(s.At[i]))
			for _, c := range a {
				for _, p := range f.Point {
					if p.Index == c.Index {
						slack.Add(slack, new(big.Rat).Mul(new(big.Rat).SetFloat64(c.Value), new(big.Rat).SetFloat64(p.Value)))
					}
				}
			}
			if near, _ := slack.Float64(); slack.Sign() <= 0 || near != f.Slack[i] {
				t.Fatalf("row %d: the slack is %v, printed %v", i, near, f.Slack[i])
			}
		}
		return f
	}
	total, sum := 0.0, model.NewWeights(0)
	for i, y := range f.Combination {
		if y < 0 {
			t.Fatalf("y is %v", f.Combination)
		}
		total += y
		v := model.Vector{{Index: 1 << 40, Value: 1}}
		if i < len(s.Rows) {
			v = s.Rows[i]
			if f.Lifted {
				v = append(append(model.Vector{}, v...), model.Feature{Index: 1 << 40, Value: -s.At[i]})
			}
		}
		sum.Add(y, v)
	}
	if math.Abs(total-1) > 1e-9 || norm(sum) > f.Epsilon+1e-9 {
		t.Fatalf("Σ y is %v, ‖Σ y·a‖ %v, ε is %v", total, norm(sum), f.Epsilon)
	}
	return f
}

// feasible is the twin: in two dimensions, whether the half planes meet, found
// among the crossings of their borders pushed in by a little, in fractions.
func feasible(s System, push float64) bool {
	var candidates [][2]*big.Rat
	at := func(v model.Vector, i model.Index) *big.Rat {
		for _, f := range v {
			if f.Index == i {
				return new(big.Rat).SetFloat64(f.Value)
			}
		}
		return new(big.Rat)
	}
	box := []System{s, {[]model.Vector{rowOf(1, 0), rowOf(0, 1), rowOf(-1, 0), rowOf(0, -1)}, []float64{-1e6, -1e6, -1e6, -1e6}}}
	var rows []model.Vector
	var b []*big.Rat
	for n, part := range box {
		for i, a := range part.Rows {
			v := new(big.Rat).SetFloat64(part.At[i])
			if n == 0 {
				v.Add(v, new(big.Rat).SetFloat64(push))
			}
			rows, b = append(rows, a), append(b, v)
		}
	}
	mul := func(x, y *big.Rat) *big.Rat { return new(big.Rat).Mul(x, y) }
	for i := range rows {
		for j := range i {
			p, q, r, u := at(rows[i], 10), at(rows[i], 11), at(rows[j], 10), at(rows[j], 11)
			det := new(big.Rat).Sub(mul(p, u), mul(q, r))
			if det.Sign() == 0 {
				continue
			}
			x := new(big.Rat).Quo(new(big.Rat).Sub(mul(b[i], u), mul(q, b[j])), det)
			y := new(big.Rat).Quo(new(big.Rat).Sub(mul(p, b[j]), mul(b[i], r)), det)
			candidates = append(candidates, [2]*big.Rat{x, y})
		}
	}
	for _, c := range candidates {
		ok := true
		for i := range rows {
			v := new(big.Rat).Add(mul(at(rows[i], 10), c[0]), mul(at(rows[i], 11), c[1]))
			ok = ok && v.Cmp(b[i]) >= 0
		}
		if ok {
			return true
		}
	}
	return false
}

// TestSystemsInThePlane: small whole numbers, against the twin. What has room must
// be solved, what has none must be refuted, what has only borders must not be
// solved and be known for what it is.
func TestSystemsInThePlane(t *testing.T) {
	rng := rand.New(rand.NewPCG(40, 40))
	points, borders, none := 0, 0, 0
	for range 600 {
		var s System
		sign := rng.IntN(3)
		for range 1 + rng.IntN(6) {
			b := float64(rng.IntN(9) - 4)
			switch sign {
			case 0:
				b = 1
			case 1:
				b = math.Abs(b) + 1
			}
			s.Rows = append(s.Rows, rowOf(float64(rng.IntN(9)-4), float64(rng.IntN(9)-4)))
			s.At = append(s.At, b)
		}
		if sign == 2 && rng.IntN(4) == 0 {
			a := s.Rows[0] // once more, from the other side
			var opposite model.Vector
			for _, c := range a {
				opposite = append(opposite, model.Feature{Index: c.Index, Value: -c.Value})
			}
			s.Rows, s.At = append(s.Rows, opposite), append(s.At, -s.At[0])
		}
		f := solve(t, s, 1000)
		switch {
		case feasible(s, 1e-4):
			points++
			if f.Point == nil {
				t.Fatalf("%v has a point: %+v", s, f)
			}
		case feasible(s, 0):
			borders++
			if f.Point != nil || f.Infeasible || !f.NotStrictly {
				t.Fatalf("%v has solutions, but none strictly: %+v", s, f)
			}
		default:
			none++
			if f.Point != nil || !f.Infeasible || !f.NotStrictly || f.Epsilon != 0 {
				t.Fatalf("%v has no solution: %+v", s, f)
			}
		}
	}
	if points < 100 || borders < 10 || none < 100 {
		t.Errorf("%d with room, %d with borders alone, %d with nothing: the systems are too much alike", points, borders, none)
	}
}

// TestSolveBlumsForm: A·w ≥ 1 with a w known, in more dimensions; mistakes are at most
// R²‖w*‖² (Blum, section 2.1 and Theorem 1).
func TestSolveBlumsForm(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 41))
	for range 100 {
		lessons, gamma := separable(rng, 8, 6, 25)
		var s System
		longest := 0.0
		for _, e := range lessons {
			a := model.Vector{}
			for _, c := range e.Vector {
				a = append(a, model.Feature{Index: c.Index, Value: c.Value * float64(e.Label)})
			}
			s.Rows, s.At = append(s.Rows, a), append(s.At, 1)
			longest = math.Max(longest, a.SquaredNorm())
		}
		if len(lessons) == 0 || longest/(gamma*gamma) > 2000 {
			continue
		}
		f := solve(t, s, 2002)
		if f.Point == nil || f.Lifted || float64(f.Mistakes) > longest/(gamma*gamma)*(1+1e-9) {
			t.Fatalf("R²‖w*‖² is %v: %+v", longest/(gamma*gamma), f)
		}
	}
}

// TestABudgetThatIsTooSmallClaimsNothing: Blum's exponential-time family has a
// solution of length about K; with few passes none is found, and what is printed
// is true of it.
func TestABudgetThatIsTooSmallClaimsNothing(t *testing.T) {
	const k = 1 << 30
	s := System{[]model.Vector{rowOf(1, 1), rowOf(1, 0), rowOf(1.0/k, 1), rowOf(0, -1)}, []float64{1, 1, 1, 1}}
	f := solve(t, s, 3)
	if f.Point != nil || f.Infeasible || f.NotStrictly || !(f.Epsilon > 0) {
		t.Fatalf("%+v", f)
	}
	// w* = (2K, −1) has a·w ≥ 1 for all rows.
	if short := 1 / f.Epsilon; short > math.Hypot(2*k, 1) {
		t.Errorf("it says that no solution is shorter than %v", short)
	}
}

// TestAPointTooFarForANumberIsNotTaken: the perceptron stops at w = 1e150, t = 1e-160.
func TestAPointTooFarForANumberIsNotTaken(t *testing.T) {
	s := System{[]model.Vector{rowOf(1e150)}, []float64{-1e-160}}
	if f, err := s.Solve(5); err != nil || len(f.Point) != 1 || !(math.Abs(f.Point[0].Value) < 1) {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestSystemsThatAreNone(t *testing.T) {
	for name, s := range map[string]System{
		"empty":       {},
		"other sizes": {[]model.Vector{rowOf(1)}, nil},
		"NaN":         {[]model.Vector{rowOf(math.NaN())}, []float64{1}},
		"infinite":    {[]model.Vector{rowOf(1)}, []float64{math.Inf(1)}},
		"last index":  {[]model.Vector{{{Index: math.MaxUint64, Value: 1}}}, []float64{-1}},
		"too great":   {[]model.Vector{rowOf(1e200)}, []float64{1}},
	} {
		if _, err := s.Solve(5); err == nil {
			t.Errorf("%s: solved", name)
		}
	}
}

// FuzzSolve: whatever is claimed is true, for small whole numbers in three
// dimensions.
func FuzzSolve(f *testing.F) {
	f.Add([]byte{9, 0, 0, 1, 0, 9, 0, 1, 250, 250, 0, 4})
	f.Add([]byte{1, 0, 0, 0, 255, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		var s System
		for ; len(data) >= 4 && len(s.Rows) < 12; data = data[4:] {
			s.Rows = append(s.Rows, rowOf(float64(int8(data[0])), float64(int8(data[1])), float64(int8(data[2]))))
			s.At = append(s.At, float64(int8(data[3])))
		}
		if len(s.Rows) > 0 {
			solve(t, s, 200)
		}
	})
}
