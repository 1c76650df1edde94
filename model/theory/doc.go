// SPDX-License-Identifier: Apache-2.0

// Package theory is what the lecture notes teach beside the learners that an account can
// have: cycling and margins, forced separability, linear feasibility, the modified
// perceptron, descent and averaging, quadratic maps, and the hard instances. It stands on
// package model and is as deterministic. Only the laboratory and tests import it; hinged
// itself does not contain it.
package theory
