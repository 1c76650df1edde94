package model

import (
	"fmt"
	"math"
	"slices"
)

// Hindsight keeps the lessons that a learner was taught and looks for the u
// that would have done best on all of them, since every u gives a ceiling on
// the learner's mistakes and the best the lowest (see Ceiling). It learns
// nothing itself and changes no learner.
//
// With c_t = Weight for perceptron and margin and C·Weight for
// passive-aggressive, ℓ_t(u) = max(0, 1 − y_t·u·x_t) and w_s the weights at the
// start, the problem is
//
//	minimise κ/2·‖u − w_s/κ‖² + Σ c_t·ℓ_t(u)^p
//
// where κ = 1 for passive-aggressive, p = 2 for PA-II and 1 for the others. Its
// dual has one variable a lesson, α_t in [0, c_t] (α_t ≥ 0 when p = 2), and
// u = (w_s + Σ α_t·y_t·x_t)/κ. With rules (Obey), u is subject to them, and each
// adds a variable α ≥ 0 and its prototype. The dual is climbed one variable at a time (Hsieh,
// Chang, Lin, Keerthi and Sundararajan 2008, algorithm 1): each new lesson once
// when it is added, and all of them in passes when a ceiling is asked for, from
// where the last search ended.
//
// Space is 4 bytes a feature of every lesson and about 150 bytes a lesson. Not
// safe for concurrent use.
type Hindsight struct {
	spec   Spec
	reason string // why no theorem holds; "" while one does

	names *Weights // Index → position in the slices below
	start []float64
	sum   []float64 // w_s + Σ α_t·y_t·x_t
	best  []float64 // scratch: the u that is looked at

	rows      []row
	startNorm float64 // ‖w_s‖
	displaced float64 // D
	travelled float64 // Σ weight_t·‖x_t‖
	caps      float64 // Σ c_t
	longest   int     // the most features of a lesson
	kappa     float64
	passes    int    // made since the last Ceiling
	dice      uint64 // state of the generator that shuffles the passes
	order     []int32

	rules  *Rules    // nil: u may be any
	pins   []float64 // their dual variables
	places []uint32  // positions of the affine coordinate and of their features
}

// row is one lesson. Features of one value stand together, so that a dot product
// takes one multiplication a value and not one a feature; the vectors made of
// mail have a handful of values.
type row struct {
	at    []uint32 // positions, those of the first run first
	runs  []run
	norm  float64 // ‖x‖²; 0 when it is too small to be told from 0
	label float64 // ±1
	cap   float64 // c_t
	alpha float64
}

type run struct {
	value float64
	n     int
}

// short is the square of the norm below which a vector counts as zero in the
// search; its loss is then counted as at least 1, as that of a zero vector is.
const short = 0x1p-1000

// NewHindsight returns a Hindsight of no lessons for a learner of s that started
// from the given weights, which it copies; nil means from zero. s must be valid.
func NewHindsight(s Spec, from *Weights) *Hindsight {
	h := &Hindsight{spec: s, names: NewWeights(0), dice: 1}
	if s.Kind == KindPassiveAggressive {
		h.kappa = 1
	}
	if err := s.Validate(); err != nil {
		h.Refuse(err.Error())
		return h
	}
	if from != nil {
		norm := 0.0
		for _, f := range from.Sorted() {
			if f.Value == 0 {
				continue
			}
			h.start[h.name(f.Index)] = f.Value
			norm += float64(f.Value * f.Value)
		}
		copy(h.sum, h.start)
		h.startNorm = math.Sqrt(norm)
		if !(norm <= math.MaxFloat64) {
			h.Refuse("the weights at the start are too great to square")
		}
	}
	return h
}

// Refuse says why no theorem covers what the learner did. The first reason
// stands.
func (h *Hindsight) Refuse(reason string) {
	if h.reason == "" {
		h.reason = reason
	}
}

// Displace notes changes of w that are no lesson's step (weights given up, a
// projection, decay), by the sum of their Euclidean norms.
func (h *Hindsight) Displace(norm float64) {
	if !(norm >= 0 && norm <= math.MaxFloat64) {
		h.Refuse(fmt.Sprintf("the weights were displaced by %v", norm))
		return
	}
	h.displaced += norm
}

// ruleRoom is how much more than RuleMargin is asked of u, so that rounding leaves
// no rule broken.
const ruleRoom = 0x1p-30

// Obey says that the learner was kept to these rules from the start on
// (NewObedient), so that every ceiling is to come of a u that obeys them: no
// projection takes w further from such a u. Call it before the first Add. That
// holds for passive-aggressive; with the others Obey does nothing, and the
// projections belong into Displace, whatever u.
func (h *Hindsight) Obey(rules *Rules) {
	if h.spec.Kind != KindPassiveAggressive || rules.Len() == 0 {
		return
	}
	h.rules = rules
	h.places = append(h.places[:0], h.name(Affine))
	h.pins = make([]float64, len(rules.list))
	for _, rule := range rules.list {
		h.places = append(h.places, h.name(rule.Index))
		if norm := rule.Prototype().SquaredNorm(); !(norm > short && norm <= math.MaxFloat64) {
			h.Refuse("the prototype of a rule is too long or too short to square")
		}
	}
}

// obey moves u, one number a position, to the nearest that obeys the rules.
func (h *Hindsight) obey(u []float64) {
	if h.rules.Len() == 0 {
		return
	}
	own := make([]float64, len(h.places)-1)
	for i := range own {
		own[i] = u[h.places[i+1]]
	}
	b, _, ok := h.rules.project(u[h.places[0]], own, RuleMargin+ruleRoom)
	for i, rule := range h.rules.list {
		ok = ok && rule.holds(b, own[i], RuleMargin+ruleRoom/2)
	}
	if !ok {
		h.Refuse("the numbers are so great that no weights were found that obey the rules")
		return
	}
	u[h.places[0]] = b
	for i, v := range own {
		u[h.places[i+1]] = v
	}
}

// climbPins maximises the dual over the variables of all rules at once: with them
// the sum becomes the projection of what it is without them.
func (h *Hindsight) climbPins() {
	if h.rules.Len() == 0 {
		return
	}
	list := h.rules.list
	b, own := h.sum[h.places[0]], make([]float64, len(list))
	for i, rule := range list {
		pull := float64(h.pins[i] * float64(rule.Label))
		b -= float64(pull * rule.Affine)
		own[i] = h.sum[h.places[i+1]] - float64(pull*rule.Value)
	}
	fixed := slices.Clone(own)
	if _, _, ok := h.rules.project(b, fixed, RuleMargin+ruleRoom); !ok {
		return
	}
	for i, rule := range list {
		h.pins[i] = max(0, float64(float64(rule.Label)*(fixed[i]-own[i]))/rule.Value)
		pull := float64(h.pins[i] * float64(rule.Label))
		b += float64(pull * rule.Affine)
		h.sum[h.places[i+1]] = own[i] + float64(pull*rule.Value)
	}
	h.sum[h.places[0]] = b
}

// Len returns how many lessons were added.
func (h *Hindsight) Len() int { return len(h.rows) }

// Bytes returns about how much memory the lessons take.
func (h *Hindsight) Bytes() int {
	n := 0
	for i := range h.rows {
		n += 4*len(h.rows[i].at) + 16*len(h.rows[i].runs) + 120
	}
	return n + 24*len(h.sum) + 16*len(h.names.keys)
}

// Add notes a lesson that the learner was taught, in any order. It does not keep
// the vector. O(len(x)) expected time for vectors of few different values.
func (h *Hindsight) Add(e Lesson) {
	if h.reason != "" {
		return
	}
	n := len(h.rows) + 1
	switch err := e.Vector.Validate(); {
	case err != nil:
		h.Refuse(fmt.Sprintf("lesson %d: %v", n, err))
		return
	case e.Label != Important && e.Label != Ordinary:
		h.Refuse(fmt.Sprintf("lesson %d has the label %d", n, e.Label))
		return
	case !(e.Weight > 0 && e.Weight <= math.MaxFloat64):
		h.Refuse(fmt.Sprintf("lesson %d has the weight %v", n, e.Weight))
		return
	}
	norm := e.Vector.SquaredNorm()
	if norm > math.MaxFloat64 {
		h.Refuse(fmt.Sprintf("lesson %d has a vector too long to square", n))
		return
	}
	r := row{norm: norm, label: float64(e.Label), cap: e.Weight}
	if norm < short {
		r.norm = 0
	}
	if h.spec.Kind == KindPassiveAggressive {
		r.cap = float64(h.spec.Aggressiveness * e.Weight)
	}
	r.at, r.runs = h.compact(e.Vector)
	h.travelled += float64(e.Weight * math.Sqrt(max(norm, short)))
	h.caps += r.cap
	h.longest = max(h.longest, len(e.Vector))
	h.rows = append(h.rows, r)
	if h.spec.Kind != KindPassiveAggressive {
		h.kappa = max(h.kappa, float64(e.Weight*norm)+float64(2*h.tau()))
	}
	h.climb(&h.rows[n-1])
}

// name returns the position of a feature, a new one if need be.
func (h *Hindsight) name(i Index) uint32 {
	if at, ok := h.names.Lookup(i); ok {
		return uint32(at)
	}
	at := len(h.sum)
	h.names.Set(i, float64(at))
	h.sum = append(h.sum, 0)
	h.start = append(h.start, 0)
	return uint32(at)
}

// compact puts features of one value together.
func (h *Hindsight) compact(x Vector) ([]uint32, []run) {
	const few = 32
	var runs []run
	which := make([]uint8, len(x))
	for i, f := range x {
		k := 0
		for k < len(runs) && runs[k].value != f.Value {
			k++
		}
		if k == len(runs) {
			if k == few {
				return h.compactMany(x)
			}
			runs = append(runs, run{value: f.Value})
		}
		runs[k].n++
		which[i] = uint8(k)
	}
	var next [few]int
	for k := 1; k < len(runs); k++ {
		next[k] = next[k-1] + runs[k-1].n
	}
	at := make([]uint32, len(x))
	for i, f := range x {
		at[next[which[i]]] = h.name(f.Index)
		next[which[i]]++
	}
	return at, runs
}

// compactMany is compact for vectors of many values.
func (h *Hindsight) compactMany(x Vector) ([]uint32, []run) {
	sorted := slices.Clone(x)
	slices.SortStableFunc(sorted, func(a, b Feature) int {
		switch {
		case a.Value < b.Value:
			return -1
		case a.Value > b.Value:
			return 1
		default:
			return 0
		}
	})
	at := make([]uint32, len(x))
	var runs []run
	for i, f := range sorted {
		if len(runs) == 0 || runs[len(runs)-1].value != f.Value {
			runs = append(runs, run{value: f.Value})
		}
		runs[len(runs)-1].n++
		at[i] = h.name(f.Index)
	}
	return at, runs
}

// dot returns v·x for a lesson's x. O(len(x)) time.
func (r *row) dot(v []float64) float64 {
	sum, at := 0.0, r.at
	for _, same := range r.runs {
		part := 0.0
		for _, i := range at[:same.n] {
			part += v[i]
		}
		sum += float64(same.value * part)
		at = at[same.n:]
	}
	return sum
}

// climb maximises the dual over one variable.
func (h *Hindsight) climb(r *row) {
	if r.norm == 0 || h.kappa == 0 {
		return
	}
	gradient := 1 - float64(r.label*r.dot(h.sum))/h.kappa
	var alpha float64
	if h.squared() {
		damp := 0.5 / r.cap
		gradient -= float64(r.alpha * damp)
		alpha = max(0, r.alpha+gradient/(r.norm+damp))
	} else {
		alpha = min(r.cap, max(0, r.alpha+float64(gradient*h.kappa)/r.norm))
	}
	d := alpha - r.alpha
	if d == 0 || math.IsNaN(d) {
		return
	}
	r.alpha = alpha
	at := r.at
	for _, same := range r.runs {
		step := float64(float64(d*r.label) * same.value)
		for _, i := range at[:same.n] {
			h.sum[i] += step
		}
		at = at[same.n:]
	}
}

// tau is the margin up to which the learner updates, beside mistakes.
func (h *Hindsight) tau() float64 {
	if h.spec.Kind == KindMargin {
		return h.spec.Margin
	}
	return 0
}

// squared reports whether losses are squared.
func (h *Hindsight) squared() bool {
	return h.spec.Kind == KindPassiveAggressive && h.spec.Variant == 2
}

// pass climbs every variable once, in an order that is shuffled anew but the
// same in every run.
func (h *Hindsight) pass() {
	for len(h.order) < len(h.rows) {
		h.order = append(h.order, int32(len(h.order)))
	}
	for i := len(h.order) - 1; i > 0; i-- {
		j := h.roll() % uint64(i+1)
		h.order[i], h.order[j] = h.order[j], h.order[i]
	}
	for _, i := range h.order {
		h.climb(&h.rows[i])
	}
	h.climbPins()
	h.passes++
}

// roll is splitmix64.
func (h *Hindsight) roll() uint64 {
	h.dice += 0x9E3779B97F4A7C15
	return mix(h.dice)
}

// dual returns the value of the dual at the variables as they are: no u makes
// the problem's value lower, but for rounding.
func (h *Hindsight) dual() float64 {
	total, square, toStart := 0.0, 0.0, 0.0
	for i := range h.rows {
		r := &h.rows[i]
		total += r.alpha
		if h.squared() && r.alpha != 0 {
			total -= float64(float64(r.alpha*r.alpha) / float64(4*r.cap))
		}
		if r.norm == 0 {
			// Its loss is counted as 1 at least, whatever u.
			total += r.cap
		}
	}
	for _, alpha := range h.pins {
		total += float64((RuleMargin + ruleRoom) * alpha)
	}
	for i, v := range h.sum {
		d := v - h.start[i]
		square += float64(d * d)
		toStart += float64(d * h.start[i])
	}
	return total - (toStart+float64(square/2))/h.kappa
}
