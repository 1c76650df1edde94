// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"io"

	"github.com/hinged/hinged/internal/stream"
	"github.com/hinged/hinged/store/boltfile"
	"github.com/hinged/hinged/store/copies"
)

// Backup writes a copy of the store, as of the last commit, without the files of partitions: the
// snapshots topic has what these have.
var Backup = Copy{"backup", func(ctx context.Context, h Host, _ string, w io.Writer) error {
	return h.Store(false, func(s *boltfile.Store, _ *stream.Files) error {
		_, err := s.Backup(copies.PatientWriter(ctx, w))
		return err
	})
}}

// Export writes an account of the store, whether or not it is configured; see
// copies.Export.
var Export = Copy{"export", func(ctx context.Context, h Host, account string, w io.Writer) error {
	return h.Store(false, func(own *boltfile.Store, files *stream.Files) error {
		var names []string
		in := map[string]*boltfile.Store{}
		for _, s := range files.And(own) {
			some, err := s.Accounts()
			if err != nil {
				return err
			}
			for _, name := range some {
				names, in[name] = append(names, name), s
			}
		}
		account, err := Pick(names, account)
		if err != nil {
			return err
		}
		return in[account].CopyAccount(account, copies.PatientWriter(ctx, w))
	})
}}
