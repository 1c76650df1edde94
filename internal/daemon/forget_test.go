// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/desk"
	"github.com/hinged/hinged/internal/stream"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// taken is a store without a daemon of which another process has the file by the time
// that it is to be scrubbed.
type taken struct{ *StoreHost }

func (t taken) Store(write bool, fn func(*boltfile.Store, *stream.Files) error) error {
	if write {
		return store.ErrRunning
	}
	return t.StoreHost.Store(write, fn)
}

// taughtStore returns the store, and its path, of a daemon that has learnt and stopped.
func taughtStore(t *testing.T) (h *StoreHost, path string) {
	t.Helper()
	dir := t.TempDir()
	s := newScript()
	d, stop := start(t, dir, s)
	teach(s)
	until(t, d, "both lessons", func(a desk.AccountStatus) bool { return a.Messages == 2 })
	stop()
	path = filepath.Join(dir, "store.db")
	h, err := OpenStore(path, "test", boltfile.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	return h, path
}

// What is forgotten is forgotten, also if its traces must stay in the file for now.
func TestForgettingIsDoneWhetherOrNotTheFileCanBeScrubbed(t *testing.T) {
	t.Parallel()
	h, _ := taughtStore(t)
	defer h.Close()
	q := desk.ForgetRequest{Sender: "boss@example.com"}
	got, err := desk.Forget.Do(context.Background(), taken{h}, "me", q)
	if err != nil || got.Messages != 1 || got.Scrubbed || got.Why != store.ErrRunning.Error() {
		t.Errorf("got %+v, %v; want one message forgotten, and why it is not scrubbed", got, err)
	}
	got, err = desk.Forget.Do(context.Background(), h, "me", q)
	if err != nil || got.Messages != 0 || !got.Scrubbed || got.Why != "" {
		t.Errorf("again: got %+v, %v; want nothing left to forget, and a scrubbed file", got, err)
	}
}

// A verb that writes twice, as forgetting does to scrub, opens the file once, sees what it
// wrote, and leaves the file to others when it ends.
func TestAStoreIsOpenedForWritingOnce(t *testing.T) {
	t.Parallel()
	h, path := taughtStore(t)
	var opened []*boltfile.Store
	if err := h.Store(true, func(s *boltfile.Store, _ *stream.Files) error { opened = append(opened, s); return nil }); err != nil {
		t.Fatal(err)
	}
	before := time.Now().Add(1000 * time.Hour)
	if out, err := do(t.Context(), h, desk.Forget, "", desk.ForgetRequest{Before: &before}); err != nil || out.Messages != 2 || !out.Scrubbed {
		t.Fatalf("forgetting: %+v, %v", out, err)
	}
	if err := h.Store(true, func(s *boltfile.Store, _ *stream.Files) error { opened = append(opened, s); return nil }); err != nil {
		t.Fatal(err)
	}
	if opened[0] != opened[1] {
		t.Error("the file was opened for writing twice")
	}
	if out, err := do(t.Context(), h, desk.Forget, "", desk.ForgetRequest{Before: &before, DryRun: true}); err != nil || out.Messages != 0 {
		t.Errorf("looking after that: %+v, %v", out, err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := boltfile.Open(path, boltfile.Options{NoSync: true})
	if err != nil {
		t.Fatalf("after the verb: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}
