// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/internal/testkit/filetest"
	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// exported makes a store and returns an export of its account ann.
func exported(t testing.TB) (data []byte, s *boltfile.Store, st *store.State, tw *storetest.Twin) {
	t.Helper()
	s = filetest.Open(t, storetest.TempStore(t), filetest.Options())
	st, tw = storetest.Fill(t, s)
	var out bytes.Buffer
	if err := s.CopyAccount("ann", &out); err != nil {
		t.Fatal(err)
	}
	storetest.OnlyStore(t, s.Path())
	return out.Bytes(), s, st, tw
}

// asStore is the store in a file with the given content.
func asStore(t testing.TB, data []byte) *boltfile.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "export.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return filetest.Open(t, path, filetest.Options())
}

func TestAnExportedAccountIsTheSameElsewhere(t *testing.T) {
	data, _, st, tw := exported(t)
	x := asStore(t, data)
	there := filetest.Open(t, storetest.TempStore(t), filetest.Options())
	if err := there.Commit("ben", store.NewState(), store.Batch{}); err != nil {
		t.Fatal(err)
	}
	if err := there.AddAccount(x, "ann", "anna"); err != nil {
		t.Fatal(err)
	}
	if restored, err := there.Restored("anna"); err != nil || !restored {
		t.Errorf("Restored = %v, %v after an import", restored, err)
	}
	loaded, err := there.Load("anna")
	if err != nil {
		t.Fatal(err)
	}
	wantModel, wantState := store.Digest(st)
	if m, d := store.Digest(loaded); m != wantModel || d != wantState {
		t.Errorf("digests are %s %s, want %s %s", m, d, wantModel, wantState)
	}
	tw.Compare(t, loaded)
	tw.CompareLogs(t, there, "anna")

	// Both go on alike, through checkpoints and trimming.
	for n := range 40 {
		b := storetest.Change(rand.New(rand.NewPCG(uint64(n), 7)), loaded, tw)
		if err := there.Commit("anna", loaded, b); err != nil {
			t.Fatal(err)
		}
		tw.Committed(b)
	}
	tw.CompareLogs(t, there, "anna")
	if restored, err := there.Restored("anna"); err != nil || restored {
		t.Errorf("Restored = %v, %v after a commit", restored, err)
	}
	if restored, err := there.Restored("ben"); err != nil || restored {
		t.Errorf("Restored = %v, %v of another account", restored, err)
	}
}

func TestImportReplacesOnlyWhenAsked(t *testing.T) {
	data, s, _, _ := exported(t)
	x := asStore(t, data)
	st, err := s.Load("ann")
	if err != nil {
		t.Fatal(err)
	}
	st.Account.Messages += 1000
	if err := s.Commit("ann", st, store.Batch{Journal: [][]byte{{1}}}); err != nil {
		t.Fatal(err)
	}
	before := storetest.DigestsOf(t, s)
	if err := s.AddAccount(x, "ann", "ann"); err != nil {
		t.Fatal(err)
	}
	if got := storetest.DigestsOf(t, s); !strings.Contains(got, storetest.DigestsOf(t, x)) || got == before {
		t.Errorf("digests are\n%s", got)
	}
	st.Account.Messages++
	if err := s.Commit("ann", st, store.Batch{}); !errors.Is(err, store.ErrStale) {
		t.Errorf("a commit of the state that was replaced: %v, want ErrStale", err)
	}
	for _, name := range []string{"", strings.Repeat("x", 256)} {
		if err := s.AddAccount(x, "ann", name); err == nil {
			t.Errorf("an account could be named %q", name)
		}
	}
	if err := s.CopyAccount("eve", io.Discard); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Export of no account: %v, want ErrNotFound", err)
	}
}

func TestExportThatFailsLeavesNothingBehind(t *testing.T) {
	broken := errors.New("broken on purpose")
	var at string
	o := filetest.Options()
	o.Hooks.Step = func(step string) error {
		if step == at {
			return broken
		}
		return nil
	}
	s := filetest.Open(t, storetest.TempStore(t), o)
	storetest.Fill(t, s)
	for _, at = range []string{"create", "import"} {
		if err := s.CopyAccount("ann", io.Discard); !errors.Is(err, broken) {
			t.Errorf("Export that breaks at %q: %v", at, err)
		}
		storetest.OnlyStore(t, s.Path())
	}
}

func TestUnsoundExportsAreRefused(t *testing.T) {
	testkit.Computes(t)
	good, s, _, _ := exported(t)
	var whole bytes.Buffer
	if _, err := s.Backup(&whole); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "newer.db")
	if err := os.WriteFile(path, good, 0o600); err != nil {
		t.Fatal(err)
	}
	newer(t, path)
	later, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(good)
	clear(damaged[len(damaged)/2 : len(damaged)/2+4096])
	for name, c := range map[string]struct {
		data []byte
		want error
		says string
	}{
		"nothing":       {nil, ErrUnsound, "0 bytes"},
		"text":          {[]byte(strings.Repeat("hello, world\n", 1000)), ErrUnsound, "header"},
		"two accounts":  {whole.Bytes(), ErrUnsound, "but 2"},
		"a newer store": {later, store.ErrNewer, "schema 2"},
		"damaged":       {damaged, ErrUnsound, "damaged"},
	} {
		t.Run(name, func(t *testing.T) { refused(t, c.data, c.want, c.says) })
	}
	r := rand.New(rand.NewPCG(4, 4))
	for range 40 {
		refused(t, good[:r.IntN(len(good))], ErrUnsound, "")
		flipped := bytes.Clone(good)
		flipped[r.IntN(len(good))] ^= 1 << r.IntN(8)
		tryImport(t, flipped) // what says nothing of the content may differ
	}
}

func refused(t *testing.T, data []byte, want error, says string) {
	t.Helper()
	path := storetest.TempStore(t)
	_, err := Import(t.Context(), path, Standard, "", bytes.NewReader(data))
	if !errors.Is(err, want) || !strings.Contains(err.Error(), says) {
		t.Errorf("Import: %v, want %v that says %q", err, want, says)
	}
	if err != nil && strings.Contains(err.Error(), filepath.Dir(path)) {
		t.Errorf("the error names a file that nobody knows: %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// Whatever an export holds, it is refused or it comes in as what it was found to hold, and
// nothing else of it stays behind.
func FuzzImport(f *testing.F) {
	s := filetest.Open(f, storetest.TempStore(f), filetest.Options())
	st := store.NewState()
	st.Account.Messages = 1
	if err := s.Commit("ann", st, store.Batch{Journal: [][]byte{{1}}, Features: []store.FeatureRecord{{Key: storetest.KeyOf(1), Data: []byte("x")}}}); err != nil {
		f.Fatal(err)
	}
	var out bytes.Buffer
	if err := s.CopyAccount("ann", &out); err != nil {
		f.Fatal(err)
	}
	small := out.Bytes()
	for _, seed := range [][]byte{small, small[:len(small)/2], {}} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) { tryImport(t, data) })
}

func tryImport(t *testing.T, data []byte) (accepted bool) {
	t.Helper()
	path := storetest.TempStore(t)
	done, err := Import(t.Context(), path, Standard, "new", bytes.NewReader(data))
	if err != nil {
		if !errors.Is(err, ErrUnsound) && !errors.Is(err, store.ErrNewer) {
			t.Errorf("refused with %v", err)
		}
		if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) > 0 {
			t.Errorf("%v is left, %v", left, err)
		}
		return false
	}
	s := filetest.Open(t, path, filetest.Options())
	if got := storetest.DigestsOf(t, s); got != "new "+done.Accounts[0].Model+" "+done.Accounts[0].State+"\n" {
		t.Errorf("it came in as %q, want %+v", got, done.Accounts[0])
	}
	storetest.OnlyStore(t, path)
	return true
}

// The fuzz target's seeds reach the code behind it.
func TestImportSeedsAreAcceptedOrRefused(t *testing.T) {
	good, _, _, _ := exported(t)
	if !tryImport(t, good) {
		t.Error("a sound export is refused")
	}
	if tryImport(t, good[:len(good)/2]) {
		t.Error("half an export is accepted")
	}
}
