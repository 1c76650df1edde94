// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"os"
	"syscall"
	"testing"
)

// WriteProgram writes a file that the test is going to run. A process that a parallel test
// starts meanwhile would hold the file open for writing for a moment, and a file that
// is open so cannot be run (ETXTBSY): no process is started before it is written.
func WriteProgram(tb testing.TB, path string, data []byte, mode os.FileMode) {
	tb.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, data, mode); err != nil {
		tb.Fatal(err)
	}
}
