// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"time"

	"github.com/hinged/hinged/internal/zones"
)

// night returns now in a time zone where it is between 3 and 4 o'clock. A demo that
// takes place then decides alike at every hour of the real day: the messages of the past,
// which come from 6 to 20 o'clock, become as old as some label waits for (6 hours, or 3
// days) long before or long after it, and no new day begins in it.
func night(now time.Time) (time.Time, error) {
	east := (3-now.UTC().Hour()+36)%24 - 12
	name := "UTC"
	if east != 0 {
		name = fmt.Sprintf("Etc/GMT%+d", -east) // whose sign is that of POSIX
	}
	zone, err := zones.Load(name)
	if err != nil {
		return time.Time{}, fmt.Errorf("demo: %w", err)
	}
	return now.In(zone), nil
}
