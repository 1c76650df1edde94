// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"testing"

	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
)

// replayed replays in memory the sequence that a victim commits to a file.
type replayed struct {
	st      *store.State
	tw      *storetest.Twin
	commits uint64
}

func newReplayed() *replayed { return &replayed{st: store.NewState(), tw: storetest.NewTwin()} }

// compare goes on to where the file stands, which must be the commit that the
// victim said last or the one after it, and demands that both hold the same.
func (r *replayed) compare(t *testing.T, s *Store, said uint64) *store.State {
	t.Helper()
	loaded, err := s.Load("ann")
	if err != nil {
		t.Fatal(err)
	}
	if loaded.At().Commit < said || loaded.At().Commit > said+1 {
		t.Fatalf("the file has commit %d, the process had said %d", loaded.At().Commit, said)
	}
	for ; r.commits < loaded.At().Commit; r.commits++ {
		r.tw.Committed(sequence(r.st, r.tw, r.commits+1))
	}
	r.tw.Compare(t, loaded)
	r.tw.CompareLogs(t, s, "ann")
	return loaded
}
