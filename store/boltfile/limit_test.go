// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/store"
)

// runRole runs the roles that need more than the standard library's portable
// part.
func runRole(role, path string) int {
	if role != "limited" {
		fmt.Fprintln(os.Stderr, "no such role:", role)
		return 2
	}
	if err := commitUnderLimits(path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// A write may fail at any page. The limit on the size of files makes writes
// beyond an offset fail with EFBIG, and it holds for a whole process, so
// another one is tried.
func TestAWriteMayFailAtAnyPage(t *testing.T) {
	testkit.Computes(t)
	out, err := storetest.OtherProcess("limited", storetest.TempStore(t)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("%s", out)
}

func commitUnderLimits(path string) error {
	s, err := Open(path, Options{NoSync: true, CheckpointEvery: 6, JournalCap: 12})
	if err != nil {
		return err
	}
	var whole syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &whole); err != nil {
		return err
	}
	limit := func(size uint64) error {
		l := whole
		l.Cur = size
		return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l)
	}
	r := rand.New(rand.NewPCG(8, 8))
	st := store.NewState()
	refused := 0
	for range 8 {
		b := grow(r, st)
		_, before := store.Digest(st)
		for pages := uint64(0); ; pages += 1 + r.Uint64N(6) {
			if err := limit(pages * uint64(os.Getpagesize())); err != nil {
				return err
			}
			err := s.Commit("ann", st, b)
			if err := limit(whole.Cur); err != nil {
				return err
			}
			if err == nil {
				break
			}
			if !errors.Is(err, store.ErrNoSpace) {
				return fmt.Errorf("limit of %d pages: %w, want ErrNoSpace", pages, err)
			}
			refused++
		}
		again, err := s.Load("ann")
		if err != nil {
			return err
		}
		if _, after := store.Digest(again); after != before {
			return fmt.Errorf("state is %s after %d failures, want %s", after, refused, before)
		}
	}
	report, err := s.Verify(context.Background())
	if err != nil || !report.OK() {
		return fmt.Errorf("verify: %w %v", err, report.Problems)
	}
	if refused < 100 {
		return fmt.Errorf("only %d writes failed, want 100 or more", refused)
	}
	fmt.Printf("%d failed commits before 8 that succeeded\n", refused)
	return s.Close()
}
