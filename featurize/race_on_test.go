// SPDX-License-Identifier: Apache-2.0

//go:build race

package featurize

// The race detector makes code this many times as slow, or nearly so.
const slowdown = 10
