// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"fmt"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

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
