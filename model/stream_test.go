// SPDX-License-Identifier: Apache-2.0

package model

import (
	"math"
	"math/rand/v2"
	"testing"
)

// streamed is a lesson of a stream. The label of a hostile one is to be what the
// learner gets wrong.
type streamed struct {
	Lesson
	hostile bool
}

// randomStream draws lessons of one of many kinds: separable or not, with flipped,
// random or contradicting labels, with repeated vectors, with norms and weights
// that are alike, mixed, huge or tiny.
func randomStream(rng *rand.Rand) []streamed {
	dims, most := 1+rng.IntN(30), 1+rng.IntN(8)
	u := randomVector(rng, dims, dims)
	scale := math.Pow(10, float64(rng.IntN(9)-4))
	if rng.IntN(4) == 0 {
		scale = math.Pow(10, float64(rng.IntN(280)-140))
	}
	spread, noise, hostile := rng.IntN(3), rng.Float64()*rng.Float64(), 0.0
	if rng.IntN(3) == 0 {
		hostile = rng.Float64()
	}
	weights := [][]float64{{1}, {1, 1.0 / 3}, {0.01, 1, 5}}[rng.IntN(3)]
	margin := float64(rng.IntN(2)) * rng.Float64() * scale
	var out []streamed
	for range 1 + rng.IntN(120) {
		if len(out) > 0 && rng.IntN(5) == 0 {
			again := out[rng.IntN(len(out))] // once more, or its opposite
			if rng.IntN(3) == 0 {
				again.Label = -again.Label
			}
			out = append(out, again)
			continue
		}
		x := randomVector(rng, dims, most)
		if rng.IntN(20) == 0 {
			x = nil
		}
		s := scale * math.Pow(10, float64(spread)*(rng.Float64()*4-2))
		for i := range x {
			x[i].Value *= s
		}
		if m := Dot(u, x); math.Abs(m) < margin && rng.IntN(10) > 0 {
			continue
		}
		e := streamed{Lesson{Vector: x, Label: Important, Weight: weights[rng.IntN(len(weights))]}, rng.Float64() < hostile}
		if Dot(u, x) < 0 {
			e.Label = Ordinary
		}
		if rng.Float64() < noise {
			e.Label = Label(2*rng.IntN(2) - 1)
		}
		out = append(out, e)
	}
	return out
}

func randomSpec(rng *rand.Rand) Spec {
	s := DefaultSpec()
	s.Kind, s.Zero, s.Variant = Kinds()[rng.IntN(3)], Zero(rng.IntN(3)), 1+rng.IntN(2)
	s.Margin = []float64{0, 0.5, 1, 20}[rng.IntN(4)]
	s.Aggressiveness = []float64{0.001, 0.1, 0.3, 1, 100}[rng.IntN(5)]
	return s
}

// played is a stream and what a learner made of it.
type played struct {
	lessons  []Lesson
	mistakes uint64 // for perceptron and margin, updates count as well
	start    Vector
	moved    float64 // D
}

// play teaches a learner a stream, some of it before the start that the ceiling
// is about, and displaces its weights now and then. It fails when at any moment
// the ceiling is below the mistakes.
func play(t *testing.T, rng *rand.Rand, spec Spec, stream []streamed, from int, displace float64) (played, Ceiling) {
	t.Helper()
	return playObeying(t, rng, spec, stream, from, displace, nil)
}

// playObeying is play for a learner that is kept to rules.
func playObeying(t *testing.T, rng *rand.Rand, spec Spec, stream []streamed, from int, displace float64, rules *Rules) (played, Ceiling) {
	t.Helper()
	w := NewWeights(0)
	rules.Project(w)
	l, err := NewLinear(spec, w)
	if err != nil {
		t.Fatal(err)
	}
	var p played
	var tally DualTally
	h := NewHindsight(spec, nil)
	h.Obey(rules)
	then := map[int]uint64{} // mistakes at each stage
	for n, e := range stream {
		if n == from {
			h = NewHindsight(spec, w)
			h.Obey(rules)
			p, tally = played{start: w.Sorted()}, DualTally{}
			then = map[int]uint64{}
		}
		if score := l.Score(e.Vector); e.hostile {
			e.Label = Ordinary
			if score < 0 {
				e.Label = Important
			}
		}
		p.lessons = append(p.lessons, e.Lesson)
		h.Add(e.Lesson)
		u := l.Learn(e.Lesson)
		projected := rules.Project(w)
		if spec.Passive() {
			tally.Learnt(e.Label, u, spec.FirstGain(e.Label, e.Weight, e.Vector.SquaredNorm(), u))
			h.Tally(DualTally{}, tally)
		}
		if !spec.Passive() && projected > 0 {
			h.Displace(projected)
			p.moved += projected
		}
		if u.Mistake || u.Step != 0 && !spec.Passive() {
			p.mistakes++
		}
		if rng.IntN(4) == 0 {
			h.Stage(spec.Passive() && rng.IntN(4) > 0)
			then[len(p.lessons)] = p.mistakes
		}
		if displace > 0 && rng.Float64() < displace {
			d := displaceWeights(rng, w)
			h.Displace(d)
			p.moved += d
		}
		if rng.IntN(60) == 0 {
			if c := h.Ceiling(); c.Reason == "" && c.Mistakes < p.mistakes {
				t.Fatalf("after %d lessons of %+v: %d mistakes, the ceiling is %+v", n+1, spec, p.mistakes, c)
			}
			stagesHold(t, h, then)
		}
	}
	c := h.Ceiling()
	if c.Reason == "" && c.Mistakes < p.mistakes {
		t.Fatalf("%+v: %d mistakes, the ceiling is %+v", spec, p.mistakes, c)
	}
	if stagesHold(t, h, then); c.Reason == "" && len(h.Stages()) != len(then) {
		t.Fatalf("%d stages, want %d", len(h.Stages()), len(then))
	}
	return p, c
}

// stagesHold compares the ceilings of stages with the mistakes that were made by then,
// and with each other.
func stagesHold(t *testing.T, h *Hindsight, mistakes map[int]uint64) {
	t.Helper()
	last := StageCeiling{}
	for _, s := range h.Stages() {
		if s.Mistakes < mistakes[s.Lessons] || s.Mistakes > last.Mistakes+uint64(s.Lessons-last.Lessons) || s.Mistakes < last.Mistakes || s.Lessons <= last.Lessons {
			t.Fatalf("after %d lessons there were %d mistakes; the ceiling is %d, %d lessons before it was %d", s.Lessons, mistakes[s.Lessons], s.Mistakes, s.Lessons-last.Lessons, last.Mistakes)
		}
		last = s
	}
}

// displaceWeights gives some weights up, or pushes w anywhere, and returns how far.
func displaceWeights(rng *rand.Rand, w *Weights) float64 {
	if rng.IntN(3) == 0 {
		push := randomVector(rng, 20, 9)
		w.Add(1, push)
		return math.Sqrt(push.SquaredNorm())
	}
	gone := w.Smallest(1 + rng.IntN(40))
	for _, g := range gone {
		w.Delete(g.Index)
	}
	return math.Sqrt(gone.SquaredNorm())
}

// FuzzCeiling reads learner and stream from the fuzzer's bytes.
func FuzzCeiling(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	f.Add([]byte{2, 1, 1, 1, 255, 254, 3, 128, 127, 0, 0, 0, 9, 9, 9, 9, 9})
	f.Add([]byte{2, 0, 1, 0, 118, 7, 0, 0, 3, 1, 3, 200, 100, 50, 2, 2, 60, 150, 1, 1, 255, 0, 3, 3, 9, 99, 199, 249})
	f.Fuzz(func(t *testing.T, data []byte) {
		next := func() int {
			if len(data) == 0 {
				return 0
			}
			b := data[0]
			data = data[1:]
			return int(b)
		}
		spec := DefaultSpec()
		spec.Kind, spec.Zero, spec.Variant = Kinds()[next()%3], Zero(next()%3), 1+next()%2
		spec.Margin = float64(next()) / 64
		spec.Aggressiveness = math.Pow(10, float64(next()-128)/20)
		rng := rand.New(rand.NewPCG(uint64(next()), 1))
		from, displace, ruled := next(), float64(next()%4)/4, next()%4
		var stream []streamed
		for len(data) > 0 {
			head := next()
			e := streamed{Lesson{Label: Label(2*(head%2) - 1), Weight: []float64{1, 1.0 / 3, 1e-3, 40}[head/2%4]}, head/8%4 == 0}
			scale := []float64{1, 1, 1e-8, 1e8, 1e-90, 1e90, 1e-160, 1e150}[head/32]
			for i := range 1 + next()%4 {
				e.Vector = append(e.Vector, Feature{Index(2 + i), float64(next()-128) * scale})
			}
			stream = append(stream, e)
		}
		if from >= len(stream) {
			from = 0
		}
		var rules *Rules
		if ruled > 0 {
			var list []Rule
			for i := range ruled {
				list = append(list, Rule{Index(2 + i), []float64{1, 0.6, 1e-6, 1e6}[ruled%4], []float64{0.2, 0, 1e3, 1}[(ruled+i)%4], Label(2*(i*ruled%2) - 1)})
			}
			rules = mustRules(t, list)
		}
		playObeying(t, rng, spec, stream, from, displace, rules)
	})
}
