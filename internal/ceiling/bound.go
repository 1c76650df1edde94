// SPDX-License-Identifier: Apache-2.0

// Package ceiling compares the mistakes that an account's learner made with the most that
// theory allows, from what the store keeps of its lessons:
//
//	State (committed) + lesson log ─▶ filter.Hindsight ─▶ Bound
//
// The theorems are package model's business, and the search is evaluate's.
package ceiling

import "github.com/hinged/hinged/internal/evaluate"

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
