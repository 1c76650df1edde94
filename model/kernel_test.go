// SPDX-License-Identifier: Apache-2.0

package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func kernels() []Kernel { return []Kernel{1, 2, 3, 5} }

// kernelTwin is the definition of K.
func kernelTwin(k Kernel, a, b Vector) float64 {
	at, dot := map[Index]float64{}, 0.0
	for _, f := range a {
		at[f.Index] = f.Value
	}
	for _, f := range b {
		if f.Index != Affine {
			dot += at[f.Index] * f.Value
		}
	}
	return math.Pow(1+dot, float64(k))
}

// mailLike draws vectors with some features that most have and many that few have.
func mailLike(rng *rand.Rand, common, rare, n int) Vector {
	at := map[Index]float64{Affine: 1}
	for i := range common {
		if rng.IntN(3) > 0 {
			at[Index(10+i)] = 0.1 + 0.2*rng.Float64()
		}
	}
	for range n {
		at[Index(1000+rng.IntN(rare))] = rng.NormFloat64() / 3
	}
	var v Vector
	for i, x := range at {
		v = append(v, Feature{i, x})
	}
	v.Sort()
	return v
}

// TestKernelLearnersAgainstTheLoop: scores and updates of every kernel and update
// rule are those of the sum over all supports, with vectors that come again, and
// with supports that are forgotten.
func TestKernelLearnersAgainstTheLoop(t *testing.T) {
	for _, kernel := range kernels() {
		for variant, spec := range everySpec() {
			if variant%5 != 0 { // each rule once or twice is enough
				continue
			}
			for _, budget := range []int{0, 80, 3} { // at 80 common features are columns
				rng := rand.New(rand.NewPCG(90, uint64(variant)))
				l := mustKernel(t, KernelSpec{Spec: spec, Kernel: kernel, Budget: budget})
				var twin []Support
				var seen []Vector
				moved, displaced := 0.0, 0.0
				for n := range 220 {
					x := mailLike(rng, 10, 200, 6)
					if n%9 == 8 {
						x = seen[rng.IntN(len(seen))]
					}
					if n == 50 {
						x = nil
					}
					seen = append(seen, x)
					e := Lesson{x, Label(2*rng.IntN(2) - 1), 0.5 + rng.Float64()}
					want, size := 0.0, 0.0
					for _, s := range twin {
						k := s.Alpha * kernelTwin(kernel, s.Vector, x)
						want += k
						size += math.Abs(k)
					}
					u := l.Learn(e)
					if math.Abs(u.Score-want) > 1e-9*(1+size) {
						t.Fatalf("%+v, %s, budget %d, lesson %d: score %v, want %v", kernel, spec.Kind, budget, n, u.Score, want)
					}
					if expect := spec.Update(e.Label, e.Weight, u.Score, kernelTwin(kernel, x, x)); math.Abs(u.Step-expect.Step) > 1e-9*(1+math.Abs(expect.Step)) || u.Mistake != expect.Mistake {
						t.Fatalf("%+v, lesson %d: %+v, want %+v", kernel, n, u, expect)
					}
					if u.Step != 0 {
						twin = addTwin(twin, unlifted(x), u.Step)
					}
					for budget > 0 && len(twin) > budget {
						oldest := twin[0]
						moved += math.Abs(oldest.Alpha) * math.Sqrt(kernelTwin(kernel, oldest.Vector, oldest.Vector))
						twin = twin[1:]
					}
					displaced += l.TakeDisplaced()
					if l.Len() != len(twin) || math.Abs(displaced-moved) > 1e-9*(1+moved) {
						t.Fatalf("%+v, lesson %d: %d supports displaced by %v, want %d by %v", kernel, n, l.Len(), displaced, len(twin), moved)
					}
				}
				for i, s := range l.Supports() {
					if !slices.Equal(s.Vector, twin[i].Vector) || math.Abs(s.Alpha-twin[i].Alpha) > 1e-9*(1+math.Abs(s.Alpha)) {
						t.Fatalf("%+v: support %d is %+v, want %+v", kernel, i, s, twin[i])
					}
				}
				if budget == 0 && (displaced != 0 || l.Len() < 30) {
					t.Errorf("%+v: %d supports, displaced by %v", kernel, l.Len(), displaced)
				}
			}
		}
	}
}

func addTwin(twin []Support, x Vector, alpha float64) []Support {
	for i := range twin {
		if slices.Equal(twin[i].Vector, x) {
			twin[i].Alpha += alpha
			return twin
		}
	}
	return append(twin, Support{Vector: x, Alpha: alpha})
}

// TestDegree1IsThePerceptronOnTheLiftedVector: to the bit on small whole numbers,
// within 1e-9 otherwise.
func TestDegree1IsThePerceptronOnTheLiftedVector(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 91))
	for _, spec := range everySpec() {
		for _, whole := range []bool{true, false} {
			l := mustKernel(t, KernelSpec{Spec: spec, Kernel: 1})
			plain := mustLearn(t, spec, NewWeights(0))
			exact := whole && !spec.Passive()
			for n := range 300 {
				x := randomVector(rng, 30, 8)[1:]
				for i := range x {
					if whole {
						x[i].Value = float64(rng.IntN(7) - 3)
					}
				}
				label := Label(2*rng.IntN(2) - 1)
				if !exact && n > 0 && math.Abs(math.Abs(plain.Score(lift(x, 1)))-spec.Margin) < 1e-9 {
					continue // on the edge, where rounding decides
				}
				u, v := l.Learn(Lesson{x, label, 1}), plain.Learn(Lesson{lift(x, 1), label, 1})
				if exact && u != v || math.Abs(u.Score-v.Score) > 1e-9*(1+math.Abs(v.Score)) {
					t.Fatalf("%s, whole %v, lesson %d: %+v, the linear learner %+v", spec.Kind, whole, n, u, v)
				}
			}
		}
	}
}

// TestDegree2IsTheLearnerOverTheMap: the scores are those over the map within
// 1e-9, and the ceiling over the map, with D, holds for the kernel learner.
func TestDegree2IsTheLearnerOverTheMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(92, 92))
	below := 0
	for round := range 60 {
		spec := randomSpec(rng)
		ks := KernelSpec{Spec: spec, Kernel: 2}
		if round%2 == 1 {
			ks.Budget = 12
		}
		l := mustKernel(t, ks)
		plain, past := mustLearn(t, spec, NewWeights(0)), NewHindsight(spec, nil)
		mistakes, radius := uint64(0), 0.0
		for n := range 150 {
			x := randomVector(rng, 6, 4)[1:]
			e := Lesson{x, Important, 1}
			if m := x.SquaredNorm() - 1.5; m < 0 != (rng.IntN(20) == 0) {
				e.Label = Ordinary
			}
			mapped := Lesson{squares(x), e.Label, 1}
			if want := plain.Score(mapped.Vector); ks.Budget == 0 && math.Abs(l.Score(x)-want) > 1e-9*(1+math.Abs(want)) {
				t.Fatalf("%s, lesson %d: score %v, over the map %v", spec.Kind, n, l.Score(x), want)
			}
			radius = max(radius, math.Sqrt(l.Normal(x)))
			if l.Learn(e).Mistake {
				mistakes++
			}
			plain.Learn(mapped)
			past.Add(mapped)
		}
		past.Displace(l.TakeDisplaced())
		c := past.Ceiling()
		if c.Reason != "" || c.Mistakes < mistakes || math.Abs(c.Radius-radius) > 1e-9*c.Radius {
			t.Fatalf("%+v: %d mistakes, R %v; %+v", ks, mistakes, radius, c)
		}
		if c.Mistakes < 150 && ks.Budget == 0 {
			below++
		}
	}
	if below < 10 {
		t.Errorf("only %d of 30 ceilings say anything", below)
	}
}

// TestKernelsAreWhatTheySay: as defined, symmetric, no more than √(K(a,a)·K(b,b)), and the
// affine coordinate counts for nothing.
func TestKernelsAreWhatTheySay(t *testing.T) {
	rng := rand.New(rand.NewPCG(93, 93))
	for _, k := range kernels() {
		for range 200 {
			a, b := mailLike(rng, 5, 20, 5), mailLike(rng, 5, 20, 5)
			got, want := k.Of(a, b), kernelTwin(k, a, b)
			if math.Abs(got-want) > 1e-12*math.Max(1, math.Abs(want)) || got != k.Of(b, a) || got != k.Of(unlifted(a), b) {
				t.Fatalf("degree %d: %v, want %v", k, got, want)
			}
			if limit := math.Sqrt(k.Of(a, a) * k.Of(b, b)); math.Abs(got) > limit*(1+1e-12) {
				t.Fatalf("degree %d: K(a,b) is %v, above %v", k, got, limit)
			}
		}
	}
}

// TestAKernelSeparatesWhatNoLineDoes: a ring, and exclusive or (Blum, section 2.5).
func TestAKernelSeparatesWhatNoLineDoes(t *testing.T) {
	xor := []Lesson{point(1, 1, Important), point(-1, -1, Important), point(1, -1, Ordinary), point(-1, 1, Ordinary)}
	for _, k := range kernels()[1:] {
		l := mustKernel(t, KernelSpec{Spec: perceptronSpec(ZeroUnsure), Kernel: k})
		wrong := 1
		for pass := 0; wrong > 0 && pass < 100; pass++ {
			wrong = 0
			for _, e := range xor {
				if l.Learn(e).Mistake {
					wrong++
				}
			}
		}
		if wrong > 0 || l.Len() > len(xor) {
			t.Errorf("%+v: %d of exclusive or wrong after 100 passes, %d supports", k, wrong, l.Len())
		}
	}
}

func TestBadKernelsAreRefused(t *testing.T) {
	good := KernelSpec{Spec: DefaultSpec(), Kernel: 2}
	for name, spoil := range map[string]func(*KernelSpec){
		"degree 0":    func(s *KernelSpec) { s.Kernel = 0 },
		"degree 17":   func(s *KernelSpec) { s.Kernel = 17 },
		"budget":      func(s *KernelSpec) { s.Budget = -1 },
		"update rule": func(s *KernelSpec) { s.Spec.Kind = "" },
	} {
		s := good
		spoil(&s)
		if _, err := NewKernel(s); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// kernelStream draws n lessons, with vectors that come again.
func kernelStream(rng *rand.Rand, n int) []Lesson {
	var out []Lesson
	for i := range n {
		x := unlifted(mailLike(rng, 6, 60, 4))
		if i%11 == 10 {
			x = out[rng.IntN(i)].Vector
		}
		label := Ordinary
		if sum := x.SquaredNorm(); (sum > 0.6) != (rng.IntN(8) == 0) {
			label = Important
		}
		out = append(out, Lesson{x, label, 1})
	}
	return out
}

// TestAKernelLearnerResumes: one built anew from the supports and the tally of another,
// before any lesson, goes on as that does, to the bit; and Changed names every slot
// that differs.
func TestAKernelLearnerResumes(t *testing.T) {
	for _, kernel := range kernels() {
		spec := KernelSpec{Spec: perceptronSpec(ZeroUnsure), Kernel: kernel, Budget: 40}
		l := mustKernel(t, spec)
		rng := rand.New(rand.NewPCG(99, 1))
		kept, displaced := map[int]Support{}, 0.0
		for n, e := range kernelStream(rng, 300) {
			if n == 200 {
				spec.Budget = 25 // several go at once
			}
			twin, err := ResumeKernel(spec, kept, l.Tally())
			if err != nil {
				t.Fatal(err)
			}
			if n == 200 {
				l = twin
				continue
			}
			a, b := l.Learn(e), twin.Learn(e)
			moved := l.TakeDisplaced()
			if a != b || l.Tally() != twin.Tally() || moved != twin.TakeDisplaced() {
				t.Fatalf("degree %d, lesson %d: %+v, resumed %+v; %+v, resumed %+v", kernel, n, a, b, l.Tally(), twin.Tally())
			}
			displaced += moved
			for _, slot := range l.Changed() {
				if s, ok := l.Slot(slot); ok {
					kept[slot] = s
				} else {
					delete(kept, slot)
				}
			}
			if len(kept) != l.Len() {
				t.Fatalf("degree %d, lesson %d: %d supports known by what changed, %d there are", kernel, n, len(kept), l.Len())
			}
		}
		if l.Len() != 25 || displaced == 0 {
			t.Errorf("degree %d: %d supports, displaced by %v", kernel, l.Len(), displaced)
		}
	}
	spec := KernelSpec{Spec: perceptronSpec(ZeroUnsure), Kernel: 2}
	for _, bad := range []map[int]Support{{-1: {Alpha: 1}}, {1 << 31: {Alpha: 1}}, {0: {Vector: Vector{{5, 1}, {4, 1}}}}} {
		if _, err := ResumeKernel(spec, bad, KernelTally{}); err == nil {
			t.Errorf("resumed from %v", bad)
		}
	}
}
