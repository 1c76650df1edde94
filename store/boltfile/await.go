// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/hinged/hinged/store"
)

// awaitEvery is the time between two looks at a store that others read.
const awaitEvery = 50 * time.Millisecond

// holding is how other processes have a store open.
type holding uint8

const (
	free    holding = iota
	reading         // one or more, and all of them to read
	writing
)

// AwaitReaders waits until no process has the store at path open for reading. It
// calls waiting once, if it has to wait at all. The error is that of ctx, or
// store.ErrRunning when the time is over, and at once when a process may write. A
// missing file is no error.
func AwaitReaders(ctx context.Context, path string, most time.Duration, waiting func()) (err error) {
	defer wrap(&err, "waiting for store %s", path)
	deadline := time.NewTimer(most)
	defer deadline.Stop()
	look := time.NewTicker(awaitEvery)
	defer look.Stop()
	for first := true; ; first = false {
		how, err := held(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case how == writing:
			return store.ErrRunning
		case how == free:
			return nil
		}
		if first {
			waiting()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline.C:
			return store.ErrRunning
		case <-look.C:
		}
	}
}
