// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
)

// spoilFile overwrites some pages in the middle of a file.
func spoilFile(t testing.TB, path string) {
	t.Helper()
	if err := testkit.Garble(path); err != nil {
		t.Fatal(err)
	}
}

// Damage, also the worst, stops one partition. The others go on, and so does the owner's
// account.
func TestDamageStopsOnePartition(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, path string){
		"garbled": func(t *testing.T, path string) { spoilFile(t, path) },
		"gone": func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
		"short": func(t *testing.T, path string) {
			if err := os.Truncate(path, 4096); err != nil {
				t.Fatal(err)
			}
		},
		"another's": func(t *testing.T, path string) {
			data, err := os.ReadFile(strings.Replace(path, "mail-1.2", "mail-0.1", 1))
			if err == nil {
				err = os.WriteFile(path, data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "hinged.db")
			s, x := populate(t, path)
			file := fileWith(t, s, x.parts[1]).path
			closed(t, s)
			spoil(t, file)

			s, err := OpenReadOnly(path, testOptions())
			if err != nil {
				t.Fatal(err)
			}
			wantLost(t, s, x)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			s = reopened(t, path)
			wantLost(t, s, x)
			if _, err := s.Backup(context.Background(), io.Discard); !errors.Is(err, store.ErrDamaged) {
				t.Errorf("Backup: %v, want ErrDamaged", err)
			}
			aside, err := s.Copies()
			if want := name != "gone"; err != nil || (len(aside) == 1) != want {
				t.Errorf("beside the store are %q, %v", aside, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			// It may be begun with, as if it had never been here.
			s = reopened(t, path)
			if all, _ := s.Lost(); len(all) > 0 {
				t.Errorf("%v are lost still", all)
			}
			if _, ok, err := s.PartitionInfo(x.parts[1]); ok || err != nil {
				t.Errorf("the partition is known: %v, %v", ok, err)
			}
			storetest.Begin(t, s, x.parts[1])
			closed(t, s)
		})
	}
}

// Damage that the check finds while the store is in use keeps one partition from being written to,
// until the next start sets its file aside.
func TestDamageThatIsFoundLaterStopsOnePartition(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hinged.db")
	s, x := populate(t, path)
	broken := fileWith(t, s, x.parts[1])
	spoilFile(t, broken.path)
	if err := verified(s); !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), broken.path) {
		t.Errorf("Verify: %v, want ErrDamaged that names %s", err, broken.path)
	}
	err := s.CommitPartition(x.parts[1], store.LogPosition{Next: 1 << 30}, x.crowds[1].Change())
	if !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "hinged sets the file aside") {
		t.Errorf("a commit to the damaged file: %v, want ErrDamaged that says what to do", err)
	}
	damaged := x.parts[1]
	x.parts, x.crowds = []store.Partition{x.parts[0], x.parts[2]}, []*storetest.Crowd{x.crowds[0], x.crowds[2]}
	x.commit(t, s)
	x.compare(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = reopened(t, path)
	if all, _ := s.Lost(); !slices.Equal(all, []store.Partition{damaged}) {
		t.Errorf("after the next start %v are lost, want %v", all, damaged)
	}
	x.compare(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// What is damaged is set aside while the others are in use, and can be begun anew at once.
func TestADamagedFileIsSetAsideWhileTheStoreIsInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hinged.db")
	fails := false
	o := testOptions()
	o.Hooks.Step = func(step string) error {
		if fails && step == "unlist" {
			return errors.New("no space, say")
		}
		return nil
	}
	s, x := populate(t, path)
	closed(t, s)
	s = openTest(t, path, o)
	file := fileWith(t, s, x.parts[1])
	spoilFile(t, file.path)
	why := verified(s)
	if found := s.Damage(x.parts[1]); !errors.Is(found, store.ErrDamaged) || s.Damage(x.parts[0]) != nil {
		t.Errorf("damaged are %v and %v, want the second", s.Damage(x.parts[0]), found)
	}
	if !s.Damaged(x.parts[1], s.Damage(x.parts[1])) || s.Damaged(x.parts[0], s.Damage(x.parts[1])) || s.Damaged(x.parts[1], errors.New("another")) {
		t.Errorf("the error %v is not about the second partition alone", s.Damage(x.parts[1]))
	}
	fails = true
	if _, err := s.SetAside(x.parts[1], why); err == nil {
		t.Error("it was set aside without a trace in the list")
	}
	if _, err := os.Stat(file.path); err != nil || s.AsideOf(x.parts[1]) != "" {
		t.Errorf("after an error the file is at its place no more: %v, %q", err, s.AsideOf(x.parts[1]))
	}
	fails = false
	aside, err := s.SetAside(x.parts[1], why)
	if err != nil || aside != file.path+".damaged-1" || s.AsideOf(x.parts[1]) != aside {
		t.Fatalf("SetAside: %q (%q), %v", aside, s.AsideOf(x.parts[1]), err)
	}
	if _, err := os.Stat(aside); err != nil {
		t.Error(err)
	}
	wantLost(t, s, x)
	if _, err := s.SetAside(x.parts[1], why); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("setting aside what is not there: %v, want ErrNotFound", err)
	}
	if err := s.CommitPartition(x.parts[1], store.LogPosition{Next: 1 << 30}, x.crowds[1].Change()); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a commit to what was set aside: %v, want ErrNotFound", err)
	}
	storetest.Begin(t, s, x.parts[1])
	if all, _ := s.Lost(); len(all) > 0 {
		t.Errorf("%v are lost still", all)
	}
	x.parts, x.crowds = []store.Partition{x.parts[0], x.parts[2]}, []*storetest.Crowd{x.crowds[0], x.crowds[2]}
	x.commit(t, s)
	x.compare(t, s)
	closed(t, s)
	s = reopened(t, path)
	x.compare(t, s)
	closed(t, s)
}

// What was forgotten goes out of the other files, also while one is damaged.
func TestADamagedFileDoesNotKeepTheOthersFromBeingScrubbed(t *testing.T) {
	s, x := populate(t, filepath.Join(t.TempDir(), "hinged.db"))
	for n := 1; n < 3; n++ {
		err := fileWith(t, s, x.parts[n]).update(func(tx *bolt.Tx) error { return scrubLater(tx, x.crowds[n].Names[0]) })
		if err != nil {
			t.Fatal(err)
		}
	}
	spoilFile(t, fileWith(t, s, x.parts[1]).path)
	if err := s.Scrub(t.Context()); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("Scrub: %v, want ErrDamaged", err)
	}
	due := false
	if err := fileWith(t, s, x.parts[2]).view(func(tx *bolt.Tx) error { due = scrubDue(tx); return nil }); err != nil || due {
		t.Errorf("the third file is still to be scrubbed: %v, %v", due, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// verified returns what Verify finds.
func verified(s *Store) error {
	report, err := s.Verify(context.Background())
	return errors.Join(append(report.Problems, err)...)
}

// wantLost demands that the second partition is lost and everything else is there.
func wantLost(t *testing.T, s *Store, x *populated) {
	t.Helper()
	if all, why := s.Lost(); !slices.Equal(all, x.parts[1:2]) || !errors.Is(why[0], store.ErrDamaged) {
		t.Errorf("%v are lost, because of %v", all, why)
	}
	if _, ok, err := s.PartitionInfo(x.parts[1]); ok || err != nil {
		t.Errorf("PartitionInfo: %v, %v, want that it is unknown", ok, err)
	}
	if report, err := s.Verify(context.Background()); err != nil || len(report.Problems) != 1 {
		t.Errorf("Verify: %v, %v, want one problem", report.Problems, err)
	}
	for _, n := range []int{0, 2} {
		x.crowds[n].Compare(t, s)
	}
	if _, err := s.Load("ann"); err != nil {
		t.Error(err)
	}
}

func TestAMissingDirectoryOfPartitionsIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hinged.db")
	s, x := populate(t, path)
	dir := filepath.Dir(fileWith(t, s, x.parts[1]).path)
	closed(t, s)
	if err := os.Rename(dir, dir+"-away"); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(path, testOptions()); err == nil || !strings.Contains(err.Error(), dir) {
		t.Fatalf("Open: %v, %v, want an error that names %s", s, err, dir)
	}
	if s, err := OpenReadOnly(path, testOptions()); err == nil {
		t.Fatalf("OpenReadOnly: %v, want an error", s)
	}
	if err := os.Rename(dir+"-away", dir); err != nil {
		t.Fatal(err)
	}
	s = reopened(t, path)
	x.compare(t, s)
	closed(t, s)
}

// A partition that is missing in the file of its own was not dropped: the file is damaged.
func TestAPartitionThatIsMissingInItsFileIsDamage(t *testing.T) {
	s, x := populate(t, filepath.Join(t.TempDir(), "hinged.db"))
	p := x.parts[1]
	err := fileWith(t, s, p).db.Update(func(tx *bolt.Tx) error { return tx.Bucket(partitionsBucket).DeleteBucket(partitionKey(p)) })
	if err != nil {
		t.Fatal(err)
	}
	_, _, infoErr := s.PartitionInfo(p)
	for name, err := range map[string]error{
		"CommitPartition": s.CommitPartition(p, store.LogPosition{Next: 1 << 30}, x.crowds[1].Change()),
		"StopPartition":   s.StopPartition(p, 1),
		"ReadPartition":   s.ReadPartition(p, func(*PartitionView) error { return nil }),
		"PartitionInfo":   infoErr,
	} {
		if !s.Damaged(p, err) || s.Damaged(x.parts[0], err) {
			t.Errorf("%s: %v, want damage to the file of %v alone", name, err, p)
		}
	}
	x.parts, x.crowds = []store.Partition{x.parts[0], x.parts[2]}, []*storetest.Crowd{x.crowds[0], x.crowds[2]}
	x.commit(t, s)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
