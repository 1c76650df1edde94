// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
)

var errBroken = errors.New("broken on purpose")

// inAccount runs fn with the account of a store of one commit, in a transaction that
// is taken back.
func inAccount(t *testing.T, fn func(account *bolt.Bucket, p Progress) error) {
	t.Helper()
	s := openTest(t, storetest.TempStore(t), testOptions())
	b := store.Batch{Features: []store.FeatureRecord{{Key: storetest.KeyOf(1), Data: []byte("features")}}}
	if err := s.Commit("ann", store.NewState(), b); err != nil {
		t.Fatal(err)
	}
	err := s.file.update(func(tx *bolt.Tx) error {
		account := accountBucket(tx, "ann")
		p, err := readProgress(account)
		if err != nil {
			return err
		}
		if err := fn(account, p); err != nil {
			return err
		}
		return errBroken
	})
	if !errors.Is(err, errBroken) {
		t.Error(err)
	}
}

// Where one step of a change fails, those after it are not taken.
func TestTheIndexStaysWhenFeaturesCannotBeDropped(t *testing.T) {
	inAccount(t, func(account *bolt.Bucket, p Progress) error {
		features, index, err := featureBuckets(account)
		if err != nil {
			return err
		}
		bad, entry := []byte("no record"), keysFrom(index, nil)
		if _, err := features.CreateBucket(bad); err != nil {
			return err
		}
		if err := dropFeatures(account, &p, [][]byte{bad}, entry); err == nil {
			t.Error("a bucket is deleted as if it were a record")
		}
		if len(entry) != 1 || index.Get(entry[0]) == nil {
			t.Errorf("of %d entries of the index the first is deleted although the step before failed", len(entry))
		}
		return nil
	})
}

func TestACompactThatStopsAtOnceTouchesNothing(t *testing.T) {
	o := testOptions()
	o.Hooks.Step = func(step string) error {
		if step == "compact" {
			return errBroken
		}
		return nil
	}
	s := openTest(t, storetest.TempStore(t), o)
	left := s.path + compacting
	if err := os.WriteFile(left, []byte("another's"), 0o600); err != nil {
		t.Fatal(err)
	}
	draft, err := s.file.compactInto(t.Context(), left)
	if draft != nil || !errors.Is(err, errBroken) {
		t.Errorf("compactInto: %v", err)
	}
	if data, err := os.ReadFile(left); err != nil || string(data) != "another's" {
		t.Errorf("the file that was there is now %q, %v", data, err)
	}
}

func TestACopyOfAFileIsWholeOrNotThere(t *testing.T) {
	dir := t.TempDir()
	to := filepath.Join(dir, "to")
	if err := copyFile(dir, to); err == nil { // a directory can be opened, and not be read
		t.Error("a directory was copied")
	}
	if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("half a copy is left: %v", err)
	}
	if err := os.WriteFile(to, []byte("there"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := copyFile(to, to+"-2"); err != nil {
		t.Error(err)
	}
	if err := copyFile(to+"-2", to); !errors.Is(err, fs.ErrExist) {
		t.Errorf("copying over a file: %v, want ErrExist", err)
	}
	if data, err := os.ReadFile(to); err != nil || string(data) != "there" {
		t.Errorf("the file that was there is now %q, %v", data, err)
	}
}
