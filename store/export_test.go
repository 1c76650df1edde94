package store

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
	bolt "go.etcd.io/bbolt"
)

// exported makes a store and returns an export of its account ann.
func exported(t testing.TB) (data []byte, s *Store, st *State, tw *twin) {
	t.Helper()
	s, st, tw = wasteful(t, testOptions())
	var out bytes.Buffer
	h, err := s.Export("ann", &out)
	if err != nil {
		t.Fatal(err)
	}
	if m, d := Digest(st); h.Model != m || h.State != d {
		t.Errorf("the header has digests %s %s, want %s %s", h.Model, h.State, m, d)
	}
	onlyStore(t, s.path)
	return out.Bytes(), s, st, tw
}

func openExport(t testing.TB, data []byte) *Export {
	t.Helper()
	x, err := OpenExport(bytes.NewReader(data), t.TempDir(), Options{})
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
	there := openTest(t, tempStore(t), testOptions())
	if err := there.Commit("ben", NewState(), Batch{}); err != nil {
		t.Fatal(err)
	}
	if err := there.Import(x, "anna", false); err != nil {
		t.Fatal(err)
	}
	if restored, err := there.Restored("anna"); err != nil || !restored {
		t.Errorf("Restored = %v, %v after an import", restored, err)
	}
	loaded, err := there.Load("anna")
	if err != nil {
		t.Fatal(err)
	}
	wantModel, wantState := Digest(st)
	if m, d := Digest(loaded); m != wantModel || d != wantState {
		t.Errorf("digests are %s %s, want %s %s", m, d, wantModel, wantState)
	}
	tw.compare(t, loaded)
	tw.compareLogs(t, there, "anna")

	// Both go on alike, through checkpoints and trimming.
	for n := range 40 {
		b := change(rand.New(rand.NewPCG(uint64(n), 7)), loaded, tw)
		if err := there.Commit("anna", loaded, b); err != nil {
			t.Fatal(err)
		}
		tw.committed(b)
	}
	tw.compareLogs(t, there, "anna")
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
	if err := s.Commit("ann", st, Batch{Journal: [][]byte{{1}}}); err != nil {
		t.Fatal(err)
	}
	before := bothDigests(t, s)
	if err := s.Import(x, "ann", false); !errors.Is(err, ErrExists) {
		t.Errorf("Import: %v, want ErrExists", err)
	}
	if got := bothDigests(t, s); got != before {
		t.Errorf("digests were\n%s are\n%s", before, got)
	}
	if err := s.Import(x, "ann", true); err != nil {
		t.Fatal(err)
	}
	if got := bothDigests(t, s); !strings.Contains(got, "ann "+x.Model+" "+x.State) || got == before {
		t.Errorf("digests are\n%s", got)
	}
	st.Account.Messages++
	if err := s.Commit("ann", st, Batch{}); !errors.Is(err, ErrStale) {
		t.Errorf("a commit of the state that was replaced: %v, want ErrStale", err)
	}
	for _, name := range []string{"", strings.Repeat("x", 256)} {
		if err := s.Import(x, name, false); err == nil {
			t.Errorf("an account could be named %q", name)
		}
	}
	if _, err := s.Export("eve", io.Discard); !errors.Is(err, ErrNotFound) {
		t.Errorf("Export of no account: %v, want ErrNotFound", err)
	}
}

func TestImportThatFailsChangesNothing(t *testing.T) {
	data, _, _, _ := exported(t)
	x := openExport(t, data)
	broken := errors.New("broken on purpose")
	var at string
	o := testOptions()
	o.step = func(step string) error {
		if step == at {
			return broken
		}
		return nil
	}
	s := openTest(t, tempStore(t), o)
	if err := s.Commit("ann", NewState(), Batch{}); err != nil {
		t.Fatal(err)
	}
	want := bothDigests(t, s)
	for _, at = range []string{"import", "imported"} {
		if err := s.Import(x, "ann", true); !errors.Is(err, broken) {
			t.Fatalf("Import that breaks at %q: %v", at, err)
		}
		if got := bothDigests(t, s); got != want {
			t.Errorf("digests were\n%s are\n%s", want, got)
		}
		if err := s.view(func(tx *bolt.Tx) error {
			if tx.Bucket(importingBucket) != nil {
				t.Errorf("broken at %q something is left", at)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
	at = ""
	path := s.path
	closeVerified(t, s)

	// A full disk.
	o.maxSize = 64 << 10
	full := openTest(t, tempStore(t), o)
	if err := full.Import(x, "ann", true); !errors.Is(err, ErrNoSpace) {
		t.Errorf("Import on a full disk: %v, want ErrNoSpace", err)
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
		b, err := tx.CreateBucketIfNotExists(importingBucket)
		if err == nil {
			_, err = b.CreateBucketIfNotExists([]byte("half"))
		}
		return err
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, path, testOptions())
	if err := s.view(func(tx *bolt.Tx) error {
		if tx.Bucket(importingBucket) != nil {
			t.Error("half an import is still there")
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if got := bothDigests(t, s); got != want {
		t.Errorf("digests were\n%s are\n%s", want, got)
	}
	if err := s.Import(x, "ann", true); err != nil {
		t.Error(err)
	}
}

func TestExportThatFailsLeavesNothingBehind(t *testing.T) {
	_, s, _, _ := exported(t)
	broken := errors.New("broken on purpose")
	for _, at := range []string{"export", "sync"} {
		s.o.step = func(step string) error {
			if step == at {
				return broken
			}
			return nil
		}
		if _, err := s.Export("ann", io.Discard); !errors.Is(err, broken) {
			t.Errorf("Export that breaks at %q: %v", at, err)
		}
		onlyStore(t, s.path)
	}
	s.o.step = func(string) error { return nil }
	s.o.maxSize = 64 << 10
	if _, err := s.Export("ann", io.Discard); !errors.Is(err, ErrNoSpace) {
		t.Errorf("Export on a full disk: %v, want ErrNoSpace", err)
	}
	onlyStore(t, s.path)
	s.o.maxSize = 0
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
	good, s, _, _ := exported(t)
	var whole bytes.Buffer
	if _, err := s.Backup(&whole); err != nil {
		t.Fatal(err)
	}
	newer := func(t *testing.T) []byte {
		path := filepath.Join(t.TempDir(), "newer.db")
		db, err := bolt.Open(path, 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Update(func(tx *bolt.Tx) error { return writeSchema(tx, SchemaVersion+1) }), db.Close()); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}(t)
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
		{"something after its end", append(bytes.Clone(good), 0), ErrExport, "follows"},
		{"two of them", append(bytes.Clone(good), good...), ErrExport, "follows"},
		{"newer header", resealed(t, func(h header, c []byte) []byte { h["hinged_export"] = 2; return c }, good), ErrNewer, "version 2"},
		{"no header", resealed(t, func(h header, c []byte) []byte { clear(h); return c }, good), ErrExport, "header"},
		{"newer store within", resealed(t, func(h header, _ []byte) []byte { return reseal(h, newer) }, good), ErrNewer, "schema 2"},
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
		if x, err := OpenExport(bytes.NewReader(flipped), t.TempDir(), Options{}); err == nil {
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
	x, err := OpenExport(bytes.NewReader(data), dir, Options{})
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
	s := openTest(t, path, testOptions())
	model, state := Digest(st)
	if got := bothDigests(t, s); got != "ann "+model+" "+state+"\n" {
		t.Errorf("digests are %q", got)
	}
	if !bytes.Contains(data[:400], []byte(`"hinged_export":1`)) {
		t.Errorf("the beginning does not say what it is: %q", data[:400])
	}
}

// Whatever an export holds, it is refused or it comes in as what its header
// says, and nothing of it stays behind.
func FuzzImport(f *testing.F) {
	s := openTest(f, tempStore(f), testOptions())
	st := NewState()
	st.Account.Messages = 1
	if err := s.Commit("ann", st, Batch{Journal: [][]byte{{1}}, Features: []FeatureRecord{{Key: messageKey(1), Data: []byte("x")}}}); err != nil {
		f.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := s.Export("ann", &out); err != nil {
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
	x, err := OpenExport(bytes.NewReader(data), dir, Options{})
	if err == nil {
		accepted = true
		s := openTest(t, tempStore(t), testOptions())
		if err := s.Import(x, "new", false); err != nil {
			t.Errorf("it was found sound, but: %v", err)
		}
		if got := bothDigests(t, s); got != "new "+x.Model+" "+x.State+"\n" {
			t.Errorf("it came in as %q, its header says %s %s", got, x.Model, x.State)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	} else if !errors.Is(err, ErrExport) && !errors.Is(err, ErrNewer) {
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
