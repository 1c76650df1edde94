// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"io"

	"github.com/hinged/hinged/store/boltfile"
	"github.com/hinged/hinged/store/copies"
)

// Backup writes a copy of the whole store, as of the last commit.
var Backup = Copy{"backup", func(ctx context.Context, h Host, _ string, w io.Writer) error {
	return h.Store(false, func(s *boltfile.Store) error { _, err := s.Backup(ctx, watchful{ctx, w}); return err })
}}

// Export writes an account of the store, whether or not it is configured; see
// copies.Export.
var Export = Copy{"export", func(ctx context.Context, h Host, account string, w io.Writer) error {
	return h.Store(false, func(s *boltfile.Store) error {
		names, err := s.Accounts()
		if err != nil {
			return err
		}
		if account, err = Pick(names, account); err != nil {
			return err
		}
		_, err = copies.WriteExport(s, account, watchful{ctx, w})
		return err
	})
}}

// watchful ends writing when ctx is done.
type watchful struct {
	ctx context.Context // of one copy
	w   io.Writer
}

func (w watchful) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.w.Write(p)
}
