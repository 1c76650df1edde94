// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// TestADaemonWaitsForWhoeverReadsItsStore has a reader in the way, then a writer.
func TestADaemonWaitsForWhoeverReadsItsStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := boltfile.Open(path, boltfile.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Await(t.Context(), Options{StorePath: path}); !errors.Is(err, store.ErrRunning) {
		t.Errorf("while another may write: %v, want ErrRunning", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	o := Options{StorePath: path, Store: boltfile.Options{NoSync: true}}
	reader, err := boltfile.OpenReadOnly(path, boltfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := await(t.Context(), o, time.Millisecond); !errors.Is(err, store.ErrRunning) {
		t.Errorf("with a reader that stays for longer than that: %v, want ErrRunning", err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := await(stopped, o, patience); !errors.Is(err, context.Canceled) {
		t.Errorf("asked to stop while it waits: %v", err)
	}
	var log testkit.Transcript
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	type opened struct {
		d   *Daemon
		err error
	}
	came := make(chan opened, 1)
	go func() {
		d, err := await(t.Context(), o, patience)
		came <- opened{d, err}
	}()
	for deadline := time.Now().Add(patience); !log.Has("another hinged is reading the store"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not say that it waits:\n%s", log.String())
		}
	}
	select {
	case got := <-came:
		t.Fatalf("it did not wait: %v", got.err)
	default:
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	got := <-came
	if got.err != nil {
		t.Fatal(got.err)
	}
	if err := got.d.Close(); err != nil {
		t.Error(err)
	}
}
