// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// unread is how many bytes were typed on a terminal and wait to be read.
func unread(t *testing.T, terminal *os.File) int {
	t.Helper()
	n, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCINQ)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
