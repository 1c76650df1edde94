// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/filter/past"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// forgetful are options with which messages are forgotten while lessons on later ones are
// replayed; by name.
func forgetful() map[string]filter.Options {
	all := map[string]filter.Options{}
	for name, set := range map[string]func(*filter.Options){
		"all is kept":  func(o *filter.Options) { o.Dual.Window = 100 },
		"by number":    func(o *filter.Options) { o.Limits.Messages, o.Dual.Window = 150, 60 },
		"few":          func(o *filter.Options) { o.Limits.Messages, o.Dual.Window = 100, 200 },
		"by age":       func(o *filter.Options) { o.Limits.Keep, o.Dual.Window = 20*keepDay, 100 },
		"by age, soon": func(o *filter.Options) { o.Limits.Keep, o.Dual.Window = 5*keepDay, 10 },
	} {
		o := labelledAtOnce()
		set(&o)
		all[name] = o
	}
	return all
}

// giveSlowly is give with some six hours between the messages.
func (w *world) giveSlowly(from, n int) {
	w.t.Helper()
	for i := range n {
		w.now = w.now.Add(6 * time.Hour)
		w.give(from+i, 1)
	}
}

// TestLessonsAreLearntAgainWhereMessagesWereForgotten: a Learning finds the score of every
// lesson, and an undo the weights from before a lesson.
func TestLessonsAreLearntAgainWhereMessagesWereForgotten(t *testing.T) {
	for name, o := range forgetful() {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, o)
			w.giveSlowly(0, 200)
			b := &based{world: &world{features: w.features, journal: slices.Clone(w.journal)}}
			w.giveSlowly(200, 60)
			if known := w.f.State().Messages.Len(); name != "all is kept" && known >= 250 {
				t.Fatalf("%d of 260 messages are known; more must be forgotten for this test to mean anything", known)
			}
			r, err := filter.NewLearning(&o, store.NewState(), nil, w.features)
			if err != nil {
				t.Fatal(err)
			}
			for i, l := range w.past {
				x, err := w.features.Vector(l.Message, nil)
				if err != nil {
					t.Fatal(err)
				}
				if err := r.ReplayTo(l.Replayed); err != nil {
					t.Fatal(err)
				}
				again := l
				if r.Learn(&again, x); again.Score != l.Score || again.TookBack != l.TookBack {
					t.Fatalf("lesson %d of %d had the score %v (took back: %v); learnt again it has %v (%v)",
						i, len(w.past), l.Score, l.TookBack, again.Score, again.TookBack)
				}
			}
			w.past = w.past[200:]
			w.wantLastTakenBack(b)
		})
	}
}

// TestAnUndoIsExactWhereMessagesAreForgottenByNumber: against a twin that never heard of the
// labels.
func TestAnUndoIsExactWhereMessagesAreForgottenByNumber(t *testing.T) {
	rules := []filter.Rule{{"from:person1@example.com", model.Important}, {"from:person2@example.com", model.Ordinary}, {"subject:lunch", model.Important}}
	for seed := range uint64(4) {
		o := testOptions()
		o.Limits.Messages, o.Dual.Window = 150, 60
		o.Rules = rules[:3*(seed%2)]
		all, twin := newWorld(t, o), newWorld(t, o)
		for _, w := range []*world{all, twin} {
			w.takes = true
			w.teach()
			w.storm(seed, 300)
			w.now = w.now.Add(time.Minute)
		}
		since := all.moment()
		rng := rand.New(rand.NewPCG(seed, 11))
		var keys []store.MessageKey
		for _, k := range all.f.State().Messages.Keys() {
			keys = append(keys, store.MessageKey([]byte(k)))
		}
		for i := range 60 {
			all.now, twin.now = all.now.Add(time.Second), twin.now.Add(time.Second)
			raw := mail(fmt.Sprintf("late%d@x", i), fmt.Sprintf("person%d@example.com", i%8), owner, fmt.Sprintf("urgent kernel %d", i))
			l, _ := all.deliver("INBOX", raw)
			twin.deliver("INBOX", raw)
			keys = append(keys, l.key)
			for range 2 {
				all.apply(&filter.Labelled{At: all.moment(), Message: keys[rng.IntN(len(keys))], Label: model.Label(1 - 2*rng.IntN(2))})
			}
		}
		all.rewrite(&past.UnlearnRequested{At: all.moment(), Since: since})
		// Which messages are forgotten depends on the lessons, so other counts differ.
		got, want := weighed(all.f)+fmt.Sprint(all.f.Line().Standing()), weighed(twin.f)+fmt.Sprint(twin.f.Line().Standing())
		if got != want {
			t.Errorf("seed %d: is\n%s\nwant\n%s", seed, got, want)
		}
	}
}
