// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func kernels() []Kernel {
	return []Kernel{
		{Kind: KernelPolynomial, Degree: 1}, {Kind: KernelPolynomial, Degree: 2}, {Kind: KernelPolynomial, Degree: 3, Normalised: true},
		{Kind: KernelPolynomial, Degree: 5}, {Kind: KernelGaussian, Gamma: 0.5}, {Kind: KernelGaussian, Gamma: 3},
	}
}

// kernelTwin is the definition: every support compared with x, one by one.
func kernelTwin(k Kernel, a, b Vector) float64 {
	at := map[Index]float64{}
	var na, nb, dot float64
	for _, f := range a {
		if f.Index != Affine {
			at[f.Index] = f.Value
			na += f.Value * f.Value
		}
	}
	for _, f := range b {
		if f.Index != Affine {
			dot += at[f.Index] * f.Value
			nb += f.Value * f.Value
		}
	}
	poly := func(v float64) float64 { return math.Pow(1+v, float64(k.Degree)) }
	switch {
	case k.Kind == KernelGaussian:
		return math.Exp(-k.Gamma * (na + nb - 2*dot))
	case k.Normalised:
		return poly(dot) / math.Sqrt(poly(na)*poly(nb))
	default:
		return poly(dot)
	}
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
				forget := []Forgetting{ForgetOldest, ForgetWeakest}[variant%2]
				l, err := NewKernel(KernelSpec{Spec: spec, Kernel: kernel, Budget: budget, Forget: forget})
				if err != nil {
					t.Fatal(err)
				}
				var twin []Support
				var seen []Vector
				moved := 0.0
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
						gone := 0
						for i, s := range twin {
							if forget == ForgetWeakest && twinWeight(kernel, s) < twinWeight(kernel, twin[gone])*(1-1e-12) {
								gone = i
							}
						}
						moved += twinWeight(kernel, twin[gone])
						twin = append(twin[:gone:gone], twin[gone+1:]...)
					}
					if l.Len() != len(twin) || math.Abs(l.Displaced()-moved) > 1e-9*(1+moved) {
						t.Fatalf("%+v, lesson %d: %d supports displaced by %v, want %d by %v", kernel, n, l.Len(), l.Displaced(), len(twin), moved)
					}
				}
				for i, s := range l.Supports() {
					if !equalVectors(s.Vector, twin[i].Vector) || math.Abs(s.Alpha-twin[i].Alpha) > 1e-9*(1+math.Abs(s.Alpha)) {
						t.Fatalf("%+v: support %d is %+v, want %+v", kernel, i, s, twin[i])
					}
				}
				if budget == 0 && (l.Displaced() != 0 || l.Len() < 30) {
					t.Errorf("%+v: %d supports, displaced by %v", kernel, l.Len(), l.Displaced())
				}
			}
		}
	}
}

func addTwin(twin []Support, x Vector, alpha float64) []Support {
	for i := range twin {
		if equalVectors(twin[i].Vector, x) {
			twin[i].Alpha += alpha
			return twin
		}
	}
	return append(twin, Support{Vector: x, Alpha: alpha})
}

func twinWeight(k Kernel, s Support) float64 {
	return math.Abs(s.Alpha) * math.Sqrt(kernelTwin(k, s.Vector, s.Vector))
}

// TestDegree1IsThePerceptronOnTheLiftedVector: to the bit on small whole numbers,
// within 1e-9 otherwise.
func TestDegree1IsThePerceptronOnTheLiftedVector(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 91))
	for _, spec := range everySpec() {
		for _, whole := range []bool{true, false} {
			l, err := NewKernel(KernelSpec{Spec: spec, Kernel: Kernel{Kind: KernelPolynomial, Degree: 1}})
			if err != nil {
				t.Fatal(err)
			}
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
				if !exact && n > 0 && math.Abs(math.Abs(plain.Score(Lift(x, 1)))-spec.Margin) < 1e-9 {
					continue // on the edge, where rounding decides
				}
				u, v := l.Learn(Lesson{x, label, 1}), plain.Learn(Lesson{Lift(x, 1), label, 1})
				if exact && u != v || math.Abs(u.Score-v.Score) > 1e-9*(1+math.Abs(v.Score)) {
					t.Fatalf("%s, whole %v, lesson %d: %+v, the linear learner %+v", spec.Kind, whole, n, u, v)
				}
			}
		}
	}
}

// TestDegree2IsTheLearnerOverTheMap: the scores are those over QuadraticKernel within
// 1e-9, and the ceiling over the map, with D, holds for the kernel learner.
func TestDegree2IsTheLearnerOverTheMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(92, 92))
	below := 0
	for round := range 60 {
		spec := randomSpec(rng)
		ks := KernelSpec{Spec: spec, Kernel: Kernel{Kind: KernelPolynomial, Degree: 2}, Forget: ForgetWeakest}
		if round%2 == 1 {
			ks.Budget, ks.Forget = 12, []Forgetting{ForgetOldest, ForgetWeakest}[round/2%2]
		}
		l, err := NewKernel(ks)
		if err != nil {
			t.Fatal(err)
		}
		plain, past := mustLearn(t, spec, NewWeights(0)), NewHindsight(spec, nil)
		mistakes := uint64(0)
		for n := range 150 {
			x := randomVector(rng, 6, 4)[1:]
			e := Lesson{x, Important, 1}
			if m := x.SquaredNorm() - 1.5; m < 0 != (rng.IntN(20) == 0) {
				e.Label = Ordinary
			}
			mapped := Lesson{QuadraticKernel(x), e.Label, 1}
			if want := plain.Score(mapped.Vector); ks.Budget == 0 && math.Abs(l.Score(x)-want) > 1e-9*(1+math.Abs(want)) {
				t.Fatalf("%s, lesson %d: score %v, over the map %v", spec.Kind, n, l.Score(x), want)
			}
			if l.Learn(e).Mistake {
				mistakes++
			}
			plain.Learn(mapped)
			past.Add(mapped)
		}
		past.Displace(l.Displaced())
		c := past.Ceiling()
		if c.Reason != "" || c.Mistakes < mistakes || math.Abs(c.Radius-l.Radius()) > 1e-9*c.Radius {
			t.Fatalf("%+v: %d mistakes, R %v; %+v", ks, mistakes, l.Radius(), c)
		}
		if c.Mistakes < 150 && ks.Budget == 0 {
			below++
		}
	}
	if below < 10 {
		t.Errorf("only %d of 30 ceilings say anything", below)
	}
}

// TestKernelsAreWhatTheySay: symmetric, K(x, x) = 1 where normalised, no more than
// √(K(a,a)·K(b,b)), and the affine coordinate counts for nothing.
func TestKernelsAreWhatTheySay(t *testing.T) {
	rng := rand.New(rand.NewPCG(93, 93))
	for _, k := range kernels() {
		for range 200 {
			a, b := mailLike(rng, 5, 20, 5), mailLike(rng, 5, 20, 5)
			got, want := k.Of(a, b), kernelTwin(k, a, b)
			if math.Abs(got-want) > 1e-12*math.Max(1, math.Abs(want)) || got != k.Of(b, a) || got != k.Of(unlifted(a), b) {
				t.Fatalf("%+v: %v, want %v", k, got, want)
			}
			if limit := math.Sqrt(k.Of(a, a) * k.Of(b, b)); math.Abs(got) > limit*(1+1e-12) {
				t.Fatalf("%+v: K(a,b) is %v, above %v", k, got, limit)
			}
			if (k.Normalised || k.Kind == KernelGaussian) && math.Abs(k.Of(a, a)-1) > 1e-12 {
				t.Fatalf("%+v: K(x,x) is %v", k, k.Of(a, a))
			}
		}
	}
	for _, x := range []float64{0, -1e-300, -0.1, -1, -math.Ln2, -20.5, -700} {
		if got, want := exponential(x), math.Exp(x); math.Abs(got-want) > 2e-15*want {
			t.Errorf("e^%v is %v, want %v", x, got, want)
		}
	}
	if exponential(-800) != 0 || exponential(math.Inf(-1)) != 0 {
		t.Error("e^−800 is not 0")
	}
}

// TestAKernelSeparatesWhatNoLineDoes: a ring, and exclusive or (Blum, section 2.5).
func TestAKernelSeparatesWhatNoLineDoes(t *testing.T) {
	xor := []Lesson{point(1, 1, Important), point(-1, -1, Important), point(1, -1, Ordinary), point(-1, 1, Ordinary)}
	for _, k := range kernels()[1:] {
		l, err := NewKernel(KernelSpec{Spec: perceptronSpec(ZeroUnsure), Kernel: k})
		if err != nil {
			t.Fatal(err)
		}
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
	good := KernelSpec{Spec: DefaultSpec(), Kernel: Kernel{Kind: KernelPolynomial, Degree: 2}}
	for name, spoil := range map[string]func(*KernelSpec){
		"kind":        func(s *KernelSpec) { s.Kernel.Kind = "cubic" },
		"degree 0":    func(s *KernelSpec) { s.Kernel.Degree = 0 },
		"degree 17":   func(s *KernelSpec) { s.Kernel.Degree = 17 },
		"gamma":       func(s *KernelSpec) { s.Kernel = Kernel{Kind: KernelGaussian} },
		"gamma NaN":   func(s *KernelSpec) { s.Kernel = Kernel{Kind: KernelGaussian, Gamma: math.NaN()} },
		"budget":      func(s *KernelSpec) { s.Budget = -1 },
		"forgetting":  func(s *KernelSpec) { s.Budget = 5 },
		"tolerance":   func(s *KernelSpec) { s.Budget, s.Forget, s.Tolerance = 5, ForgetOldest, 0.1 },
		"tolerance 2": func(s *KernelSpec) { s.Forget, s.Tolerance = ForgetProject, math.NaN() },
		"forgetron 1": func(s *KernelSpec) { s.Budget, s.Forget, s.Kernel.Normalised = 5, ForgetShrink, true },
		"forgetron 2": func(s *KernelSpec) { s.Budget, s.Forget, s.Spec.Kind = 5, ForgetShrink, KindPerceptron },
		"update rule": func(s *KernelSpec) { s.Spec.Kind = "" },
	} {
		s := good
		spoil(&s)
		if _, err := NewKernel(s); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// BenchmarkKernelScore compares the index with the loop of sparse dot products, at
// 5,000 supports with 400 features, half of them common.
func BenchmarkKernelScore(b *testing.B) {
	for _, k := range []Kernel{{Kind: KernelPolynomial, Degree: 2}, {Kind: KernelPolynomial, Degree: 3, Normalised: true}, {Kind: KernelGaussian, Gamma: 1}} {
		rng := rand.New(rand.NewPCG(94, 94))
		l, err := NewKernel(KernelSpec{Spec: perceptronSpec(ZeroUnsure), Kernel: k})
		if err != nil {
			b.Fatal(err)
		}
		draw := func() Vector {
			at := map[Index]float64{}
			for len(at) < 400 {
				// The share of messages with a feature falls as one over its rank.
				at[FoldIndex(2+uint64(math.Exp(11*rng.Float64()))*0x9E3779B97F4A7C15)] = 0.05
			}
			var v Vector
			for i, x := range at {
				v = append(v, Feature{i, x})
			}
			v.Sort()
			return v
		}
		for range 5000 {
			x := draw()
			l.add(x, k.place(x.SquaredNorm()), 1)
		}
		asked := []Vector{draw(), draw(), draw(), draw()}
		supports := l.Supports()
		b.Run(fmt.Sprintf("%s-%d/index", k.Kind, k.Degree), func(b *testing.B) {
			n := 0
			for b.Loop() {
				l.Score(asked[n%4])
				n++
			}
		})
		b.Run(fmt.Sprintf("%s-%d/loop", k.Kind, k.Degree), func(b *testing.B) {
			n := 0
			for b.Loop() {
				x := asked[n%4]
				at, sum := k.place(x.SquaredNorm()), 0.0
				for i, s := range supports {
					sum += s.Alpha * k.of(Dot(s.Vector, x), l.supports[i].at, at)
				}
				n++
			}
		})
	}
}
