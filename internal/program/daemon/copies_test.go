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

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/run/stream"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

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
	s := newScript()
	d, _ := start(t, dir, s)
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
		if _, err := do(t.Context(), b, desk.Verify, "", desk.VerifyRequest{Compact: true}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if after, err := digestsOf(t.Context(), b); err != nil || after[0] != before[0] {
			t.Errorf("%s: after compacting %+v, %v; want %+v", name, after, err, before)
		}
		if v, err := do(t.Context(), b, desk.Verify, "", desk.VerifyRequest{}); err != nil || !v.OK {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
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
	s := newScript()
	d, _ := start(t, dir, s)
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
	s := newScript()
	d, stop := start(t, dir, s)
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
	s := newScript()
	d, stop := start(t, dir, s)
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
		s := newScript()
		d, stop := start(t, dir, s)
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
		if v, err := do(t.Context(), d, desk.Verify, "", desk.VerifyRequest{}); err != nil || !v.OK {
			t.Errorf("run %d: %+v, %v", run, v, err)
		}
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
