// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/past"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

func TestReplayAndRestartsGiveTheSameStateAsTheLiveRun(t *testing.T) {
	for seed := range uint64(8) {
		w, _ := threeWays(t, testOptions(), func(w *world) {
			w.teach()
			w.storm(seed, 600)
		})
		if w.f.State().Account.Refused == 0 || w.f.State().Account.Marked == 0 {
			t.Fatalf("seed %d: the storm marked %d and refused %d; both must happen for this test to mean anything",
				seed, w.f.State().Account.Marked, w.f.State().Account.Refused)
		}
	}
}

func TestFeedbackByNameGivesTheSameStateLiveRestartedAndReplayed(t *testing.T) {
	for seed := range uint64(4) {
		o := testOptions()
		o.Limits.Early = 100
		calm, shaken := threeWays(t, o, func(w *world) {
			w.tells, w.takes = true, true
			w.teach()
			w.storm(seed, 400)
		})
		if !reflect.DeepEqual(calm.expired, shaken.expired) {
			t.Fatalf("seed %d: %d expired, restarted %d or others", seed, len(calm.expired), len(shaken.expired))
		}
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
		calm, _ := threeWays(t, o, func(w *world) {
			w.rules, w.undos = true, true
			w.storm(seed, 400)
			w.wantObedient()
		})
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

func wantSameDigest(t testing.TB, what string, a, b *filter.Filter) {
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
		w := taught(t, o)
		w.storm(seed, 400)
		fresh := w.restarted()
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

// rescue is the life of a mailbox in which a message that was first seen in Trash, and so not
// decided, is taken out of it days later. then is called right after that.
func (w *world) rescue(then func()) {
	w.t.Helper()
	thrown, _ := w.deliver("Trash", mail("old@x", "x@example.com", owner, "thrown away"), `\Seen`)
	for i := range 12 {
		w.deliver("INBOX", mail(fmt.Sprintf("m%d@x", i), "a@example.com", owner, fmt.Sprintf("words %d", i)))
		if i == 6 {
			w.move(thrown, "INBOX", `\Seen`)
			then()
		}
		w.now = w.now.Add(24 * time.Hour)
		w.deliver("Sent", mail(fmt.Sprintf("own%d@x", i), owner, "person1@example.com", fmt.Sprintf("something %d", i)))
		w.apply(&filter.Ticked{At: w.moment()})
	}
}

// TestAMessageDecidedLateWaitsForSilenceAfterOthers: also after a restart, and in a replay that
// begins in between. Else it would stand before them, and hold up what their silence teaches.
func TestAMessageDecidedLateWaitsForSilenceAfterOthers(t *testing.T) {
	for _, window := range []int{1000, 0} { // without one the learner hears of silence once it is final
		o := testOptions()
		o.Dual.Window = window
		live, shaken := newWorld(t, o), newWorld(t, o)
		middle := 0
		live.rescue(func() { middle = len(live.journal) })
		shaken.restart = true
		shaken.rescue(func() {})
		base, _, err := past.Replay(store.NewState(), (&world{journal: live.journal[:middle]}).entries(), live.features)
		testkit.OK(t, err)
		again, _, err := past.Replay(base.State(), (&world{journal: live.journal[middle:]}).entries(), live.features)
		testkit.OK(t, err)
		model, state := store.Digest(live.f.State())
		for name, f := range map[string]*filter.Filter{"with restarts": shaken.f, "replayed": again} {
			if m, s := store.Digest(f.State()); m != model || s != state {
				t.Errorf("window %d, %s: model %s, state %s, %d ordinary; want %s, %s, %d", window, name,
					m, s, f.State().Account.Ordinary, model, state, live.f.State().Account.Ordinary)
			}
		}
	}
}

// TestAForgottenMessageThatComesAgainWaitsAsANewOne: on the same active day it has the same place
// in the queue of silences live and after a restart.
func TestAForgottenMessageThatComesAgainWaitsAsANewOne(t *testing.T) {
	o := testOptions()
	o.SilenceDays = 3
	w := newWorld(t, o)
	w.deliver("INBOX", mail("p@x", "p@example.com", owner, "one"))
	a, _ := w.deliver("INBOX", mail("a@x", "a@example.com", owner, "two"))
	w.deliver("INBOX", mail("b@x", "b@example.com", owner, "three"))
	m, _ := w.f.State().Messages.Get(string(a.key[:]))
	w.f.Lose(a.key, &m)
	w.deliver("INBOX", mail("a@x", "a@example.com", owner, "two"))
	live := w.f.WaitingInOrder()
	w.f.Rebuild()
	if again := w.f.WaitingInOrder(); !slices.Equal(live, again) {
		t.Errorf("live %x, after a restart %x", live, again)
	}
}

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
			testkit.OK(t, err)
			for i, l := range w.past {
				again := l
				testkit.OK(t, cmp.Or(r.ReplayTo(l.Replayed), r.Learn(&again)))
				if again.Score != l.Score || again.TookBack != l.TookBack {
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

// lifeOfAReader plays an owner who reads, deletes, files, marks all as read, answers letters and says
// a word here and there.
func (w *world) lifeOfAReader(seed uint64, messages int) {
	w.t.Helper()
	rng := rand.New(rand.NewPCG(seed, 36))
	words := []string{"bill", "newsletter", "parcel", "lunch", "offer", "alert"}
	asked, unread := 0, []letter(nil)
	for i := range messages {
		n := rng.IntN(len(words))
		raw := mail(fmt.Sprintf("r%d-%d@x", seed, i), fmt.Sprintf("%s@example.com", words[n]), owner, fmt.Sprintf("%s %d", words[n], rng.IntN(9)))
		w.personal = n%2 == 0
		l, _ := w.deliver("INBOX", raw)
		for _, m := range w.marks {
			w.done(m)
		}
		w.marks = nil
		w.wait(time.Duration(1+rng.IntN(90)) * time.Minute)
		switch does := rng.IntN(12); {
		case does == 0:
			w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Label(1 - 2*(n&1))})
		case does == 1:
			id := fmt.Sprintf("question%d-%d@hinged.invalid", seed, asked)
			asked++
			w.apply(&filter.LetterIntended{At: w.moment(), Mailbox: "INBOX", MessageID: id, Asks: l.key})
			q, _ := w.deliver("INBOX", mail(id, "question@hinged.invalid", owner, "Does this matter to you?"))
			for _, sent := range w.f.Ledger().Letters.All() {
				w.apply(&filter.LetterSettled{At: w.moment(), Ledger: sent.Number, Sent: true})
			}
			if n%2 == 0 {
				w.flag(q, `\Flagged`)
			} else {
				w.move(q, "Trash", `\Seen`)
			}
		case n%2 == 0 && does < 9:
			w.flag(l, `\Seen`)
			if does == 8 {
				w.wait(time.Hour)
				w.move(l, "Keep", `\Seen`)
			}
		case does < 6:
			w.move(l, "Trash")
		case does == 6:
			w.flag(l, `\Seen`, `\Deleted`)
		default:
			unread = append(unread, l)
		}
		if i%50 == 49 { // all of them are marked as read
			for _, l := range unread {
				w.flag(l, `\Seen`)
			}
			unread = nil
		}
	}
	w.wait(20 * 24 * time.Hour)
}

func readerOptions() filter.Options {
	o := testOptions()
	o.SilenceCalendar = true
	o.Threshold = filter.Threshold{Mode: filter.ModeAuto, Precision: 0.5, PerDay: 2} // so that something is read unmarked
	return o
}

// TestReadingLettersAndOwnWordsGiveTheSameStateLiveRestartedAndReplayed, and the same
// decisions in a trial with the same options.
func TestReadingLettersAndOwnWordsGiveTheSameStateLiveRestartedAndReplayed(t *testing.T) {
	testkit.Computes(t)
	for seed := range uint64(3) {
		calm, _ := threeWays(t, readerOptions(), func(w *world) {
			w.lifeOfAReader(seed, 200)
		})
		_, trials := calm.rerun(store.NewState(), 0, func(s past.Step) {
			if d := s.Recorded.Decision; d != nil && !same(s.Judged[0].Decision, *d) {
				t.Fatalf("seed %d: a trial decides %+v, live %+v", seed, s.Judged[0].Decision, *d)
			}
		}, calm.f.Options())
		if !sameLearnt(trials[0].Learning(), calm.f) {
			t.Errorf("seed %d: the trial has learnt something else", seed)
		}
		by := map[store.Source]int{}
		for _, l := range calm.past {
			if l.Learnt() {
				by[l.Source]++
			}
		}
		for _, source := range []store.Source{store.SourceRead, store.SourceMoved, store.SourceLetter, store.SourceExplicit, store.SourceProvisional} {
			if by[source] < 5 {
				t.Errorf("seed %d: %d lessons by %v; the test means little", seed, by[source], source)
			}
		}
	}
}

// TestForgettingTakesWhatReadingTaughtBack: the lessons, the counts of the sender, and the
// counts of what the owner reads, as if the messages had never come.
func TestForgettingTakesWhatReadingTaughtBack(t *testing.T) {
	o := readerOptions()
	o.Threshold, o.Shadow, o.Dual.Window = filter.Threshold{Mode: filter.ModeFixed}, filter.ShadowOn, 0
	w := newWorld(t, o)
	w.lifeOfAReader(1, 120)
	before := map[store.ID]store.Sender{}
	for _, word := range []string{"bill", "lunch"} {
		before[filter.SenderOf(word+"@example.com")], _ = w.f.State().Senders.Get(filter.SenderOf(word + "@example.com").Key())
	}
	w.personal = true
	reading, weights := w.f.State().Account.Reading, weighed(w.f)
	l, _ := w.deliver("INBOX", mail("one@x", "bill@example.com", owner, "bill once more"))
	w.lessons = nil
	w.wait(time.Hour)
	w.flag(l, `\Seen`)
	w.teaches(9*24*time.Hour, "read and kept", "important by read")
	if m := w.row(l); m.Handled != store.HandledRead || w.f.State().Account.Reading.Read != reading.Read+1 {
		t.Fatalf("it is %+v; %+v before, %+v now", m, reading, w.f.State().Account.Reading)
	}
	if r := w.rewrite(&past.ForgetRequested{At: w.moment(), Key: l.key}); r.Lessons != 1 || r.Messages != 1 {
		t.Errorf("forgotten: %+v", r)
	}
	for id, want := range before {
		got, _ := w.f.State().Senders.Get(id.Key())
		if got.Seq = want.Seq; got != want {
			t.Errorf("sender %x has %+v, before %+v", id, got, want)
		}
	}
	got := w.f.State().Account.Reading
	if got.Newest = reading.Newest; got != reading {
		t.Errorf("reading is %+v, was %+v", got, reading)
	}
	if got := weighed(w.f); got != weights {
		t.Errorf("learnt is\n%swant\n%s", got, weights)
	}
	for _, k := range w.f.State().Account.ReadRun.Keys {
		if k == l.key {
			t.Error("the message is among those read last")
		}
	}
}
