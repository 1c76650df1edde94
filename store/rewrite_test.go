package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/hinged/hinged/model"
)

// life is a sequence of commits in which every tenth one forgets a sender. It
// holds what must be known after each, the plain way.
type life struct {
	n        uint64
	messages map[uint64]bool // that are known
	lessons  []Lesson
}

func newLife() *life { return &life{messages: map[uint64]bool{}} }

// secret is what is to be found nowhere once message n is forgotten.
func secret(n uint64) []byte { return fmt.Appendf(nil, "<secret%05d>", n) }

func secretKey(n uint64) (k MessageKey) { copy(k[:], fmt.Sprintf("the key of %05d", n)); return k }

func forgets(n uint64) (sender ID, yes bool) { return ID(n / 10 % 5), n%10 == 9 }

func lessonOf(n uint64) Lesson {
	return Lesson{Message: secretKey(n), Label: model.Important, Weight: 1, Sender: ID(n % 5), At: Moment(n)}
}

// live is the n-th step of a life in memory.
func (l *life) live() {
	l.n++
	sender, yes := forgets(l.n)
	if !yes {
		l.messages[l.n] = true
		l.lessons = append(l.lessons, lessonOf(l.n))
		return
	}
	for m := range l.messages {
		if ID(m%5) == sender {
			delete(l.messages, m)
		}
	}
	l.lessons = slices.DeleteFunc(l.lessons, func(e Lesson) bool { return e.Sender == sender })
}

// commitLife is the n-th step of a life on the disk.
func commitLife(s *Store, st *State, n uint64) error {
	st.Account.Messages = n
	sender, yes := forgets(n)
	if !yes {
		k := secretKey(n)
		st.Messages.Put(string(k[:]), Message{Seq: n, Sender: ID(n % 5)})
		st.Weights.Set(model.Index(n), float64(n))
		st.TouchWeights(model.Vector{{Index: model.Index(n), Value: 1}})
		return s.Commit("ann", st, Batch{
			Journal:  [][]byte{append([]byte("entry with "), secret(n)...)},
			Features: []FeatureRecord{{Key: k, Data: append([]byte("features with "), secret(n)...)}},
			Lessons:  []Lesson{lessonOf(n)},
		})
	}
	for _, k := range st.Messages.Keys() {
		if m, _ := st.Messages.Get(k); m.Sender == sender {
			st.Messages.Delete(k)
			st.Weights.Delete(model.Index(m.Seq))
		}
	}
	var kept []Lesson
	for lesson, err := range s.Lessons("ann", 0) {
		if err != nil {
			return err
		}
		if lesson.Sender != sender {
			kept = append(kept, lesson)
		}
	}
	if err := s.Rewrite("ann", st, Rewrite{Lessons: kept, Scrub: true}); err != nil {
		return err
	}
	return s.Scrub()
}

// compare demands that the store has what the life has come to.
func (l *life) compare(t *testing.T, s *Store, st *State) {
	t.Helper()
	if st.Messages.Len() != len(l.messages) {
		t.Errorf("step %d: there are %d messages, want %d", l.n, st.Messages.Len(), len(l.messages))
	}
	for n := range l.messages {
		k := secretKey(n)
		if _, ok := st.Messages.Get(string(k[:])); !ok {
			t.Errorf("step %d: message %d is not there", l.n, n)
		}
		if data, err := s.Features("ann", k); err != nil || !bytes.Contains(data, secret(n)) {
			t.Errorf("step %d: the features of message %d are %q, %v", l.n, n, data, err)
		}
		if st.Weights.Get(model.Index(n)) != float64(n) {
			t.Errorf("step %d: weight %d is %v", l.n, n, st.Weights.Get(model.Index(n)))
		}
	}
	var got []Lesson
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
		k := secretKey(n)
		if bytes.Contains(file, secret(n)) || bytes.Contains(file, k[:]) {
			t.Errorf("step %d: message %d is in the file still", l.n, n)
		}
	}
}

func TestWhatWasRewrittenIsNowhereInTheFile(t *testing.T) {
	s := openTest(t, tempStore(t), testOptions())
	st, l := NewState(), newLife()
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
			if _, is := Digest(base); next != st.JournalNext() || is != digestOnly(st) {
				t.Errorf("step %d: the base is not the state", l.n)
			}
		}
		if t.Failed() {
			t.FailNow()
		}
	}
}

func digestOnly(st *State) string { _, d := Digest(st); return d }

func TestARewriteThatFailsChangesNothingOrAll(t *testing.T) {
	broken := errors.New("broken on purpose")
	for _, step := range []string{"chunks", "lessons anew", "rewrite", "rewritten", "sweep all"} {
		t.Run(step, func(t *testing.T) {
			o := testOptions()
			fail := false
			o.step = func(at string) error {
				if fail && at == step {
					return broken
				}
				return nil
			}
			s := openTest(t, tempStore(t), o)
			st, l := NewState(), newLife()
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
			if err := s.Commit("ann", st, Batch{Journal: [][]byte{{1}}}); !errors.Is(err, ErrStale) {
				t.Errorf("committing the state of a rewrite that failed: %v, want ErrStale", err)
			}
			after := step == "rewritten" || step == "sweep all"
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
			if err := s.Scrub(); err != nil {
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
		o.step = func(at string) error {
			if at == string(stop) {
				fmt.Println("stopped")
				select {}
			}
			return nil
		}
		s, err := Open(path, o)
		if err == nil {
			err = s.Scrub()
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
		{"lessons anew", false, false}, {"rewrite", false, false},
		{"rewritten", true, true}, {"sweep all", true, true}, {"compact", true, true}, {"swap files", true, true},
	} {
		t.Run(c.step, func(t *testing.T) {
			path := tempStore(t)
			s, err := Open(path, committerOptions())
			if err != nil {
				t.Fatal(err)
			}
			closeVerified(t, s)
			if err := os.WriteFile(stopFile(path), []byte(c.step), 0o600); err != nil {
				t.Fatal(err)
			}
			v, l := startVictim(t, "rewriter", path), newLife()
			said := uint64(0)
			for line := v.line(); line != "stopped"; line = v.line() {
				said = number(line)
			}
			v.killAfter(0)
			due := l.wantLife(t, path, said)
			if begun := l.n > said; said != 8 || begun != c.begun || due != c.due {
				t.Errorf("after step %d: it counts: %v, want %v; scrubbing is due: %v, want %v", said, begun, c.begun, due, c.due)
			}
		})
	}
}

func TestKilledAtRandomMomentsOfForgettingTheStoreHasAllOfItOrNothing(t *testing.T) {
	path := tempStore(t)
	r := rand.New(rand.NewPCG(3, 3))
	l := newLife()
	for range 8 {
		v := startVictim(t, "rewriter", path)
		said := l.n
		// To just before a step that forgets, so that many are killed in its midst.
		for said%10 != 8 || said < l.n+2 {
			said = number(v.line())
		}
		for _, line := range v.killAfter(time.Duration(r.IntN(16_000)) * time.Microsecond) {
			said = number(line)
		}
		if l.wantLife(t, path, said); t.Failed() {
			t.FailNow()
		}
	}
}

// partitionLife commits a few lessons to an account of a partition and then takes
// some back.
func partitionLife(t *testing.T, s *Store, p Partition) *State {
	t.Helper()
	if err := s.BeginPartition(p, 2, 0); err != nil {
		t.Fatal(err)
	}
	st := NewState()
	for n := uint64(1); n <= 60; n++ {
		commitTo(t, s, p, st, n)
	}
	var kept []Lesson
	for lesson, err := range s.Lessons("kafka:ann", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if lesson.At%2 == 0 {
			kept = append(kept, lesson)
		}
	}
	st.Account.Messages = 61
	if err := s.RewritePartition(p, 61, "kafka:ann", st, Rewrite{Lessons: kept}); err != nil {
		t.Fatal(err)
	}
	return st
}

// commitTo commits record n of a partition.
func commitTo(t *testing.T, s *Store, p Partition, st *State, n uint64) {
	t.Helper()
	st.Account.Messages = n
	k := secretKey(n)
	st.Messages.Put(string(k[:]), Message{Seq: n})
	st.Weights.Set(model.Index(n), 1)
	st.TouchWeights(model.Vector{{Index: model.Index(n), Value: 1}})
	b := Batch{Journal: [][]byte{secret(n)}, Lessons: []Lesson{lessonOf(n)}, Features: []FeatureRecord{{Key: k, Data: secret(n)}}}
	if err := s.CommitPartition(p, int64(n), []AccountCommit{{"kafka:ann", st, b}}); err != nil {
		t.Fatal(err)
	}
}

func TestARewriteOfAPartitionMovesItsPosition(t *testing.T) {
	s := openTest(t, tempStore(t), testOptions())
	p, other := Partition{"mail", 0}, Partition{"mail", 1}
	if err := s.BeginPartition(other, 2, 0); err != nil {
		t.Fatal(err)
	}
	st := partitionLife(t, s, p)
	if info, _, err := s.PartitionInfo(p); err != nil || info.Next != 61 {
		t.Errorf("the partition stands at %d, %v; want 61", info.Next, err)
	}
	commitTo(t, s, p, st, 62)
	if loaded := mustLoad(t, s); digestOnly(loaded) != digestOnly(st) || loaded.LessonNext() != st.LessonNext() {
		t.Errorf("loaded at lesson %d, want %d", loaded.LessonNext(), st.LessonNext())
	}
	for what, err := range map[string]error{
		"without its partition": s.Rewrite("kafka:ann", mustLoad(t, s), Rewrite{}),
		"in another partition":  s.RewritePartition(other, 1, "kafka:ann", mustLoad(t, s), Rewrite{}),
	} {
		if !errors.Is(err, ErrPartition) {
			t.Errorf("%s: %v, want ErrPartition", what, err)
		}
	}
	if err := s.RewritePartition(p, 3, "kafka:ann", mustLoad(t, s), Rewrite{}); !errors.Is(err, ErrStale) {
		t.Errorf("to a lower position: %v, want ErrStale", err)
	}
	if info, _, _ := s.PartitionInfo(p); info.Next != 62 {
		t.Errorf("after what was refused the partition stands at %d, want 62", info.Next)
	}
}

func TestARewrittenAccountIsTakenOverAsItIs(t *testing.T) {
	s := openTest(t, tempStore(t), testOptions())
	p, chunks := Partition{"mail", 0}, newShelf()
	st := partitionLife(t, s, p)
	first := chunks.dumpOf(t, s, p, nil)
	for n := uint64(62); n < 70; n++ {
		commitTo(t, s, p, st, n)
	}
	there := openTest(t, tempStore(t), testOptions())
	m := chunks.dumpOf(t, s, p, &first)
	if err := there.BeginRestore(p, m); err != nil {
		t.Fatal(err)
	}
	if err := there.RestoreState(p, "kafka:ann", chunks.get); err != nil {
		t.Fatal(err)
	}
	if _, err := there.LessonBase("kafka:ann"); !errors.Is(err, ErrPending) {
		t.Errorf("before the logs are there: %v, want ErrPending", err)
	}
	if err := there.RewritePartition(p, 70, "kafka:ann", mustLoad(t, there), Rewrite{}); !errors.Is(err, ErrPending) {
		t.Errorf("rewriting before the logs are there: %v, want ErrPending", err)
	}
	if err := there.Scrub(); err != nil {
		t.Fatal(err)
	}
	if err := there.RestoreLogs(p, "kafka:ann", chunks.get); err != nil {
		t.Fatal(err)
	}
	wholeAccounts(t, s, there, []string{"kafka:ann"})
	was, err := s.LessonBase("kafka:ann")
	if err != nil {
		t.Fatal(err)
	}
	is, err := there.LessonBase("kafka:ann")
	if err != nil || digestOnly(is) != digestOnly(was) || is.LessonNext() != was.LessonNext() {
		t.Errorf("what was learnt before the lessons is another thing there: %v", err)
	}
	if was.Weights.Len() == 0 || was.Messages.Len() != 0 {
		t.Errorf("before the lessons there were %d weights and %d messages", was.Weights.Len(), was.Messages.Len())
	}
}

func mustLoad(t *testing.T, s *Store) *State {
	t.Helper()
	st, err := s.Load("kafka:ann")
	if err != nil {
		t.Fatal(err)
	}
	return st
}
