// SPDX-License-Identifier: Apache-2.0

// Long: one player of hostile streams and one slow twin serve all tests of the dual
// learner, its ceiling included.

package model

import (
	"math"
	"math/rand/v2"
	"testing"
)

// slowDual is the twin of Dual: w is summed from scratch whenever it is asked for.
type slowDual struct {
	spec     Spec
	start    Vector
	window   int
	lessons  []slowLesson // all of them, in the order of their numbers
	replayed uint64
	rise     float64 // of D by all steps
	fall     float64
}

type slowLesson struct {
	Lesson
	alpha float64
}

func (s *slowDual) weights() map[Index]float64 {
	w := map[Index]float64{}
	for _, f := range s.start {
		w[f.Index] += f.Value
	}
	for _, l := range s.lessons {
		for _, f := range l.Vector {
			w[f.Index] += l.alpha * float64(l.Label) * f.Value
		}
	}
	return w
}

func (s *slowDual) score(x Vector) (sum float64) {
	w := s.weights()
	for _, f := range x {
		sum += w[f.Index] * f.Value
	}
	return sum
}

// objective is D, as it is printed.
func (s *slowDual) objective() float64 {
	start, sum := map[Index]float64{}, map[Index]float64{}
	for _, f := range s.start {
		start[f.Index] = f.Value
	}
	total := 0.0
	for _, l := range s.lessons {
		y, at := float64(l.Label), 0.0
		for _, f := range l.Vector {
			at += start[f.Index] * f.Value
			sum[f.Index] += l.alpha * y * f.Value
		}
		total += l.alpha*(1-y*at) - l.alpha*l.alpha/(4*s.spec.Aggressiveness*l.Weight)
	}
	for _, v := range sum {
		total -= v * v / 2
	}
	return total
}

// climb sets the coefficient of one lesson where D is greatest.
func (s *slowDual) climb(n int) (score float64) {
	l := &s.lessons[n]
	score = s.score(l.Vector)
	norm, d := l.Vector.SquaredNorm(), 1/(2*s.spec.Aggressiveness*l.Weight)
	if norm == 0 {
		return score
	}
	before := s.objective()
	l.alpha = math.Max(0, l.alpha-(float64(l.Label)*score-1+l.alpha*d)/(norm+d))
	s.rise += s.objective() - before
	return score
}

func (s *slowDual) learn(e Lesson) float64 {
	s.lessons = append(s.lessons, slowLesson{Lesson: e})
	return s.climb(len(s.lessons) - 1)
}

func (s *slowDual) replay() {
	if n := min(s.window, len(s.lessons)); n > 0 {
		at := len(s.lessons) - n + ReplayPlace(s.replayed, n)
		if !Rests(s.lessons[at].Weight, s.replayed, n) {
			s.climb(at)
		}
	}
	s.replayed++
}

func (s *slowDual) relabel(n uint64, label Label, weight float64) (float64, bool) {
	if n >= uint64(len(s.lessons)) || n+uint64(s.window) < uint64(len(s.lessons)) {
		return 0, false
	}
	before := s.objective()
	l := &s.lessons[n]
	l.alpha = 0
	if lost := before - s.objective(); lost > 0 {
		s.fall += lost
	} else {
		s.rise -= lost
	}
	l.Label, l.Weight = label, weight
	return s.climb(int(n)), true
}

// TestTheDualLearnerIsItsTwin: it scores as the sum over all coefficients does, and D
// is what the steps have gained less what was lost with what was taken back.
func TestTheDualLearnerIsItsTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(120, 1))
	backs := 0
	for range 200 {
		spec := DefaultSpec()
		spec.Aggressiveness = []float64{0.1, 0.3, 1, 10}[rng.IntN(4)]
		start := randomVector(rng, 20, rng.IntN(9))
		w := NewWeights(0)
		for _, f := range start {
			w.Set(f.Index, f.Value)
		}
		window := rng.IntN(25)
		l, err := NewDual(spec, window, w)
		if err != nil {
			t.Fatal(err)
		}
		twin := &slowDual{spec: l.spec, start: start, window: window}
		gained := 0.0 // by mistakes
		for n := range 60 {
			e := Lesson{randomVector(rng, 20, 6), Label(2*rng.IntN(2) - 1), []float64{1, 1.0 / 3, 2.0 / 3}[rng.IntN(3)]}
			var u Update
			var want float64
			if rng.IntN(4) == 0 {
				at := uint64(rng.IntN(n + 3))
				var done, also bool
				u, done = l.Relabel(at, e.Label, e.Weight)
				if want, also = twin.relabel(at, e.Label, e.Weight); done != also {
					t.Fatalf("lesson %d of %d, window %d: relabelled is %v, the twin says %v", at, l.next, window, done, also)
				}
				if !done {
					continue
				}
				backs++
				e.Vector = twin.lessons[at].Vector
			} else {
				u, want = l.Learn(e), twin.learn(e)
			}
			if u.Mistake {
				gained += spec.FirstGain(e.Label, e.Weight, e.Vector.SquaredNorm(), u)
			}
			if math.Abs(u.Score-want) > 1e-9*(1+math.Abs(want)) {
				t.Fatalf("lesson %d has the score %v, the twin says %v", n, u.Score, want)
			}
			for range rng.IntN(5) {
				l.Replay(1)
				twin.replay()
			}
			if l.Replayed() != twin.replayed {
				t.Fatalf("%d steps of replay, the twin took %d", l.Replayed(), twin.replayed)
			}
			x := randomVector(rng, 20, 6)
			if got, want := l.Score(x), twin.score(x); math.Abs(got-want) > 1e-9*(1+math.Abs(want)) {
				t.Fatalf("a score is %v, the twin says %v", got, want)
			}
			tally := l.Tally()
			if math.Abs(gained-tally.Missed-tally.Alarmed) > 1e-9*(1+gained) {
				t.Fatalf("mistakes have gained %v, %+v", gained, tally)
			}
			if sum, want := gained+tally.Spare-tally.TakenBack, twin.objective(); math.Abs(sum-want) > 1e-6*(1+math.Abs(want)) {
				t.Fatalf("the steps have gained %v in all, D is %v", sum, want)
			}
			if math.Abs(gained+tally.Spare-twin.rise) > 1e-6*(1+twin.rise) || math.Abs(tally.TakenBack-twin.fall) > 1e-6*(1+twin.fall) {
				t.Fatalf("%+v and %v by mistakes; the twin has %v and %v", tally, gained, twin.rise, twin.fall)
			}
		}
	}
	if backs < 500 {
		t.Errorf("only %d lessons were taken back", backs)
	}
}

// TestTheFirstStepOfTheDualLearnerIsThatOfPA2, to the bit.
func TestTheFirstStepOfTheDualLearnerIsThatOfPA2(t *testing.T) {
	rng := rand.New(rand.NewPCG(121, 1))
	for range 200_000 {
		spec := DefaultSpec()
		spec.Zero = Zero(rng.IntN(3))
		spec.Aggressiveness = math.Exp(4 * rng.NormFloat64())
		label, weight, score := Label(2*rng.IntN(2)-1), math.Exp(rng.NormFloat64()), 2*rng.NormFloat64()
		norm := math.Exp(3 * rng.NormFloat64())
		if rng.IntN(50) == 0 {
			score, norm = 0, float64(rng.IntN(2))
		}
		got := spec.DualStep(label, weight, score, norm, 0)
		if want := spec.Update(label, weight, score, norm); got.Update != want || got.Alpha != math.Abs(want.Step) || got.Gain < 0 {
			t.Fatalf("%+v, PA-II has %+v", got, want)
		}
		if again := spec.FirstGain(label, weight, norm, got.Update); math.Abs(again-got.Gain) > 1e-12*got.Gain {
			t.Fatalf("the gain is %v, and %v once more", got.Gain, again)
		}
		if back, lost := spec.TakeBack(label, weight, score+got.Step*norm, norm, got.Alpha); back != -got.Step || math.Abs(lost-got.Gain) > 1e-9*(1+got.Gain) {
			t.Fatalf("a step of %v that gained %v was taken back by %v and cost %v", got.Step, got.Gain, back, lost)
		}
	}
}

// TestReplayReachesEveryLesson of a window of whatever size, each equally often; in a
// large one, every other step is on one of the last lessons.
func TestReplayReachesEveryLesson(t *testing.T) {
	for _, n := range []int{1, 2, 3, 199, 200} {
		reachesAll(t, n, n, func(k uint64) uint64 { return k })
	}
	for _, n := range []int{201, 616, 617, 618, 619, 1000, 1234, 10_000} {
		reachesAll(t, n, recentLessons, func(k uint64) uint64 { return 2 * k })
		reachesAll(t, n, n, func(k uint64) uint64 { return 2*k + 1 })
	}
}

// reachesAll checks the steps with those numbers: they are on the last size of n
// lessons, on each equally often.
func reachesAll(t *testing.T, n, size int, number func(k uint64) uint64) {
	t.Helper()
	seen := make([]int, n)
	for k := range 2 * size {
		seen[ReplayPlace(number(uint64(k+3*size)), n)]++
	}
	taken := make([]int, n)
	for k := range uint64(3 * restOfWhole * size) {
		if !Rests(1, number(k), n) {
			taken[ReplayPlace(number(k), n)]++
		}
		if Rests(0.5, number(k), n) {
			t.Fatalf("step %d of %d left a light lesson out", k, n)
		}
	}
	for place := range n {
		passes := 0
		if place >= n-size {
			passes = 1
		}
		if seen[place] != 2*passes || taken[place] != 3*passes {
			t.Fatalf("of the last %d of %d lessons, lesson %d was replayed %d times in two passes, as a whole one %d times in %d",
				size, n, place, seen[place], taken[place], 3*restOfWhole)
		}
	}
}

// dualPlay is a dual learner with what looks for its ceiling.
type dualPlay struct {
	t        *testing.T
	rng      *rand.Rand
	l        *Dual
	rules    *Rules
	h        *Hindsight
	rows     map[uint64]int // by the number of the lesson
	since    DualTally
	lessons  int
	mistakes uint64
	given    bool
	then     map[int]uint64 // mistakes at each stage
}

// begin begins with the learner as it is, as from a checkpoint.
func (p *dualPlay) begin() {
	p.h = NewHindsight(p.l.spec, p.l.w.Clone())
	p.h.Obey(p.rules)
	p.rows, p.since, p.lessons, p.mistakes, p.then = map[uint64]int{}, p.l.tally, 0, 0, map[int]uint64{}
	for i, k := range p.l.kept {
		p.rows[p.l.next-uint64(len(p.l.kept))+uint64(i)] = p.h.Window(k.Lesson, k.alpha)
	}
}

func (p *dualPlay) note(u Update) {
	p.lessons++
	if u.Mistake {
		p.mistakes++
	}
	if p.rng.IntN(4) == 0 {
		known := p.rng.IntN(4) > 0
		if known {
			p.h.Tally(p.since, p.l.tally)
		}
		p.h.Stage(known)
		p.then[p.lessons] = p.mistakes
	}
}

// against is the label that the learner gets wrong.
func (p *dualPlay) against(x Vector) Label {
	if p.l.Score(x) < 0 {
		return Important
	}
	return Ordinary
}

func (p *dualPlay) learn(e streamed) {
	if e.hostile {
		e.Label = p.against(e.Vector)
	}
	p.rows[p.l.next] = p.h.Add(e.Lesson)
	p.note(p.l.Learn(e.Lesson))
}

// relabel takes any lesson of the window back and learns it otherwise, most often
// against the learner.
func (p *dualPlay) relabel(weight float64) {
	if len(p.l.kept) == 0 {
		return
	}
	i := p.rng.IntN(len(p.l.kept))
	k := p.l.kept[i]
	label := -k.Label
	if p.rng.IntN(3) > 0 {
		label = p.against(k.Vector)
	}
	n := p.l.next - uint64(len(p.l.kept)) + uint64(i)
	p.h.Remove(p.rows[n])
	p.rows[n] = p.h.Add(Lesson{k.Vector, label, weight})
	u, ok := p.l.Relabel(n, label, weight)
	if !ok {
		p.t.Fatal("a lesson of the window could not be relabelled")
	}
	p.note(u)
}

// giveUp gives the smallest weights up.
func (p *dualPlay) giveUp() {
	gone := p.l.w.Smallest(1 + p.rng.IntN(10))
	for _, g := range gone {
		p.l.w.Delete(g.Index)
	}
	p.h.GiveUp(math.Sqrt(gone.SquaredNorm()) * (1 + 1e-12))
	p.rules.Project(p.l.w)
	p.given = true
}

func (p *dualPlay) ceiling() Ceiling {
	p.h.Tally(p.since, p.l.tally)
	c := p.h.Ceiling()
	switch {
	case c.Reason != "":
	case c.Mistakes < p.mistakes:
		p.t.Fatalf("%d mistakes in %d lessons of %+v, the ceiling is %+v", p.mistakes, p.lessons, p.l.spec, c)
	case c.Lessons != p.lessons || c.Mistakes > uint64(p.lessons) || c.Bound < float64(c.Mistakes) || c.Gap < 0:
		p.t.Fatalf("%+v is inconsistent for %d lessons", c, p.lessons)
	}
	stagesHold(p.t, p.h, p.then)
	return c
}

// TestNoStreamBreaksTheCeilingOfADualLearner: hostile streams, lessons that are taken
// back, replays, frozen lessons, a prior, checkpoints, rules, weights given up; at many
// points of each stream.
func TestNoStreamBreaksTheCeilingOfADualLearner(t *testing.T) {
	rng := rand.New(rand.NewPCG(122, 1))
	runs, none, useful, tight := 3000, 0, 0, 0
	if testing.Short() {
		runs = 500
	}
	for run := range runs {
		stream := randomStream(rng)
		spec := randomSpec(rng)
		spec.Kind, spec.Variant = KindDual, 2
		w := NewWeights(0)
		for _, f := range randomVector(rng, 20, rng.IntN(3)*5) {
			w.Set(f.Index, f.Value)
		}
		l, err := NewDual(spec, []int{0, 1, 5, 20, 1000}[rng.IntN(5)], w)
		if err != nil {
			t.Fatal(err)
		}
		p := &dualPlay{t: t, rng: rng, l: l}
		if run%3 == 0 {
			p.rules = mustRules(t, randomRules(rng, 1+rng.IntN(5), float64(run%2)))
			l.Obey(p.rules)
		}
		p.begin()
		from := rng.IntN(2 * (len(stream) + 1))
		back, gives, steps := rng.Float64()*rng.Float64(), rng.IntN(4) == 0, rng.IntN(8)
		for n, e := range stream {
			if n == from {
				p.begin()
			}
			p.learn(e)
			l.Replay(rng.IntN(steps + 1))
			if rng.Float64() < back {
				p.relabel(e.Weight)
			}
			if gives && rng.IntN(10) == 0 {
				p.giveUp()
			}
			if rng.IntN(25) == 0 {
				p.ceiling()
			}
		}
		c := p.ceiling()
		switch {
		case c.Reason != "":
			none++
		case c.Mistakes < uint64(p.lessons):
			useful++
			if c.Mistakes <= 2*p.mistakes {
				tight++
			}
		}
	}
	t.Logf("of %d streams %d had a ceiling below the lessons, %d of them at most twice the mistakes; %d had none", runs, useful, tight, none)
	if none > runs/6 || useful < runs/4 || tight < runs/5 {
		t.Errorf("the streams are too tame: of %d, %d had a ceiling below the lessons, %d at most twice the mistakes, %d had none", runs, useful, tight, none)
	}
}

// TestTheCeilingGrowsWithTheLessons: the stages of a long stream that can be learnt have
// ceilings that say something, and that a search for fewer lessons does not beat by far;
// known sums give lower ones.
func TestTheCeilingGrowsWithTheLessons(t *testing.T) {
	rng := rand.New(rand.NewPCG(77, 7))
	hidden := randomVector(rng, 30, 30)
	spec := DefaultSpec()
	spec.Kind, spec.Aggressiveness = KindDual, 0.3
	l, err := NewDual(spec, 200, NewWeights(0))
	if err != nil {
		t.Fatal(err)
	}
	whole, blind := NewHindsight(spec, nil), NewHindsight(spec, nil)
	var mistakes, searched []uint64
	early := NewHindsight(spec, nil)
	for n := 1; n <= 2000; n++ {
		e := Lesson{randomVector(rng, 30, 6), Important, 1}
		if scale := math.Sqrt(e.Vector.SquaredNorm()); scale > 0 {
			for i := range e.Vector {
				e.Vector[i].Value /= scale
			}
		}
		if Dot(hidden, e.Vector) < 0 {
			e.Label = Ordinary
		}
		u := l.Learn(e)
		for _, h := range []*Hindsight{whole, blind, early} {
			h.Add(e)
			h.Tally(DualTally{}, l.Tally())
		}
		last := uint64(0)
		if len(mistakes) > 0 {
			last = mistakes[len(mistakes)-1]
		}
		if u.Mistake {
			last++
		}
		mistakes = append(mistakes, last)
		if n%100 == 0 {
			whole.Stage(true)
			blind.Stage(false)
			searched = append(searched, early.Ceiling().Mistakes)
		}
		l.Replay(4)
	}
	for _, h := range []*Hindsight{whole, blind} {
		h.Tally(DualTally{}, l.Tally())
		h.Ceiling()
	}
	known, unknown := whole.Stages(), blind.Stages()
	for i, s := range known {
		if s.Mistakes < mistakes[s.Lessons-1] || s.Lessons != 100*(i+1) || s.Mistakes > unknown[i].Mistakes {
			t.Errorf("after %d lessons: %d mistakes, the ceiling is %d, without the sums %d", s.Lessons, mistakes[s.Lessons-1], s.Mistakes, unknown[i].Mistakes)
		}
		if i >= 5 && s.Mistakes > 2*searched[i] {
			t.Errorf("after %d lessons the ceiling is %d, and %d by a search at that time", s.Lessons, s.Mistakes, searched[i])
		}
	}
	t.Logf("%d mistakes; ceilings %v, by searches at the time %v", mistakes[len(mistakes)-1], known, searched)
	if n := known[len(known)-1].Mistakes; n >= 1000 {
		t.Errorf("the ceiling is %d of 2,000 lessons: the test has tested nothing", n)
	}
	whole.DropStages(func(lessons int) bool { return lessons%200 != 0 })
	if left := whole.Stages(); len(left) != 10 || left[0] != known[1] {
		t.Errorf("%v are left", left)
	}
	whole.Refuse("enough")
	if whole.Stages() != nil {
		t.Error("there are ceilings without a theorem")
	}
}

// objectiveOf is D over the window alone, w₀ being all that is frozen.
func objectiveOf(l *Dual) float64 {
	twin := &slowDual{spec: l.spec, start: l.w.Sorted()}
	frozen := l.w.Clone()
	for _, k := range l.kept {
		frozen.Add(-k.alpha*float64(k.Label), k.Vector)
		twin.lessons = append(twin.lessons, slowLesson{k.Lesson, k.alpha})
	}
	twin.start = frozen.Sorted()
	return twin.objective()
}

// TestTheDualCeilingIsTheTheorem: what is printed is the theorem for the u that was
// found, as it is printed, and no u nearby does better than by the gap.
func TestTheDualCeilingIsTheTheorem(t *testing.T) {
	rng := rand.New(rand.NewPCG(123, 1))
	for range 100 {
		spec := DefaultSpec()
		w := NewWeights(0)
		for _, f := range randomVector(rng, 15, 5) {
			w.Set(f.Index, f.Value)
		}
		l, err := NewDual(spec, 30, w)
		if err != nil {
			t.Fatal(err)
		}
		p := &dualPlay{t: t, rng: rng, l: l}
		p.begin()
		atStart := 0.0
		for n := range 90 {
			if n == 30 {
				p.begin()
				atStart = objectiveOf(l)
			}
			p.learn(streamed{Lesson: Lesson{randomVector(rng, 15, 6), Label(2*rng.IntN(2) - 1), 0.5}})
			l.Replay(2)
			if n%4 == 0 && n != 29 {
				p.relabel(1)
			}
		}
		c := p.ceiling()
		in := p.h.space.(*plain)
		value := func(u func(Index) float64) float64 {
			total := 0.0 // P(u) − D at the start + what was taken back − what is spare
			for _, name := range in.names.Sorted() {
				d := u(name.Index) - in.start[int(name.Value)]
				total += d * d / 2
			}
			for i := range p.h.rows {
				if r := &p.h.rows[i]; !r.gone {
					score, at := 0.0, in.rows[i].at
					for _, same := range in.rows[i].runs {
						for _, k := range at[:same.n] {
							for _, name := range in.names.Sorted() {
								if uint32(name.Value) == k {
									score += same.value * u(name.Index)
								}
							}
						}
						at = at[same.n:]
					}
					loss := math.Max(0, 1-r.label*score)
					total += r.cap * loss * loss
				}
			}
			return total + p.l.tally.TakenBack - p.since.TakenBack - (p.l.tally.Spare - p.since.Spare) - atStart
		}
		found := func(i Index) float64 { return in.best[in.name(i)] }
		least := math.Inf(1)
		for i := range p.h.rows {
			if r := &p.h.rows[i]; !r.early {
				least = math.Min(least, 1/(2*(r.norm+1/(2*r.cap))))
			}
		}
		if got := value(found) / least; c.Reason != "" || math.Abs(got-c.Bound) > 1e-6*c.Bound {
			t.Fatalf("the theorem says %v for this u, %+v was printed", got, c)
		}
		for range 3 {
			near := map[Index]float64{}
			if got := value(func(i Index) float64 {
				if _, ok := near[i]; !ok {
					near[i] = found(i) + 0.05*rng.NormFloat64()
				}
				return near[i]
			}) / least; got < c.Bound-c.Gap-1e-6*c.Bound {
				t.Fatalf("a u has the bound %v, below %+v by more than its gap", got, c)
			}
		}
	}
}

// TestSpareGainsLowerTheCeiling of plain PA, and by enough to be worth it.
func TestSpareGainsLowerTheCeiling(t *testing.T) {
	rng := rand.New(rand.NewPCG(124, 1))
	for _, variant := range []int{1, 2} {
		spec := DefaultSpec()
		spec.Kind, spec.Variant = KindPassiveAggressive, variant
		l := mustLearn(t, spec, NewWeights(0))
		with, without := NewHindsight(spec, nil), NewHindsight(spec, nil)
		hidden, mistakes := randomVector(rng, 40, 40), uint64(0)
		var tally DualTally
		for range 2000 {
			e := Lesson{randomVector(rng, 40, 9), Important, 1}
			if Dot(hidden, e.Vector) < 0 {
				e.Label = Ordinary
			}
			with.Add(e)
			without.Add(e)
			u := l.Learn(e)
			tally.Learnt(e.Label, u, spec.FirstGain(e.Label, e.Weight, e.Vector.SquaredNorm(), u))
			if u.Mistake {
				mistakes++
			}
		}
		with.Tally(DualTally{}, tally)
		a, b := with.Ceiling(), without.Ceiling()
		t.Logf("PA-%d: %d mistakes, at most %d, without the tally %d", variant, mistakes, a.Mistakes, b.Mistakes)
		if a.Reason != "" || a.Mistakes < mistakes || float64(a.Mistakes) > 0.9*float64(b.Mistakes) {
			t.Errorf("PA-%d: %d mistakes; %+v; without the tally %+v", variant, mistakes, a, b)
		}
	}
}

func TestNoCeilingOfADualLearnerWithoutItsSums(t *testing.T) {
	fine := Lesson{Vector{{5, 1}}, Important, 1}
	for name, spoil := range map[string]func(*Hindsight){
		"sums that fell":        func(h *Hindsight) { h.Tally(DualTally{Spare: 1}, DualTally{}) },
		"sums that are none":    func(h *Hindsight) { h.Tally(DualTally{}, DualTally{Spare: math.NaN()}) },
		"steps that were lost":  func(h *Hindsight) { h.Tally(DualTally{Steps: 2}, DualTally{Steps: 1}) },
		"other settings":        func(h *Hindsight) { h.Tally(DualTally{}, DualTally{Tuned: 1}) },
		"a window after all":    func(h *Hindsight) { h.Window(fine, 0.1) },
		"a bad coefficient":     func(h *Hindsight) { *h = *NewHindsight(DefaultSpec(), nil); h.Window(fine, -1); h.Add(fine) },
		"a window of a bad row": func(h *Hindsight) { *h = *NewHindsight(DefaultSpec(), nil); h.Window(Lesson{}, 1); h.Add(fine) },
		"a window of PA": func(h *Hindsight) {
			s := DefaultSpec()
			s.Kind = KindPassiveAggressive
			*h = *NewHindsight(s, nil)
			h.Window(fine, 0)
			h.Add(fine)
		},
		"PA that takes back": func(h *Hindsight) {
			s := DefaultSpec()
			s.Kind = KindPassiveAggressive
			*h = *NewHindsight(s, nil)
			h.Remove(h.Add(fine))
		},
	} {
		h := NewHindsight(DefaultSpec(), nil)
		h.Add(fine)
		spoil(h)
		if c := h.Ceiling(); c.Reason == "" || c.Mistakes != 0 {
			t.Errorf("%s: %+v", name, c)
		}
	}
}
