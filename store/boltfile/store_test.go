// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
)

// testOptions are small, so that checkpoints and trimming happen in tests.
func testOptions() Options {
	return Options{CheckpointEvery: 7, JournalCap: 20, NamesCap: 8, NoSync: true, Hooks: Hooks{Slice: 3}}
}

// fromBackup returns a store that holds what s does, in one file.
func fromBackup(t testing.TB, s *Store) *Store {
	t.Helper()
	var copied bytes.Buffer
	if _, err := s.Backup(&copied); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "hinged.db")
	if err := os.WriteFile(path, copied.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return openTest(t, path, testOptions())
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
	if s.file.db.Path() == "" {
		return
	}
	report, err := s.Verify(context.Background())
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

func TestANewStoreIsEmpty(t *testing.T) {
	s := openTest(t, storetest.TempStore(t), testOptions())
	if names, err := s.Accounts(); err != nil || len(names) != 0 {
		t.Errorf("Accounts() = %v, %v; want none", names, err)
	}
	st, err := s.Load("ann")
	if err != nil {
		t.Fatal(err)
	}
	gotModel, gotState := store.Digest(st)
	wantModel, wantState := store.Digest(store.NewState())
	if gotModel != wantModel || gotState != wantState {
		t.Errorf("digest of an account never committed is %s %s, that of NewState %s %s", gotModel, gotState, wantModel, wantState)
	}
	for _, err := range s.Journal("ann", 1) {
		t.Errorf("an account never committed has a journal entry or an error: %v", err)
	}
}

func TestTheFileIsForItsOwnerOnly(t *testing.T) {
	path := storetest.TempStore(t)
	openTest(t, path, testOptions())
	for at, want := range map[string]fs.FileMode{path: 0o600, filepath.Dir(path): fs.ModeDir | 0o700} {
		info, err := os.Stat(at)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s has mode %v, want %v", at, info.Mode(), want)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("the directory has %v, %v; want the store alone", entries, err)
	}
}

func TestCreationMayBeInterruptedAndMayMeetAnother(t *testing.T) {
	path := storetest.TempStore(t)
	o := testOptions()
	for _, step := range []string{"create", "link"} {
		o.Hooks.Step = breaksAt(&step)
		if _, err := Open(path, o); !errors.Is(err, errBroken) {
			t.Errorf("Open that breaks at step %q: %v", step, err)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("broken at step %q there is something at the path: %v", step, err)
		}
	}
	// Another process creates the store at the same moment, and has it filled
	// before this one comes to its end.
	o.Hooks.Step = func(at string) error {
		if at != "link" {
			return nil
		}
		s, err := Open(path, testOptions())
		if err != nil {
			return err
		}
		return errors.Join(s.Commit("ann", store.NewState(), store.Batch{}), s.Close())
	}
	s := openTest(t, path, o)
	if names, err := s.Accounts(); err != nil || len(names) != 1 {
		t.Errorf("Accounts() = %v, %v; want the other's", names, err)
	}
}

func TestReadingAMissingStoreDoesNotCreateIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hinged.db")
	if _, err := OpenReadOnly(path, Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("OpenReadOnly: %v, want fs.ErrNotExist", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a file now: %v", err)
	}
}

func TestAClosedStoreSaysSo(t *testing.T) {
	s, err := Open(storetest.TempStore(t), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	_, loadErr := s.Load("ann")
	_, verifyErr := s.Verify(context.Background())
	_, backupErr := s.Backup(io.Discard)
	for _, err := range []error{loadErr, verifyErr, backupErr, s.Commit("ann", store.NewState(), store.Batch{})} {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	}
}

func TestNamesOfAccountsAreChecked(t *testing.T) {
	s := openTest(t, storetest.TempStore(t), testOptions())
	for _, name := range []string{"", strings.Repeat("x", 256)} {
		if err := s.Commit(name, store.NewState(), store.Batch{}); err == nil {
			t.Errorf("an account with a name of %d bytes is accepted", len(name))
		}
		if _, err := s.Load(name); err == nil {
			t.Errorf("an account with a name of %d bytes is loaded", len(name))
		}
	}
	for _, name := range []string{"b", "a", strings.Repeat("x", 255), "meta"} {
		if err := s.Commit(name, store.NewState(), store.Batch{}); err != nil {
			t.Error(err)
		}
	}
	if names, err := s.Accounts(); err != nil || !slices.Equal(names, []string{"a", "b", "meta", strings.Repeat("x", 255)}) {
		t.Errorf("Accounts() = %q, %v", names, err)
	}
}

// A copy made while commits go on is a store, and one of their states.
func TestBackupDuringCommitsIsAWholeStore(t *testing.T) {
	s := openTest(t, storetest.TempStore(t), testOptions())
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		st := store.NewState()
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			st.Account.Messages++
			if err := s.Commit("ann", st, store.Batch{Journal: [][]byte{[]byte("entry")}}); err != nil {
				done <- err
				return
			}
		}
	}()
	for i := range 5 {
		path := filepath.Join(t.TempDir(), "copy.db")
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		n, err := s.Backup(f)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() != n {
			t.Errorf("backup %d reports %d bytes, the file has %d, %v", i, n, info.Size(), err)
		}
		c := openTest(t, path, testOptions())
		st, err := c.Load("ann")
		if err != nil {
			t.Fatal(err)
		}
		if st.Account.Messages != st.At().Commit {
			t.Errorf("backup %d has %d messages at commit %d", i, st.Account.Messages, st.At().Commit)
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Iterating holds no transaction, so that the caller may do anything meanwhile.
func TestTheJournalMayBeReadWhileCommitting(t *testing.T) {
	s := openTest(t, storetest.TempStore(t), Options{NoSync: true})
	st := store.NewState()
	b := store.Batch{}
	for range 3 * scanEntries {
		b.Journal = append(b.Journal, []byte("entry"))
	}
	if err := s.Commit("ann", st, b); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for entry, err := range s.Journal("ann", 1) {
		if err != nil {
			t.Fatal(err)
		}
		seen++
		if entry.Seq%100 == 0 && entry.Seq <= 3*scanEntries {
			st.Account.Messages++
			if err := s.Commit("ann", st, store.Batch{Journal: [][]byte{[]byte("later")}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if want := 3*scanEntries + 7; seen != want {
		t.Errorf("saw %d entries, want %d", seen, want)
	}
	for range s.Journal("ann", 5) {
		break // leaving early is fine too
	}
}

// Verify and the start of a small file find what checksums cannot tell.
func TestWhatIsMissingIsNoticed(t *testing.T) {
	const onlyVerify = "lesson that is none"
	cases := []struct {
		name  string
		spoil func(account *bolt.Bucket) error
		says  string
	}{
		{"journal entry", func(a *bolt.Bucket) error { return a.Bucket(journalBucket).Delete(key64(2)) }, "journal: number 2"},
		{"last journal entry", func(a *bolt.Bucket) error { return a.Bucket(journalBucket).Delete(key64(3)) }, "the next one should be 4"},
		{"redo record", func(a *bolt.Bucket) error { return a.Bucket(redoBucket).Delete(key64(2)) }, "redo: number 2"},
		{"last redo record", func(a *bolt.Bucket) error { return a.Bucket(redoBucket).Delete(key64(3)) }, "redo: it goes on to number 3"},
		{"lesson", func(a *bolt.Bucket) error { return a.Bucket(lessonsBucket).Delete(key64(1)) }, "lessons: number 1"},
		{"index of features", func(a *bolt.Bucket) error {
			key, _ := a.Bucket(indexBucket).Cursor().First()
			return a.Bucket(indexBucket).Delete(key)
		}, "not in the index"},
		{"features", func(a *bolt.Bucket) error {
			key, _ := a.Bucket(featuresBucket).Cursor().First()
			return errors.Join(a.Bucket(featuresBucket).Delete(key), a.Bucket(namesBucket).Delete(key))
		}, "entries in their index"},
		{"names of nothing", func(a *bolt.Bucket) error {
			key := binary.BigEndian.AppendUint32(key64(2), 7)
			return a.Bucket(namesBucket).Put(key, frame(nil, frameNames, key, key64(0)))
		}, "are of no features"},
		{"names", func(a *bolt.Bucket) error {
			key, _ := a.Bucket(namesBucket).Cursor().First()
			return a.Bucket(namesBucket).Delete(key)
		}, "names of 2 messages"},
		{"bucket", func(a *bolt.Bucket) error { return a.DeleteBucket(lessonsBucket) }, "lessons is missing"},
		{"bucket without anything in it", func(a *bolt.Bucket) error { return a.DeleteBucket(snapshotsBucket) }, "snapshots is missing"},
		{"mark under its name", func(a *bolt.Bucket) error { return a.Put([]byte("restorec"), frame(nil, frameRestored, restoredKey)) }, `"restorec" is none of the names`},
		{"bucket under its name", func(a *bolt.Bucket) error { _, err := a.Tx().CreateBucket([]byte("pendinf")); return err }, `"pendinf" is none of the names`},
		{"name", func(a *bolt.Bucket) error { return a.Put(nameKey, frame(nil, frameName, nameKey, []byte("anf"))) }, `account "ann": its bucket is that of account "anf"`},
		{onlyVerify, func(a *bolt.Bucket) error {
			return a.Bucket(lessonsBucket).Put(key64(2), frame(nil, frameLesson, key64(2), []byte{0x01}))
		}, "lesson 2"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, err := Open(storetest.TempStore(t), Options{NoSync: true})
			if err != nil {
				t.Fatal(err)
			}
			st := store.NewState()
			for n := range 3 {
				st.Account.Messages++
				b := store.Batch{
					Journal:  [][]byte{{byte(n)}},
					Features: []store.FeatureRecord{{Key: storetest.KeyOf(n), Data: []byte("x"), Names: []byte("y")}},
					Lessons:  []store.Lesson{{Message: storetest.KeyOf(n)}},
				}
				if err := s.Commit("ann", st, b); err != nil {
					t.Fatal(err)
				}
			}
			if report, err := s.Verify(context.Background()); err != nil || !report.OK() {
				t.Fatalf("before: %v, %v", err, report.Problems)
			}
			if err := s.file.update(func(tx *bolt.Tx) error { return c.spoil(accountBucket(tx, "ann")) }); err != nil {
				t.Fatal(err)
			}
			report, err := s.Verify(context.Background())
			if err != nil || !strings.Contains(fmt.Sprint(report.Problems), c.says) {
				t.Errorf("Verify: %v, %v; want a problem that says %q", report.Problems, err, c.says)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			_, err = OpenReadOnly(s.Path(), Options{})
			if c.name == onlyVerify && err == nil {
				return
			}
			if !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("OpenReadOnly: %v; want ErrDamaged that says %q", err, c.says)
			}
		})
	}
}
