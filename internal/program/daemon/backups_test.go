// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/run/stream"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
	"github.com/hinged/hinged/store/copies"
)

// every has a daemon make backups into a directory of the test's.
func every(t *testing.T, d time.Duration) BackupOptions {
	t.Helper()
	return BackupOptions{Every: d, Rotation: copies.Rotation{Dir: filepath.Join(t.TempDir(), "backups"), Keep: 2}}
}

// untilBackup waits for the daemon's status of backups to satisfy ok.
func untilBackup(t *testing.T, d *Daemon, what string, ok func(s desk.Status) bool) (s desk.Status) {
	t.Helper()
	await(t, what, func() (any, bool) {
		s = must(t, d, desk.GetStatus, desk.None{})
		return s, ok(s)
	})
	return s
}

func TestTheDaemonMakesBackupsWhileItRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := newPost(200, "me")
	d := runs(t, dir, p.account("me", "1", testOptions()))
	if s := untilBackup(t, d, "none", func(desk.Status) bool { return true }); s.Backups != nil {
		t.Errorf("without options: %+v", s.Backups)
	}
	p.arrive(100)
	seen(t, d, 100)
	o := every(t, time.Hour)
	d.UseBackups(o)
	if s := untilBackup(t, d, "backups to come", func(s desk.Status) bool { return s.Backups != nil }); s.Backups.Kept != 0 || s.Backups.EverySeconds != 3600 {
		t.Errorf("at first: %+v", s.Backups)
	}
	o.Every = time.Millisecond
	d.UseBackups(o)
	s := untilBackup(t, d, "two backups", func(s desk.Status) bool { return s.Backups != nil && s.Backups.Kept == 2 })
	if s.Backups.Problem != "" || len(s.Warnings) != 0 || s.Backups.Directory != o.Rotation.Dir {
		t.Errorf("with two: %+v, %q", s.Backups, s.Warnings)
	}

	// One that fails is told of, and deletes nothing.
	full := o
	full.Rotation.Dir = filepath.Join(dir, "store.db", "below a file")
	d.UseBackups(full)
	await(t, "them gone", func() (any, bool) { // one may be under way
		err := os.RemoveAll(o.Rotation.Dir)
		return err, err == nil
	})
	s = untilBackup(t, d, "a failure", func(s desk.Status) bool { return len(s.Warnings) > 0 })
	if !strings.HasPrefix(s.Warnings[0], "the last backup failed: ") || s.Backups.Problem == "" {
		t.Errorf("after a failure: %+v, %q", s.Backups, s.Warnings)
	}
	d.UseBackups(o)
	untilBackup(t, d, "one that went well", func(s desk.Status) bool { return len(s.Warnings) == 0 && s.Backups.Kept > 0 })
}

// sharedTime is what the times below are counted from.
var sharedTime = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func TestWhenTheNextBackupIsDue(t *testing.T) {
	t.Parallel()
	now := sharedTime
	d := &Daemon{now: func() time.Time { return now }}
	o := every(t, 24*time.Hour)
	testkit.OK(t, os.Mkdir(o.Rotation.Dir, 0o700))
	due := func(what string, want time.Duration) {
		t.Helper()
		if got, ok := d.nextBackup(o, sharedTime); !ok || got != want {
			t.Errorf("%s: due in %v (%v), want %v", what, got, ok, want)
		}
	}
	have := func(at time.Time) {
		t.Helper()
		testkit.OK(t, os.WriteFile(filepath.Join(o.Rotation.Dir, at.Format("hinged-20060102T150405Z.db")), nil, 0o600))
	}
	due("at the first start", backupSettle)
	have(sharedTime.Add(-20 * time.Hour))
	due("four hours before the next one", 4*time.Hour)
	now = sharedTime.Add(5 * time.Hour)
	due("one hour late", 0)
	now = sharedTime
	d.backups.failed = errors.New("no space")
	due("after a failure", backupRetry)
	d.backups.failed = nil
	have(sharedTime.AddDate(1, 0, 0)) // by a clock that was wrong
	due("after one of the future", 24*time.Hour)
	o.Every = time.Second
	have(sharedTime)
	due("often", time.Second)
	o.Every = 0
	if _, ok := d.nextBackup(o, sharedTime); ok {
		t.Error("one is due that nobody wants")
	}
}

func TestForgetReplacesTheBackups(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := newPost(20, "me")
	d := runs(t, dir, p.account("me", "1", testOptions()))
	p.arrive(20)
	seen(t, d, 20)
	o := every(t, time.Hour)
	d.UseBackups(o)
	d.makeBackup(t.Context(), o)
	forget := func(h answerer, n string, dry bool) desk.ForgottenMail {
		t.Helper()
		return must(t, h, desk.Forget, desk.ForgetRequest{Message: "<m" + n + "@x>", DryRun: dry})
	}
	files := func() []string {
		t.Helper()
		have, err := d.Backups().List()
		testkit.OK(t, err)
		return have
	}
	before := files()
	if f := forget(d, "3", true); len(f.Copies) != 1 || f.Copies[0] != before[0] || f.Backups != 0 {
		t.Errorf("a dry run: %+v", f)
	}
	if f := forget(d, "3", false); len(f.Copies) != 0 || f.Backups != 1 || f.BackupProblem != "" {
		t.Errorf("forget: %+v", f)
	}
	after := files()
	if len(after) != 1 || after[0] == before[0] {
		t.Errorf("the backups are %v, were %v", after, before)
	}
	// The one that took its place has forgotten, too, and is sound.
	h, err := OpenStore(after[0], "test", boltfile.Options{})
	testkit.OK(t, err)
	defer h.Close()
	if _, err := do(t.Context(), h, desk.Explain, "", desk.ExplainRequest{Message: desk.Message{Name: "<m3@x>"}}); !errors.Is(err, desk.ErrNoMessage) {
		t.Errorf("the backup knows it: %v", err)
	}
	if _, err := do(t.Context(), h, desk.Explain, "", desk.ExplainRequest{Message: desk.Message{Name: "<m4@x>"}}); err != nil {
		t.Errorf("the backup doesn't know another: %v", err)
	}

	// If no new one can be made, those there are stay, and are named.
	testkit.OK(t, os.Mkdir(filepath.Join(o.Rotation.Dir, "hinged-20200101T000000Z.db.partial-1"), 0o700))
	testkit.OK(t, os.WriteFile(filepath.Join(o.Rotation.Dir, "hinged-20200101T000000Z.db.partial-1", "x"), nil, 0o600))
	if f := forget(d, "4", false); len(f.Copies) != 1 || f.Copies[0] != after[0] || f.Backups != 0 || f.BackupProblem == "" || !f.Scrubbed {
		t.Errorf("forget without a new backup: %+v", f)
	}
}

func TestForgetWithoutADaemonReplacesTheBackups(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := newPost(20, "me")
	o := every(t, time.Hour)
	with := options(dir, p.account("me", "1", testOptions()))
	with.Backups = o
	d, stop := launch(t, with, nil)
	p.arrive(20)
	seen(t, d, 20)
	d.makeBackup(t.Context(), o)
	stop()
	h := stored(t, dir)
	h.OwnBackups = o
	if s := must(t, h, desk.GetStatus, desk.None{}); s.Backups == nil || s.Backups.Kept != 1 || s.Backups.File == "" {
		t.Fatalf("status: %+v", s.Backups)
	}
	if f := must(t, h, desk.Forget, desk.ForgetRequest{Message: "<m3@x>"}); f.Backups != 1 || len(f.Copies) != 0 {
		t.Errorf("forget: %+v", f)
	}
}

// Damage that is met while the daemon runs ends marking and learning, and status names the newest
// backup. The next start sets the file aside; the one after that begins an empty store.
func TestDamageMetWhileRunningEndsMarkingAndNamesTheNewestBackup(t *testing.T) {
	t.Parallel()
	dir, o := t.TempDir(), every(t, 0)
	newest := filepath.Join(o.Rotation.Dir, "hinged-20260102T000000Z.db")
	testkit.OK(t, errors.Join(os.Mkdir(o.Rotation.Dir, 0o700), os.WriteFile(newest, nil, 0o600)))
	s, damaged := newScript(), errors.New("the store is damaged")
	d, stop := launch(t, options(dir, from("me", testOptions(), s)), &damaged)
	d.UseBackups(o)
	teach(s)
	until(t, d, "two lessons", func(a desk.AccountStatus) bool { return a.Important+a.Ordinary == 2 })
	file := filepath.Join(dir, "store.db")
	testkit.OK(t, testkit.Garble(file))
	if report, err := d.store.Verify(t.Context()); err != nil || report.OK() {
		t.Fatalf("Verify: %+v, %v, want a problem", report, err)
	}
	s.events <- arrival(3, mail(3, "boss@example.com", "urgent matter"))
	until(t, d, "the newest backup", func(a desk.AccountStatus) bool { return strings.Contains(a.Problem, "hinged restore "+newest) })
	stop()
	if asked := s.requests(); len(asked) > 0 {
		t.Errorf("it asked for marks: %+v", asked)
	}
	if _, err := New(Options{StorePath: file}); !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), file+".damaged-1") {
		t.Errorf("the next start: %v, want ErrDamaged that says where the file is", err)
	}
	empty, err := New(Options{StorePath: file, Store: boltfile.Options{NoSync: true}})
	testkit.OK(t, err)
	if was := empty.store.Instead(); was != file+".damaged-1" {
		t.Errorf("the store was begun in the place of %q", was)
	}
	testkit.OK(t, empty.Close())
}

// ways returns the daemon itself and its client: both must do alike.
func ways(t *testing.T, d *Daemon, dir string) map[string]*control.At {
	t.Helper()
	return map[string]*control.At{"daemon": control.Local(d), "client": dialled(t, dir)}
}

// learnt feeds a daemon some mail and returns when all of it is learnt.
func learnt(t *testing.T, d *Daemon, s *script, n int) {
	t.Helper()
	s.events <- opened
	for i := range n {
		flag := `\flagged`
		if i%2 == 0 {
			flag = "$junk"
		}
		s.events <- arrival(uint32(i+1), mail(i, "a@example.com", "some words"), flag)
	}
	s.events <- ingest.Cursor{Mailbox: "INBOX", UIDValidity: 1, UIDNext: uint32(n + 1), BacklogBefore: 1}
	until(t, d, "the lessons", func(a desk.AccountStatus) bool {
		return a.Important+a.Ordinary == uint64(n) && a.Mailboxes[0].UIDNext == uint32(n+1)
	})
}

// asStore opens what was backed up.
func asStore(t *testing.T, data []byte) *boltfile.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "copy.db")
	testkit.OK(t, os.WriteFile(path, data, 0o600))
	s, err := boltfile.OpenReadOnly(path, boltfile.Options{})
	testkit.OK(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestCopiesOfARunningDaemonHaveItsDigests(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, s, _ := began(t, dir)
	learnt(t, d, s, 30)
	for name, b := range ways(t, d, dir) {
		want, err := digestsOf(t.Context(), b)
		testkit.OK(t, err)
		var backup, export bytes.Buffer
		if err := b.Backup(t.Context(), &backup); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		st, err := asStore(t, backup.Bytes()).Load("me")
		testkit.OK(t, err)
		if model, state := store.Digest(st); model != want[0].Model || state != want[0].State {
			t.Errorf("%s: the backup has digests %s %s, want %+v", name, model, state, want)
		}
		if err := b.Export(t.Context(), "", &export); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		st, err = asStore(t, export.Bytes()).Load("me")
		testkit.OK(t, err)
		if model, state := store.Digest(st); model != want[0].Model || state != want[0].State {
			t.Errorf("%s: the export has digests %s %s, want %+v", name, model, state, want)
		}
		if err := b.Export(t.Context(), "you", io.Discard); !errors.Is(err, desk.ErrNoAccount) {
			t.Errorf("%s: Export of no account: %v, want ErrNoAccount", name, err)
		}
		before := want
		must(t, b, desk.Verify, desk.VerifyRequest{Compact: true})
		if after, err := digestsOf(t.Context(), b); err != nil || after[0] != before[0] {
			t.Errorf("%s: after compacting %+v, %v; want %+v", name, after, err, before)
		}
		sound(t, b)
	}
}

// gate is a writer that waits for somebody to open it, after it got something.
type gate struct {
	begun chan struct{}
	open  chan struct{}
	once  bool
}

func (g *gate) Write(p []byte) (int, error) {
	if !g.once {
		g.once = true
		close(g.begun)
		<-g.open
	}
	return len(p), nil
}

func TestCompactDuringABackupIsRefusedAcrossTheSocketToo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, s, _ := began(t, dir)
	learnt(t, d, s, 4)
	for name, b := range ways(t, d, dir) {
		g := &gate{begun: make(chan struct{}), open: make(chan struct{})}
		ended := make(chan error, 1)
		go func() { ended <- control.Local(d).Backup(context.Background(), g) }()
		<-g.begun
		_, err := do(t.Context(), b, desk.Verify, "", desk.VerifyRequest{Compact: true})
		if !errors.Is(err, store.ErrBusy) || strings.Count(err.Error(), store.ErrBusy.Error()) != 1 {
			t.Errorf("%s: %v, want ErrBusy, once", name, err)
		}
		// The account goes on meanwhile.
		l, err := do(t.Context(), b, desk.Label, "", desk.LabelRequest{Label: "important", Messages: []desk.Message{{Name: name, Content: new(mail(len(name), "b@example.com", name))}}})
		if err != nil || l.Refused > 0 {
			t.Errorf("%s: learning during a backup: %+v, %v", name, l, err)
		}
		close(g.open)
		testkit.OK(t, <-ended)
	}
}

// A backup that nobody takes must not keep the daemon from stopping, and who
// takes half of one must hear of it.
func TestABackupBreaksOffWhenTheDaemonStops(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, s, stop := began(t, dir)
	learnt(t, d, s, 30)
	// More than fits between the two ends of the socket.
	for i := range 40 {
		testkit.OK(t, d.store.Commit("filler", filled(t, d, i), store.Batch{Journal: [][]byte{make([]byte, 200_000)}}))
	}
	client := ways(t, d, dir)["client"]
	g := &gate{begun: make(chan struct{}), open: make(chan struct{})}
	ended := make(chan error, 1)
	go func() { ended <- client.Backup(context.Background(), g) }()
	<-g.begun
	stop() // does not wait for the reader
	close(g.open)
	if err := <-ended; err == nil {
		t.Error("half a backup was taken for a whole one")
	}
}

// filled is the current state of an account that has no filter.
func filled(t *testing.T, d *Daemon, n int) *store.State {
	t.Helper()
	st, err := d.store.Load("filler")
	testkit.OK(t, err)
	st.Account.Messages = uint64(n + 1)
	return st
}

// An account that came out of a backup is restored by its first commit, whoever
// makes it, and by no second one.
func TestARestoredAccountIsToldOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, s, stop := began(t, dir)
	learnt(t, d, s, 4)
	var backup bytes.Buffer
	testkit.OK(t, control.Local(d).Backup(t.Context(), &backup))
	stop()
	fresh := filepath.Join(dir, "fresh")
	testkit.OK(t, os.WriteFile(fresh, backup.Bytes(), 0o600))
	if _, err := boltfile.Replace(filepath.Join(dir, "store.db"), fresh, boltfile.Options{}); err != nil {
		t.Fatal(err)
	}
	for run, want := range []int{1, 1} {
		d, s, stop := began(t, dir)
		if len(s.known) != 1 || !s.known[0].Restored {
			t.Errorf("run %d: the source is told %+v, want a restored mailbox", run, s.known)
		}
		events := 0
		for e, err := range d.store.Journal("me", 0) {
			testkit.OK(t, err)
			if event, err := filter.Decode(e.Data); err != nil {
				t.Fatal(err)
			} else if _, ok := event.(*filter.Restored); ok {
				events++
			}
		}
		if events != want {
			t.Errorf("run %d: %d restored events in the journal, want %d", run, events, want)
		}
		sound(t, d)
		stop()
	}
}

// A verb that writes, and finds that the partitions beside the store can't be opened, ends with
// that error, and the store can be closed. The next verb tries again.
func TestAStoreWhosePartitionsCannotBeOpenedIsNotWritten(t *testing.T) {
	t.Parallel()
	h, path := taughtStore(t)
	testkit.OK(t, h.Close())
	write := func(h *StoreHost) error {
		return h.Store(true, func(*boltfile.Store, *stream.Files) error { return nil })
	}
	beside := stream.FilesOf(path)
	for name, c := range map[string]struct {
		spoil func() error
		want  error
	}{
		"a file where their directory is": {func() error { return os.WriteFile(beside, nil, 0o600) }, syscall.ENOTDIR},
		"a directory where a file is":     {func() error { return os.MkdirAll(filepath.Join(beside, "in-0.db"), 0o700) }, store.ErrSchema},
	} {
		t.Run(name, func(t *testing.T) {
			failed := func() *StoreHost {
				h, err := OpenStore(path, "test", boltfile.Options{NoSync: true})
				if err == nil {
					err = errors.Join(os.RemoveAll(beside), c.spoil())
				}
				testkit.OK(t, err)
				if err := write(h); !errors.Is(err, c.want) {
					t.Errorf("it ends with %v, want %v", err, c.want)
				}
				return h
			}
			h := failed()
			if err := errors.Join(h.Close(), boltfile.Held(path), os.RemoveAll(beside)); err != nil {
				t.Errorf("closed then: %v", err)
			}
			h = failed()
			if err := errors.Join(os.RemoveAll(beside), write(h), h.Close()); err != nil {
				t.Errorf("the next time: %v", err)
			}
		})
	}
}
