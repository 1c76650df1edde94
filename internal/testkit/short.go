// SPDX-License-Identifier: Apache-2.0

package testkit

import "testing"

// noServers skips a test that needs a server where none are wanted: go test -short.
func noServers(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("SKIPPED: -short asks for tests without servers")
	}
}
