// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"errors"
	"iter"
	"maps"
	"reflect"
	"testing"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/filter/past"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

func TestReplayGivesTheSameStateAsTheLiveRun(t *testing.T) {
	for seed := range uint64(8) {
		w := newWorld(t, testOptions())
		w.teach()
		w.storm(seed, 800)
		f, _, err := past.Replay(store.NewState(), w.entries(), w.features)
		if err != nil {
			t.Fatal(err)
		}
		wantSameDigest(t, "replay", w.f, f)
		if w.f.State().Account.Refused == 0 || w.f.State().Account.Marked == 0 {
			t.Fatalf("seed %d: the storm marked %d and refused %d; both must happen for this test to mean anything",
				seed, w.f.State().Account.Marked, w.f.State().Account.Refused)
		}
	}
}

func TestARestartBeforeEveryEventChangesNothing(t *testing.T) {
	for seed := range uint64(4) {
		calm, shaken := newWorld(t, testOptions()), newWorld(t, testOptions())
		shaken.restart = true
		for _, w := range []*world{calm, shaken} {
			w.teach()
			w.storm(seed, 300)
		}
		wantSameDigest(t, "restarted", calm.f, shaken.f)
	}
}

func TestFeedbackByNameGivesTheSameStateLiveRestartedAndReplayed(t *testing.T) {
	for seed := range uint64(4) {
		o := testOptions()
		o.Limits.Early = 100
		calm, shaken := newWorld(t, o), newWorld(t, o)
		shaken.restart = true
		for _, w := range []*world{calm, shaken} {
			w.tells, w.takes = true, true
			w.teach()
			w.storm(seed, 400)
		}
		wantSameDigest(t, "restarted", calm.f, shaken.f)
		if !reflect.DeepEqual(calm.expired, shaken.expired) {
			t.Fatalf("seed %d: %d expired, restarted %d or others", seed, len(calm.expired), len(shaken.expired))
		}
		f, _, err := past.Replay(calm.begin(), calm.entries(), calm.features)
		if err != nil {
			t.Fatal(err)
		}
		wantSameDigest(t, "replay", calm.f, f)
		if a := calm.f.State().Account; len(calm.expired) == 0 || len(calm.expired) == int(a.EarlyNext) {
			t.Fatalf("seed %d: of %d that waited %d expired; some must, and some must be given out, for this test to mean anything", seed, a.EarlyNext, len(calm.expired))
		}
	}
}

func TestRulesThatComeAndGoGiveTheSameStateLiveRestartedAndReplayed(t *testing.T) {
	for seed := range uint64(4) {
		o := testOptions()
		o.Learner.Kind = model.Kinds()[seed%3]
		o.Limits.Weights = 120
		o.Rules = []filter.Rule{{"from:boss@example.com", model.Ordinary}}
		calm, shaken := newWorld(t, o), newWorld(t, o)
		shaken.restart = true
		for _, w := range []*world{calm, shaken} {
			w.rules, w.undos = true, true
			w.storm(seed, 400)
			w.wantObedient()
		}
		wantSameDigest(t, "restarted", calm.f, shaken.f)
		f, _, err := past.Replay(store.NewState(), calm.entries(), calm.features)
		if err != nil {
			t.Fatal(err)
		}
		wantSameDigest(t, "replay", calm.f, f)
		ruled := 0
		for _, k := range calm.f.State().Messages.Keys() {
			if m, _ := calm.f.State().Messages.Get(k); m.Rule != 0 {
				ruled++
			}
		}
		if a := calm.f.State().Account; ruled < 20 || a.Projected == 0 || a.Displaced == 0 || calm.f.State().Settings.Len() == 0 {
			t.Fatalf("seed %d: rules decided %d messages, %v projected, %v displaced; all must happen for this test to mean anything", seed, ruled, a.Projected, a.Displaced)
		}
	}
}

func (w *world) entries() iter.Seq2[store.JournalEntry, error] {
	return func(yield func(store.JournalEntry, error) bool) {
		for i, data := range w.journal {
			if !yield(store.JournalEntry{Seq: uint64(i + 1), Data: data}, nil) {
				return
			}
		}
	}
}

func wantSameDigest(t *testing.T, what string, a, b *filter.Filter) {
	t.Helper()
	am, as := store.Digest(a.State())
	bm, bs := store.Digest(b.State())
	if am != bm || as != bs {
		t.Fatalf("%s: digests %s %s, want %s %s", what, bm, bs, am, as)
	}
}

func TestAReplayWithoutAStoredVectorSaysWhichEntry(t *testing.T) {
	w := newWorld(t, testOptions())
	l, _ := w.deliver("INBOX", mail("f@x", "a@example.com", owner, "some words"))
	delete(w.features, l.key)
	_, _, err := past.Replay(store.NewState(), w.entries(), w.features)
	if err == nil || !errors.Is(err, filter.ErrBadEvent) && err.Error() == "" {
		t.Fatalf("replay gave %v, want an error that names the entry", err)
	}
}

// TestCountsAreWhatTheTablesHold: the numbers kept along the way against those
// that a look at every row gives.
func TestCountsAreWhatTheTablesHold(t *testing.T) {
	for seed := range uint64(4) {
		o := testOptions()
		o.Limits.Messages = 150
		w := newWorld(t, o)
		w.teach()
		w.storm(seed, 400)
		fresh, err := filter.New(w.f.State(), w.features)
		if err != nil {
			t.Fatal(err)
		}
		got, want := w.f.Status.Counts(), fresh.Status.Counts()
		maps.DeleteFunc(got.Places, func(_ string, n int) bool { return n == 0 })
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: counts are %+v, a look at the tables gives %+v", seed, got, want)
		}
		unwanted := 0
		for _, k := range w.f.State().Ledger.Keys() {
			if e, _ := w.f.State().Ledger.Get(k); e.State == store.MarkIntended && !(w.f.Wanted(e.Message) && w.f.Ledger().IsMark(ingest.CanonicalFlag(e.Keyword))) {
				unwanted++
			}
		}
		if len(w.f.Ledger().Intents())+unwanted != got.Intended || got.Waiting == 0 && seed == 0 {
			t.Fatalf("seed %d: %d intents and %d unwanted, counts %+v", seed, len(w.f.Ledger().Intents()), unwanted, got)
		}
	}
}
