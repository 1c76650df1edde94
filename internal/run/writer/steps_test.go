// SPDX-License-Identifier: Apache-2.0

package writer_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
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
