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
