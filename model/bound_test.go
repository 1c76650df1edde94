// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestNoStreamBreaksItsCeiling: streams of every kind, learners of every kind,
// from zero and from a checkpoint, with weights displaced.
func TestNoStreamBreaksItsCeiling(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 10))
	runs, reached, none, useful := 4000, 0, 0, 0
	if testing.Short() {
		runs = 500
	}
	for range runs {
		stream := randomStream(rng)
		from := 0
		if len(stream) > 0 && rng.IntN(2) == 0 {
			from = rng.IntN(len(stream))
		}
		p, c := play(t, rng, randomSpec(rng), stream, from, max(0, rng.Float64()-0.6))
		switch {
		case c.Reason != "":
			none++
		case c.Mistakes == p.mistakes:
			reached++
		case c.Mistakes < uint64(len(p.lessons)):
			useful++
		}
		if c.Reason == "" && (c.Bound < float64(c.Mistakes) || c.Gap < 0 || c.Mistakes > uint64(len(p.lessons))) {
			t.Fatalf("%+v is inconsistent for %d lessons", c, len(p.lessons))
		}
	}
	t.Logf("of %d streams %d reached their ceiling, %d stayed below one that says something, %d had none", runs, reached, useful, none)
	if reached < runs/20 || useful < runs/20 || none > runs/10 {
		t.Errorf("the streams are too tame: %d of %d reached their ceiling, %d stayed below one that says something, %d had none", reached, runs, useful, none)
	}
}

// ceilingOf is the twin: the theorem of Ceiling for one u, as it is printed,
// without any care for rounding. It returns the right side of the theorem and
// the greatest number of lessons that fit under it.
func ceilingOf(spec Spec, p played, u map[Index]float64) (value, simple float64, most uint64) {
	dot := func(x Vector) (sum float64) {
		for _, f := range x {
			sum += u[f.Index] * f.Value
		}
		return sum
	}
	var size, startSize, apart, loss, q, least float64
	var sizes []float64
	for _, v := range u {
		size += v * v
	}
	startSize = p.start.SquaredNorm()
	apart = size + startSize - 2*dot(p.start)
	least = math.Inf(1)
	for _, e := range p.lessons {
		l := math.Max(0, 1-float64(e.Label)*dot(e.Vector))
		n, c := e.Vector.SquaredNorm(), spec.Aggressiveness*e.Weight
		g := e.Weight
		switch {
		case spec.Kind != KindPassiveAggressive:
			loss += e.Weight * l
		case spec.Variant == 2:
			loss += c * l * l
			g = 1 / (n + 1/(2*c))
		default:
			loss += c * l
			if g = 1 / n; c*n < 1 {
				g = c * (2 - c*n)
			}
		}
		q = math.Max(q, e.Weight*n)
		least = math.Min(least, g)
		sizes = append(sizes, g)
	}
	if spec.Kind == KindMargin {
		q += 2 * spec.Margin
	}
	if spec.Kind == KindPassiveAggressive {
		value = math.Pow(math.Sqrt(apart+2*loss)+p.moved, 2)
		return value, value / least, greatestCount(sizes, value)
	}
	a, b := q*size, loss+2*math.Sqrt(size)*p.moved-dot(p.start)
	value = b + a/2 + math.Sqrt(math.Max(0, a*a/4+a*b+size*startSize))
	return value, (a + 2*b + startSize/q) / least, greatestCount(sizes, value)
}

// TestTheSearchFindsTheBestU: no u that anyone can think of has a lower bound
// than the printed one less its gap, and the ceiling is not above what the twin
// makes of the printed bound's u.
func TestTheSearchFindsTheBestU(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 11))
	closed := 0
	const runs = 300
	for run := range runs {
		spec := randomSpec(rng)
		w := NewWeights(0)
		var p played
		for i, v := range randomVector(rng, 15, run%3*5) {
			if i > 0 {
				p.start = append(p.start, v)
				w.Set(v.Index, v.Value)
			}
		}
		h := NewHindsight(spec, w)
		hidden := randomVector(rng, 15, 15)
		for range 80 {
			e := Lesson{Vector: randomVector(rng, 15, 6), Label: Important, Weight: 1}
			if (Dot(hidden, e.Vector) < 0) != (rng.IntN(10) == 0) {
				e.Label = Ordinary
			}
			p.lessons = append(p.lessons, e)
			h.Add(e)
		}
		c := h.Ceiling()
		if c.Reason != "" {
			t.Fatal(c.Reason)
		}
		if c.Gap <= 2*closeEnough*c.Bound {
			closed++
		}
		try := func(u map[Index]float64) {
			if _, simple, most := ceilingOf(spec, p, u); simple < (c.Bound-c.Gap)*(1-1e-9) {
				t.Fatalf("%+v: a u has the bound %v (at most %d mistakes), below %+v by more than its gap", spec, simple, most, c)
			}
		}
		found := map[Index]float64{}
		in := h.space.(*plain)
		for i := range 15 {
			found[FoldIndex(uint64(i))] = in.best[in.name(FoldIndex(uint64(i)))]
		}
		found[Affine] = in.best[in.name(Affine)]
		if _, _, most := ceilingOf(spec, p, found); c.Mistakes > most+1 {
			t.Errorf("%+v: the ceiling is %d, the last u has %d", spec, c.Mistakes, most)
		}
		for range 20 {
			near, far := map[Index]float64{}, map[Index]float64{}
			size := math.Pow(10, 3*rng.Float64()-3)
			for i, v := range found {
				near[i] = v + size*rng.NormFloat64()
				far[i] = v * (1 + size*rng.NormFloat64())
			}
			try(near)
			try(far)
		}
	}
	if closed < runs*8/10 {
		t.Errorf("the gap was closed in %d of %d searches", closed, runs)
	}
}

// TestCeilingsThatAreReached: streams on which the mistakes are as many as the
// theorem allows.
func TestCeilingsThatAreReached(t *testing.T) {
	basis := func(n int, scale float64) []Lesson {
		var out []Lesson
		for i := range n {
			out = append(out, Lesson{Vector{{Index(10 + i), scale}}, Label(1 - 2*(i%2)), 1})
		}
		return out
	}
	for _, scale := range []float64{1, 1e-30, 3, 1e100} {
		for _, kind := range Kinds() {
			for variant := 1; variant <= 2; variant++ {
				if kind == KindDual && variant == 1 {
					continue // there is none
				}
				t.Run(fmt.Sprintf("%s %d, norms %g", kind, variant, scale), func(t *testing.T) {
					spec := DefaultSpec()
					spec.Kind, spec.Variant, spec.Margin = kind, variant, 0
					spec.Aggressiveness = 1e3 / (scale * scale)
					l, err := NewLinear(spec, NewWeights(0))
					if err != nil {
						t.Fatal(err)
					}
					h := NewHindsight(spec, nil)
					mistakes := uint64(0)
					for range 4 { // the first time all are wrong, then none
						for _, e := range basis(7, scale) {
							h.Add(e)
							if l.Learn(e).Mistake {
								mistakes++
							}
						}
					}
					if c := h.Ceiling(); mistakes != 7 || c.Mistakes != 7 || c.Reason != "" || c.Bound > 7.1 {
						t.Errorf("%d mistakes of 28 lessons, want 7; the ceiling is %+v, want 7", mistakes, c)
					}
				})
			}
		}
	}
}

// TestTheWeightedCeilingCountsTheLightestFirst: two lessons of weight 1 and many
// of a third, each on a coordinate of its own.
func TestTheWeightedCeilingCountsTheLightestFirst(t *testing.T) {
	for _, kind := range Kinds() {
		spec := DefaultSpec()
		spec.Kind, spec.Margin = kind, 0
		l, err := NewLinear(spec, NewWeights(0))
		if err != nil {
			t.Fatal(err)
		}
		h, mistakes := NewHindsight(spec, nil), uint64(0)
		for i := range 40 {
			e := Lesson{Vector{{Index(10 + i%20), 1}}, Important, 1.0 / 3}
			if i%20 < 2 {
				e.Weight = 1
			}
			h.Add(e)
			if l.Learn(e).Mistake {
				mistakes++
			}
		}
		if c := h.Ceiling(); mistakes != 20 || c.Mistakes < 20 || c.Mistakes >= 40 {
			t.Errorf("%s: %d mistakes, want 20; the ceiling is %+v, want 20 to 39", kind, mistakes, c)
		}
	}
}

// TestWeightsThatAreTakenAwayRaiseTheCeiling: whoever forgets all after every
// lesson makes every mistake again, on lessons that one u gets right.
func TestWeightsThatAreTakenAwayRaiseTheCeiling(t *testing.T) {
	for _, kind := range Kinds() {
		for variant := 1; variant <= 2; variant++ {
			if kind == KindDual && variant == 1 {
				continue // there is none
			}
			spec := DefaultSpec()
			spec.Kind, spec.Variant, spec.Aggressiveness = kind, variant, 100
			h := NewHindsight(spec, nil)
			for mistakes := range uint64(10) {
				w := NewWeights(0)
				l, err := NewLinear(spec, w)
				if err != nil {
					t.Fatal(err)
				}
				e := Lesson{Vector{{5, 1}}, Important, 1}
				h.Add(e)
				if !l.Learn(e).Mistake {
					t.Fatal("no mistake from zero")
				}
				if c := h.Ceiling(); c.Mistakes < mistakes+1 {
					t.Errorf("%s %d: %d mistakes, the ceiling is %+v", kind, variant, mistakes+1, c)
				}
				h.Displace(math.Sqrt(w.Sorted().SquaredNorm()))
			}
		}
	}
}

func TestNoCeilingWithoutATheorem(t *testing.T) {
	fine := Lesson{Vector{{5, 1}}, Important, 1}
	for name, spoil := range map[string]func(*Hindsight){
		"refused":       func(h *Hindsight) { h.Refuse("the settings changed") },
		"weight 0":      func(h *Hindsight) { h.Add(Lesson{fine.Vector, Important, 0}) },
		"infinite":      func(h *Hindsight) { h.Add(Lesson{fine.Vector, Important, math.Inf(1)}) },
		"no label":      func(h *Hindsight) { h.Add(Lesson{fine.Vector, 0, 1}) },
		"not a number":  func(h *Hindsight) { h.Add(Lesson{Vector{{5, math.NaN()}}, Important, 1}) },
		"too long":      func(h *Hindsight) { h.Add(Lesson{Vector{{5, 1e200}}, Important, 1}) },
		"displaced NaN": func(h *Hindsight) { h.Displace(math.NaN()) },
		"displaced < 0": func(h *Hindsight) { h.Displace(-1) },
		"displaced far": func(h *Hindsight) { h.Displace(1e300); h.Displace(1e308) },
	} {
		h := NewHindsight(DefaultSpec(), nil)
		h.Add(fine)
		spoil(h)
		h.Add(fine)
		if c := h.Ceiling(); c.Reason == "" || c.Mistakes != 0 || c.Bound != 0 {
			t.Errorf("%s: %+v", name, c)
		}
	}
	huge := NewWeights(0)
	huge.Set(5, 1e200)
	if c := NewHindsight(DefaultSpec(), huge).Ceiling(); c.Reason == "" {
		t.Errorf("weights too great to square: %+v", c)
	}
	if c := NewHindsight(Spec{}, nil).Ceiling(); c.Reason == "" {
		t.Errorf("no learner: %+v", c)
	}
	if c := NewHindsight(DefaultSpec(), nil).Ceiling(); c != (Ceiling{}) {
		t.Errorf("no lesson: %+v, want all 0", c)
	}
}

// TestTheCeilingIsIncrementalAndDeterministic: asking in between changes what is
// found by no more than the gap, and asking alike twice gives the same bits.
func TestTheCeilingIsIncrementalAndDeterministic(t *testing.T) {
	find := func(every int) Ceiling {
		rng := rand.New(rand.NewPCG(12, 12))
		h := NewHindsight(DefaultSpec(), nil)
		for n := range 400 {
			h.Add(Lesson{randomVector(rng, 40, 9), Label(2*rng.IntN(2) - 1), 1})
			if every > 0 && n%every == 0 {
				h.Ceiling()
			}
		}
		return h.Ceiling()
	}
	once, often := find(0), find(50)
	if again := find(50); again != often {
		t.Errorf("%+v, then %+v", often, again)
	}
	if math.Abs(once.Bound-often.Bound) > once.Gap+often.Gap {
		t.Errorf("asked once: %+v; asked often: %+v", once, often)
	}
	if often.Passes >= once.Passes {
		t.Errorf("%d passes with the searches before, %d without: nothing was kept", often.Passes, once.Passes)
	}
}

func BenchmarkCeiling(b *testing.B) {
	rng := rand.New(rand.NewPCG(13, 13))
	var lessons []Lesson
	hidden := NewWeights(0)
	for range 5000 {
		x := Vector{{Affine, 0.3}}
		for range 100 {
			i := FoldIndex(rng.Uint64N(1+rng.Uint64N(400)) * 0x9E3779B97F4A7C15)
			x = append(x, Feature{i, 0.09})
			if hidden.Get(i) == 0 {
				hidden.Set(i, rng.NormFloat64())
			}
		}
		x.Sort()
		e := Lesson{Label: Important, Weight: 1}
		for i, f := range x {
			if i == 0 || x[i-1].Index != f.Index {
				e.Vector = append(e.Vector, f)
			}
		}
		if hidden.Dot(e.Vector)+0.1*rng.NormFloat64() < 0 {
			e.Label = Ordinary
		}
		lessons = append(lessons, e)
	}
	for _, kind := range Kinds() {
		b.Run(string(kind), func(b *testing.B) {
			spec := DefaultSpec()
			spec.Kind = kind
			for b.Loop() {
				h := NewHindsight(spec, nil)
				for _, e := range lessons {
					h.Add(e)
				}
				c := h.Ceiling()
				b.ReportMetric(float64(c.Passes), "passes")
				b.ReportMetric(c.Gap/c.Bound, "gap")
				b.ReportMetric(float64(c.Mistakes), "ceiling")
			}
		})
	}
}

// greatestCount returns how many of the sizes, the smallest first, sum to no
// more than the budget. It sorts them.
func greatestCount(sizes []float64, budget float64) uint64 {
	slices.Sort(sizes)
	sum := 0.0
	for n, s := range sizes {
		if sum += s; sum > budget {
			return uint64(n)
		}
	}
	return uint64(len(sizes))
}
