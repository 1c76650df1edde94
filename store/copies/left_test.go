// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hinged/hinged/store/boltfile"
)

// What makes a copy, or reads one, calls these at the end of what it writes or reads.
type (
	writerFunc func([]byte) (int, error)
	readerFunc func([]byte) (int, error)
)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
func (f readerFunc) Read(p []byte) (int, error)  { return f(p) }

// Each of these puts mail beside the store for a while. Killed at that moment it leaves it there,
// and the next start deletes it.
func TestWhatAKilledProcessLeftBesideTheStoreGoesAtTheNextStart(t *testing.T) {
	for name, do := range map[string]func(t *testing.T, s site, now func()) error{
		"writing an export": func(t *testing.T, s site, now func()) error {
			st, err := boltfile.Open(s.path, boltfile.Options{NoSync: true})
			if err != nil {
				return err
			}
			err = st.CopyAccount("me", writerFunc(func(p []byte) (int, error) { now(); return len(p), nil }))
			return errors.Join(err, st.Close())
		},
		"exporting to standard output": func(t *testing.T, s site, now func()) error {
			_, err := Export(t.Context(), opened{s.path}, s.path, "me", Standard, false, writerFunc(func(p []byte) (int, error) { now(); return len(p), nil }))
			return err
		},
		"restoring": func(t *testing.T, s site, now func()) error {
			_, err := Restore(t.Context(), s.path, Standard, interrupted(s.backup(t), now))
			return err
		},
		"importing": func(t *testing.T, s site, now func()) error {
			_, err := Import(t.Context(), s.path, Standard, "other", interrupted(s.export(t), now))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			killed := ""
			err := do(t, s, func() {
				if killed == "" {
					killed = filepath.Join(t.TempDir(), "state")
					if err := os.CopyFS(killed, os.DirFS(filepath.Dir(s.path))); err != nil {
						t.Fatal(err)
					}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if left := beside(t, filepath.Join(killed, "hinged.db")); len(left) != 1 {
				t.Fatalf("the kill left %q; want one file beside the store", left)
			}
			start(t, filepath.Join(killed, "hinged.db"))
			if left := beside(t, filepath.Join(killed, "hinged.db")); len(left) > 0 {
				t.Errorf("after a start there is still %q", left)
			}
		})
	}
}

// interrupted reads data and calls now before its end.
func interrupted(data []byte, now func()) io.Reader {
	return io.MultiReader(bytes.NewReader(data), readerFunc(func([]byte) (int, error) { now(); return 0, io.EOF }))
}

func (s site) backup(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := (opened{s.path}).Backup(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func (s site) export(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := (opened{s.path}).Export(t.Context(), "me", &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// start opens and closes the store.
func start(t *testing.T, path string) {
	t.Helper()
	s, err := boltfile.Open(path, boltfile.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// beside returns the names of what lies beside the store, without that of the store.
func beside(t *testing.T, path string) (names []string) {
	t.Helper()
	paths, err := boltfile.Beside(path, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		names = append(names, strings.TrimPrefix(filepath.Base(p), filepath.Base(path)))
	}
	return names
}

// A draft on which a process is at work stays, and so does what the owner named.
func TestAStartDeletesNoDraftThatIsInUse(t *testing.T) {
	s := newSite(t)
	d, err := newDraft(s.path)
	if err != nil {
		t.Fatal(err)
	}
	owners := []string{".before-import-1", ".export-7", ".partial-copy", ".partial-", ".before-import-2.partial-77"}
	for _, name := range owners {
		if err := os.WriteFile(s.path+name, []byte("everything"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	left := s.path + ".partial-77"
	if err := os.WriteFile(left, []byte("everything"), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, s.path)
	if _, err := os.Stat(d.Name()); err != nil {
		t.Errorf("a draft in use: %v", err)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what nobody is at work on: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	start(t, s.path)
	slices.Sort(owners)
	if got := beside(t, s.path); !slices.Equal(got, owners) {
		t.Errorf("beside the store is %q, want %q", got, owners)
	}
}

// Forget lists the copies that still have what it forgets: the backup that an import makes that
// replaces an account, and what waits for standard output while the daemon runs.
func TestCopiesThatImportAndBackupMakeAreKnown(t *testing.T) {
	s := newSite(t)
	done, err := Import(t.Context(), s.path, Standard, "", bytes.NewReader(s.export(t)))
	if err != nil || done.Aside == "" {
		t.Fatalf("%+v, %v", done, err)
	}
	st, err := boltfile.Open(s.path, boltfile.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	d, err := newDraft(s.path)
	if err != nil {
		t.Fatal(err)
	}
	if all, err := boltfile.Copies(s.path); err != nil || !slices.Equal(all, []string{done.Aside, d.Name()}) {
		t.Errorf("Copies = %q, %v; want %s and %s", all, err, done.Aside, d.Name())
	}
	if err := d.drop(); err != nil {
		t.Error(err)
	}
}

// TestADirectoryNamedLikeADraftIsLeftAlone, and keeps nobody from opening the store.
func TestADirectoryNamedLikeADraftIsLeftAlone(t *testing.T) {
	s := newSite(t)
	kept := filepath.Join(s.path+boltfile.Partial+"12", "mine")
	if err := os.MkdirAll(filepath.Dir(kept), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	st, err := boltfile.Open(s.path, boltfile.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
}
