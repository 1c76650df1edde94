// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"testing"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/store/boltfile"
)

// TestAVerbWaitsForADaemonThatStarts has another process let go of the store while a
// verb asks for it.
func TestAVerbWaitsForADaemonThatStarts(t *testing.T) {
	dir := t.TempDir()
	c := &config.Config{StateDir: dir, Socket: filepath.Join(dir, "socket")}
	s, err := boltfile.Open(storePath(c), boltfile.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	type found struct {
		at  *control.At
		err error
	}
	came := make(chan found, 1)
	go func() {
		at, err := connectTo(t.Context(), c, boltfile.Options{})
		came <- found{at, err}
	}()
	select {
	case got := <-came:
		t.Fatalf("it did not wait: %v", got.err)
	default:
	}
	// Once it was refused by the lock it would give up, if it did not ask again.
	if _, err := connectOnce(t.Context(), c, boltfile.Options{}); err == nil {
		t.Fatal("the store is open twice")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	got := <-came
	if got.err != nil {
		t.Fatal(got.err)
	}
	if err := got.at.Close(); err != nil {
		t.Error(err)
	}
}
