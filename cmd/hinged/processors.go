// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"runtime"
)

// yieldProcessors lets mail that arrives go before the pages and calls that keep the
// processors busy, and returns how many processors there are. Go lets a goroutine run for
// up to 10 ms while others wait. With two threads for each processor it is the system that
// shares the processors out, and it prefers a thread that has slept. Who sets GOMAXPROCS
// in the environment has decided otherwise.
func yieldProcessors() (processors int) {
	processors = runtime.GOMAXPROCS(0)
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(2 * processors)
	}
	return processors
}
