// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux && !aix && !solaris

package main

import "golang.org/x/sys/unix"

// The requests of tcgetattr and tcsetattr (POSIX); the last throws away what was typed.
const (
	getTermios      = unix.TIOCGETA
	setTermios      = unix.TIOCSETA
	setTermiosFlush = unix.TIOCSETAF
)
