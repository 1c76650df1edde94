package desk

import (
	"context"
	"net/http"

	"github.com/hinged/hinged/internal/evaluate"
)

// GetBound compares the mistakes of an account's lesson log with their ceiling.
var GetBound = ofAccount("bound", http.MethodGet, bound)

// Bound compares an account's mistakes with the most that theory allows.
type Bound struct {
	// Account is its name.
	Account string `json:"account"`
	// Learner is its kind: perceptron, margin or passive-aggressive.
	Learner string `json:"learner"`
	// Kernel of a kernel learner: polynomial, normalised or gaussian.
	Kernel string `json:"kernel,omitempty"`
	// FirstLesson is the number of the first lesson that it is about: the first
	// that the lesson log still has.
	FirstLesson uint64 `json:"first_lesson"`
	// LastLesson is the number of the last. Between them may be numbers of what only
	// the threshold heard of: marked messages that were left alone.
	LastLesson uint64 `json:"last_lesson"`
	// Lessons is how many it is about.
	Lessons int `json:"lessons"`
	// Mistakes are lessons on which the score was on the wrong side of 0, or 0.
	Mistakes uint64 `json:"mistakes"`
	// HingeLoss is summed over the lessons.
	HingeLoss float64 `json:"hinge_loss"`
	// Ceiling on the mistakes.
	evaluate.Ceiling
	// Radius is the length of the longest vector (R).
	Radius float64 `json:"radius"`
	// Distance is that of the best weights in hindsight (u) from those before the
	// first lesson.
	Distance float64 `json:"distance"`
	// Loss is that of the best weights in hindsight, summed as the bound does it.
	Loss float64 `json:"loss"`
	// Displaced is how far the weights were moved by other things than lessons (D),
	// the rules included unless the ceiling is of weights that obey them.
	Displaced float64 `json:"displaced"`
}

// bound searches outside of Look: that takes its time.
func bound(ctx context.Context, a Account, _ None) (b Bound, err error) {
	var past Past
	var now present
	var ceilings *Ceilings
	err = a.Look(ctx, Logs, func(d *Desk) error {
		past, ceilings, now = d.Past, d.Ceilings, presentOf(d)
		return nil
	})
	if err != nil {
		return b, err
	}
	return ceilings.bound(ctx, past, now)
}
