// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"net/http"

	"github.com/hinged/hinged/internal/stream"
	"github.com/hinged/hinged/store/boltfile"
)

// Compact writes the store's files anew without their free pages, one after another. The
// accounts go on: what they read is there, and their commits wait while it is their file's turn.
var Compact = Verb[None, Compaction]{"compact", http.MethodPost, func(ctx context.Context, h Host, _ string, _ None) (c Compaction, err error) {
	err = h.Store(true, func(own *boltfile.Store, files *stream.Files) error {
		for _, s := range files.And(own) {
			before, after, err := s.Compact(ctx)
			if err != nil {
				return err
			}
			c.Before, c.After = c.Before+before, c.After+after
		}
		return nil
	})
	return c, err
}}

// Compaction is what `hinged compact` prints.
type Compaction struct {
	Before int64 `json:"bytes_before"` // size of the store before compacting
	After  int64 `json:"bytes_after"`  // size of the store after compacting
}
