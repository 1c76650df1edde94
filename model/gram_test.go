// SPDX-License-Identifier: Apache-2.0

package model

import (
	"math"
	"math/rand/v2"
	"testing"
)

// kernelPlay has a kernel learner learn a stream, from a checkpoint on, and returns
// what looks back on it, and its mistakes since.
func kernelPlay(t testing.TB, s KernelSpec, lessons []Lesson, before int) (h *Hindsight, mistakes uint64) {
	t.Helper()
	l := mustKernel(t, s)
	for _, e := range lessons[:before] {
		l.Learn(e)
	}
	h = NewKernelHindsight(s, l)
	l.TakeDisplaced()
	var tally DualTally
	for _, e := range lessons[before:] {
		u := l.Learn(e)
		if u.Mistake {
			mistakes++
		}
		if s.Spec.Passive() {
			tally.Learnt(e.Label, u, s.Spec.FirstGain(e.Label, e.Weight, l.Normal(e.Vector), u))
		}
		h.Add(e)
	}
	h.Tally(DualTally{}, tally)
	h.Displace(l.TakeDisplaced())
	h.Reached(l.Tally().Reach)
	return h, mistakes
}

// hostileKernelStream draws lessons that are meant to go wrong: short and long
// vectors, the same again with the other label, weights of all sizes.
func hostileKernelStream(rng *rand.Rand, n int) (out []Lesson) {
	scale := math.Pow(10, 4*rng.Float64()-2)
	for i := range n {
		e := Lesson{randomVector(rng, 4+rng.IntN(20), 1+rng.IntN(6)), Label(2*rng.IntN(2) - 1), 1}
		for j := range e.Vector {
			e.Vector[j].Value *= scale
		}
		switch rng.IntN(8) {
		case 0:
			e.Vector = nil
		case 1, 2:
			if i > 0 {
				e.Vector, e.Label = out[rng.IntN(i)].Vector, -e.Label
			}
		case 3:
			e.Weight = math.Pow(10, 3*rng.Float64()-1.5)
		}
		if len(e.Vector) > 1 && e.Vector[1].Value > 0 && rng.IntN(3) > 0 {
			e.Label = Important
		}
		out = append(out, e)
	}
	return out
}

// TestNoStreamBreaksAKernelsCeiling: whatever is learnt, with every kernel, update
// rule and way to forget, from a checkpoint or not.
func TestNoStreamBreaksAKernelsCeiling(t *testing.T) {
	rng := rand.New(rand.NewPCG(100, 100))
	telling, displaced, began, refused := 0, 0, 0, 0
	for round := range 500 {
		s := KernelSpec{Spec: randomSpec(rng)}
		s.Spec.Zero = ZeroUnsure
		s.Kernel = kernels()[rng.IntN(len(kernels()))]
		if rng.IntN(2) == 0 {
			s.Budget = 1 + rng.IntN(25)
		}
		var lessons []Lesson
		if rng.IntN(3) == 0 {
			lessons = hostileKernelStream(rng, 90)
		} else {
			lessons = kernelStream(rng, 90)
		}
		before := 0
		if rng.IntN(3) == 0 {
			before = rng.IntN(40)
		}
		h, mistakes := kernelPlay(t, s, lessons, before)
		c := h.Ceiling()
		if c.Reason != "" {
			if c.Reason != "the bound is too great for a number" || s.Kernel < 5 {
				t.Fatalf("round %d, %+v: %s", round, s, c.Reason)
			}
			refused++
			continue
		}
		if mistakes > c.Mistakes || c.Bound < float64(c.Mistakes) || c.Gap < 0 {
			t.Fatalf("round %d, %+v: %d mistakes of %d, %+v", round, s, mistakes, len(lessons)-before, c)
		}
		if c.Mistakes < uint64(len(lessons)-before) {
			telling++
		}
		if h.displaced > 0 {
			displaced++
		}
		if before > 0 && h.startNorm > 0 {
			began++
		}
	}
	if telling < 60 || displaced < 60 || began < 60 || refused > 25 {
		t.Errorf("of 500 ceilings %d say anything, %d have a displacement, %d a start, %d are too great", telling, displaced, began, refused)
	}
}

// TestTheKernelSearchIsThatOverTheMap: for d = 2 the bound, its gap apart, is that of
// the linear search over the map, and so are R, D and what lies between.
func TestTheKernelSearchIsThatOverTheMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(101, 101))
	closed := 0
	for round := range 60 {
		s := KernelSpec{Spec: randomSpec(rng), Kernel: Kernel(2)}
		lessons := kernelStream(rng, 70)
		before := 30 * (round % 2)
		w := NewWeights(0)
		mapped := mustLearn(t, s.Spec, w)
		for _, e := range lessons[:before] {
			mapped.Learn(Lesson{squares(e.Vector), e.Label, e.Weight})
		}
		h, _ := kernelPlay(t, s, lessons, before)
		h.Tally(DualTally{}, DualTally{}) // as the linear one
		flat := NewHindsight(s.Spec, w)
		for _, e := range lessons[before:] {
			flat.Add(Lesson{squares(e.Vector), e.Label, e.Weight})
		}
		a, b := h.Ceiling(), flat.Ceiling()
		if a.Reason != "" || b.Reason != "" {
			t.Fatal(a.Reason, b.Reason)
		}
		slack := a.Gap + b.Gap + 1e-6*(1+b.Bound)
		if math.Abs(a.Bound-b.Bound) > slack || math.Abs(a.Radius-b.Radius) > 1e-9*b.Radius || a.Lessons != b.Lessons {
			t.Errorf("%+v: %+v, over the map %+v", s.Spec, a, b)
		}
		if a.Gap <= 2*closeEnough*a.Bound {
			closed++
		}
		if d := float64(a.Mistakes) - float64(b.Mistakes); math.Abs(d) > 2+0.02*float64(b.Mistakes) {
			t.Errorf("%+v: ceiling %d, over the map %d", s.Spec, a.Mistakes, b.Mistakes)
		}
	}
	if closed < 50 {
		t.Errorf("the gap was closed in %d of 60 searches", closed)
	}
}

// TestTheGramCacheChangesNothing: with no room for rows, or with room for a few, the
// search goes the same way; with little work allowed it ends early, and the ceiling
// holds and says by its gap how far it came.
func TestTheGramCacheChangesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(102, 102))
	s := KernelSpec{Spec: DefaultSpec(), Kernel: Kernel(2)}
	lessons := kernelStream(rng, 150)
	ask := func(most, work int) (Ceiling, uint64, *gram) {
		h, mistakes := kernelPlay(t, s, lessons, 0)
		g := h.space.(*gram)
		g.most, g.work = most, work
		c := h.Ceiling()
		if g.held > most {
			t.Errorf("%d bytes of rows, %d are allowed", g.held, most)
		}
		return c, mistakes, g
	}
	full, mistakes, g := ask(1<<30, 1<<40)
	if g.held == 0 || full.Gap > 2e-3*full.Bound {
		t.Fatalf("%d bytes of rows; %+v", g.held, full)
	}
	for _, most := range []int{0, 8 * 150 * 7} {
		if c, _, _ := ask(most, 1<<40); c != full {
			t.Errorf("%d bytes of rows: %+v, with all of them %+v", most, c, full)
		}
	}
	c, _, _ := ask(0, 150)
	if c.Mistakes < mistakes || c.Gap <= full.Gap || c.Reason != "" {
		t.Errorf("with little work: %+v, with all of it %+v; %d mistakes", c, full, mistakes)
	}
}

// TestKernelCeilingsComeInPieces: asked for between lessons, it holds each time, and
// in the end is about what it is when asked for once.
func TestKernelCeilingsComeInPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(103, 103))
	s := KernelSpec{Spec: DefaultSpec(), Kernel: Kernel(3)}
	lessons := kernelStream(rng, 160)
	once, _ := kernelPlay(t, s, lessons, 0)
	once.Tally(DualTally{}, DualTally{})
	l := mustKernel(t, s)
	h, mistakes, then := NewKernelHindsight(s, nil), uint64(0), map[int]uint64{}
	var c Ceiling
	for n, e := range lessons {
		if l.Learn(e).Mistake {
			mistakes++
		}
		h.Add(e)
		h.Reached(l.Tally().Reach)
		if n%5 == 0 {
			h.Stage(false)
			then[n+1] = mistakes
		}
		if n%20 == 19 {
			if c = h.Ceiling(); c.Reason != "" || c.Mistakes < mistakes {
				t.Fatalf("after %d: %d mistakes, %+v", n+1, mistakes, c)
			}
			if stagesHold(t, h, then); len(h.Stages()) != len(then) {
				t.Fatalf("%d stages, want %d", len(h.Stages()), len(then))
			}
		}
	}
	if want := once.Ceiling(); math.Abs(c.Bound-want.Bound) > c.Gap+want.Gap+1e-6 {
		t.Errorf("%+v, asked for once %+v", c, want)
	}
	if h.Bytes() < 8*160 {
		t.Errorf("%d bytes", h.Bytes())
	}
}

func TestWhereAKernelHasNoCeiling(t *testing.T) {
	s := KernelSpec{Spec: DefaultSpec(), Kernel: Kernel(16)}
	fine := Lesson{Vector{{5, 1}}, Important, 1}
	for name, spoil := range map[string]func(*Hindsight){
		"never told":  func(h *Hindsight) {},
		"told NaN":    func(h *Hindsight) { h.Reached(math.NaN()) },
		"told ∞":      func(h *Hindsight) { h.Reached(math.Inf(1)) },
		"too far":     func(h *Hindsight) { h.Reached(1); h.Displace(math.Inf(1)) },
		"overflowing": func(h *Hindsight) { h.Reached(1); h.Add(Lesson{Vector{{5, 1e30}}, Important, 1}) },
	} {
		h := NewKernelHindsight(s, nil)
		h.Add(fine)
		spoil(h)
		if c := h.Ceiling(); c.Reason == "" || c.Mistakes != 0 {
			t.Errorf("%s: %+v", name, c)
		}
	}
	s.Kernel = 0
	if c := NewKernelHindsight(s, nil).Ceiling(); c.Reason == "" {
		t.Errorf("of no kernel: %+v", c)
	}
}

// FuzzKernelCeiling: no bytes make a stream whose mistakes are above its ceiling.
func FuzzKernelCeiling(f *testing.F) {
	f.Add([]byte("the quick brown fox jumps over the lazy dog"), uint8(0), uint8(3))
	f.Add([]byte{0, 255, 1, 254, 2, 253, 3, 252, 4, 251, 128, 127, 9, 9, 9, 9}, uint8(7), uint8(1))
	f.Add([]byte("700"), uint8(7), uint8(1)) // ends in the midst of a lesson
	f.Fuzz(func(t *testing.T, data []byte, kind, budget uint8) {
		rng := rand.New(rand.NewPCG(uint64(kind), uint64(budget)))
		s := KernelSpec{Spec: randomSpec(rng), Budget: int(budget % 20)}
		s.Kernel = kernels()[int(kind)%len(kernels())]
		var lessons []Lesson
		for len(data) >= 3 && len(lessons) < 60 {
			e := Lesson{nil, Label(2*int8(data[0]&1) - 1), 1 + float64(data[0]>>4)}
			n := int(data[0] >> 1 & 3)
			for i := 0; i < n && i+2 < len(data); i++ {
				e.Vector = append(e.Vector, Feature{Index(2 + 3*i + int(data[1+i]&1)), float64(int8(data[2+i])) / 16})
			}
			lessons, data = append(lessons, e), data[min(1+n, len(data)):]
		}
		h, mistakes := kernelPlay(t, s, lessons, len(lessons)/4)
		if c := h.Ceiling(); c.Reason == "" && c.Mistakes < mistakes {
			t.Fatalf("%+v: %d mistakes, %+v", s, mistakes, c)
		}
	})
}

// TestAScoreComesApart: the weights of Weigh add up to the score; for d = 1 they are
// those of Alone, which are those of the linear learner over the lifted vector.
func TestAScoreComesApart(t *testing.T) {
	for _, k := range kernels() {
		rng := rand.New(rand.NewPCG(104, 104))
		l := mustKernel(t, KernelSpec{Spec: DefaultSpec(), Kernel: k})
		w := NewWeights(0)
		plain := mustLearn(t, DefaultSpec(), w)
		for _, e := range kernelStream(rng, 120) {
			x := lift(e.Vector, 0.3)
			got, rest := l.Weigh(x)
			if score := l.Score(x); math.Abs(got.Dot(x)-score) > 1e-9*(1+math.Abs(score)) || rest != 0 {
				t.Fatalf("%+v: the parts add up to %v, the score is %v", k, got.Dot(x), score)
			}
			bare, rest := l.Weigh(e.Vector)
			if sum := bare.Dot(e.Vector) + rest; math.Abs(sum-l.Score(x)) > 1e-9*(1+math.Abs(sum)) {
				t.Fatalf("%+v: the parts and the rest add up to %v, the score is %v", k, sum, l.Score(x))
			}
			l.Learn(e)
			plain.Learn(Lesson{lift(e.Vector, 1), e.Label, e.Weight})
		}
		alone := l.Alone()
		if k == 1 {
			for _, f := range w.Sorted() {
				if got := alone.Get(f.Index); math.Abs(got-f.Value) > 1e-9 {
					t.Errorf("feature %v weighs %v, the linear learner's %v", f.Index, got, f.Value)
				}
			}
		}
		// What a short message with one word scores is the constant and the word's own
		// weight, the shorter the better.
		for _, f := range alone.Sorted()[1:20] {
			const short = 1e-6
			x := Vector{{f.Index, short}}
			want := alone.Get(Affine) + short*f.Value
			if got := l.Score(x); math.Abs(got-want) > 1e-9*(1+math.Abs(want)) {
				t.Errorf("%+v: a message of one word scores %v, want %v", k, got, want)
			}
		}
	}
}
