// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"log/slog"
	"math"
	"os"
	"runtime/debug"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/host/memlimit"
)

// limitMemory keeps the process to memory_limit, or else to what its container may use,
// and returns how many bytes that are; 0 if there is no limit. Go is told of nine tenths:
// stacks of the system, and pages of the store's file, come on top. GOMEMLIMIT in the
// environment stands in for the container's limit.
func limitMemory(c *config.Config, log *slog.Logger) (int64, error) {
	limit, from := int64(c.MemoryLimit), "memory_limit"
	if limit == 0 {
		if own := debug.SetMemoryLimit(-1); own < math.MaxInt64 {
			log.Info("memory is limited", "bytes", own, "by", "GOMEMLIMIT")
			return own, nil
		}
		var err error
		if limit, err = memlimit.Container("/"); err != nil {
			return 0, fmt.Errorf("memory_limit is not set, and the container's limit can't be read: %w", err)
		}
		from = "the container"
	}
	if limit == 0 {
		return 0, nil
	}
	debug.SetMemoryLimit(limit / 10 * 9)
	log.Info("memory is limited", "bytes", limit, "by", from)
	return limit, nil
}

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
