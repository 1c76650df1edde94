// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"errors"
	"math"

	"github.com/hinged/hinged/model"
)

// Separation is the result of cycling through the same lessons.
type Separation struct {
	// Separated: cycling came to weights that get every lesson right.
	Separated bool
	// Weights get the fewest lessons wrong of all that a pass ended with and those
	// of FindWidest.
	Weights  *model.Weights
	Wrong    int // lessons that Weights get wrong
	Passes   int // over all lessons
	Mistakes int // in all passes
	// Margin is γ_w of Weights (≤ 0 when it gets a lesson wrong), Widest the greatest
	// margin of any w as far as known: γ lies from max(0, Margin) to AtMost.
	Margin, AtMost float64
	Radius         float64         // R
	Tally          model.DualTally // of all steps, for a ceiling on Mistakes; 0 but for passive-aggressive
}

// ErrNoLessons is returned when an empty list of lessons is given and at least one is
// needed.
var ErrNoLessons = errors.New("there are no lessons")

// Cycle teaches a learner of s the lessons again and again, in their order, until a
// pass ends with weights that get them all right or there were so many passes (Virtue, "Algorithm 1
// Perceptron Learning Algorithm"). The weights of the lessons scale the steps.
//
// If γ > 0 then the perceptron makes at most (R/γ)² mistakes in all the passes
// together, since they are one stream with the same R and γ, and so there are at
// most (R/γ)² passes, or 1. If no w separates the lessons it goes on to the last
// pass. O(features of the lessons) time a pass, twice that for passes that end
// with mistakes.
func Cycle(s model.Spec, lessons []model.Lesson, passes int) (Separation, error) {
	if len(lessons) == 0 {
		return Separation{}, ErrNoLessons
	}
	l, err := model.NewLinear(s, model.NewWeights(0))
	if err != nil {
		return Separation{}, err
	}
	r := Separation{Weights: model.NewWeights(0), Wrong: len(lessons), Radius: Radius(lessons)}
	steps := 0.0
	for r.Passes < passes && !r.Separated {
		r.Passes++
		wrong := 0
		for _, e := range lessons {
			u := l.Learn(e)
			if u.Mistake {
				wrong++
			}
			steps += math.Abs(u.Step)
			if s.Passive() {
				r.Tally.Learnt(e.Label, u, s.FirstGain(e.Label, e.Weight, e.Vector.SquaredNorm(), u))
			}
		}
		r.Mistakes += wrong
		if wrong > 0 {
			wrong = mistakes(s.Zero, l.Weights(), lessons)
		}
		r.Separated = wrong == 0
		if wrong < r.Wrong {
			r.Wrong = wrong
			r.Weights = l.Weights().Clone()
		}
	}
	widest := FindWidest(lessons, min(passes, 1000))
	if wrong := mistakes(s.Zero, widest.Weights, lessons); wrong < r.Wrong {
		r.Weights, r.Wrong = widest.Weights, wrong
	}
	r.Margin = Margin(r.Weights, lessons)
	r.AtMost = widest.AtMost
	if steps > 0 {
		// The learner's own w is a combination of y·x, too.
		r.AtMost = min(r.AtMost, float64(norm(l.Weights())/steps*(1+1e-6)))
	}
	return r, nil
}

// mistakes counts the lessons that w gets wrong.
func mistakes(z model.Zero, w *model.Weights, lessons []model.Lesson) (n int) {
	for _, e := range lessons {
		if z.Mistake(e.Label, w.Dot(e.Vector)) {
			n++
		}
	}
	return n
}

// Force returns copies of the lessons, each with one more feature that no other lesson
// has, with the given value. That makes any lessons separable (Daumé, "add a
// feature"): with value Δ the margin is at least Δ/√T, T the number of lessons, since
// w = Σ y_t·e_t over the added features has y·w·x = Δ for each. The added indices are
// above all others.
func Force(lessons []model.Lesson, value float64) ([]model.Lesson, error) {
	if !(math.Abs(value) <= math.MaxFloat64) || value == 0 {
		return nil, errors.New("the value of the added feature must be a finite number other than 0")
	}
	top := model.Affine
	for _, e := range lessons {
		if n := len(e.Vector); n > 0 {
			top = max(top, e.Vector[n-1].Index)
		}
	}
	if uint64(top) > math.MaxUint64-uint64(len(lessons)) {
		return nil, errors.New("there is no room for more features above the greatest index")
	}
	out := make([]model.Lesson, len(lessons))
	for t, e := range lessons {
		x := make(model.Vector, len(e.Vector), len(e.Vector)+1)
		copy(x, e.Vector)
		e.Vector = append(x, model.Feature{Index: top + 1 + model.Index(t), Value: value})
		out[t] = e
	}
	return out, nil
}

// Lift returns x with the affine coordinate set to value: a hyperplane w·x = b
// becomes one through the origin, with −b/value as the weight of that coordinate
// (Blum, section 3.2). x must not have it.
func Lift(x model.Vector, value float64) model.Vector {
	return append(model.Vector{{Index: model.Affine, Value: value}}, x...)
}
