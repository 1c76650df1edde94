package model

import (
	"fmt"
	"math"
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
// For a linear learner space is 4 bytes a feature of every lesson and about 150 bytes
// a lesson; see NewKernelHindsight for kernels. Not safe for concurrent use.
type Hindsight struct {
	spec   Spec
	reason string // why no theorem holds; "" while one does
	space  space

	rows       []row
	displaced  float64 // D
	travelled  float64 // Σ weight_t·‖x_t‖
	caps       float64 // Σ c_t
	longest    float64 // the most terms of a dot product with a lesson
	reach      float64 // see Reached
	needsReach bool
	kappa      float64
	least      float64 // gain of the dual below which a variable is let be
	passes     int     // made since the last Ceiling
	dice       uint64  // state of the generator that shuffles the passes
	order      []int32

	rules *Rules // nil: u may be any
}

// row is one lesson.
type row struct {
	norm  float64 // ‖x‖²; 0 when it is too small to be told from 0
	label float64 // ±1
	cap   float64 // c_t
	alpha float64
}

// short is the square of the norm below which a vector counts as zero in the
// search; its loss is then counted as at least 1, as that of a zero vector is.
const short = 0x1p-1000

// NewHindsight returns a Hindsight of no lessons for a learner of s that started
// from the given weights, which it copies; nil means from zero. s must be valid.
func NewHindsight(s Spec, from *Weights) *Hindsight {
	return newHindsight(s, newPlain(from))
}

func newHindsight(s Spec, in space) *Hindsight {
	h := &Hindsight{spec: s, space: in, dice: 1}
	if s.Passive() {
		h.kappa = 1
	}
	if err := s.Validate(); err != nil {
		h.Refuse(err.Error())
		return h
	}
	if norm := in.startNorm(); !(float64(norm*norm) <= math.MaxFloat64) {
		h.Refuse("the weights at the start are too great to square")
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

// Reached notes that Σ |α|·√K(x, x) over the supports of a kernel learner never was more
// than size, in all its life (KernelTally.Reach): what rounding may have done to a
// score grows with it. Without a call there is no ceiling for a kernel learner.
func (h *Hindsight) Reached(size float64) {
	if !(size >= 0 && size <= math.MaxFloat64) {
		h.Refuse(fmt.Sprintf("the coefficients add up to %v", size))
		return
	}
	h.reach = max(h.reach, size)
}

// Obey says that the learner was kept to these rules from the start on
// (NewObedient), so that every ceiling is to come of a u that obeys them: no
// projection takes w further from such a u. Call it before the first Add. That
// holds for passive-aggressive over features; with the others Obey does nothing, and
// the projections belong into Displace, whatever u.
func (h *Hindsight) Obey(rules *Rules) {
	p, linear := h.space.(*plain)
	if !h.spec.Passive() || rules.Len() == 0 || !linear {
		return
	}
	h.rules = rules
	if problem := p.pin(rules); problem != "" {
		h.Refuse(problem)
	}
}

// Len returns how many lessons were added.
func (h *Hindsight) Len() int { return len(h.rows) }

// Bytes returns about how much memory the lessons take.
func (h *Hindsight) Bytes() int { return 48*len(h.rows) + h.space.bytes() }

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
	norm := h.space.add(e.Vector)
	if !(norm <= math.MaxFloat64) {
		h.Refuse(fmt.Sprintf("lesson %d has a vector too long to square", n))
		return
	}
	r := row{norm: norm, label: float64(e.Label), cap: e.Weight}
	if norm < short {
		r.norm = 0
	}
	if h.spec.Passive() {
		r.cap = float64(h.spec.Aggressiveness * e.Weight)
	}
	h.travelled += float64(e.Weight * math.Sqrt(max(norm, short)))
	h.caps += r.cap
	h.longest = max(h.longest, h.space.terms(n-1))
	h.rows = append(h.rows, r)
	if !h.spec.Passive() {
		h.kappa = max(h.kappa, float64(e.Weight*norm)+float64(2*h.tau()))
	}
	h.climb(n - 1)
}

// climb maximises the dual over one variable.
func (h *Hindsight) climb(i int) {
	r := &h.rows[i]
	if r.norm == 0 || h.kappa == 0 {
		return
	}
	gradient := 1 - float64(r.label*h.space.score(i))/h.kappa
	var alpha float64
	if h.squared() {
		damp := 0.5 / r.cap
		gradient -= float64(r.alpha * damp)
		alpha = max(0, r.alpha+gradient/(r.norm+damp))
	} else {
		alpha = min(r.cap, max(0, r.alpha+float64(gradient*h.kappa)/r.norm))
	}
	d := alpha - r.alpha
	if d == 0 || math.IsNaN(d) || float64(math.Abs(gradient*d)) < h.least {
		return
	}
	r.alpha = alpha
	h.space.move(i, float64(d*r.label))
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
	return h.spec.Passive() && !h.spec.capped()
}

// pass climbs every variable once, in an order that is shuffled anew but the
// same in every run.
func (h *Hindsight) pass() {
	h.least = 0
	if share := h.space.indifferent(); share > 0 && h.kappa > 0 {
		h.least = max(0, float64(share*h.dual())/float64(len(h.rows)))
	}
	for len(h.order) < len(h.rows) {
		h.order = append(h.order, int32(len(h.order)))
	}
	for i := len(h.order) - 1; i > 0; i-- {
		j := h.roll() % uint64(i+1)
		h.order[i], h.order[j] = h.order[j], h.order[i]
	}
	for _, i := range h.order {
		if h.space.exhausted() {
			break
		}
		h.climb(int(i))
	}
	h.space.climbRules()
	h.least = 0
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
	total := 0.0
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
	total += h.space.bonus()
	square, toStart := h.space.squares()
	return total - (toStart+float64(square/2))/h.kappa
}
