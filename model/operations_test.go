// SPDX-License-Identifier: Apache-2.0

package model

import (
	"math/rand/v2"
	"testing"
)

// TestLinearCounts: the counts are the closed forms n, 2n and 3n, as the features
// grow, whatever the number of weights; over the quadratic map n is (n + 1)(n + 2)/2.
func TestLinearCounts(t *testing.T) {
	for _, kind := range Kinds() {
		for _, n := range []int{0, 1, 7, 50, 200} {
			s := DefaultSpec()
			s.Kind, s.Margin = kind, 0
			for _, mapped := range []bool{false, true} {
				if mapped && n > 50 {
					continue
				}
				l := mustLearn(t, s, NewWeights(0))
				var x Vector
				for i := range n {
					x = append(x, Feature{Index(10 + i), 1})
				}
				size := uint64(n)
				if mapped {
					x, size = QuadraticKernel(x), uint64((n+1)*(n+2)/2)
				}
				norm := uint64(0)
				if kind == KindPassiveAggressive || kind == KindDual {
					norm = size
				}
				want := uint64(0)
				for round := range 3 {
					u := l.Learn(Lesson{x, Important, 1})
					want += size + norm
					if u.Step != 0 {
						want += size
					}
					if got := l.(Counter).Operations(); got != (Operations{Products: want}) {
						t.Fatalf("%s, n %d, lesson %d: %+v, want %d products", kind, n, round, got, want)
					}
					if round == 0 && n > 0 && u.Step == 0 {
						t.Fatalf("%s: the first lesson moved nothing", kind)
					}
				}
				before := l.(Counter).Operations()
				if l.Score(x); l.(Counter).Operations() != before {
					t.Errorf("%s: Score counts", kind)
				}
			}
		}
	}
}

// TestKernelCounts: with S supports that share f of their n features with x and have
// the others for themselves, a score takes S·f products and S kernels, and n products
// and one kernel come for K(x, x); supports that share nothing cost nothing, and the
// degree changes no count of products between features.
func TestKernelCounts(t *testing.T) {
	for degree := 1; degree <= 4; degree++ {
		for _, supports := range []int{0, 1, 10, 300} {
			for _, shared := range []int{0, 1, 20} {
				const n = 30
				s := KernelSpec{Spec: perceptronSpec(ZeroUnsure), Kernel: Kernel{Kind: KernelPolynomial, Degree: degree}}
				l, err := NewKernel(s)
				if err != nil {
					t.Fatal(err)
				}
				draw := func(who int) (x Vector) {
					for i := range n {
						index := Index(10 + i)
						if i >= shared {
							index = Index(1000 + who*n + i)
						}
						x = append(x, Feature{index, 0.5})
					}
					return x
				}
				for who := range supports {
					x := draw(who)
					l.add(x, s.Kernel.place(x.SquaredNorm()), 1)
				}
				touched := uint64(supports)
				if shared == 0 {
					touched = 0
				}
				l.Learn(Lesson{draw(supports), Important, 1})
				want := Operations{Products: uint64(supports*shared + n), Kernels: touched + 1}
				if got := l.Operations(); got != want {
					t.Errorf("degree %d, %d supports, %d shared: %+v, want %+v", degree, supports, shared, got, want)
				}
			}
		}
	}
}

// TestDescentAndAveragedCounts: n a lesson and n a step for descent; averaging adds n a
// step to whatever learner it keeps the mean of. Neither depends on the number of
// weights.
func TestDescentAndAveragedCounts(t *testing.T) {
	rng := rand.New(rand.NewPCG(110, 110))
	for _, dims := range []int{5, 500} {
		for _, loss := range []Loss{LossPerceptron, LossHinge} {
			d, err := NewSGD(loss, 0.5, NewWeights(0))
			if err != nil {
				t.Fatal(err)
			}
			inner, err := NewSGD(loss, 0.5, NewWeights(0))
			if err != nil {
				t.Fatal(err)
			}
			a, pa := NewAveraged(inner), NewAveraged(mustLearn(t, DefaultSpec(), NewWeights(0)))
			var alone, mean, aggressive uint64
			steps := 0
			for range 200 {
				e := Lesson{randomVector(rng, dims, 6), Label(2*rng.IntN(2) - 1), 1}
				n := uint64(len(e.Vector))
				alone, mean, aggressive = alone+n, mean+n, aggressive+2*n
				if d.Learn(e).Step != 0 {
					alone += n
					steps++
				}
				if a.Learn(e).Step != 0 {
					mean += 2 * n
				}
				if pa.Learn(e).Step != 0 {
					aggressive += 2 * n
				}
				a.Score(e.Vector)
			}
			for _, c := range []struct {
				got  Operations
				want uint64
			}{{d.(Counter).Operations(), alone}, {a.Operations(), mean}, {pa.Operations(), aggressive}} {
				if c.got != (Operations{Products: c.want}) {
					t.Errorf("loss %d, %d coordinates: %+v, want %d products", loss, dims, c.got, c.want)
				}
			}
			if steps == 0 || steps == 200 {
				t.Errorf("%d steps in 200 lessons", steps)
			}
		}
	}
}

// TestModifiedCounts: 2n a lesson, n a step, and N at the start and each time that ‖w‖²,
// summed from w itself after every step, has halved; Algorithm 3 adds up its rounds.
func TestModifiedCounts(t *testing.T) {
	rng := rand.New(rand.NewPCG(111, 111))
	for _, dims := range []int{4, 40, 300} {
		lessons, star := halfspace(rng, dims, 50)
		coordinates := make([]Index, len(star))
		for i, f := range star {
			coordinates[i] = f.Index
		}
		m := NewModified(coordinates, 0.05, 5)
		n := uint64(dims) // the vectors are dense
		want, last, halved := n, m.Weights().Sorted().SquaredNorm(), 0
		for range 20 {
			for _, e := range lessons {
				want += 2 * n
				if !m.Learn(e.Vector, e.Label) {
					continue
				}
				want += n
				if now := m.Weights().Sorted().SquaredNorm(); now <= last/2 {
					want, last = want+n, now
					halved++
				}
			}
		}
		if got := m.Operations(); got != (Operations{Products: want}) {
			t.Errorf("%d coordinates: %+v, want %d products", dims, got, want)
		}
		if dims < 100 && halved == 0 {
			t.Errorf("%d coordinates: ‖w‖² never halved", dims)
		}
		var looked, steps uint64
		r, err := SolveModified(lessons, ModifiedOptions{Sigma: 0.3, Delta: 0.1, Seed: 3, Watch: func(_ Lesson, step bool) {
			looked++
			if step {
				steps++
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		least := uint64(r.Rounds)*n + looked*2*n + steps*n
		if over := r.Operations.Products - least; steps != uint64(r.Mistakes) || over%n != 0 || over > steps*n {
			t.Errorf("%d coordinates: %+v after %d lessons and %d steps, want %d products and N for each halving", dims, r.Operations, looked, steps, least)
		}
	}
}

// TestMoreMemoryIsNotMoreWork: the counts of a learner do not grow with the weights that
// it has gathered, those of a kernel learner grow with its supports.
func TestMoreMemoryIsNotMoreWork(t *testing.T) {
	x := Lesson{Vector{{10, 1}, {11, 1}}, Important, 1}
	cost := func(before int) (linear, kernel uint64) {
		l := mustLearn(t, perceptronSpec(ZeroUnsure), NewWeights(0))
		k, err := NewKernel(KernelSpec{Spec: perceptronSpec(ZeroUnsure), Kernel: Kernel{Kind: KernelPolynomial, Degree: 2}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range before {
			e := Lesson{Vector{{10, 1}, {Index(100 + i), 5}}, Label(1 - 2*(i%2)), 1}
			l.Learn(e)
			k.add(e.Vector, k.spec.Kernel.place(e.Vector.SquaredNorm()), 1)
		}
		a, b := l.(Counter).Operations().Products, k.Operations().Products
		l.Learn(x)
		k.Learn(x)
		return l.(Counter).Operations().Products - a, k.Operations().Products - b
	}
	smallLinear, smallKernel := cost(10)
	bigLinear, bigKernel := cost(1000)
	if smallLinear != bigLinear || smallKernel != 10+2 || bigKernel != 1000+2 {
		t.Errorf("after 10 and 1000 lessons: %d and %d products (linear), %d and %d (kernel)", smallLinear, bigLinear, smallKernel, bigKernel)
	}
}
