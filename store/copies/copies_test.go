// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// site is a store with an account, closed, in a directory of its own.
type site struct{ path, digest string }

func newSite(t testing.TB) site {
	t.Helper()
	s := site{path: filepath.Join(t.TempDir(), "state", "hinged.db")}
	st := store.NewState()
	s.commit(t, st, func() store.Batch {
		st.SetWeights(model.Vector{{Index: 4711, Value: -3}})
		key := store.MessageKey{1}
		return store.Batch{
			Journal: [][]byte{{1}}, Features: []store.FeatureRecord{{Key: key, Data: []byte("features"), Names: []byte("names")}},
			Lessons: []store.Lesson{{Message: key, Label: model.Important, Weight: 1}},
		}
	})
	_, s.digest = store.Digest(st)
	return s
}

func (s site) commit(t testing.TB, st *store.State, change func() store.Batch) {
	t.Helper()
	db, err := boltfile.Open(s.path, boltfile.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Commit("me", st, change()), db.Close()); err != nil {
		t.Fatal(err)
	}
}

// moveOn changes the account.
func (s site) moveOn(t testing.TB) {
	t.Helper()
	db, err := boltfile.OpenReadOnly(s.path, boltfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	st, err := db.Load("me")
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	s.commit(t, st, func() store.Batch { st.Account.Messages++; return store.Batch{Journal: [][]byte{{2}}} })
}

// state returns the state digest of an account, "" if there is none.
func (s site) state(t testing.TB, account string) string {
	t.Helper()
	accounts, err := check(t.Context(), s.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range accounts {
		if a.Account == account {
			return a.State
		}
	}
	return ""
}

// only demands that the store's directory has these files and no others.
func (s site) only(t testing.TB, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(s.path))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("the directory of the store has %q, want %q", got, want)
	}
}

// opened is a Source as the command line has it without a daemon.
type opened struct{ path string }

func (o opened) with(fn func(*boltfile.Store) error) error {
	s, err := boltfile.OpenReadOnly(o.path, boltfile.Options{})
	if err != nil {
		return err
	}
	return errors.Join(fn(s), s.Close())
}

func (o opened) Backup(ctx context.Context, w io.Writer) error {
	return o.with(func(s *boltfile.Store) error { _, err := s.Backup(w); return err })
}

func (o opened) Export(_ context.Context, account string, w io.Writer) error {
	return o.with(func(s *boltfile.Store) error { return s.CopyAccount(account, w) })
}

// broken is a Source that stops in the middle, or sends something else.
type broken struct {
	Source
	after int
	err   error
}

func (b broken) send(w io.Writer, all func(io.Writer) error) error {
	var whole bytes.Buffer
	if err := all(&whole); err != nil {
		return err
	}
	if _, err := w.Write(whole.Bytes()[:min(b.after, whole.Len())]); err != nil {
		return err
	}
	return b.err
}

func (b broken) Backup(ctx context.Context, w io.Writer) error {
	return b.send(w, func(w io.Writer) error { return b.Source.Backup(ctx, w) })
}

func (b broken) Export(ctx context.Context, account string, w io.Writer) error {
	return b.send(w, func(w io.Writer) error { return b.Source.Export(ctx, account, w) })
}

func TestACopyThatIsNotWholeIsNeverKept(t *testing.T) {
	s := newSite(t)
	target := filepath.Join(t.TempDir(), "copy")
	old := []byte("what was there before")
	if err := os.WriteFile(target, old, 0o600); err != nil {
		t.Fatal(err)
	}
	torn := errors.New("torn on purpose")
	verbs := map[string]func(from Source, file string, out io.Writer) error{
		"backup": func(from Source, file string, out io.Writer) error {
			_, err := Backup(t.Context(), from, s.path, file, true, out)
			return err
		},
		"export": func(from Source, file string, out io.Writer) error {
			_, err := Export(t.Context(), from, s.path, "me", file, true, out)
			return err
		},
	}
	for verb, do := range verbs {
		for _, from := range []broken{{opened{s.path}, 0, torn}, {opened{s.path}, 500, torn}, {opened{s.path}, 500, nil}, {opened{s.path}, 0, nil}} {
			for _, file := range []string{target, Standard} {
				var out bytes.Buffer
				err := do(from, file, &out)
				if err == nil || from.err != nil && !errors.Is(err, torn) {
					t.Errorf("%s to %s after %d bytes and %v: %v", verb, file, from.after, from.err, err)
				}
				if out.Len() > 0 {
					t.Errorf("%s: %d bytes of a bad copy reached standard output", verb, out.Len())
				}
			}
		}
		if data, err := os.ReadFile(target); err != nil || !bytes.Equal(data, old) {
			t.Errorf("%s: the file that was there is now %q, %v", verb, data, err)
		}
		if err := do(opened{s.path}, target, nil); err != nil {
			t.Errorf("%s: %v", verb, err)
		}
		if info, err := os.Stat(target); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: mode %v, %v", verb, info.Mode(), err)
		}
		if err := os.WriteFile(target, old, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.only(t, "hinged.db")
	if entries, err := os.ReadDir(filepath.Dir(target)); err != nil || len(entries) != 1 {
		t.Errorf("beside the copy there is %v, %v", entries, err)
	}
}

// A file that comes up while the copy is made is not replaced.
func TestAFileThatComesUpMeanwhileStays(t *testing.T) {
	s := newSite(t)
	target := filepath.Join(t.TempDir(), "copy")
	late := sourceFunc(func(w io.Writer) error {
		if err := os.WriteFile(target, []byte("another's"), 0o600); err != nil {
			return err
		}
		return opened{s.path}.Backup(t.Context(), w)
	})
	if _, err := Backup(t.Context(), late, s.path, target, false, nil); !errors.Is(err, ErrExists) {
		t.Errorf("Backup: %v, want ErrExists", err)
	}
	if data, err := os.ReadFile(target); err != nil || string(data) != "another's" {
		t.Errorf("it is now %q, %v", data, err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("nowhere", link); err != nil {
		t.Fatal(err)
	}
	if _, err := Backup(t.Context(), opened{s.path}, s.path, link, false, nil); !errors.Is(err, ErrExists) {
		t.Errorf("Backup to a link to nowhere: %v, want ErrExists", err)
	}
}

type sourceFunc func(io.Writer) error

func (f sourceFunc) Backup(_ context.Context, w io.Writer) error           { return f(w) }
func (f sourceFunc) Export(_ context.Context, _ string, w io.Writer) error { return f(w) }

func TestTheStoreItselfIsNeverATarget(t *testing.T) {
	s := newSite(t)
	dir := filepath.Dir(s.path)
	link, hard := filepath.Join(dir, "..", "link"), filepath.Join(dir, "..", "hard")
	if err := errors.Join(os.Symlink(s.path, link), os.Link(s.path, hard), os.Symlink(dir, filepath.Join(dir, "..", "dir"))); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{s.path, link, hard, filepath.Join(dir, "..", "dir", "hinged.db"), filepath.Join(dir, ".", "..", "state", "hinged.db")} {
		if _, err := Backup(t.Context(), opened{s.path}, s.path, target, true, nil); err == nil || !strings.Contains(err.Error(), "the store itself") {
			t.Errorf("Backup to %s: %v", target, err)
		}
		if _, err := Restore(t.Context(), s.path, target, nil); err == nil || !strings.Contains(err.Error(), "the store itself") {
			t.Errorf("Restore from %s: %v", target, err)
		}
	}
	if got := s.state(t, "me"); got != s.digest {
		t.Errorf("the store has state %s, had %s", got, s.digest)
	}
}

func TestRestoreRefusesWhatIsDamagedAnywhere(t *testing.T) {
	s := newSite(t)
	var backup bytes.Buffer
	if err := (opened{s.path}).Backup(t.Context(), &backup); err != nil {
		t.Fatal(err)
	}
	whole := backup.Bytes()
	s.moveOn(t)
	now := s.state(t, "me")
	refused := 0
	for at := 0; at < len(whole); at += 512 {
		zeroed := bytes.Clone(whole)
		clear(zeroed[at:min(at+512, len(whole))])
		for name, data := range map[string][]byte{"cut": whole[:at], "zeroed": zeroed} {
			if bytes.Equal(data, whole) {
				continue
			}
			_, err := Restore(t.Context(), s.path, Standard, bytes.NewReader(data))
			if err == nil {
				// One half of the header is of no consequence, and so is what no page in
				// use has.
				if name == "cut" || s.state(t, "me") != s.digest {
					t.Fatalf("%s at %d: accepted", name, at)
				}
				// Back to the state from before.
				if _, err := Restore(t.Context(), s.path, newest(t, s.path), nil); err != nil {
					t.Fatal(err)
				}
				continue
			}
			refused++
			if !errors.Is(err, ErrUnsound) || strings.Contains(err.Error(), "partial") {
				t.Fatalf("%s at %d: %v", name, at, err)
			}
			if got := s.state(t, "me"); got != now {
				t.Fatalf("%s at %d: refused, but the state is %s, was %s", name, at, got, now)
			}
		}
	}
	if refused < len(whole)/512 {
		t.Errorf("only %d refused of %d", refused, 2*len(whole)/512)
	}
}

// newest is the store that was set aside last.
func newest(t testing.TB, path string) string {
	t.Helper()
	all, err := filepath.Glob(path + ".before-restore-*")
	if err != nil || len(all) == 0 {
		t.Fatal("nothing was set aside", err)
	}
	slices.SortFunc(all, func(a, b string) int {
		x, err := os.Stat(a)
		y, err2 := os.Stat(b)
		if errors.Join(err, err2) != nil {
			t.Fatal(err, err2)
		}
		return x.ModTime().Compare(y.ModTime())
	})
	return all[len(all)-1]
}

func TestRestoreAndImportMeetARunningDaemonOrACancelledContext(t *testing.T) {
	s := newSite(t)
	var backup, export bytes.Buffer
	if err := errors.Join(opened{s.path}.Backup(t.Context(), &backup), opened{s.path}.Export(t.Context(), "me", &export)); err != nil {
		t.Fatal(err)
	}
	verbs := map[string]func(ctx context.Context) error{
		"restore": func(ctx context.Context) error {
			_, err := Restore(ctx, s.path, Standard, bytes.NewReader(backup.Bytes()))
			return err
		},
		"import": func(ctx context.Context) error {
			_, err := Import(ctx, s.path, Standard, "", bytes.NewReader(export.Bytes()))
			return err
		},
	}
	db, err := boltfile.Open(s.path, boltfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for verb, do := range verbs {
		if err := do(t.Context()); !errors.Is(err, store.ErrRunning) {
			t.Errorf("%s: %v, want ErrRunning", verb, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for verb, do := range verbs {
		if err := do(cancelled); err == nil {
			t.Errorf("%s: went on when told to stop", verb)
		}
	}
	s.only(t, "hinged.db")
	if got := s.state(t, "me"); got != s.digest {
		t.Errorf("the state is %s, was %s", got, s.digest)
	}
}

func TestImportMakesAStoreOrABackupOfTheOneThatIsThere(t *testing.T) {
	s := newSite(t)
	export := filepath.Join(t.TempDir(), "me.hinged")
	if _, err := Export(t.Context(), opened{s.path}, s.path, "me", export, false, nil); err != nil {
		t.Fatal(err)
	}
	there := site{path: filepath.Join(t.TempDir(), "new", "deep", "hinged.db")}
	got, err := Import(t.Context(), there.path, export, "", nil)
	if err != nil || got.Accounts[0].State != s.digest || got.Accounts[0].Account != "me" || got.Aside != "" {
		t.Fatalf("Import = %+v, %v", got, err)
	}
	there.only(t, "hinged.db")
	there.moveOn(t)
	moved := there.state(t, "me")
	for n, want := range []string{moved, s.digest} {
		got, err := Import(t.Context(), there.path, export, "", nil)
		if err != nil || there.state(t, "me") != s.digest {
			t.Fatalf("Import = %+v, %v", got, err)
		}
		if state := (site{path: got.Aside}).state(t, "me"); state != want {
			t.Errorf("import %d: the store set aside has state %s, want %s", n, state, want)
		}
	}
	there.only(t, "hinged.db", "hinged.db.before-import-1", "hinged.db.before-import-2")
	if _, err := Import(t.Context(), there.path, export+"x", "", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Import of nothing: %v", err)
	}
}
