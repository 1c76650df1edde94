// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"errors"
	"io"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
)

func TestAnAccountThatCannotBeAddedChangesNothing(t *testing.T) {
	from, _, _ := wasteful(t, testOptions())
	var at string
	o := testOptions()
	o.Hooks.Incoming = 2000
	o.Hooks.Step = breaksAt(&at)
	s := openTest(t, storetest.TempStore(t), o)
	if err := s.Commit("ann", store.NewState(), store.Batch{}); err != nil {
		t.Fatal(err)
	}
	want := storetest.DigestsOf(t, s)
	for _, at = range []string{"import", "stage"} {
		if err := s.AddAccount(from, "ann", "ann"); !errors.Is(err, errBroken) {
			t.Fatalf("AddAccount that breaks at %q: %v", at, err)
		}
		if got := storetest.DigestsOf(t, s); got != want {
			t.Errorf("digests were\n%s are\n%s", want, got)
		}
	}
	at = ""
	path := s.Path()
	closeVerified(t, s)

	// A full disk.
	o.Hooks.MaxSize = 64 << 10
	full := openTest(t, storetest.TempStore(t), o)
	if err := full.AddAccount(from, "ann", "ann"); !errors.Is(err, store.ErrNoSpace) {
		t.Errorf("AddAccount on a full disk: %v, want ErrNoSpace", err)
	}
	if names, err := full.Accounts(); err != nil || len(names) > 0 {
		t.Errorf("after it there are the accounts %q, %v", names, err)
	}
	// Killed in the midst: what was copied so far goes at the next start.
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(arrivingBucket)
		if err == nil {
			_, err = b.CreateBucketIfNotExists([]byte("half"))
		}
		return err
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, path, testOptions())
	if err := s.file.view(func(tx *bolt.Tx) error {
		if tx.Bucket(arrivingBucket) != nil {
			t.Error("half an account is still there")
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if got := storetest.DigestsOf(t, s); got != want {
		t.Errorf("digests were\n%s are\n%s", want, got)
	}
	if err := s.AddAccount(from, "ann", "ann"); err != nil {
		t.Error(err)
	}
}

func TestACopyOfAnAccountThatFindsNoRoomSaysSo(t *testing.T) {
	s, _, _ := wasteful(t, testOptions())
	s.o.Hooks.MaxSize = 64 << 10
	if err := s.CopyAccount("ann", io.Discard); !errors.Is(err, store.ErrNoSpace) {
		t.Errorf("CopyAccount on a full disk: %v, want ErrNoSpace", err)
	}
	s.o.Hooks.MaxSize = 0
}
