// SPDX-License-Identifier: Apache-2.0

package model

import (
	"math/rand/v2"
	"testing"
)

// lessonsLikeMail draws lessons of about 300 features, labelled by a hidden w but
// for some noise.
func lessonsLikeMail(n int) []Lesson {
	rng := rand.New(rand.NewPCG(100, 100))
	hidden := NewWeights(0)
	var out []Lesson
	for range n {
		x := mailLike(rng, 100, 20_000, 250)
		for _, f := range x {
			if hidden.Get(f.Index) == 0 {
				hidden.Set(f.Index, rng.NormFloat64())
			}
		}
		e := Lesson{x, Important, 1}
		if hidden.Dot(x)+rng.NormFloat64() < 0 {
			e.Label = Ordinary
		}
		out = append(out, e)
	}
	return out
}

func BenchmarkLearn(b *testing.B) {
	lessons := lessonsLikeMail(500)
	learners := map[string]func() func(Lesson){}
	for _, kind := range Kinds() {
		learners[string(kind)] = func() func(Lesson) {
			s := DefaultSpec()
			s.Kind = kind
			l, err := NewLinear(s, NewWeights(0))
			if err != nil {
				b.Fatal(err)
			}
			return func(e Lesson) { l.Learn(e) }
		}
	}
	learners["obedient"] = func() func(Lesson) {
		var list []Rule
		for _, f := range lessons[0].Vector[1:6] {
			list = append(list, Rule{Index: f.Index, Value: 0.5, Affine: 0.1, Label: Important})
		}
		rules, err := NewRules(list)
		if err != nil {
			b.Fatal(err)
		}
		w := NewWeights(0)
		l, err := NewLinear(DefaultSpec(), w)
		if err != nil {
			b.Fatal(err)
		}
		return func(e Lesson) {
			l.Learn(e)
			rules.Project(w)
		}
	}
	learners["kernel"] = func() func(Lesson) {
		l, err := NewKernel(KernelSpec{Spec: perceptronSpec(ZeroUnsure), Kernel: 2, Budget: 50})
		if err != nil {
			b.Fatal(err)
		}
		return func(e Lesson) { l.Learn(e) }
	}
	for name, begin := range learners {
		b.Run(name, func(b *testing.B) {
			learn := begin()
			for n := 0; b.Loop(); n++ {
				learn(lessons[n%len(lessons)])
			}
		})
	}
}
