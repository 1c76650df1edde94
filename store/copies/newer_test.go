// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

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
