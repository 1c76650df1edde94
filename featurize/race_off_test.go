// SPDX-License-Identifier: Apache-2.0

//go:build !race

package featurize

// Without the race detector the limits hold as they are.
const slowdown = 1
