// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"math"
)

// Hindsight keeps the lessons that a learner was taught and looks for the u that would have
// done best on those that were not taken back, since every u gives a ceiling on the learner's
// mistakes and the best the lowest (see Ceiling). It changes no learner.
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
	lessons    int     // rows that are no part of the window at the start
	startNorm  float64 // ‖w_s‖
	displaced  float64 // D, for weights given up aside
	given      float64 // D of weights given up
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

	rules  *Rules // nil: u may be any
	stages []stage
	tally
}

// tally is what is known of the steps since the start, and of the window there.
type tally struct {
	gains
	steps   float64 // that were summed up
	summing float64 // how far rounding the sums may have led
	window  bool    // there was one at the start, or a lesson was removed
	alphas  float64 // Σ α over the window at the start
	squares float64 // Σ α²/(2C)
	lengths float64 // Σ α·‖x‖
}

// gains are the sums of DualTally since the start.
type gains struct {
	spare, takenBack float64
	missed, alarmed  float64
}

// row is one lesson.
type row struct {
	norm  float64 // ‖x‖²; 0 when it is too small to be told from 0
	label float64 // ±1
	cap   float64 // c_t
	alpha float64
	early bool // of the window at the start: no lesson whose mistake is in question
	gone  bool // taken back: no u pays for it
	until int  // of a lesson that is gone: how many rows there were then
}

// short is the square of the norm below which a vector counts as zero, with a loss of at least 1.
const short = 0x1p-1000

// NewHindsight returns a Hindsight of no lessons for a learner of s that started from the given
// weights, which it copies; nil: from zero.
func NewHindsight(s Spec, from *Weights) *Hindsight {
	return newHindsight(s, newPlain(from))
}

func newHindsight(s Spec, in space) *Hindsight {
	h := &Hindsight{spec: s, space: in, dice: 1, startNorm: in.startNorm()}
	if s.Passive() {
		h.kappa = 1
	}
	if err := s.Validate(); err != nil {
		h.Refuse(err.Error())
		return h
	}
	if norm := h.startNorm; !(float64(norm*norm) <= math.MaxFloat64) {
		h.Refuse("the weights at the start are too great to square")
	}
	return h
}

// Refuse says why no theorem covers what the learner did; then there is no ceiling.
// The first reason is kept.
func (h *Hindsight) Refuse(reason string) {
	if h.reason == "" {
		h.reason = reason
	}
}

// Displace notes changes of w that are no step on a lesson. norm is the sum of their norms.
func (h *Hindsight) Displace(norm float64) {
	if h.measured(norm) {
		h.displaced += norm
	}
}

// GiveUp notes that weights of a linear learner were set to 0. norm is the sum of the norms of what
// was given up each time. It costs no more than Displace.
func (h *Hindsight) GiveUp(norm float64) {
	if h.measured(norm) {
		h.given += norm
	}
}

func (h *Hindsight) measured(norm float64) bool {
	if !(norm >= 0 && norm <= math.MaxFloat64) {
		h.Refuse(fmt.Sprintf("the weights were displaced by %v", norm))
		return false
	}
	return true
}

// Tally notes what a passive-aggressive or dual learner's steps did to D, by its tallies at the
// start and now. The last call counts. Without one, the ceiling of a passive-aggressive learner
// is higher; that of a dual learner holds only if no lesson was taken back.
func (h *Hindsight) Tally(then, now DualTally) {
	spare, takenBack := now.Spare-then.Spare, now.TakenBack-then.TakenBack
	missed, alarmed := now.Missed-then.Missed, now.Alarmed-then.Alarmed
	all := now.Spare + now.TakenBack + now.Missed + now.Alarmed
	switch {
	case !(min(spare, takenBack, missed, alarmed) >= 0 && now.Steps >= then.Steps && all <= math.MaxFloat64):
		h.Refuse(fmt.Sprintf("the sums of the learner's steps went from %+v to %+v", then, now))
		return
	case now.Tuned != then.Tuned:
		h.Refuse("the learner's settings were changed within these lessons")
		return
	}
	h.gains = gains{spare: spare, takenBack: takenBack, missed: missed, alarmed: alarmed}
	h.steps = float64(now.Steps - then.Steps)
	h.summing = float64(float64(4*roundoff*(float64(now.Steps)+4)) * all)
}

// Window notes a lesson that was in the window of a dual learner at the start, with its coefficient
// alpha ≥ 0 at that time, and returns its number for Remove. No mistake of it is counted. Call
// it after Obey and before the first Add; it does not keep the vector.
func (h *Hindsight) Window(e Lesson, alpha float64) int {
	p, linear := h.space.(*plain)
	switch {
	case h.reason != "":
		return -1
	case !linear || h.spec.Kind != KindDual:
		h.Refuse(fmt.Sprintf("a learner of kind %s has no window", h.spec.Kind))
		return -1
	case h.lessons > 0:
		h.Refuse("the window was told of after the lessons")
		return -1
	case !(alpha >= 0 && alpha <= math.MaxFloat64):
		h.Refuse(fmt.Sprintf("a lesson in the window has the coefficient %v", alpha))
		return -1
	}
	n := h.take(e)
	if n < 0 {
		return n
	}
	r := &h.rows[n]
	r.early, h.window = true, true
	h.alphas += alpha
	h.squares += float64(float64(alpha*alpha) * (0.5 / r.cap))
	h.lengths += float64(alpha * math.Sqrt(max(r.norm, short)))
	p.settle(n, float64(-alpha*r.label))
	if r.norm > 0 {
		r.alpha = alpha
		p.move(n, float64(alpha*r.label))
	}
	return n
}

// Remove notes that a lesson was taken back, so that u no longer pays for it. It still counts among
// the lessons, since it may have been a mistake. -1 does nothing.
func (h *Hindsight) Remove(n int) {
	if h.reason != "" || n < 0 {
		return
	}
	if h.spec.Kind != KindDual {
		h.Refuse(fmt.Sprintf("a learner of kind %s takes no lesson back", h.spec.Kind))
		return
	}
	h.window = true
	r := &h.rows[n]
	if r.gone || r.norm == 0 {
		return // no step was taken on 0, and its loss has to stay
	}
	r.gone, r.until = true, len(h.rows)
	if r.alpha != 0 {
		h.space.move(n, float64(-r.alpha*r.label))
		r.alpha = 0
	}
}

// Reached notes that Σ |α|·√K(x, x) over the supports was never more than size (KernelTally.Reach),
// with which the rounding of a score grows. A kernel learner has no ceiling without it.
func (h *Hindsight) Reached(size float64) {
	if !(size >= 0 && size <= math.MaxFloat64) {
		h.Refuse(fmt.Sprintf("the coefficients add up to %v", size))
		return
	}
	h.reach = max(h.reach, size)
}

// Obey says that a passive-aggressive learner over features was kept to these rules from the start.
// Every ceiling then comes from a u that obeys them, from which no projection leads away. Call it
// before the first Add. For other learners report projections with Displace.
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

// Bytes returns about how much memory the lessons take.
func (h *Hindsight) Bytes() int { return 56*len(h.rows) + 64*len(h.stages) + h.space.bytes() }

// Add notes a lesson that the learner was taught, in any order, and returns its number for Remove;
// -1 when there is no ceiling. It does not keep the vector.
func (h *Hindsight) Add(e Lesson) int {
	if h.reason != "" {
		return -1
	}
	n := h.take(e)
	if n < 0 {
		return n
	}
	h.lessons++
	h.climb(n)
	return n
}

// take makes a row of a lesson.
func (h *Hindsight) take(e Lesson) int {
	n := len(h.rows) + 1
	switch err := e.Vector.Validate(); {
	case err != nil:
		h.Refuse(fmt.Sprintf("lesson %d: %v", n, err))
		return -1
	case e.Label != Important && e.Label != Ordinary:
		h.Refuse(fmt.Sprintf("lesson %d has the label %d", n, e.Label))
		return -1
	case !(e.Weight > 0 && e.Weight <= math.MaxFloat64):
		h.Refuse(fmt.Sprintf("lesson %d has the weight %v", n, e.Weight))
		return -1
	}
	norm := h.space.add(e.Vector)
	if !(norm <= math.MaxFloat64) {
		h.Refuse(fmt.Sprintf("lesson %d has a vector too long to square", n))
		return -1
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
	return n - 1
}

// climb maximises the dual over one variable.
func (h *Hindsight) climb(i int) {
	r := &h.rows[i]
	if r.norm == 0 || r.gone || h.kappa == 0 {
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

// pass climbs every variable once, shuffled anew but alike in every run.
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
	return Mix(h.dice)
}

// dual returns the value of the dual: no u makes the problem's lower, but for rounding.
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
