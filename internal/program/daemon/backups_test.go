// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
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
