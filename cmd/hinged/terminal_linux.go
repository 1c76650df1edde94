// SPDX-License-Identifier: Apache-2.0

package main

import "golang.org/x/sys/unix"

// The requests of tcgetattr and tcsetattr (POSIX); the last throws away what was typed.
const (
	getTermios      = unix.TCGETS
	setTermios      = unix.TCSETS
	setTermiosFlush = unix.TCSETSF
)
