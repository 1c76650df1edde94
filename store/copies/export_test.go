// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

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
	h, err := WriteExport(s, "ann", &out)
	if err != nil {
		t.Fatal(err)
	}
	if m, d := store.Digest(st); h.Model != m || h.State != d {
		t.Errorf("the header has digests %s %s, want %s %s", h.Model, h.State, m, d)
	}
	storetest.OnlyStore(t, s.Path())
	return out.Bytes(), s, st, tw
}

func openExport(t testing.TB, data []byte) *Exported {
	t.Helper()
	x, err := OpenExport(t.Context(), bytes.NewReader(data), filepath.Join(t.TempDir(), "hinged.db"), boltfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	return x
}

func TestAnExportedAccountIsTheSameElsewhere(t *testing.T) {
	data, _, st, tw := exported(t)
	x := openExport(t, data)
	if x.Account != "ann" {
		t.Errorf("it is account %q", x.Account)
	}
	there := filetest.Open(t, storetest.TempStore(t), filetest.Options())
	if err := there.Commit("ben", store.NewState(), store.Batch{}); err != nil {
		t.Fatal(err)
	}
	if err := x.ImportInto(there, "anna", false); err != nil {
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
	x := openExport(t, data)
	st, err := s.Load("ann")
	if err != nil {
		t.Fatal(err)
	}
	st.Account.Messages += 1000
	if err := s.Commit("ann", st, store.Batch{Journal: [][]byte{{1}}}); err != nil {
		t.Fatal(err)
	}
	before := storetest.DigestsOf(t, s)
	if err := x.ImportInto(s, "ann", false); !errors.Is(err, store.ErrExists) {
		t.Errorf("Import: %v, want ErrExists", err)
	}
	if got := storetest.DigestsOf(t, s); got != before {
		t.Errorf("digests were\n%s are\n%s", before, got)
	}
	if err := x.ImportInto(s, "ann", true); err != nil {
		t.Fatal(err)
	}
	if got := storetest.DigestsOf(t, s); !strings.Contains(got, "ann "+x.Model+" "+x.State) || got == before {
		t.Errorf("digests are\n%s", got)
	}
	st.Account.Messages++
	if err := s.Commit("ann", st, store.Batch{}); !errors.Is(err, store.ErrStale) {
		t.Errorf("a commit of the state that was replaced: %v, want ErrStale", err)
	}
	for _, name := range []string{"", strings.Repeat("x", 256)} {
		if err := x.ImportInto(s, name, false); err == nil {
			t.Errorf("an account could be named %q", name)
		}
	}
	if _, err := WriteExport(s, "eve", io.Discard); !errors.Is(err, store.ErrNotFound) {
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
	for _, at = range []string{"export", "sync"} {
		if _, err := WriteExport(s, "ann", io.Discard); !errors.Is(err, broken) {
			t.Errorf("Export that breaks at %q: %v", at, err)
		}
		storetest.OnlyStore(t, s.Path())
	}
}

// resealed is an export with another header and content, sums as they should be.
func resealed(t testing.TB, change func(h map[string]any, content []byte) []byte, data []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	h := map[string]any{}
	if err := json.Unmarshal([]byte(z.Comment), &h); err != nil {
		t.Fatal(err)
	}
	content = change(h, content)
	comment, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	var typed ExportHeader // for its order of fields
	if json.Unmarshal(comment, &typed) == nil && typed.Version == ExportVersion {
		if comment, err = json.Marshal(typed); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Comment = string(comment)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// reseal sets the length and the sum of a changed content.
func reseal(h map[string]any, content []byte) []byte {
	sum := sha256.Sum256(content)
	h["bytes"], h["sha256"] = len(content), hex.EncodeToString(sum[:])
	return content
}

// sameContent reports whether two exports hold the same bytes under the same header.
func sameContent(t *testing.T, a, b []byte) bool {
	t.Helper()
	var texts [2]string
	for i, data := range [][]byte{a, b} {
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = r.Comment + "\x00" + string(content)
	}
	return texts[0] == texts[1]
}

func TestUnsoundExportsAreRefused(t *testing.T) {
	testkit.Computes(t)
	good, s, _, _ := exported(t)
	var whole bytes.Buffer
	if _, err := s.Backup(&whole); err != nil {
		t.Fatal(err)
	}
	newerStore := filepath.Join(t.TempDir(), "newer.db")
	if err := os.WriteFile(newerStore, whole.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	newer(t, newerStore)
	later, err := os.ReadFile(newerStore)
	if err != nil {
		t.Fatal(err)
	}
	type header = map[string]any
	cases := []struct {
		name string
		data []byte
		want error
		says string
	}{
		{"nothing", nil, ErrExport, "EOF"},
		{"text", []byte(strings.Repeat("hello, world\n", 100)), ErrExport, ""},
		{"a backup", whole.Bytes(), ErrExport, ""},
		{"something after its end", append(bytes.Clone(good), 0), ErrExport, "after its end"},
		{"two of them", append(bytes.Clone(good), good...), ErrExport, "after its end"},
		{"newer header", resealed(t, func(h header, c []byte) []byte { h["hinged_export"] = 2; return c }, good), store.ErrNewer, "version 2"},
		{"no header", resealed(t, func(h header, c []byte) []byte { clear(h); return c }, good), ErrExport, "header"},
		{"newer store within", resealed(t, func(h header, _ []byte) []byte { return reseal(h, later) }, good), store.ErrNewer, "schema 2"},
		{"two accounts", resealed(t, func(h header, _ []byte) []byte { return reseal(h, whole.Bytes()) }, good), ErrExport, "2 accounts"},
		{"other digests", resealed(t, func(h header, c []byte) []byte { h["state"] = strings.Repeat("0", 32); return c }, good), ErrExport, "digests"},
		{"more than announced", resealed(t, func(_ header, c []byte) []byte { return append(c, 0) }, good), ErrExport, "goes on"},
		{"less than announced", resealed(t, func(_ header, c []byte) []byte { return c[:len(c)-1] }, good), ErrExport, "bytes"},
		{"another content", resealed(t, func(_ header, c []byte) []byte { c[len(c)-1] ^= 1; return c }, good), ErrExport, "SHA-256"},
		{"no store within", resealed(t, func(h header, _ []byte) []byte { return reseal(h, []byte("hello")) }, good), ErrExport, "the store within"},
		{"a damaged store within", resealed(t, func(h header, c []byte) []byte {
			clear(c[len(c)/2 : len(c)/2+4096])
			return reseal(h, c)
		}, good), ErrExport, "damaged"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			refused(t, c.data, c.want, c.says)
		})
	}
	// Cut anywhere, a bit flipped anywhere.
	r := rand.New(rand.NewPCG(4, 4))
	flips := 0
	for n := range 60 {
		at := r.IntN(len(good))
		if n < 20 {
			at = n * 30 // the header
		}
		refused(t, good[:at], ErrExport, "")
		flipped := bytes.Clone(good)
		flipped[at] ^= 1 << r.IntN(8)
		if x, err := OpenExport(t.Context(), bytes.NewReader(flipped), filepath.Join(t.TempDir(), "hinged.db"), boltfile.Options{}); err == nil {
			// Only what says nothing of the content may differ: the header's time and
			// system, and the bits that fill up the byte before a stored block.
			if (at < 3 || at > 9) && !sameContent(t, flipped, good) {
				t.Errorf("byte %d of %d flipped: accepted", at, len(good))
			}
			_ = x.Close()
		} else {
			flips++
		}
	}
	if flips < 50 {
		t.Errorf("only %d of 60 flips were refused", flips)
	}
}

func refused(t *testing.T, data []byte, want error, says string) {
	t.Helper()
	dir := t.TempDir()
	x, err := OpenExport(t.Context(), bytes.NewReader(data), filepath.Join(dir, "hinged.db"), boltfile.Options{})
	if err == nil {
		_ = x.Close()
	}
	if !errors.Is(err, want) || !strings.Contains(err.Error(), says) {
		t.Errorf("OpenExport: %v, want %v that says %q", err, want, says)
	}
	if err != nil && strings.Contains(err.Error(), dir) {
		t.Errorf("the error names a file that nobody knows: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// An export needs nothing of ours to be opened: gunzip makes a store of it.
func TestAnExportUnpacksToAStore(t *testing.T) {
	data, _, st, _ := exported(t)
	gunzip, err := exec.LookPath("gunzip")
	if err != nil {
		t.Skip("there is no gunzip on this machine")
	}
	cmd := exec.Command(gunzip, "-c")
	cmd.Stdin = bytes.NewReader(data)
	content, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ann.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s := filetest.Open(t, path, filetest.Options())
	model, state := store.Digest(st)
	if got := storetest.DigestsOf(t, s); got != "ann "+model+" "+state+"\n" {
		t.Errorf("digests are %q", got)
	}
	if !bytes.Contains(data[:400], []byte(`"hinged_export":1`)) {
		t.Errorf("the beginning does not say what it is: %q", data[:400])
	}
}

// Whatever an export holds, it is refused or it comes in as what its header
// says, and nothing of it stays behind.
func FuzzImport(f *testing.F) {
	s := filetest.Open(f, storetest.TempStore(f), filetest.Options())
	st := store.NewState()
	st.Account.Messages = 1
	if err := s.Commit("ann", st, store.Batch{Journal: [][]byte{{1}}, Features: []store.FeatureRecord{{Key: storetest.KeyOf(1), Data: []byte("x")}}}); err != nil {
		f.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := WriteExport(s, "ann", &out); err != nil {
		f.Fatal(err)
	}
	small := out.Bytes()
	z, err := gzip.NewReader(bytes.NewReader(small))
	if err != nil {
		f.Fatal(err)
	}
	content, err := io.ReadAll(z)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range [][]byte{small, small[:len(small)/2], {}, content} {
		f.Add(seed)
	}
	// With the sums as they should be the fuzzer gets to the store within.
	f.Fuzz(func(t *testing.T, data []byte) {
		tryImport(t, data)
		if len(data) <= 128<<10 {
			tryImport(t, resealed(t, func(h map[string]any, _ []byte) []byte { return reseal(h, data) }, small))
		}
	})
}

func tryImport(t *testing.T, data []byte) (accepted bool) {
	t.Helper()
	dir := t.TempDir()
	x, err := OpenExport(t.Context(), bytes.NewReader(data), filepath.Join(dir, "hinged.db"), boltfile.Options{})
	if err == nil {
		accepted = true
		s := filetest.Open(t, storetest.TempStore(t), filetest.Options())
		if err := x.ImportInto(s, "new", false); err != nil {
			t.Errorf("it was found sound, but: %v", err)
		}
		if got := storetest.DigestsOf(t, s); got != "new "+x.Model+" "+x.State+"\n" {
			t.Errorf("it came in as %q, its header says %s %s", got, x.Model, x.State)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	} else if !errors.Is(err, ErrExport) && !errors.Is(err, store.ErrNewer) {
		t.Errorf("refused with %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	return accepted
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
