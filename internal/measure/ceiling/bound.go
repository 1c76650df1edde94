// SPDX-License-Identifier: Apache-2.0

// Package ceiling compares the mistakes that an account's learner made with the most that
// theory allows, from what the store keeps of its lessons:
//
//	State (committed) + lesson log ─▶ evaluate.Hindsight ─▶ Bound
//
// The theorems are package model's business, and the search is evaluate's.
package ceiling

import "github.com/hinged/hinged/internal/measure/evaluate"

// Bound compares an account's mistakes with the maximum that theory allows.
type Bound struct {
	// Account is the name of the account.
	Account string `json:"account"`
	// Learner is the kind of learner: perceptron, margin or passive-aggressive.
	Learner string `json:"learner"`
	// KernelDegree is the degree of the kernel of a kernel learner.
	KernelDegree int `json:"kernel_degree,omitempty"`
	// FirstLesson is the number of the first lesson counted: the oldest one in the lesson
	// log.
	FirstLesson uint64 `json:"first_lesson"`
	// LastLesson is the number of the last lesson counted. Some numbers in between may
	// belong to marked messages that were left alone. Only the threshold learns from
	// those.
	LastLesson uint64 `json:"last_lesson"`
	// Lessons is the number of lessons counted.
	Lessons int `json:"lessons"`
	// Mistakes counts lessons whose score was on the wrong side of 0, or exactly 0.
	Mistakes uint64 `json:"mistakes"`
	// HingeLoss is the hinge loss summed over the lessons.
	HingeLoss float64 `json:"hinge_loss"`
	// Ceiling on the mistakes.
	evaluate.Ceiling
	// Radius is the length of the longest vector (R).
	Radius float64 `json:"radius"`
	// Distance is the distance from the weights before the first lesson to the best
	// weights in hindsight (u).
	Distance float64 `json:"distance"`
	// Loss is the loss of the best weights in hindsight, summed in the way that the bound
	// needs.
	Loss float64 `json:"loss"`
	// Displaced is how far the weights were moved by anything other than lessons (D).
	// This includes rules, unless the ceiling is about weights that obey them.
	Displaced float64 `json:"displaced"`
}
