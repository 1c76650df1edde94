// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// crowd commits messages of so many accounts to a store, message by message.
func crowd(t *testing.T, s *Store, accounts, messages int) map[string]*store.State {
	t.Helper()
	all := map[string]*store.State{}
	for a := range accounts {
		st := store.NewState()
		for i := range messages {
			n := uint64(a*messages + i + 1)
			k := storetest.SecretKey(n)
			st.Messages.Put(string(k[:]), store.Message{Seq: n})
			st.SetWeights(model.Vector{{Index: model.Index(n), Value: 1}})
			err := s.Commit(crowdName(a), st, store.Batch{
				Journal:  [][]byte{append([]byte("entry with "), storetest.Secret(n)...)},
				Features: []store.FeatureRecord{{Key: k, Data: append([]byte("features with "), storetest.Secret(n)...)}},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		all[crowdName(a)] = st
	}
	return all
}

func crowdName(a int) string { return fmt.Sprintf("user%04d", a) }

// forgetAll rewrites an account without any of its messages, and leaves what is to be
// swept to Scrub, as a crash would.
func forgetAll(t *testing.T, s *Store, name string, st *store.State, stop *string) {
	t.Helper()
	for _, k := range st.Messages.Keys() {
		st.Messages.Delete(k)
	}
	*stop = "sweep"
	if err := s.Rewrite(name, st, store.Rewrite{Scrub: true}); !errors.Is(err, errBroken) {
		t.Fatalf("rewriting gave %v", err)
	}
	*stop = ""
}

// wantForgotten demands that the file holds the messages of the other accounts and
// nothing of those that were forgotten.
func wantForgotten(t *testing.T, s *Store, accounts, messages int, forgotten map[int]bool) {
	t.Helper()
	file, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	for a := range accounts {
		for i := range messages {
			if has := bytes.Contains(file, storetest.Secret(uint64(a*messages+i+1))); has == forgotten[a] {
				t.Fatalf("account %d, message %d: in the file: %v, forgotten: %v", a, i, has, forgotten[a])
			}
		}
	}
}

func TestAScrubTouchesNoAccountButThoseThatForgot(t *testing.T) {
	const accounts, messages = 120, 3
	o := testOptions()
	stop, sweeps := "", 0
	o.Hooks.Step = func(at string) error {
		if at == "sweep" {
			sweeps++
		}
		if at == stop {
			return errBroken
		}
		return nil
	}
	s := openTest(t, storetest.TempStore(t), o)
	all := crowd(t, s, accounts, messages)
	forgotten := map[int]bool{7: true, 55: true, 119: true}
	for a := range forgotten {
		forgetAll(t, s, crowdName(a), all[crowdName(a)], &stop)
	}
	sweeps = 0
	if err := s.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	// One step sweeps the few records of an account, another finds that nothing is left.
	if most := 2 * len(forgotten); sweeps == 0 || sweeps > most {
		t.Errorf("%d sweeps for %d accounts that forgot, want 1 to %d", sweeps, len(forgotten), most)
	}
	if due, err := s.ScrubDue(); due || err != nil {
		t.Errorf("due after it: %v, %v", due, err)
	}
	wantForgotten(t, s, accounts, messages, forgotten)
	sweeps = 0
	if err := s.Scrub(t.Context()); err != nil || sweeps != 0 {
		t.Errorf("again: %d sweeps, %v", sweeps, err)
	}
}

// TestAScrubThatIsStoppedGoesOnWhereItStopped stops it after each of its steps in turn,
// goes on in a new process, and compares with a twin that was never stopped.
func TestAScrubThatIsStoppedGoesOnWhereItStopped(t *testing.T) {
	const accounts, messages = 12, 30
	forgotten := map[int]bool{2: true, 3: true, 9: true}
	// run forgets, then scrubs until nothing is due, and stops after every so many steps.
	run := func(t *testing.T, every int) (what string, steps, stops int) {
		o := testOptions()
		o.Hooks.Slice, o.Hooks.Copy = 1, 2000
		path, stop := storetest.TempStore(t), ""
		counting, copied, cancel := false, 0, context.CancelFunc(func() {})
		o.Hooks.Step = func(at string) error {
			if at == stop {
				return errBroken
			}
			if !counting || at != "sweep" && at != "copied" {
				return nil
			}
			if at == "copied" {
				copied++
			} else {
				steps++
			}
			if every > 0 && (steps+copied)%every == 0 {
				cancel()
			}
			return nil
		}
		s := openTest(t, path, o)
		all := crowd(t, s, accounts, messages)
		for a := range forgotten {
			forgetAll(t, s, crowdName(a), all[crowdName(a)], &stop)
		}
		for counting = true; ; stops++ {
			var ctx context.Context
			ctx, cancel = context.WithCancel(t.Context())
			err := s.Scrub(ctx)
			cancel()
			if err == nil {
				break
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if due, err := s.ScrubDue(); !due || err != nil {
				t.Fatalf("stopped, and due: %v, %v", due, err)
			}
			if _, err := os.Stat(path + compacting); !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("stopped, and the draft of a new file is left: %v", err)
			}
			if stops > 1000 {
				t.Fatal("it never ends")
			}
			if copied > 0 { // writing the file anew begins again, and has to end once
				every *= 2
			}
			closeVerified(t, s)
			s = openTest(t, path, o)
		}
		wantForgotten(t, s, accounts, messages, forgotten)
		return describe(t, s), steps, stops
	}
	want, undisturbed, _ := run(t, 0)
	if undisturbed < 3*messages/4 {
		t.Fatalf("only %d steps of sweeping: there is nothing to interrupt", undisturbed)
	}
	for _, every := range []int{1, 3, 7, undisturbed + 2} {
		t.Run(fmt.Sprint(every), func(t *testing.T) {
			got, steps, stops := run(t, every)
			if got != want {
				t.Errorf("an interrupted run holds\n%s\nwant\n%s", got, want)
			}
			// A stop may cost the step that it meets, and no more.
			if stops == 0 || steps > undisturbed+stops {
				t.Errorf("%d stops, %d steps of sweeping, %d undisturbed", stops, steps, undisturbed)
			}
		})
	}
}

func TestADamagedListOfAccountsToBeSweptIsNoticed(t *testing.T) {
	path := storetest.TempStore(t)
	s, err := Open(path, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	err = s.file.update(func(tx *bolt.Tx) error {
		b, err := tx.Bucket(metaBucket).CreateBucket(scrubBucket)
		if err != nil {
			return err
		}
		return b.Put([]byte("ann"), []byte("none"))
	})
	if err != nil {
		t.Fatal(err)
	}
	if report, err := s.Verify(t.Context()); err != nil || len(report.Problems) != 1 {
		t.Errorf("verify: %v, %v; want one problem", report.Problems, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, testOptions()); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("opening it: %v, want ErrDamaged", err)
	}
}

func TestCopyingEndsWithItsContextAndTheOldFileStays(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := testOptions()
	o.Hooks.Copy = 2000
	copied := 0
	o.Hooks.Step = func(at string) error {
		if at == "copied" {
			if copied++; copied == 2 {
				cancel()
			}
		}
		return nil
	}
	s := openTest(t, storetest.TempStore(t), o)
	crowd(t, s, 5, 20)
	want := describe(t, s)
	if _, _, err := s.Compact(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("compacting: %v", err)
	}
	if copied != 2 {
		t.Errorf("%d transactions were copied, want 2 and no more", copied)
	}
	if _, _, err := s.Compact(t.Context()); err != nil || describe(t, s) != want {
		t.Errorf("again: %v, and the store holds\n%s\nwant\n%s", err, describe(t, s), want)
	}
	done, end := context.WithCancel(t.Context())
	end()
	if _, err := s.Verify(done); !errors.Is(err, context.Canceled) {
		t.Errorf("verifying: %v", err)
	}
}
