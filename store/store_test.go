package store

import (
	"path/filepath"
	"testing"
)

// testOptions are small, so that checkpoints and trimming happen in tests.
func testOptions() Options {
	return Options{CheckpointEvery: 7, JournalCap: 20, NoSync: true, slice: 3}
}

// openTest opens a store that is verified and closed at the end of the test.
func openTest(t testing.TB, path string, o Options) *Store {
	t.Helper()
	s, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeVerified(t, s) })
	return s
}

// closeVerified closes s, unless the test did, after a check of all it holds.
func closeVerified(t testing.TB, s *Store) {
	t.Helper()
	if s.db.Path() == "" {
		return
	}
	report, err := s.Verify()
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

func tempStore(t testing.TB) string { return filepath.Join(t.TempDir(), "deep", "hinged.db") }

func TestANewStoreIsEmpty(t *testing.T) {
	s := openTest(t, tempStore(t), testOptions())
	if names, err := s.Accounts(); err != nil || len(names) != 0 {
		t.Errorf("Accounts() = %v, %v; want none", names, err)
	}
	st, err := s.Load("ann")
	if err != nil {
		t.Fatal(err)
	}
	gotModel, gotState := Digest(st)
	wantModel, wantState := Digest(NewState())
	if gotModel != wantModel || gotState != wantState {
		t.Errorf("digest of an account never committed is %s %s, that of NewState %s %s", gotModel, gotState, wantModel, wantState)
	}
	for _, err := range s.Journal("ann", 1) {
		t.Errorf("an account never committed has a journal entry or an error: %v", err)
	}
}
