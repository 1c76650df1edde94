// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"net/http"

	"github.com/hinged/hinged/store/boltfile"
)

// Compact writes the store's files anew without their free pages. The accounts go on:
// what they read is there, and their commits wait until it has ended.
var Compact = Verb[None, Compaction]{"compact", http.MethodPost, func(ctx context.Context, h Host, _ string, _ None) (c Compaction, err error) {
	err = h.Store(true, func(s *boltfile.Store) error { c.Before, c.After, err = s.Compact(ctx); return err })
	return c, err
}}

// Compaction is what `hinged compact` prints.
type Compaction struct {
	Before int64 `json:"bytes_before"` // size of the store before compacting
	After  int64 `json:"bytes_after"`  // size of the store after compacting
}
