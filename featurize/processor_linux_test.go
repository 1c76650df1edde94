// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"syscall"
	"time"
)

// processorTime is what this thread has had of the processor so far, which its
// goroutine must be locked to. It stands still while others have the processor.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_THREAD, &u); err != nil {
		panic(err) // it fails only for bad arguments
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
