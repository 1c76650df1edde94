// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/hinged/hinged/model"
)

// System is the linear inequalities a_i·w ≥ b_i.
type System struct {
	Rows []model.Vector // a_i
	At   []float64      // b_i, as many
}

// Feasibility is what is known of a System.
type Feasibility struct {
	// Point has a_i·w > b_i for every row, which was checked without rounding; nil
	// where none was found. The slack of row i is a_i·w − b_i.
	Point model.Vector
	Slack []float64

	// Combination, where there is no Point, has y_i ≥ 0 with Σ y_i = 1, by row of the
	// system that was solved: the last is that of t ≥ 1 where Lifted. Epsilon is the
	// length of that combination of its rows: no solution of it is shorter than
	// 1/Epsilon.
	Combination []float64
	Epsilon     float64

	// Infeasible: no w satisfies every row. NotStrictly: none does so strictly. Both
	// only if proved in fractions, without rounding.
	Infeasible, NotStrictly bool

	// Lifted: some b_i is not above 0, so that a_i·w − b_i·t ≥ 1, t ≥ 1 was solved
	// for (w, t), and w/t is the point. Else it is a_i·w ≥ 1 with w scaled up.
	Lifted   bool
	Passes   int // over the rows
	Mistakes int
}

// Solve looks for a point that satisfies every row strictly, by cycling the
// perceptron over the rows as positive examples until it makes no more mistakes
// (Blum, section 2.1), for at most so many passes: with R the length of the
// longest row and u any solution of a_i·u ≥ 1 that takes R²‖u‖² mistakes at most,
// which may be exponential in the length of the input (Blum, section 3.1). Then
// Hildreth's method (FindWidest) is tried for as many passes.
//
// Points on the boundary are never found, so that a system whose solutions all lie
// there has none here; NotStrictly then says so where it could be proved. What
// proves that there is no solution: y ≥ 0, Σ y = 1 and ‖Σ y_i·a_i‖ = ε mean that any
// w with a_i·w ≥ 1 has 1 ≤ Σ y_i·a_i·w ≤ ε‖w‖; and if Σ y_i·a_i is exactly 0, that
// there is none.
func (s System) Solve(passes int) (Feasibility, error) {
	if err := s.validate(); err != nil {
		return Feasibility{}, err
	}
	var f Feasibility
	for _, b := range s.At {
		f.Lifted = f.Lifted || !(b > 0)
	}
	rows, t := s.cone(f.Lifted)
	spec := model.DefaultSpec()
	spec.Kind = model.KindPerceptron
	w := model.NewWeights(0)
	l, err := model.NewLinear(spec, w)
	if err != nil {
		return f, err
	}
	steps := make([]float64, len(rows))
	for wrong := true; wrong && f.Passes < passes; {
		wrong = false
		f.Passes++
		for i, e := range rows {
			if l.Learn(e).Mistake {
				wrong = true
				f.Mistakes++
				steps[i]++
			}
		}
		if !wrong && f.accept(&s, w, t) {
			return f, nil
		}
	}
	widest := FindWidest(rows, passes)
	if widest.Margin > 0 && f.accept(&s, widest.Weights, t) {
		return f, nil
	}
	f.prove(&s, rows, steps, widest.Alpha)
	return f, nil
}

func (s System) validate() error {
	if len(s.Rows) == 0 || len(s.Rows) != len(s.At) {
		return errors.New("a system has as many right sides as rows, and at least one")
	}
	for i, a := range s.Rows {
		if err := a.Validate(); err != nil {
			return fmt.Errorf("row %d: %w", i+1, err)
		}
		if n := len(a); n > 0 && a[n-1].Index == math.MaxUint64 {
			return fmt.Errorf("row %d: index %d leaves no room for that of t", i+1, a[n-1].Index)
		}
		if b := s.At[i]; math.IsNaN(b) || math.IsInf(b, 0) {
			return fmt.Errorf("row %d: the right side is %v", i+1, b)
		}
		if !(a.SquaredNorm()+float64(s.At[i]*s.At[i]) <= math.MaxFloat64) {
			return fmt.Errorf("row %d: its numbers are too great to square", i+1)
		}
	}
	return nil
}

// cone gives the rows v of a system v·(w, t) ≥ 1 as positive examples, and the
// index of t.
func (s System) cone(lifted bool) (rows []model.Lesson, t model.Index) {
	t = model.Affine
	for _, a := range s.Rows {
		if n := len(a); n > 0 {
			t = max(t, a[n-1].Index)
		}
	}
	t++
	for i, a := range s.Rows {
		if lifted {
			a = append(append(make(model.Vector, 0, len(a)+1), a...), model.Feature{Index: t, Value: -s.At[i]})
		}
		rows = append(rows, model.Lesson{Vector: a, Label: model.Important, Weight: 1})
	}
	if lifted {
		rows = append(rows, model.Lesson{Vector: model.Vector{{Index: t, Value: 1}}, Label: model.Important, Weight: 1})
	}
	return rows, t
}

// accept makes a point of a solution of the cone, if rounding lets it.
func (f *Feasibility) accept(s *System, w *model.Weights, t model.Index) bool {
	scale := 0.0
	if f.Lifted {
		scale = 1 / w.Get(t)
	} else {
		for i, a := range s.Rows {
			scale = max(scale, s.At[i]/w.Dot(a))
		}
		scale = float64(scale * (1 + 1e-6))
	}
	if !(scale > 0 && scale <= math.MaxFloat64) {
		return false
	}
	point := model.Vector{}
	for _, c := range w.Sorted() {
		v := float64(c.Value * scale)
		if !(math.Abs(v) <= math.MaxFloat64) {
			return false
		}
		if v != 0 && (c.Index != t || !f.Lifted) {
			point = append(point, model.Feature{Index: c.Index, Value: v})
		}
	}
	slack := make([]float64, len(s.Rows))
	for i, a := range s.Rows {
		sign, v := exactSlack(a, point, s.At[i])
		if sign <= 0 {
			return false
		}
		slack[i] = v
	}
	f.Point, f.Slack = point, slack
	return true
}

// prove keeps the better of two combinations and looks for an exact one.
func (f *Feasibility) prove(s *System, rows []model.Lesson, combinations ...[]float64) {
	f.Epsilon = math.Inf(1)
	for _, y := range combinations {
		total := 0.0
		for _, v := range y {
			total += v
		}
		if !(total > 0 && total <= math.MaxFloat64) {
			continue
		}
		sum, parts := model.NewWeights(0), make([]float64, len(y))
		size := 0.0
		for i, v := range y {
			parts[i] = v / total
			sum.Add(parts[i], rows[i].Vector)
			size += float64(parts[i] * math.Sqrt(rows[i].Vector.SquaredNorm()))
		}
		// Rounded up: y sums to 1 and the rows are added but for rounding.
		epsilon := norm(sum) + float64(float64(size*0x1p-52)*float64(len(rows)+8))
		if epsilon < f.Epsilon {
			f.Epsilon, f.Combination = epsilon, parts
		}
	}
	vectors, ones := make([]model.Vector, len(rows)), make([]float64, len(rows))
	for i, e := range rows {
		vectors[i], ones[i] = e.Vector, 1
	}
	if y, found := exactCombination(vectors, ones); found {
		f.NotStrictly = true
		f.Infeasible = !f.Lifted || y[len(y)-1].Sign() > 0
		f.Epsilon, f.Combination = 0, floats(y)
	}
	if f.Lifted && !f.Infeasible {
		// Σ y_i·a_i = 0 with Σ y_i·b_i > 0 leaves no w at all (Farkas).
		if y, found := exactCombination(s.Rows, s.At); found {
			f.Infeasible, f.NotStrictly = true, true
			f.Epsilon, f.Combination = 0, lift(floats(y))
		}
	}
}

// lift turns y with Σ y_i·b_i = 1 into a combination of the lifted rows: that of t ≥ 1
// counts 1 beside it.
func lift(y []float64) []float64 {
	total := 1.0
	for _, v := range y {
		total += v
	}
	y = append(y, 1)
	for i := range y {
		y[i] /= total
	}
	return y
}

func floats(y []*big.Rat) []float64 {
	out := make([]float64, len(y))
	for i, v := range y {
		out[i], _ = v.Float64()
	}
	return out
}
