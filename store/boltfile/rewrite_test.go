// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// life is a sequence of commits in which every tenth one forgets a sender. It
// holds what must be known after each, the plain way.
type life struct {
	n        uint64
	messages map[uint64]bool // that are known
	lessons  []store.Lesson
}

func newLife() *life { return &life{messages: map[uint64]bool{}} }

func forgets(n uint64) (sender store.ID, yes bool) { return store.ID(n / 10 % 5), n%10 == 9 }

// live is the n-th step of a life in memory.
func (l *life) live() {
	l.n++
	sender, yes := forgets(l.n)
	if !yes {
		l.messages[l.n] = true
		l.lessons = append(l.lessons, storetest.LessonOf(l.n))
		return
	}
	for m := range l.messages {
		if store.ID(m%5) == sender {
			delete(l.messages, m)
		}
	}
	l.lessons = slices.DeleteFunc(l.lessons, func(e store.Lesson) bool { return e.Sender == sender })
}

// commitLife is the n-th step of a life on the disk.
func commitLife(s *Store, st *store.State, n uint64) error {
	st.Account.Messages = n
	sender, yes := forgets(n)
	if !yes {
		k := storetest.SecretKey(n)
		st.Messages.Put(string(k[:]), store.Message{Seq: n, Sender: store.ID(n % 5)})
		st.SetWeights(model.Vector{{Index: model.Index(n), Value: float64(n)}})
		return s.Commit("ann", st, store.Batch{
			Journal:  [][]byte{append([]byte("entry with "), storetest.Secret(n)...)},
			Features: []store.FeatureRecord{{Key: k, Data: append([]byte("features with "), storetest.Secret(n)...)}},
			Lessons:  []store.Lesson{storetest.LessonOf(n)},
		})
	}
	for _, k := range st.Messages.Keys() {
		if m, _ := st.Messages.Get(k); m.Sender == sender {
			st.Messages.Delete(k)
			st.Weights.Delete(model.Index(m.Seq))
		}
	}
	var kept []store.Lesson
	for lesson, err := range s.Lessons("ann", 0) {
		if err != nil {
			return err
		}
		if lesson.Sender != sender {
			kept = append(kept, lesson)
		}
	}
	if err := s.Rewrite("ann", st, store.Rewrite{Lessons: kept, Scrub: true}); err != nil {
		return err
	}
	return s.Scrub(context.Background())
}

// compare demands that the store has what the life has come to.
func (l *life) compare(t *testing.T, s *Store, st *store.State) {
	t.Helper()
	if st.Messages.Len() != len(l.messages) {
		t.Errorf("step %d: there are %d messages, want %d", l.n, st.Messages.Len(), len(l.messages))
	}
	for n := range l.messages {
		k := storetest.SecretKey(n)
		if _, ok := st.Messages.Get(string(k[:])); !ok {
			t.Errorf("step %d: message %d is not there", l.n, n)
		}
		if data, err := s.Features("ann", k); err != nil || !bytes.Contains(data, storetest.Secret(n)) {
			t.Errorf("step %d: the features of message %d are %q, %v", l.n, n, data, err)
		}
		if st.Weights.Get(model.Index(n)) != float64(n) {
			t.Errorf("step %d: weight %d is %v", l.n, n, st.Weights.Get(model.Index(n)))
		}
	}
	var got []store.Lesson
	first := uint64(0)
	for lesson, err := range s.Lessons("ann", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if first == 0 {
			first = lesson.Order
		}
		lesson.Order = 0
		got = append(got, lesson)
	}
	if len(got) > len(l.lessons) || !slices.Equal(got, l.lessons[len(l.lessons)-len(got):]) {
		t.Errorf("step %d: the lessons are %v, want the last of %v", l.n, got, l.lessons)
	}
	if first != 0 && first+uint64(len(got)) != st.LessonNext() {
		t.Errorf("step %d: %d lessons from %d on, the next one is %d", l.n, len(got), first, st.LessonNext())
	}
	base, err := s.LessonBase("ann")
	if err != nil {
		t.Fatal(err)
	}
	if base.LessonNext() != first && first != 0 {
		t.Errorf("step %d: the lessons begin with %d, what was before ends at %d", l.n, first, base.LessonNext())
	}
	for _, lesson := range got {
		if base.Weights.Get(model.Index(lesson.At)) != 0 {
			t.Errorf("step %d: lesson %d was learnt before the first", l.n, lesson.At)
		}
	}
	due, err := s.ScrubDue()
	if err != nil || due {
		return
	}
	file, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	for n := uint64(1); n <= l.n; n++ {
		if _, yes := forgets(n); yes || l.messages[n] {
			continue
		}
		k := storetest.SecretKey(n)
		if bytes.Contains(file, storetest.Secret(n)) || bytes.Contains(file, k[:]) {
			t.Errorf("step %d: message %d is in the file still", l.n, n)
		}
	}
}

func TestWhatWasRewrittenIsNowhereInTheFile(t *testing.T) {
	s := openTest(t, storetest.TempStore(t), testOptions())
	st, l := store.NewState(), newLife()
	for l.n < 120 {
		l.live()
		if err := commitLife(s, st, l.n); err != nil {
			t.Fatal(err)
		}
		if l.n%10 != 9 && l.n%17 != 0 {
			continue
		}
		loaded, err := s.Load("ann")
		if err != nil {
			t.Fatal(err)
		}
		l.compare(t, s, loaded)
		base, next, err := s.Base("ann")
		if err != nil {
			t.Fatal(err)
		}
		if l.n%10 == 9 {
			if _, is := store.Digest(base); next != st.JournalNext() || is != digestOnly(st) {
				t.Errorf("step %d: the base is not the state", l.n)
			}
		}
		if t.Failed() {
			t.FailNow()
		}
	}
}

func digestOnly(st *store.State) string { _, d := store.Digest(st); return d }

func TestARewriteThatFailsChangesNothingOrAll(t *testing.T) {
	testkit.Computes(t)
	broken := errors.New("broken on purpose")
	for _, step := range []string{"rewrite", "rewritten", "sweep"} {
		t.Run(step, func(t *testing.T) {
			o := testOptions()
			fail := false
			o.Hooks.Step = func(at string) error {
				if fail && at == step {
					return broken
				}
				return nil
			}
			s := openTest(t, storetest.TempStore(t), o)
			st, l := store.NewState(), newLife()
			for l.n < 58 {
				l.live()
				if err := commitLife(s, st, l.n); err != nil {
					t.Fatal(err)
				}
			}
			fail = true
			if err := commitLife(s, st, 59); !errors.Is(err, broken) {
				t.Fatalf("rewriting gave %v", err)
			}
			fail = false
			if err := s.Commit("ann", st, store.Batch{Journal: [][]byte{{1}}}); !errors.Is(err, store.ErrStale) {
				t.Errorf("committing the state of a rewrite that failed: %v, want ErrStale", err)
			}
			after := step == "rewritten" || step == "sweep"
			if after {
				l.live()
			}
			loaded, err := s.Load("ann")
			if err != nil {
				t.Fatal(err)
			}
			l.compare(t, s, loaded)
			if due, err := s.ScrubDue(); err != nil || due != after {
				t.Errorf("scrubbing is due: %v, %v; want %v", due, err, after)
			}
			if err := s.Scrub(context.Background()); err != nil {
				t.Fatal(err)
			}
			for l.n < 80 {
				l.live()
				if err := commitLife(s, loaded, l.n); err != nil {
					t.Fatal(err)
				}
			}
			l.compare(t, s, loaded)
		})
	}
}

// stopFile, beside a store, names the step at which a rewriter is to wait for its
// end.
func stopFile(path string) string { return path + ".stop" }

// runRewriter lives on from where the file stands, and says each step when it is
// taken.
func runRewriter(path string) int {
	err := func() error {
		o := committerOptions()
		stop, _ := os.ReadFile(stopFile(path))
		o.Hooks.Step = func(at string) error {
			if at == string(stop) {
				fmt.Println("stopped")
				select {}
			}
			return nil
		}
		s, err := Open(path, o)
		if err == nil {
			err = s.Scrub(context.Background())
		}
		if err != nil {
			return err
		}
		st, err := s.Load("ann")
		if err != nil {
			return err
		}
		for n := st.Account.Messages + 1; ; n++ {
			if err := commitLife(s, st, n); err != nil {
				return err
			}
			fmt.Println(n)
		}
	}()
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// wantLife opens the store of a rewriter that was killed after it had said a step,
// and demands that it has what was known then, or one step later.
func (l *life) wantLife(t *testing.T, path string, said uint64) (scrubDue bool) {
	t.Helper()
	s, err := Open(path, committerOptions())
	if err != nil {
		t.Fatal(err)
	}
	st, err := s.Load("ann")
	if err != nil {
		t.Fatal(err)
	}
	if st.Account.Messages != said && st.Account.Messages != said+1 {
		t.Fatalf("it stands at step %d, said was %d", st.Account.Messages, said)
	}
	for l.n < st.Account.Messages {
		l.live()
	}
	if scrubDue, err = s.ScrubDue(); err != nil {
		t.Fatal(err)
	}
	l.compare(t, s, st)
	closeVerified(t, s)
	return scrubDue
}

func TestKilledAtEveryStepOfForgettingTheStoreHasAllOfItOrNothing(t *testing.T) {
	for _, c := range []struct {
		step       string
		begun, due bool // it counts; free pages may still hold what it took out
	}{
		{"rewrite", false, false},
		{"rewritten", true, true}, {"sweep", true, true}, {"compact", true, true}, {"swap files", true, true},
	} {
		t.Run(c.step, func(t *testing.T) {
			path := storetest.TempStore(t)
			s, err := Open(path, committerOptions())
			if err != nil {
				t.Fatal(err)
			}
			closeVerified(t, s)
			if err := os.WriteFile(stopFile(path), []byte(c.step), 0o600); err != nil {
				t.Fatal(err)
			}
			v, l := storetest.StartVictim(t, "rewriter", path), newLife()
			said := uint64(0)
			for line := v.Line(); line != "stopped"; line = v.Line() {
				said = storetest.Number(line)
			}
			v.KillAfter(0)
			due := l.wantLife(t, path, said)
			if begun := l.n > said; said != 8 || begun != c.begun || due != c.due {
				t.Errorf("after step %d: it counts: %v, want %v; scrubbing is due: %v, want %v", said, begun, c.begun, due, c.due)
			}
		})
	}
}

func TestKilledAtRandomMomentsOfForgettingTheStoreHasAllOfItOrNothing(t *testing.T) {
	path := storetest.TempStore(t)
	r := rand.New(rand.NewPCG(3, 3))
	l := newLife()
	for range 8 {
		v := storetest.StartVictim(t, "rewriter", path)
		said := l.n
		// To just before a step that forgets, so that many are killed in its midst.
		for said%10 != 8 || said < l.n+2 {
			said = storetest.Number(v.Line())
		}
		for _, line := range v.KillAfter(time.Duration(r.IntN(16_000)) * time.Microsecond) {
			said = storetest.Number(line)
		}
		if l.wantLife(t, path, said); t.Failed() {
			t.FailNow()
		}
	}
}

func TestARewriteOfAPartitionMovesItsPosition(t *testing.T) {
	s := openTest(t, storetest.TempStore(t), testOptions())
	st := storetest.PartitionLife(t, s, store.Partition{Topic: "mail", Number: 0})
	if info, err := s.PartitionInfo(); err != nil || info.Next != 61 {
		t.Errorf("the partition stands at %d, %v; want 61", info.Next, err)
	}
	storetest.CommitTo(t, s, st, 62)
	if loaded := mustLoad(t, s); digestOnly(loaded) != digestOnly(st) || loaded.LessonNext() != st.LessonNext() {
		t.Errorf("loaded at lesson %d, want %d", loaded.LessonNext(), st.LessonNext())
	}
	if err := s.Rewrite("kafka:ann", mustLoad(t, s), store.Rewrite{}); !errors.Is(err, store.ErrPartition) {
		t.Errorf("without its partition: %v, want ErrPartition", err)
	}
	if err := s.RewritePartition(store.LogPosition{Next: 3}, "kafka:ann", mustLoad(t, s), store.Rewrite{}); !errors.Is(err, store.ErrStale) {
		t.Errorf("to a lower position: %v, want ErrStale", err)
	}
	if info, _ := s.PartitionInfo(); info.Next != 62 {
		t.Errorf("after what was refused the partition stands at %d, want 62", info.Next)
	}
}

func mustLoad(t *testing.T, s *Store) *store.State {
	t.Helper()
	st, err := s.Load("kafka:ann")
	if err != nil {
		t.Fatal(err)
	}
	return st
}
