// SPDX-License-Identifier: Apache-2.0

//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package boltfile

import "os"

// lockFile knows of no lock here. Renaming or replacing a file that another
// process has open fails on Windows, which is what it is asked for.
func lockFile(path string) (*os.File, error) { return os.Open(path) }

// unlock knows of no lock either.
func unlock(*os.File) error { return nil }

// lockedElsewhere knows of no lock either.
func lockedElsewhere(string) (bool, error) { return false, nil }

// lockShared knows of no lock either.
func lockShared(*os.File) (bool, error) { return true, nil }

// removeAbandoned can't tell whether a process still writes the file, and leaves it there.
func removeAbandoned(string) error { return nil }
