// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/filter/past"

	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

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
		calm, shaken := newWorld(t, readerOptions()), newWorld(t, readerOptions())
		shaken.restart = true
		for _, w := range []*world{calm, shaken} {
			w.lifeOfAReader(seed, 200)
		}
		wantSameDigest(t, "restarted", calm.f, shaken.f)
		f, _, err := past.Replay(store.NewState(), calm.entries(), calm.features)
		if err != nil {
			t.Fatal(err)
		}
		wantSameDigest(t, "replayed", calm.f, f)
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
	w.wait(9 * 24 * time.Hour)
	w.wantLessons("read and kept", "important by read")
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
