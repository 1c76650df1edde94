// SPDX-License-Identifier: Apache-2.0

// Package filetest opens files of accounts in the tests of packages that use them. The
// tests of boltfile itself cannot import it, and have their own.
package filetest

import (
	"context"
	"errors"
	"testing"

	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// Options are small, so that checkpoints and trimming happen in tests.
func Options() boltfile.Options {
	return boltfile.Options{CheckpointEvery: 7, JournalCap: 20, NamesCap: 8, NoSync: true, Hooks: boltfile.Hooks{Slice: 3}}
}

// Open opens a store that is verified and closed at the end of the test.
func Open(tb testing.TB, path string, o boltfile.Options) *boltfile.Store {
	tb.Helper()
	s, err := boltfile.Open(path, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { CloseVerified(tb, s) })
	return s
}

// CloseVerified closes s, unless the test did, after a check of all it holds.
func CloseVerified(tb testing.TB, s *boltfile.Store) {
	tb.Helper()
	report, err := s.Verify(context.Background())
	if errors.Is(err, store.ErrClosed) {
		return
	}
	if err != nil {
		tb.Error(err)
	}
	for _, problem := range report.Problems {
		tb.Error(problem)
	}
	if err := s.Close(); err != nil {
		tb.Error(err)
	}
}
