// SPDX-License-Identifier: Apache-2.0

package testkit

import "testing"

// Computes skips, under the race detector, a test that computes for long and races
// nothing that shorter tests do not. The Makefile finds the tests that call it in their
// first line, and make test runs them without the detector.
func Computes(tb testing.TB) {
	tb.Helper()
	if underRace {
		tb.Skip("it computes for long: make race runs it without the race detector")
	}
}

// Rounds returns how many rounds a test takes: all of them, or few under the race detector,
// where one takes ten times as long and another races nothing new. The Makefile finds the
// tests that call it in their first line, and make test runs them without the detector, too.
func Rounds(tb testing.TB, all, few int) int {
	tb.Helper()
	if underRace {
		return few
	}
	return all
}
