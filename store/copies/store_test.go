package copies

import (
	"errors"
	"testing"

	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// testOptions are small, so that checkpoints and trimming happen in tests.
func testOptions() boltfile.Options {
	return boltfile.Options{CheckpointEvery: 7, JournalCap: 20, NamesCap: 8, NoSync: true, Hooks: boltfile.Hooks{Slice: 3}}
}

// openTest opens a store that is verified and closed at the end of the test.
func openTest(t testing.TB, path string, o boltfile.Options) *boltfile.Store {
	t.Helper()
	s, err := boltfile.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeVerified(t, s) })
	return s
}

// closeVerified closes s, unless the test did, after a check of all it holds.
func closeVerified(t testing.TB, s *boltfile.Store) {
	t.Helper()
	report, err := s.Verify()
	if errors.Is(err, store.ErrClosed) {
		return
	}
	if err != nil {
		t.Error(err)
	}
	for _, problem := range report.Problems {
		t.Error(problem)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
