// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"errors"
	"fmt"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Hindsight looks for a ceiling on the mistakes that an account's learner makes from
// some state on: model.Hindsight, told of lessons as the account keeps them.
type Hindsight struct {
	*model.Hindsight
	opts  filter.Options
	norm  func(model.Vector) float64 // squared
	obeys bool
	then  store.Account // at the start
	// given and projected are what Hindsight knows of displacements.
	given, projected float64
	// rows is the number of the last lesson on each message.
	rows map[store.MessageKey]int
	// tally is that of a learner without a window, whose account keeps none.
	tally model.DualTally
}

// NewHindsight returns a Hindsight of no lessons for the learner of o that goes on from
// st, which it only reads. rules are those that the learner was kept to from there on;
// nil: it was kept to none, or not to the same ones all the time. The vectors of the
// lessons that can be replayed come from v.
func NewHindsight(o filter.Options, st *store.State, rules *model.Rules, v filter.Vectors) (*Hindsight, error) {
	h := &Hindsight{opts: o, norm: model.Vector.SquaredNorm, then: st.Account, rows: map[store.MessageKey]int{}}
	if !o.Kernel.Linear() {
		l, err := filter.ResumeKernel(o, st)
		if err != nil {
			return nil, err
		}
		h.Hindsight, h.norm = model.NewKernelHindsight(o.KernelSpec(), l), l.Normal
		return h, nil
	}
	h.Hindsight = model.NewHindsight(o.Learner, st.Weights)
	h.Obey(rules)
	h.obeys = o.Learner.Passive() && rules.Len() > 0
	if !o.Replays() {
		return h, nil
	}
	for _, key := range st.Window.Keys() {
		row, _ := st.Window.Get(key)
		x, err := v.Vector(row.Message, nil)
		switch {
		case errors.Is(err, store.ErrNotFound):
			h.Refuse("the features of a lesson that can be replayed are no longer kept")
			return h, nil
		case err != nil:
			return nil, fmt.Errorf("looking up a lesson of the window: %w", err)
		}
		h.rows[row.Message] = h.Window(model.Lesson{Vector: x, Label: row.Label, Weight: row.Weight}, row.Alpha)
	}
	return h, nil
}

// Step returns the step that the learner takes on a lesson whose score is logged.
func (h *Hindsight) Step(l store.Lesson, x model.Vector) float64 {
	if len(x) == 0 && h.opts.Kernel.Linear() {
		return 0
	}
	return h.opts.Learner.Update(l.Label, l.Weight, l.Score, h.norm(x)).Step
}

// Learnt notes a lesson that taught the learner, whose vector is x.
func (h *Hindsight) Learnt(l store.Lesson, x model.Vector) {
	if n, ok := h.rows[l.Message]; l.TookBack {
		if !ok {
			h.Refuse("a lesson was taken back that was neither learnt nor in the window")
		}
		h.Remove(n)
	}
	n := h.Add(model.Lesson{Vector: x, Label: l.Label, Weight: l.Weight})
	if h.opts.Replays() {
		h.rows[l.Message] = n
		return
	}
	if !h.opts.Learner.Passive() {
		return
	}
	u := model.Update{Score: l.Score, Mistake: h.opts.Learner.Zero.Mistake(l.Label, l.Score), Step: l.Step}
	h.tally.Learnt(l.Label, u, h.opts.Learner.FirstGain(l.Label, l.Weight, h.norm(x), u))
}

// Stage asks for a ceiling of the lessons so far, beside that of all: see
// model.Hindsight.Stage. after is the account right after the last of them; nil: it is not
// known. Call Reached before the next search.
func (h *Hindsight) Stage(after *store.Account) {
	switch {
	case !h.opts.Replays():
		h.tallied(h.then.Dual.Tuned)
		h.Hindsight.Stage(true)
	case after == nil:
		h.Hindsight.Stage(false)
	default:
		h.Tally(h.then.Dual, after.Dual)
		h.Hindsight.Stage(true)
	}
}

// tallied tells the sums of a learner without a window.
func (h *Hindsight) tallied(tuned uint32) {
	tally := h.tally
	tally.Tuned = tuned
	h.Tally(model.DualTally{Tuned: h.then.Dual.Tuned}, tally)
}

// Reached tells what else has happened to the weights since the start, by the account
// as it is after the last lesson.
func (h *Hindsight) Reached(now *store.Account) {
	given, projected := now.Displaced-h.then.Displaced, now.Projected-h.then.Projected
	if h.opts.Kernel.Linear() {
		h.GiveUp(given - h.given)
	} else {
		h.Displace(given - h.given)
	}
	if !h.obeys { // no projection leads w further from a u that obeys
		h.Displace(projected - h.projected)
	}
	h.given, h.projected = given, projected
	h.Hindsight.Reached(now.Kernel.Reach)
	if h.opts.Replays() {
		h.Tally(h.then.Dual, now.Dual)
		return
	}
	h.tallied(now.Dual.Tuned)
}

// Ceiling is a certified upper bound on a learner's mistakes, found in hindsight
// from all of its lessons; see model.Ceiling.
type Ceiling struct {
	// Ceiling is the greatest number of mistakes that the learner can have made on these
	// lessons. Absent if no theorem covers them.
	Ceiling *uint64 `json:"ceiling,omitempty"`
	// Bound is the value that the ceiling was rounded down from, or a looser form of it:
	// R²‖u‖² + 2·L(u) for the perceptron, the passive-aggressive form otherwise.
	Bound *float64 `json:"bound,omitempty"`
	// BoundGap is the most by which the bound may exceed the minimum over all u.
	BoundGap *float64 `json:"bound_gap,omitempty"`
	// BoundRules is the number of rules that every tried u obeys, as the learner did; 0
	// if any u was allowed.
	BoundRules int `json:"bound_rules,omitempty"`
	// NoCeiling says why there is no ceiling.
	NoCeiling string `json:"no_ceiling,omitempty"`
	// CeilingSeconds is the wall time for computing the ceiling. It is not part of
	// seconds.
	CeilingSeconds float64 `json:"ceiling_seconds"`
}

// learnt collects lessons for the ceiling and for keep. x are the features of message now, nil
// when there is none.
func (j *judge) learnt(r filter.Result, now store.MessageKey, x *featurize.Features) error {
	if j.hindsight == nil && j.keep == nil {
		return nil
	}
	for _, l := range r.Lessons {
		if !l.Learnt() {
			continue
		}
		var vector model.Vector
		if x != nil && l.Message == now {
			vector = x.Vector()
		} else {
			var err error
			if vector, err = j.features.Vector(l.Message, nil); err != nil {
				return fmt.Errorf("looking up a lesson for the ceiling: %w", err)
			}
		}
		if j.hindsight != nil {
			j.hindsight.Learnt(l, vector)
		}
		if j.keep != nil {
			j.keep(model.Lesson{Vector: vector, Label: l.Label, Weight: l.Weight})
		}
	}
	return nil
}

// FindCeiling searches on in h.
func FindCeiling(h *model.Hindsight) (Ceiling, model.Ceiling) {
	start := time.Now()
	var c Ceiling
	found := h.Ceiling()
	if c.NoCeiling = found.Reason; found.Reason == "" {
		c.Ceiling, c.Bound, c.BoundGap = &found.Mistakes, &found.Bound, &found.Gap
		c.BoundRules = found.Rules
	}
	c.CeilingSeconds = time.Since(start).Seconds()
	return c, found
}

// String is the line of the table.
func (c Ceiling) String() string {
	if c.Ceiling == nil {
		return "none: " + c.NoCeiling
	}
	by := ""
	if c.BoundRules > 0 {
		by = ", by weights that obey the rules"
	}
	return fmt.Sprintf("at most %d mistakes on these lessons%s; bound %.1f, gap %.2g (found in %.1f s)",
		*c.Ceiling, by, *c.Bound, *c.BoundGap, c.CeilingSeconds)
}
