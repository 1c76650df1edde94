// SPDX-License-Identifier: Apache-2.0

// Package zones has the time zones of the IANA database, of one version. The standard
// library takes the files of the machine first, so that a day would begin, and a daily
// limit count, differently from machine to machine.
//
// zoneinfo.zip is lib/time/zoneinfo.zip of Go 1.26.8, and Version its CODE in update.bash
// beside it. A newer one comes in with both changed, and the sum in the test.
package zones

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"fmt"
	"io/fs"
	"sync"
	"time"
)

// Version is that of the database.
const Version = "2025c"

//go:embed zoneinfo.zip
var packed []byte

var files = sync.OnceValues(func() (*zip.Reader, error) { return zip.NewReader(bytes.NewReader(packed), int64(len(packed))) })

// Load returns the zone of a name such as "Europe/Zurich"; "" and "UTC" are UTC. Unlike
// time.LoadLocation it knows no "Local". It is safe for concurrent use.
func Load(name string) (*time.Location, error) {
	if name == "" || name == "UTC" {
		return time.UTC, nil
	}
	all, err := files()
	if err != nil {
		return nil, fmt.Errorf("time zones: %w", err)
	}
	data, err := fs.ReadFile(all, name)
	if err != nil {
		return nil, fmt.Errorf("unknown time zone %s", name)
	}
	return time.LoadLocationFromTZData(name, data)
}
