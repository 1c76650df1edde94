// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"math"
	"slices"
)

// A theorem about every u is about every number of lessons, too: what a u is worth on the
// first n of them bounds the mistakes on those. So the u that a search finds for all
// lessons gives a ceiling at every earlier moment. What the theorem needs of such a
// moment is which lessons counted then, and the sums of the learner's steps up to then;
// everything else (R, D, what rounding may have cost) never falls from one lesson to the
// next, so that its value for all lessons serves for fewer.

// stage is a moment between two lessons.
type stage struct {
	rows    int // at that moment
	lessons int
	known   bool // gains are those of that moment; otherwise nothing is known of them
	gains
	most uint64 // the lowest ceiling found so far on the mistakes in these lessons
}

// StageCeiling is a certified upper bound on the mistakes in the first lessons.
type StageCeiling struct {
	Lessons  int
	Mistakes uint64
}

// Stage asks for a ceiling on the mistakes in the lessons added so far, which later calls
// of Ceiling find together with that of all lessons: see Stages. tallied says that Tally
// was told the learner's sums right after the last of these lessons. Without, a ceiling
// holds but is higher.
func (h *Hindsight) Stage(tallied bool) {
	if h.reason != "" || h.lessons == 0 {
		return
	}
	s := stage{rows: len(h.rows), lessons: h.lessons, known: tallied, gains: h.gains, most: uint64(h.lessons)}
	if n := len(h.stages); n > 0 && h.stages[n-1].lessons == h.lessons {
		s.most = h.stages[n-1].most
		h.stages = h.stages[:n-1]
	}
	h.stages = append(h.stages, s)
}

// Stages returns the ceilings of all stages in their order, as the searches up to now
// found them; none where no theorem holds.
func (h *Hindsight) Stages() []StageCeiling {
	if h.reason != "" {
		return nil
	}
	out := make([]StageCeiling, len(h.stages))
	for i, s := range h.stages {
		out[i] = StageCeiling{s.lessons, s.most}
	}
	return out
}

// DropStages drops the stages after so many lessons for which drop reports true.
func (h *Hindsight) DropStages(drop func(lessons int) bool) {
	h.stages = slices.DeleteFunc(h.stages, func(s stage) bool { return drop(s.lessons) })
}

// retrace lowers the ceilings of the stages by what u = 0 and the u of the last search
// are worth there, and c, that of all lessons, by what earlier searches found for stages.
// O(stages · lessons) time.
func (h *Hindsight) retrace(c *Ceiling, a *allowance) {
	if len(h.stages) == 0 || h.reason != "" {
		return
	}
	values := make([]float64, len(h.stages))
	for i := range values {
		values[i] = math.Inf(1)
	}
	losses := make([]float64, len(h.rows))
	for _, kappa := range []float64{0, h.kappa} {
		l, reach := h.gaze(kappa, a)
		for i := range h.rows {
			losses[i] = h.lossOf(i, reach)
		}
		var terms []term
		if kappa > 0 && !h.spec.Passive() {
			terms = h.termsFor(a, kappa)
		}
		for i := range h.stages {
			s := &h.stages[i]
			at := h.evaluate(h.paid(l, losses, s), a, h.gainsAt(s))
			values[i] = lower(values[i], at.value)
			if terms != nil {
				n, _ := h.countTerms(terms, s.rows, at, a, kappa)
				s.most = min(s.most, n)
			}
		}
	}
	sizes := h.sizes(a)
	for i := range h.stages {
		s := &h.stages[i]
		s.most = min(s.most, h.countAt(sizes, s, values[i], a))
	}
	c.Mistakes = h.join(c.Mistakes)
}

// paid is l with what its u pays for the lessons that counted at a stage.
func (h *Hindsight) paid(l look, losses []float64, s *stage) look {
	for i, loss := range losses[:s.rows] {
		if r := &h.rows[i]; !r.gone || r.until >= s.rows {
			l.loss += loss
		}
	}
	return l
}

// gainsAt are the sums at a stage. Where they are not known, no gain is counted, and all
// that was ever lost is.
func (h *Hindsight) gainsAt(s *stage) *gains {
	if s.known {
		return &s.gains
	}
	return &gains{takenBack: h.takenBack}
}

// sized is a lesson with what a mistake on it is worth at least.
type sized struct {
	size float64
	row  int
}

// sizes returns those of all lessons, the smallest first.
func (h *Hindsight) sizes(a *allowance) []sized {
	out := make([]sized, 0, h.lessons)
	for i := range h.rows {
		r := &h.rows[i]
		switch {
		case r.early:
		case h.spec.Passive():
			out = append(out, sized{h.worth(i, a.norm), i})
		default:
			out = append(out, sized{r.cap, i})
		}
	}
	slices.SortFunc(out, func(a, b sized) int { return cmp.Compare(a.size, b.size) })
	return out
}

// countAt turns the right side of the theorem into mistakes in the lessons of a stage: those
// of all, or those of the important and of the ordinary ones, where what is known of the
// others' mistakes leaves less for each. sizes are those of all lessons, the smallest first.
func (h *Hindsight) countAt(sizes []sized, s *stage, value float64, a *allowance) uint64 {
	g := h.gainsAt(s)
	of := func(label, known float64) (n uint64) {
		sum, budget := 0.0, float64(max(0, value-float64(2*known))*a.grow)
		for _, one := range sizes {
			if one.row >= s.rows || label != 0 && h.rows[one.row].label != label {
				continue
			}
			if sum += one.size; sum > budget {
				break
			}
			n++
		}
		return n
	}
	n := of(0, 0)
	if g.missed > 0 || g.alarmed > 0 {
		n = min(n, of(float64(Important), g.alarmed)+of(float64(Ordinary), g.missed))
	}
	return n
}

// join lets the stages learn from each other: mistakes only ever grow, by one a lesson at
// most. all is the ceiling of all lessons, which comes back as low as that makes it.
func (h *Hindsight) join(all uint64) uint64 {
	next := all
	for i := range slices.Backward(h.stages) {
		s := &h.stages[i]
		s.most = min(s.most, next)
		next = s.most
	}
	lessons, most := 0, uint64(0)
	for i := range h.stages {
		s := &h.stages[i]
		s.most = min(s.most, most+uint64(s.lessons-lessons))
		lessons, most = s.lessons, s.most
	}
	return min(all, most+uint64(h.lessons-lessons))
}
