// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store/boltfile"
)

// TestR15EveryVerbRefusesANewerStore, or an older one that no version ever wrote, with exit
// code 65, after which systemd does not try again; and the store stays as it is.
func TestR15EveryVerbRefusesANewerStore(t *testing.T) {
	dir := t.TempDir()
	path, message := filepath.Join(dir, "hinged.db"), filepath.Join(dir, "message.eml")
	config := filepath.Join(dir, "hinged.toml")
	for name, text := range map[string]string{
		config: fmt.Sprintf("state_dir = %q\nsocket = %q\n[[account]]\nname = \"me\"\nowner = [\"me@example.org\"]\nimap = {address = \"127.0.0.1:1\", tls = \"none\", username = \"me\", password_env = \"NONE\"}\n",
			dir, filepath.Join(dir, "socket")),
		message: "From: ann@example.org\nSubject: tulips\n\nhello\n",
	} {
		testkit.Write(t, name, text)
	}
	for _, tt := range []struct {
		version uint32
		says    string
	}{
		{boltfile.SchemaVersion + 1, "store was written by a newer hinged: it has schema 2, this version knows schemas up to 1; use the newer hinged, or restore a backup from this version"},
		{0, "not a hinged store: it has schema 0"},
	} {
		writeStoreOf(t, path, tt.version)
		before := testkit.Read(t, path)
		for _, verb := range [][]string{
			{"run"}, {"status"}, {"verify"}, {"verify", "--compact"}, {"status", "--ceiling"}, {"ledger"}, {"pause"}, {"resume"}, {"explain"},
			{"learn", "--important", message}, {"classify", message}, {"explain", message}, {"undo", "--marks"},
			{"undo", "--learning", "2d", "--yes"}, {"forget", "--sender", "ann@example.org", "--yes"},
			{"backup", filepath.Join(dir, "backup")}, {"backup", "--account", "me", filepath.Join(dir, "export")},
		} {
			var out, errs bytes.Buffer
			code := run(t.Context(), slices.Concat(verb, []string{"--config", config}), strings.NewReader(""), &out, &errs)
			if code != exitData || !strings.Contains(errs.String(), tt.says) {
				t.Errorf("schema %d: %q ended with %d\n%s%s\nwant %d and %q", tt.version, verb, code, out.String(), errs.String(), exitData, tt.says)
			}
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
			t.Errorf("schema %d: the store has changed: %v", tt.version, err)
		}
		if all, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(all) != 3 {
			t.Errorf("schema %d: the directory now has %q, %v", tt.version, all, err)
		}
	}
}

// writeStoreOf writes a store that says that it has some schema.
func writeStoreOf(t *testing.T, path string, version uint32) {
	t.Helper()
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	s, err := boltfile.Open(path, boltfile.Options{})
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		key, value := []byte("schema"), binary.BigEndian.AppendUint32(nil, version)
		framed := slices.Concat([]byte{'m', byte(len(key))}, key, value)
		sum := crc32.Checksum(framed, crc32.MakeTable(crc32.Castagnoli))
		return tx.Bucket([]byte("meta")).Put(key, append(binary.BigEndian.AppendUint32(nil, sum), value...))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}
