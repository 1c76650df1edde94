// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"runtime/debug"
)

// seldom is how many percent of the memory in use a verb allocates before garbage is
// collected.
const seldom = 400

// collectSeldom has garbage collected a quarter as often, unless GOGC says otherwise. It
// is for a verb that goes through many messages beside one account in memory and then
// ends: deciding an mbox takes an eighth less processor time, and up to five times the
// memory of the account instead of twice (docs/results.md).
func collectSeldom() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(seldom)
	}
}
