// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package featurize

import "time"

var began = time.Now()

// processorTime is the time on the wall, where that of a thread cannot be had.
func processorTime() time.Duration { return time.Since(began) }
