// SPDX-License-Identifier: Apache-2.0

package model

import (
	"math"
	"math/rand/v2"
	"testing"
)

// unitKernels have K(x, x) = 1.
func unitKernels() []Kernel {
	return []Kernel{
		{Kind: KernelPolynomial, Degree: 2, Normalised: true}, {Kind: KernelPolynomial, Degree: 3, Normalised: true},
		{Kind: KernelGaussian, Gamma: 0.7},
	}
}

// sumTwin is w·φ(x) in a loop.
func sumTwin(k Kernel, twin []Support, x Vector) (sum float64) {
	for _, s := range twin {
		sum += s.Alpha * kernelTwin(k, s.Vector, x)
	}
	return sum
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

// TestTheForgetronAgainstItsPrintedForm: figure 3 of Dekel, Shalev-Shwartz and Singer
// 2008, step by step, with the φ of their closed form; and what D must be.
func TestTheForgetronAgainstItsPrintedForm(t *testing.T) {
	for seed, kernel := range unitKernels() {
		const budget = 25
		rng := rand.New(rand.NewPCG(95, uint64(seed)))
		l, err := NewKernel(KernelSpec{Spec: perceptronSpec(ZeroUnsure), Kernel: kernel, Budget: budget, Forget: ForgetShrink})
		if err != nil {
			t.Fatal(err)
		}
		var twin []Support
		var q, m, moved float64
		shrunk := 0
		for n, e := range kernelStream(rng, 500) {
			score, y := sumTwin(kernel, twin, e.Vector), float64(e.Label)
			u := l.Learn(e)
			if math.Abs(u.Score-score) > 1e-9 {
				t.Fatalf("%+v, lesson %d: score %v, want %v", kernel, n, u.Score, score)
			}
			if math.Abs(score) < 1e-9 && score != 0 {
				t.Fatal("rounding decides")
			}
			if y*score > 0 {
				continue
			}
			m++
			twin = append(twin, Support{Vector: e.Vector, Alpha: y})
			if len(twin) > budget {
				old := twin[0]
				sigma := math.Abs(old.Alpha)
				mu := sumTwin(kernel, twin, old.Vector) * old.Alpha / sigma
				a, b, c := sigma*sigma-2*sigma*mu, 2*sigma, q-15./32*m
				d, phi := b*b-4*a*c, 1.0
				if a > 0 || a < 0 && d > 0 && (-b-math.Sqrt(d))/(2*a) > 1 {
					phi = min(1, (-b+math.Sqrt(d))/(2*a))
				} else if a == 0 {
					phi = min(1, -c/b)
				}
				if phi < 1 {
					shrunk++
				}
				q += phi*phi*sigma*sigma + 2*phi*sigma - 2*phi*sigma*phi*mu
				before := append([]Support(nil), twin...)
				for i := range twin {
					twin[i].Alpha *= phi
				}
				twin = twin[1:]
				difference := before
				for i, s := range twin {
					difference[i+1].Alpha -= s.Alpha
				}
				square := 0.0
				for _, s := range difference {
					square += s.Alpha * sumTwin(kernel, difference, s.Vector)
				}
				moved += math.Sqrt(max(0, square))
			}
		}
		got := l.Supports()
		if len(got) != len(twin) || len(got) != budget {
			t.Fatalf("%+v: %d supports, want %d", kernel, len(got), len(twin))
		}
		norm := 0.0
		for i, s := range twin {
			if !equalVectors(got[i].Vector, s.Vector) || math.Abs(got[i].Alpha-s.Alpha) > 1e-9 {
				t.Fatalf("%+v, support %d: %v, want %v", kernel, i, got[i].Alpha, s.Alpha)
			}
			norm += s.Alpha * sumTwin(kernel, twin, s.Vector)
		}
		tally := l.Tally()
		if math.Abs(tally.Spent-q) > 1e-6 || float64(tally.Mistakes) != m || shrunk == 0 {
			t.Errorf("%+v: %+v, want Q %v and M %v; shrunk %d times", kernel, tally, q, m, shrunk)
		}
		if d := l.Displaced(); d < moved || d > moved*(1+1e-6)+1e-6 {
			t.Errorf("%+v: displaced by %v, want a little over %v", kernel, d, moved)
		}
		if tally.SquaredNorm < norm || tally.SquaredNorm > norm+1e-6 {
			t.Errorf("%+v: ‖w‖² is said to be at most %v, it is %v", kernel, tally.SquaredNorm, norm)
		}
	}
}

// TestTheForgetronShrinksAsLittleAsItMay: no greater φ keeps Ψ(φσ, φμ) + Q ≤ 15/32·M.
func TestTheForgetronShrinksAsLittleAsItMay(t *testing.T) {
	rng := rand.New(rand.NewPCG(96, 96))
	below := 0
	for range 20_000 {
		sigma, mu := rng.Float64(), 4*rng.Float64()-2
		if rng.IntN(10) == 0 {
			mu = sigma / 2 // a = 0
		}
		mistakes := uint64(1 + rng.IntN(40))
		spent := 15. / 32 * float64(mistakes-1) * rng.Float64()
		within := func(phi float64) bool {
			return ForgetronCost(phi*sigma, phi*mu)+spent <= 15./32*float64(mistakes)+1e-12
		}
		phi := Forgetron(sigma, mu, spent, mistakes)
		if !(phi > 0 && phi <= 1) || !within(phi) {
			t.Fatalf("σ %v, μ %v, Q %v, M %d: φ is %v", sigma, mu, spent, mistakes, phi)
		}
		for greater := phi + 1e-6; greater <= 1; greater += (1 - phi) / 50 {
			if within(greater) {
				t.Fatalf("σ %v, μ %v, Q %v, M %d: φ is %v, %v is allowed", sigma, mu, spent, mistakes, phi, greater)
			}
		}
		if phi < 1 {
			below++
		}
	}
	if below < 100 {
		t.Errorf("φ is below 1 in %d cases only", below)
	}
}

// TestTheForgetronKeepsItsTheorem: at most 2‖g‖² + 4L(g) mistakes for every g with
// ‖g‖ ≤ ¼√((B + 1)/ln(B + 1)), B ≥ 83 (Dekel et al. 2008, theorem 5.3).
func TestTheForgetronKeepsItsTheorem(t *testing.T) {
	const budget = 83
	limit := math.Sqrt(float64(budget+1)/math.Log(budget+1)) / 4
	k := Kernel{Kind: KernelGaussian, Gamma: 0.05}
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(97, seed))
		noise := int(5 + 20*seed)
		draw := func(label Label) Vector {
			x := Vector{{1, 2*rng.Float64() + 4*float64(label)}, {2, rng.NormFloat64()}}
			if rng.IntN(noise) == 0 {
				x[0].Value = 8 * rng.NormFloat64()
			}
			return x
		}
		g := []Support{{Vector: Vector{{1, 4}}, Alpha: limit / math.Sqrt2}, {Vector: Vector{{1, -4}}, Alpha: -limit / math.Sqrt2}}
		square := 0.0
		for _, s := range g {
			square += s.Alpha * sumTwin(k, g, s.Vector)
		}
		l, err := NewKernel(KernelSpec{Spec: perceptronSpec(ZeroUnsure), Kernel: k, Budget: budget, Forget: ForgetShrink})
		if err != nil {
			t.Fatal(err)
		}
		mistakes, loss := 0, 0.0
		for range 1500 {
			label := Label(2*rng.IntN(2) - 1)
			x := draw(label)
			if l.Learn(Lesson{x, label, 1}).Mistake {
				mistakes++
			}
			loss += HingeLoss(label, sumTwin(k, g, x))
		}
		if most := 2*square + 4*loss; float64(mistakes) > most {
			t.Errorf("seed %d: %d mistakes, more than %v", seed, mistakes, most)
		}
	}
}

// TestTheProjectronAgainstItsPrintedForm: figure 2 of Orabona, Keshet and Caputo 2008,
// the inverse of the Gram matrix grown as they grow it; and with a budget.
func TestTheProjectronAgainstItsPrintedForm(t *testing.T) {
	for seed, kernel := range kernels() {
		for _, eta := range []float64{0, 0.3} {
			for _, budget := range []int{0, 30} {
				rng := rand.New(rand.NewPCG(98, uint64(seed)))
				l, err := NewKernel(KernelSpec{Spec: perceptronSpec(ZeroUnsure), Kernel: kernel, Budget: budget, Forget: ForgetProject, Tolerance: eta})
				if err != nil {
					t.Fatal(err)
				}
				var twin []Support
				var inverse [][]float64
				moved, projected := 0.0, 0
				for n, e := range kernelStream(rng, 160) {
					score, y := sumTwin(kernel, twin, e.Vector), float64(e.Label)
					if u := l.Learn(e); math.Abs(u.Score-score) > 1e-5*(1+math.Abs(score)) {
						t.Fatalf("%+v, η %v, lesson %d: score %v, want %v", kernel, eta, n, u.Score, score)
					} else if u.Step == 0 {
						continue
					}
					d, square := make([]float64, len(twin)), kernelTwin(kernel, e.Vector, e.Vector)
					self := square
					for i := range twin {
						for j, s := range twin {
							d[i] += inverse[i][j] * kernelTwin(kernel, s.Vector, e.Vector)
						}
						square -= d[i] * kernelTwin(kernel, twin[i].Vector, e.Vector)
					}
					if square <= max(eta*eta, 1e-8*self) || budget > 0 && len(twin) == budget {
						projected++
						moved += math.Sqrt(max(0, square))
						for i := range twin {
							twin[i].Alpha += y * d[i]
						}
						continue
					}
					twin = append(twin, Support{Vector: e.Vector, Alpha: y})
					d = append(d, -1)
					for i := range inverse {
						inverse[i] = append(inverse[i], 0)
					}
					inverse = append(inverse, make([]float64, len(twin)))
					for i := range twin {
						for j := range twin {
							inverse[i][j] += d[i] * d[j] / square
						}
					}
				}
				if l.Len() != len(twin) || projected == 0 && budget > 0 {
					t.Fatalf("%+v, η %v: %d supports, want %d; %d projected", kernel, eta, l.Len(), len(twin), projected)
				}
				if got := l.Displaced(); got < moved-1e-4 || got > moved+1e-3*float64(projected) {
					t.Errorf("%+v, η %v: displaced by %v, want %v", kernel, eta, got, moved)
				}
			}
		}
	}
}

// TestAKernelLearnerResumes: one built anew from the supports and the tally of another,
// before any lesson, goes on as that does, to the bit; and Changed names every slot
// that differs.
func TestAKernelLearnerResumes(t *testing.T) {
	for _, kernel := range unitKernels() {
		for _, forget := range Forgettings() {
			spec := KernelSpec{Spec: perceptronSpec(ZeroUnsure), Kernel: kernel, Budget: 40, Forget: forget}
			l, err := NewKernel(spec)
			if err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(99, 1))
			kept := map[int]Support{}
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
				before := l.Displaced()
				if a, b := l.Learn(e), twin.Learn(e); a != b || l.Tally() != twin.Tally() || math.Abs(l.Displaced()-before-twin.Displaced()) > 1e-9 {
					t.Fatalf("%s, lesson %d: %+v, resumed %+v; %+v, resumed %+v", forget, n, a, b, l.Tally(), twin.Tally())
				}
				for _, slot := range l.Changed() {
					if s, ok := l.Slot(slot); ok {
						kept[slot] = s
					} else {
						delete(kept, slot)
					}
				}
				if len(kept) != l.Len() {
					t.Fatalf("%s, lesson %d: %d supports known by what changed, %d there are", forget, n, len(kept), l.Len())
				}
			}
			if l.Len() != 25 || l.Displaced() == 0 {
				t.Errorf("%s: %d supports, displaced by %v", forget, l.Len(), l.Displaced())
			}
		}
	}
	spec := KernelSpec{Spec: perceptronSpec(ZeroUnsure), Kernel: unitKernels()[0], Forget: ForgetProject}
	if _, err := ResumeKernel(spec, map[int]Support{1: {Alpha: 1}}, KernelTally{}); err == nil {
		t.Error("a projectron was resumed that has an empty slot")
	}
	spec.Forget = ""
	for _, bad := range []map[int]Support{{-1: {Alpha: 1}}, {1 << 31: {Alpha: 1}}, {0: {Vector: Vector{{5, 1}, {4, 1}}}}} {
		if _, err := ResumeKernel(spec, bad, KernelTally{}); err == nil {
			t.Errorf("resumed from %v", bad)
		}
	}
}
