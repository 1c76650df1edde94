// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// names are the files of a rotation's directory.
func (r Rotation) names(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestTheNewestBackupsAreKept(t *testing.T) {
	s := newSite(t)
	r := Rotation{Dir: filepath.Join(t.TempDir(), "deep", "backups"), Keep: 2}
	if all, err := r.List(); err != nil || all != nil {
		t.Errorf("List() without a directory = %v, %v", all, err)
	}
	for day := range 4 {
		made, err := r.Make(t.Context(), opened{s.path}, s.path, noon.AddDate(0, 0, day).Add(300*time.Millisecond))
		if err != nil || !made.At.Equal(noon.AddDate(0, 0, day)) {
			t.Fatalf("day %d: %+v, %v", day, made, err)
		}
		if got := (site{path: made.File}).state(t, "me"); got != s.state(t, "me") {
			t.Errorf("day %d: the backup has state %s", day, got)
		}
		if info, err := os.Stat(made.File); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
		s.moveOn(t)
	}
	if got, want := r.names(t), []string{"hinged-20261125T120000Z.db", "hinged-20261126T120000Z.db"}; !slices.Equal(got, want) {
		t.Errorf("kept %v, want %v", got, want)
	}
	all, err := r.List()
	if err != nil || len(all) != 2 || !all[0].At.Equal(noon.AddDate(0, 0, 2)) {
		t.Fatalf("List() = %v, %v", all, err)
	}
	// It can be restored.
	done, err := Restore(t.Context(), s.path, all[1].File, nil)
	if err != nil || done.Aside == "" {
		t.Errorf("Restore = %+v, %v", done, err)
	}
}

func TestTwoBackupsOfOneSecondAndAClockThatIsSetBack(t *testing.T) {
	s := newSite(t)
	r := Rotation{Dir: t.TempDir(), Keep: 2}
	for _, at := range []time.Time{noon, noon, noon.AddDate(-1, 0, 0)} {
		if _, err := r.Make(t.Context(), opened{s.path}, s.path, at); err != nil {
			t.Fatal(err)
		}
	}
	// The last one is the newest, though its name is not.
	if got, want := r.names(t), []string{"hinged-20251123T120000Z.db", "hinged-20261123T120001Z.db"}; !slices.Equal(got, want) {
		t.Errorf("kept %v, want %v", got, want)
	}
}

// faulty is a source whose backups fail, or are damaged.
type faulty struct {
	opened
	err error
}

func (f faulty) Backup(_ context.Context, w io.Writer) error {
	_, err := w.Write([]byte("no store at all"))
	return errors.Join(err, f.err)
}

func TestNothingIsDeletedForABackupThatFails(t *testing.T) {
	s := newSite(t)
	r := Rotation{Dir: filepath.Join(t.TempDir(), "back[ups"), Keep: 1} // half a pattern
	if _, err := r.Make(t.Context(), opened{s.path}, s.path, noon); err != nil {
		t.Fatal(err)
	}
	// What a killed process left goes; what is none of its stays.
	for _, name := range []string{"hinged-20261101T120000Z.db.partial-77", "hinged-latest.db", "hinged-20261101T250000Z.db", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(r.Dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	full := errors.New("no space left on device")
	for _, from := range []Source{faulty{err: full}, faulty{}} {
		for name, do := range map[string]func() error{
			"Make":  func() error { _, err := r.Make(t.Context(), from, s.path, noon.AddDate(0, 0, 1)); return err },
			"Renew": func() error { _, err := r.Renew(t.Context(), from, s.path, noon.AddDate(0, 0, 1)); return err },
		} {
			if err := do(); err == nil {
				t.Errorf("%s of %+v went well", name, from)
			}
		}
	}
	if got, want := r.names(t), []string{"hinged-20261101T250000Z.db", "hinged-20261123T120000Z.db", "hinged-latest.db", "notes.txt"}; !slices.Equal(got, want) {
		t.Errorf("there are %v, want %v", got, want)
	}
	if _, err := r.Make(t.Context(), opened{s.path}, filepath.Join(t.TempDir(), "none.db"), noon); err == nil {
		t.Error("a backup of a store that is not there went well")
	}
}

func TestRenewReplacesEveryBackup(t *testing.T) {
	s := newSite(t)
	r := Rotation{Dir: t.TempDir(), Keep: 5}
	if n, err := r.Renew(t.Context(), opened{s.path}, s.path, noon); n != 0 || err != nil || len(r.names(t)) != 0 {
		t.Errorf("without a backup: %d, %v", n, err)
	}
	for day := range 3 {
		if _, err := r.Make(t.Context(), opened{s.path}, s.path, noon.AddDate(0, 0, day)); err != nil {
			t.Fatal(err)
		}
	}
	s.moveOn(t)
	if n, err := r.Renew(t.Context(), opened{s.path}, s.path, noon.AddDate(0, 0, 2)); n != 3 || err != nil {
		t.Fatalf("Renew = %d, %v", n, err)
	}
	all, err := r.List()
	if err != nil || len(all) != 1 {
		t.Fatalf("List() = %v, %v", all, err)
	}
	if got := (site{path: all[0].File}).state(t, "me"); got != s.state(t, "me") {
		t.Errorf("the one left has state %s", got)
	}
	if n, err := (Rotation{}).Renew(t.Context(), opened{s.path}, s.path, noon); n != 0 || err != nil {
		t.Errorf("without a directory: %d, %v", n, err)
	}
}

func TestABackupLeavesRoomForTheStore(t *testing.T) {
	s := newSite(t)
	r := Rotation{Dir: t.TempDir(), Keep: 1}
	// Larger than any disk, and with nothing in it.
	if err := os.Truncate(s.path, 1<<43); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Make(t.Context(), faulty{}, s.path, noon); !errors.Is(err, store.ErrNoSpace) {
		t.Errorf("Make = %v, want ErrNoSpace", err)
	}
}

// The test binary plays another process too, see storetest.Role.
func TestMain(m *testing.M) {
	if os.Getenv(storetest.Role) == "importer" {
		os.Exit(runImporter(os.Args[1]))
	}
	os.Exit(m.Run())
}

// newer makes a backup look as if a later version had written it.
func newer(t *testing.T, path string) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		key := []byte("schema")
		version := binary.BigEndian.AppendUint32(nil, boltfile.SchemaVersion+1)
		framed := append([]byte{'m', byte(len(key))}, append(key, version...)...)
		sum := crc32.Checksum(framed, crc32.MakeTable(crc32.Castagnoli))
		return tx.Bucket([]byte("meta")).Put(key, append(binary.BigEndian.AppendUint32(nil, sum), version...))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestABackupOfALaterVersionIsRefused(t *testing.T) {
	s := newSite(t)
	backup := filepath.Join(t.TempDir(), "backup.db")
	if _, err := Backup(t.Context(), opened{s.path}, s.path, backup, false, nil); err != nil {
		t.Fatal(err)
	}
	newer(t, backup)
	before, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Restore(t.Context(), s.path, backup, nil)
	if !errors.Is(err, store.ErrNewer) || !strings.Contains(err.Error(), backup) || strings.Contains(err.Error(), "partial") {
		t.Errorf("Restore: %v, want ErrNewer that names the backup", err)
	}
	if after, err := os.ReadFile(s.path); err != nil || string(after) != string(before) {
		t.Errorf("the store has changed, %v", err)
	}
	s.only(t, "hinged.db")
}
