// SPDX-License-Identifier: Apache-2.0

package writer_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/past"
	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// The redo log has the steps of the learner, not the weights that they led to. Taken again, they
// lead to the same ones, bit for bit: with rules and with a cap on the weights, after lessons
// were taken back or forgotten, and of messages that come twice, with other features.
func TestStepsTakenAgainGiveTheWeightsOfTheLiveLearner(t *testing.T) {
	testkit.Computes(t)
	capped := func(o *filter.Options) { o.Limits.Weights = 300 }
	for name, change := range map[string]func(*filter.Options){
		"default":    func(*filter.Options) {},
		"capped":     capped,
		"perceptron": func(o *filter.Options) { o.Learner.Kind = model.KindPerceptron; capped(o) },
		"kernel":     func(o *filter.Options) { o.Kernel = filter.Kernel{Degree: 2, Budget: 20} },
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(2) {
				o := filter.DefaultOptions()
				o.Settle, o.Dual.Window, o.Dual.Steps, o.Limits.Messages = 0, 30, 4, 100
				change(&o)
				newStepsLife(t, seed, o).play(1500)
			}
		})
	}
}

// stepsLife is a made-up life of an account, and the store that it is kept in.
type stepsLife struct {
	t      *testing.T
	r      *rand.Rand
	path   string
	store  *boltfile.Store
	w      *writer.Writer
	reader *featurize.Featurizer
	mail   []string
	at     store.Moment
	looks  int // comparisons
	again  int // messages that came with other features
}

func newStepsLife(t *testing.T, seed uint64, o filter.Options) *stepsLife {
	t.Helper()
	reader := readerOf(t, o.Featurize)
	l := &stepsLife{t: t, r: rand.New(rand.NewPCG(seed, 38)), path: filepath.Join(t.TempDir(), "s.db"), reader: reader, at: middle(0)}
	l.open()
	l.apply(&filter.Configured{Options: o})
	return l
}

func (l *stepsLife) open() {
	l.t.Helper()
	s, err := boltfile.Open(l.path, boltfile.Options{NoSync: true, CheckpointEvery: 12, JournalCap: 150})
	if err == nil {
		l.store = s
		l.w, err = writer.Open(s, account)
	}
	testkit.OK(l.t, err)
}

func (l *stepsLife) close() {
	l.t.Helper()
	testkit.OK(l.t, l.store.Close())
}

func (l *stepsLife) apply(e filter.Event) { l.t.Helper(); apply(l.t, l.w, e) }

func (l *stepsLife) play(events int) {
	l.t.Helper()
	for range events {
		l.at = l.at.Add(time.Duration(1+l.r.IntN(60)) * time.Minute)
		switch l.r.IntN(12) {
		case 0, 1, 2, 3, 4:
			l.arrive()
		case 5, 6, 7:
			l.label()
		case 8:
			if l.r.IntN(4) == 0 {
				l.rule()
			}
		case 9:
			if l.r.IntN(15) == 0 {
				l.rewrite()
			}
		default:
			l.commit()
			l.look()
		}
	}
	l.commit()
	l.look()
	if report, err := l.store.Verify(l.t.Context()); err != nil || !report.OK() {
		l.t.Errorf("verify: %v %v", err, report.Problems)
	}
	l.close()
	if l.looks < 100 || l.again < 10 {
		l.t.Errorf("%d looks, %d messages that came with other features; want 100 and 10", l.looks, l.again)
	}
}

// arrive brings a message, new or one that came before.
func (l *stepsLife) arrive() {
	l.t.Helper()
	if len(l.mail) == 0 || l.r.IntN(3) > 0 {
		n := len(l.mail)
		var words strings.Builder
		for range 5 + l.r.IntN(30) {
			fmt.Fprintf(&words, "word%d ", int(l.r.ExpFloat64()*60))
		}
		l.mail = append(l.mail, fmt.Sprintf("From: s%d@example.org\r\nMessage-ID: <%d@x>\r\nSubject: subject %d\r\n\r\n%s\r\n", l.r.IntN(5), n, n, words.String()))
	}
	m := l.reader.Read([]byte(l.mail[len(l.mail)-1-l.r.IntN(min(len(l.mail), 250))]))
	_, err := l.w.Features(m.Key)
	r := apply(l.t, l.w, &filter.Arrived{At: l.at, Meta: filter.NewMeta(m), Message: m})
	if err == nil && r.Features != nil {
		l.again++
	}
}

// known draws a message that can be taught.
func (l *stepsLife) known() (k store.MessageKey, ok bool) {
	var keys []string
	for _, key := range l.w.Filter().State().Messages.Keys() {
		if m, _ := l.w.Filter().State().Messages.Get(key); m.Outcome != store.Undecided {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return k, false
	}
	return store.MessageKey([]byte(keys[l.r.IntN(len(keys))])), true
}

func (l *stepsLife) label() {
	l.t.Helper()
	if k, ok := l.known(); ok {
		l.apply(&filter.Labelled{At: l.at, Message: k, Label: model.Label(1 - 2*l.r.IntN(2))})
	}
}

func (l *stepsLife) rule() {
	l.t.Helper()
	var rules []filter.Rule
	for n := range l.r.IntN(3) {
		rules = append(rules, filter.Rule{Match: fmt.Sprintf("from:s%d@example.org", n), Label: model.Label(1 - 2*l.r.IntN(2))})
	}
	l.apply(&filter.Ruled{At: l.at, Rules: rules})
}

// rewrite takes lessons back, or forgets.
func (l *stepsLife) rewrite() {
	l.t.Helper()
	l.commit()
	var e past.RewriteRequest = &past.UnlearnRequested{At: l.at, Since: l.at.Add(-time.Duration(l.r.IntN(100)) * time.Hour)}
	if k, ok := l.known(); ok && l.r.IntN(2) == 0 {
		e = &past.ForgetRequested{At: l.at, Key: k}
	}
	if _, _, err := l.w.Rewrite(l.t.Context(), e, rewritten(l.store)); err != nil && !errors.Is(err, store.ErrNotFound) {
		l.t.Fatal(err)
	}
	l.look()
}

func (l *stepsLife) commit() {
	l.t.Helper()
	testkit.OK(l.t, l.store.Commit(account, l.w.Filter().State(), l.w.Batch()))
	l.w.Committed()
}

// look compares what a start would find, and now and then starts.
func (l *stepsLife) look() {
	l.t.Helper()
	live := l.w.Filter().State()
	loaded, err := l.store.Load(account)
	testkit.OK(l.t, err)
	same := func(a, b model.Feature) bool {
		return a.Index == b.Index && math.Float64bits(a.Value) == math.Float64bits(b.Value)
	}
	if !slices.EqualFunc(live.Weights.Sorted(), loaded.Weights.Sorted(), same) {
		l.t.Fatalf("look %d: the weights are others", l.looks)
	}
	wantModel, wantState := store.Digest(live)
	if m, s := store.Digest(loaded); m != wantModel || s != wantState {
		l.t.Fatalf("look %d: the digests are others", l.looks)
	}
	if l.looks++; l.r.IntN(10) == 0 {
		l.close()
		l.open()
	}
}

// live gives an account n messages, each with a label, and commits them some at a
// time. One in ten is from sender 7.
func live(t testing.TB, s *boltfile.Store, w *writer.Writer, n int) {
	t.Helper()
	reader := readerOf(t, featurize.DefaultOptions())
	o := filter.DefaultOptions()
	o.Settle = 0
	commit := func() {
		testkit.OK(t, s.Commit(account, w.Filter().State(), w.Batch()))
		w.Committed()
	}
	do := func(e filter.Event) {
		if _, err := w.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	do(&filter.Configured{Options: o})
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range n {
		var words strings.Builder
		for range 80 {
			fmt.Fprintf(&words, "word%d ", int(rng.ExpFloat64()*400))
		}
		m := reader.Read(fmt.Appendf(nil, "From: s%d@example.org\r\nMessage-ID: <%d@x>\r\nSubject: subject %d\r\n\r\n%s\r\n", i%10, i, i, words.String()))
		at := store.MomentOf(time.Unix(int64(1e9+60*i), 0))
		do(&filter.Arrived{At: at, Meta: filter.NewMeta(m), Message: m})
		do(&filter.Labelled{At: at, Message: store.MessageKey(m.Key), Label: model.Label(1 - 2*rng.IntN(2))})
		if i%500 == 499 || i == n-1 {
			commit()
		}
	}
}

func middle(n int) store.Moment { return store.MomentOf(time.Unix(int64(1e9+30*n), 0)) }

func rewritten(s *boltfile.Store) func(*store.State, store.Rewrite) error {
	return func(st *store.State, r store.Rewrite) error { return s.Rewrite(account, st, r) }
}

// What was taken back is what a restart finds, and a replay of the journal from
// the base gives it, also after the account went on.
func TestAfterLessonsAreTakenBackARestartAndAReplayAgree(t *testing.T) {
	testkit.Computes(t)
	for name, e := range map[string]past.RewriteRequest{
		"unlearnt":          &past.UnlearnRequested{Since: middle(200)},
		"a sender":          &past.ForgetRequested{Sender: filter.SenderOf("s7@example.org")},
		"a message":         &past.ForgetRequested{ID: filter.IDOf("77@x")},
		"before the middle": &past.ForgetRequested{Before: middle(200)},
	} {
		t.Run(name, func(t *testing.T) {
			s, w := open(t)
			live(t, s, w, 200)
			r, _, err := w.Rewrite(t.Context(), e, rewritten(s))
			if err != nil || r.Lessons == 0 {
				t.Fatalf("%d lessons, %v", r.Lessons, err)
			}
			for _, more := range []int{0, 20} {
				if more > 0 {
					live(t, s, w, more)
				}
				model, state := store.Digest(w.Filter().State())
				again := writerOf(t, s, account)
				if m, d := store.Digest(again.Filter().State()); m != model || d != state {
					t.Errorf("after a restart it is another state")
				}
				base, next, err := s.Base(account)
				testkit.OK(t, err)
				replayed, _, err := past.Replay(base, s.Journal(account, next), writer.NewReplayVectors(s, account))
				testkit.OK(t, err)
				if m, d := store.Digest(replayed.State()); m != model || d != state {
					t.Errorf("a replay gives another state")
				}
			}
			if report, err := s.Verify(t.Context()); err != nil || !report.OK() {
				t.Errorf("verify: %v %v", err, report.Problems)
			}
		})
	}
}

func TestARewriteThatCannotBeCommittedLeavesTheAccountAsItWas(t *testing.T) {
	s, w := open(t)
	live(t, s, w, 100)
	before, _ := store.Digest(w.Filter().State())
	full := errors.New("the disk is full")
	_, broken, err := w.Rewrite(context.Background(), &past.UnlearnRequested{Since: 1}, func(*store.State, store.Rewrite) error { return full })
	if !errors.Is(err, full) || broken {
		t.Fatalf("got %v, broken %v", err, broken)
	}
	if after, _ := store.Digest(w.Filter().State()); after != before {
		t.Error("the account is another one")
	}
	live(t, s, w, 10) // it goes on
	if _, err := w.Apply(&filter.Paused{At: middle(1 << 20)}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Rewrite(context.Background(), &past.UnlearnRequested{Since: 1}, rewritten(s)); !errors.Is(err, writer.ErrDirty) {
		t.Errorf("with something to commit: %v", err)
	}
}

// Wherever taking back is interrupted: the account is as it was, and the next attempt leaves
// what an undisturbed one leaves.
func TestAnInterruptedRewriteLeavesTheAccountAsItWas(t *testing.T) {
	s, w := open(t)
	live(t, s, w, 200)
	twinStore, twin := open(t)
	live(t, twinStore, twin, 200)
	before, _ := store.Digest(w.Filter().State())
	e := &past.UnlearnRequested{Since: middle(100)}
	interrupted := 0
	for asks := 0; ; asks = 2*asks + 1 {
		_, broken, err := w.Rewrite(&testkit.EndsAfter{Context: t.Context(), Asks: asks}, e, rewritten(s))
		if err == nil {
			break
		}
		interrupted++
		if !errors.Is(err, context.Canceled) || broken {
			t.Fatalf("after %d lessons: %v, broken %v", asks, err, broken)
		}
		if after, _ := store.Digest(w.Filter().State()); after != before {
			t.Fatalf("after %d lessons: the account is another one", asks)
		}
	}
	if interrupted < 7 {
		t.Errorf("it was interrupted at %d points, want 7 or more", interrupted)
	}
	if _, _, err := twin.Rewrite(t.Context(), e, rewritten(twinStore)); err != nil {
		t.Fatal(err)
	}
	_, is := store.Digest(w.Filter().State())
	if _, want := store.Digest(twin.Filter().State()); is != want {
		t.Error("it is another state than that of an undisturbed one")
	}
}

func BenchmarkTakingBack(b *testing.B) {
	const lessons = 20_000 // of more, the older ones are not kept
	path := filepath.Join(b.TempDir(), "s.db")
	s := storeAt(b, path, boltfile.Options{NoSync: true})
	w := writerOf(b, s, account)
	live(b, s, w, lessons)
	testkit.OK(b, s.Close())
	for name, e := range map[string]past.RewriteRequest{
		"the newer half": &past.UnlearnRequested{Since: middle(lessons)},
		"one in ten":     &past.ForgetRequested{Sender: filter.SenderOf("s7@example.org")},
		"the older half": &past.ForgetRequested{Before: middle(lessons)},
	} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				copied := copyOf(b, path)
				s := storeAt(b, copied, boltfile.Options{})
				w := writerOf(b, s, account)
				b.StartTimer()
				r, _, err := w.Rewrite(b.Context(), e, rewritten(s))
				if err == nil {
					err = s.Scrub(b.Context())
				}
				b.StopTimer()
				if err != nil || r.Lessons == 0 {
					b.Fatalf("%d lessons, %v", r.Lessons, err)
				}
				b.ReportMetric(float64(r.Lessons), "lessons")
				b.ReportMetric(float64(len(r.Rewrite.Lessons)), "left")
				testkit.OK(b, s.Close())
				b.StartTimer()
			}
		})
	}
}

func copyOf(b *testing.B, path string) string {
	b.Helper()
	data, err := os.ReadFile(path)
	testkit.OK(b, err)
	copied := filepath.Join(b.TempDir(), "copy.db")
	testkit.OK(b, os.WriteFile(copied, data, 0o600))
	return copied
}
