package model

import (
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
				if kind == KindPassiveAggressive {
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
