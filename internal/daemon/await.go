// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// readersPatience is how long a daemon waits for processes that only read its store.
// Most of the verbs that do have it open for a moment; a verification, or an export,
// may take minutes.
const readersPatience = 3 * time.Minute

// Await is New, but waits while other processes have the store open to read it, and
// says so in the log. A process that has it open to write gives store.ErrRunning at
// once, as in New.
func Await(ctx context.Context, o Options) (*Daemon, error) {
	return await(ctx, o, readersPatience)
}

func await(ctx context.Context, o Options, most time.Duration) (*Daemon, error) {
	waiting := func() {
		if o.Logger != nil {
			o.Logger.Info("another hinged is reading the store: waiting for it", "store", o.StorePath, "at_most", most)
		}
	}
	for end := time.Now().Add(most); ; {
		if err := boltfile.AwaitReaders(ctx, o.StorePath, time.Until(end), waiting); err != nil {
			return nil, err
		}
		d, err := New(o)
		if !errors.Is(err, store.ErrRunning) || !time.Now().Before(end) {
			return d, err
		}
		waiting = func() {} // the next reader was faster; it has been said
	}
}
