// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"os"
	"strconv"
)

// FromEnv is the size of a test or benchmark: the number from 0 on that the environment
// variable name has, or else otherwise.
func FromEnv(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n >= 0 {
		return n
	}
	return otherwise
}
