// SPDX-License-Identifier: Apache-2.0

// Package model is the mathematics of hinged: sparse vectors, weights, the
// online learners of the perceptron family and the hinge loss they are judged
// by.
//
// It knows nothing of mail, files, clocks or logs, imports the standard library
// only, and is deterministic to the last bit: the same lessons in the same
// order give the same weights on every machine. Two habits make that true:
//
//   - sums run in ascending feature order;
//   - every product is written float64(a*b), which by the Go specification
//     rounds it and so forbids the compiler to fuse it with an addition, as it
//     otherwise may on arm64 and on GOAMD64=v3.
//
// Scores use + − × ÷ √ only, whose results IEEE 754 fixes.
//
// Data flow: Vector → Linear.Score → (label arrives) → Linear.Learn → Update; Dual and
// KernelLearner go the same way.
//
// Nothing here is safe for concurrent use; one goroutine owns a learner.
package model
