// SPDX-License-Identifier: Apache-2.0

package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func mustRules(t testing.TB, list []Rule) *Rules {
	t.Helper()
	r, err := NewRules(list)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// randomRules draws rules for some of the features that randomStream uses.
func randomRules(rng *rand.Rand, most int, spread float64) []Rule {
	var list []Rule
	affine := 0.3 * math.Pow(10, spread*(rng.Float64()-0.5))
	if rng.IntN(6) == 0 {
		affine = 0
	}
	for i := 2; i < 40; i++ { // 0 and 1 share an index with 2 and 3
		if len(list) == most {
			break
		}
		if rng.IntN(3) > 0 {
			continue
		}
		rule := Rule{FoldIndex(uint64(i)), 0.6 * math.Pow(10, spread*(rng.Float64()-0.5)), affine, Important}
		if rng.IntN(2) == 0 {
			rule.Label = Ordinary
		}
		if rng.IntN(4) == 0 {
			rule.Affine *= rng.Float64()
		}
		list = append(list, rule)
	}
	return list
}

func randomWeights(rng *rand.Rand, scale float64) *Weights {
	w := NewWeights(0)
	for i := range 40 {
		if rng.IntN(4) > 0 {
			w.Set(FoldIndex(uint64(i)), scale*rng.NormFloat64())
		}
	}
	w.Set(Affine, scale*rng.NormFloat64())
	return w
}

// TestProjectionIsTheNearestPointThatObeys: it obeys, and the way there leads away
// from every other point that obeys, which only the nearest does (the projection
// theorem for convex sets).
func TestProjectionIsTheNearestPointThatObeys(t *testing.T) {
	rng := rand.New(rand.NewPCG(20, 1))
	moved := 0
	for run := range 3000 {
		rules := mustRules(t, randomRules(rng, 1+rng.IntN(12), 2))
		w := randomWeights(rng, math.Pow(10, rng.Float64()*4-2))
		before := w.Clone()
		far := rules.Project(w)
		if far > 0 {
			moved++
		}
		for _, rule := range rules.list {
			if y := float64(rule.Label) * w.Dot(rule.Prototype()); y < RuleMargin {
				t.Fatalf("run %d: a rule has the margin %v", run, y)
			}
		}
		step, size := map[Index]float64{}, 0.0
		for i := range Index(60) {
			if d := w.Get(i) - before.Get(i); i > 0 && d != 0 {
				step[i] = d
				size += d * d
			}
		}
		if size = math.Sqrt(size); size > far || far > size*(1+1e-12) {
			t.Fatalf("run %d: it moved by %v and says %v", run, size, far)
		}
		for i := range step {
			if !slices.ContainsFunc(rules.Touched(nil), func(f Feature) bool { return f.Index == i }) {
				t.Fatalf("run %d: feature %d moved, which Touched does not name", run, i)
			}
		}
		for range 5 {
			// Another point that obeys, near or far.
			z := w.Clone()
			for i := range Index(45) {
				if i > 0 {
					z.Set(i, z.Get(i)+rng.NormFloat64()*math.Pow(10, rng.Float64()*6-4))
				}
			}
			twin(rules, z)
			lead, apart := 0.0, 0.0
			for i := range Index(60) {
				if i > 0 {
					d := z.Get(i) - w.Get(i)
					lead += step[i] * d
					apart += d * d
				}
			}
			if lead < -1e-9*(1+size*math.Sqrt(apart)) {
				t.Fatalf("run %d: a point that obeys lies back by %v", run, lead)
			}
		}
		if again := w.Clone(); rules.Project(again) != 0 {
			t.Fatalf("run %d: projected again it moves", run)
		}
	}
	if moved < 2000 {
		t.Fatalf("only %d of 3000 moved", moved)
	}
}

// twin makes w obey by giving each broken rule's own feature what it lacks.
func twin(r *Rules, w *Weights) {
	for _, rule := range r.list {
		for range 60 {
			lack := RuleMargin - float64(rule.Label)*w.Dot(rule.Prototype())
			if lack <= 0 {
				break
			}
			w.Set(rule.Index, w.Get(rule.Index)+float64(rule.Label)*lack/rule.Value*(1+1e-15))
		}
	}
}

// TestTheProjectionOfOneRuleIsItsFormula: from zero, w becomes the prototype by its
// squared norm.
func TestTheProjectionOfOneRuleIsItsFormula(t *testing.T) {
	for _, label := range []Label{Important, Ordinary} {
		rule := Rule{Index(9), 0.6, 0.2, label}
		w := NewWeights(0)
		far := mustRules(t, []Rule{rule}).Project(w)
		if y, norm := float64(label), 0.4; math.Abs(w.Get(9)-y*0.6/norm) > 1e-12 || math.Abs(w.Get(Affine)-y*0.2/norm) > 1e-12 || math.Abs(far-1/math.Sqrt(norm)) > 1e-12 {
			t.Errorf("%v: %v, %v after %v", label, w.Get(9), w.Get(Affine), far)
		}
	}
}

// TestNoStreamBreaksTheCeilingOfAnObedientLearner: with rules of any kind, wise or
// not, and displacements as well.
func TestNoStreamBreaksTheCeilingOfAnObedientLearner(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 1))
	runs, none, useful, ruled := 2500, 0, 0, 0
	if testing.Short() {
		runs = 400
	}
	for run := range runs {
		stream := randomStream(rng)
		from := 0
		if len(stream) > 0 && rng.IntN(2) == 0 {
			from = rng.IntN(len(stream))
		}
		spec := randomSpec(rng)
		p, c := playObeying(t, rng, spec, stream, from, max(0, rng.Float64()-0.7), mustRules(t, randomRules(rng, 1+rng.IntN(6), float64(run%3))))
		switch {
		case c.Reason != "":
			none++
		case c.Mistakes < uint64(len(p.lessons)):
			useful++
		}
		if c.Rules > 0 {
			ruled++
		}
		if c.Reason == "" && (c.Bound < float64(c.Mistakes) || c.Gap < 0 || c.Rules > 0 && !spec.Passive()) {
			t.Fatalf("%+v is inconsistent for %d lessons", c, len(p.lessons))
		}
	}
	t.Logf("of %d streams %d had a ceiling below the lessons, %d by rules, %d had none", runs, useful, ruled, none)
	if none > runs/6 || useful < runs/8 || ruled < runs/5 {
		t.Errorf("the streams are too tame: of %d, %d had a ceiling below the lessons, %d by rules, %d had none", runs, useful, ruled, none)
	}
}

// TestTheCeilingWithRulesIsOfAUThatObeys: no u that obeys has a lower bound than
// the printed one less its gap; a u that does not may, and is not used.
func TestTheCeilingWithRulesIsOfAUThatObeys(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 1))
	closed, closedFree, stricter := 0, 0, 0
	const runs = 150
	for range runs {
		spec := randomSpec(rng)
		spec.Kind = KindPassiveAggressive
		rules := mustRules(t, randomRules(rng, 4, 0.5))
		h, free := NewHindsight(spec, nil), NewHindsight(spec, nil)
		h.Obey(rules)
		var p played
		hidden := randomVector(rng, 15, 15)
		for range 80 {
			e := Lesson{Vector: randomVector(rng, 15, 6), Label: Important, Weight: 1}
			if Dot(hidden, e.Vector) < 0 {
				e.Label = Ordinary
			}
			p.lessons = append(p.lessons, e)
			h.Add(e)
			free.Add(e)
		}
		c := h.Ceiling()
		if c.Reason != "" {
			t.Fatal(c.Reason)
		}
		if c.Gap <= 2*closeEnough*c.Bound {
			closed++
		}
		found := map[Index]float64{}
		in := h.space.(*plain)
		for _, name := range in.names.Sorted() {
			found[name.Index] = in.best[int(name.Value)]
		}
		for _, rule := range rules.list {
			if y := float64(rule.Label) * (found[Affine]*rule.Affine + found[rule.Index]*rule.Value); y < RuleMargin {
				t.Fatalf("u has the margin %v on a rule", y)
			}
		}
		f := free.Ceiling()
		if f.Bound < c.Bound*(1-2*closeEnough) {
			stricter++
		}
		if f.Gap <= 2*closeEnough*f.Bound {
			closedFree++
		}
		for range 20 {
			near := map[Index]float64{}
			size := math.Pow(10, 3*rng.Float64()-3)
			for i, v := range found {
				near[i] = v + size*rng.NormFloat64()
			}
			z := NewWeights(0)
			for i, v := range near {
				z.Set(i, v)
			}
			rules.Project(z)
			for i := range near {
				near[i] = z.Get(i)
			}
			if _, simple, _ := ceilingOf(spec, p, near); simple < (c.Bound-c.Gap)*(1-1e-6) {
				t.Fatalf("%+v: a u that obeys has the bound %v, below %+v by more than its gap", spec, simple, c)
			}
		}
	}
	if closed < closedFree*9/10 || closedFree < runs/2 || stricter < runs/10 {
		t.Errorf("the gap was closed in %d of %d searches, without rules in %d; the rules cost something in %d", closed, runs, closedFree, stricter)
	}
}

func TestRulesThatAreNone(t *testing.T) {
	for name, list := range map[string][]Rule{
		"two for one feature": {{5, 1, 1, Important}, {5, 1, 1, Ordinary}},
		"no value":            {{5, 0, 1, Important}},
		"infinite":            {{5, math.Inf(1), 1, Important}},
		"not a number":        {{5, 1, math.NaN(), Important}},
		"the constant itself": {{Affine, 1, 1, Important}},
		"no label":            {{5, 1, 1, 0}},
	} {
		if _, err := NewRules(list); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	var none *Rules
	if none.Len() != 0 || none.Project(NewWeights(0)) != 0 || none.Touched(nil) != nil {
		t.Error("no rules do something")
	}
}
