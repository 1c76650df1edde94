// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// A letter of ours is entered before it is written, and whatever the owner does with it is
// no word on anything.
func TestALetterIsNeverDecidedLearntFromOrMarked(t *testing.T) {
	for _, restart := range []bool{false, true} {
		w := newWorld(t, testOptions())
		w.restart = restart
		w.teach()
		w.wait(time.Hour)
		w.lessons, w.marks = nil, nil
		before := w.f.State().Account
		const id = "digest.20260302.0123456789abcdef@hinged.invalid"
		w.apply(&filter.LetterIntended{At: w.moment(), Mailbox: "INBOX", MessageID: id})
		if r := w.apply(&filter.LetterIntended{At: w.moment(), Mailbox: "INBOX", MessageID: id}); r.Changed {
			t.Error("the same letter was entered twice")
		}
		all := w.f.Ledger().Letters.All()
		if len(all) != 1 || all[0].MessageID != id || all[0].State != store.LetterSending || all[0].Intended != w.moment() {
			t.Fatalf("the ledger has the letters %+v", all)
		}
		n := all[0].Number
		l, r := w.deliver("INBOX", mail(id, "boss@example.com", owner, "urgent thing"))
		if r.Decision != nil || len(r.Marks) > 0 {
			t.Errorf("the letter was decided: %+v", r.Decision)
		}
		w.apply(&filter.LetterSettled{At: w.moment(), Ledger: n, Sent: true})
		w.wantLedger(n, store.LetterSent)
		if r := w.apply(&filter.LetterSettled{At: w.moment(), Ledger: n}); r.Changed {
			t.Error("what was sent became unsent")
		}
		w.flag(l, `\Flagged`, `\Seen`, "$Important")
		w.wait(10 * time.Minute)
		l = w.move(l, "Junk", `\Flagged`)
		w.wait(10 * time.Minute)
		l = w.move(l, "INBOX", `\Flagged`, `\Answered`)
		w.wait(10 * time.Minute)
		w.apply(&filter.Vanished{At: w.moment(), Mailbox: "INBOX", UIDValidity: l.place.UIDValidity, UIDs: []uint32{l.place.UID}})
		for range 30 {
			w.wait(24 * time.Hour)
		}
		after := w.f.State().Account
		if len(w.marks) > 0 || after.Messages != before.Messages || after.Decided != before.Decided {
			t.Errorf("it counts: %d messages, %d decided, %d marks asked for", after.Messages-before.Messages, after.Decided-before.Decided, len(w.marks))
		}
		if _, known := w.f.State().Messages.Get(string(l.key[:])); known {
			t.Error("it is known as a message")
		}
		for _, lesson := range w.lessons {
			if lesson.Message == l.key {
				t.Errorf("it taught %+v", lesson)
			}
		}
		if u := w.f.Ledger().Undo.Choices(0, nil); len(u) > 0 {
			for _, mark := range u {
				if mark.Number == n {
					t.Error("it can be taken back like a mark")
				}
			}
		}
		// Another message, whatever it says of itself, is none.
		_, r = w.deliver("INBOX", mail("digest.20260302.ffffffffffffffff@hinged.invalid", "boss@example.com", owner, "urgent thing"))
		if r.Decision == nil {
			t.Error("a message with a Message-ID like that of a letter was not decided")
		}
	}
}

func TestALetterThatWasNotSentAndOldOnes(t *testing.T) {
	o := testOptions()
	o.Limits.Ledger = 100
	w := taught(t, o)
	for i := range 101 {
		w.wait(time.Hour)
		w.apply(&filter.LetterIntended{At: w.moment(), Mailbox: "INBOX", MessageID: fmt.Sprintf("%d@hinged.invalid", i)})
	}
	all := w.f.Ledger().Letters.All()
	if len(all) == 0 || len(all) > 100 || all[len(all)-1].MessageID != "100@hinged.invalid" {
		t.Fatalf("of 101 letters the ledger of 100 entries has %d", len(all))
	}
	last := all[len(all)-1].Number
	w.apply(&filter.LetterSettled{At: w.moment(), Ledger: last})
	w.wantLedger(last, store.LetterUnsent)
	if r := w.apply(&filter.LetterSettled{At: w.moment(), Ledger: 1 << 40, Sent: true}); r.Changed {
		t.Error("a letter that is in no ledger changes something")
	}
	if r := w.apply(&filter.LetterIntended{At: w.moment(), Mailbox: "INBOX"}); r.Changed {
		t.Error("a letter without a Message-ID is entered")
	}
}

// TestALetterIsAnsweredByOneFlag has a letter ask about a message, and what the owner does
// with the two.
func TestALetterIsAnsweredByOneFlag(t *testing.T) {
	const id = "question.20260302.0123456789abcdef@hinged.invalid"
	type acts struct {
		w             *world
		about, letter letter
	}
	for _, test := range []struct {
		name string
		do   func(a *acts)
		want string // what is learnt of the message in the end, by the owner's word
	}{
		{"nothing is done", func(a *acts) {}, ""},
		{"it is read", func(a *acts) { a.w.flag(a.letter, `\Seen`) }, ""},
		{"it is starred", func(a *acts) { a.w.flag(a.letter, `\Flagged`) }, "important by letter"},
		{"it gets the mark", func(a *acts) { a.w.flag(a.letter, `\Seen`, "$Important") }, "important by letter"},
		{"it gets the mark at once, unread", func(a *acts) { a.w.now = a.w.now.Add(-time.Hour); a.w.flag(a.letter, "$Important") }, "important by letter"},
		{"another program marks what arrives", func(a *acts) {
			a.w.f.State().Account.Hasty = filter.ManyHasty
			a.w.now = a.w.now.Add(-time.Hour)
			a.w.flag(a.letter, "$Important")
		}, ""},
		{"it is thrown away", func(a *acts) { a.w.move(a.letter, "Trash", `\Seen`) }, "ordinary by letter"},
		{"it is deleted where there is no Trash", func(a *acts) { a.w.flag(a.letter, `\Deleted`) }, "ordinary by letter"},
		{"it is called junk", func(a *acts) { a.w.move(a.letter, "Junk") }, "ordinary by letter"},
		{"it is archived", func(a *acts) { a.w.move(a.letter, "Archive", `\Seen`) }, ""},
		{"it is deleted here and kept there", func(a *acts) {
			a.w.flag(a.letter, `\Deleted`)
			a.w.move(a.letter, "Archive")
		}, ""},
		{"it is starred, then thrown away", func(a *acts) {
			a.w.flag(a.letter, `\Flagged`)
			a.w.wait(time.Hour)
			a.w.move(a.letter, "Trash", `\Flagged`)
		}, "important by letter"},
		{"the star is taken off at once", func(a *acts) {
			a.w.flag(a.letter, `\Flagged`)
			a.w.wait(10 * time.Second)
			a.w.flag(a.letter)
		}, ""},
		{"it comes back from Trash at once", func(a *acts) {
			l := a.w.move(a.letter, "Trash")
			a.w.wait(10 * time.Second)
			a.w.move(l, "INBOX")
		}, ""},
		{"it comes back from Trash much later, and is starred", func(a *acts) {
			l := a.w.move(a.letter, "Trash")
			a.w.wait(time.Hour)
			a.w.flag(a.w.move(l, "INBOX"), `\Flagged`)
		}, "important by letter"},
		{"it is thrown away by whoever starred the message", func(a *acts) {
			a.w.flag(a.about, `\Flagged`)
			a.w.move(a.letter, "Trash")
		}, "important by flagged"},
		{"the message is starred after all", func(a *acts) {
			a.w.move(a.letter, "Trash")
			a.w.wait(time.Hour)
			a.w.flag(a.about, `\Flagged`)
		}, "important by flagged"},
		{"the message is gone", func(a *acts) {
			a.w.vanish(a.about)
			a.w.flag(a.letter, `\Flagged`)
		}, "important by letter"},
	} {
		for _, restart := range []bool{false, true} {
			w := newWorld(t, testOptions())
			w.restart = restart
			w.teach()
			about, _ := w.deliver("INBOX", mail("m@x", "ann@example.com", owner, "lunch"))
			w.wait(time.Hour)
			w.apply(&filter.LetterIntended{At: w.moment(), Mailbox: "INBOX", MessageID: id, Asks: about.key})
			l, r := w.deliver("INBOX", mail(id, "question@hinged.invalid", owner, "Does this matter to you?"))
			if r.Decision != nil {
				t.Fatal("the letter was decided")
			}
			w.apply(&filter.LetterSettled{At: w.moment(), Ledger: w.f.Ledger().Letters.All()[0].Number, Sent: true})
			w.wait(time.Hour)
			before := w.f.State().Account.Messages
			test.do(&acts{w, about, l})
			w.wait(time.Hour)
			got := ""
			if m, _ := w.f.State().Messages.Get(string(about.key[:])); filter.IsWord(m.Source) {
				got = m.Label.String() + " by " + m.Source.String()
			}
			if got != test.want || w.f.State().Account.Messages != before {
				t.Errorf("%s: learnt %q, want %q; it counts %d more messages", test.name, got, test.want, w.f.State().Account.Messages-before)
			}
		}
	}
}

func TestWhatALetterAskedAboutIsForgottenWithTheMessage(t *testing.T) {
	w := taught(t, testOptions())
	about, _ := w.deliver("INBOX", mail("m@x", "ann@example.com", owner, "lunch"))
	w.apply(&filter.LetterIntended{At: w.moment(), Mailbox: "INBOX", MessageID: "q@hinged.invalid", Asks: about.key})
	w.f.Ledger().Letters.ForgetAsked(func(k store.MessageKey) bool { return k == about.key })
	if l := w.f.Ledger().Letters.All(); len(l) != 1 || l[0].Asks != (store.MessageKey{}) {
		t.Errorf("the ledger has %+v", l)
	}
}

// askable is what Ask may choose from, as the comments have it.
func (w *world) askable(since store.Moment) map[store.MessageKey]bool {
	st := w.f.State()
	all := map[store.MessageKey]bool{}
	for _, key := range st.Messages.Keys() {
		m, _ := st.Messages.Get(key)
		spoken := m.Pending.Label != 0
		switch m.Source {
		case store.SourceAnswered, store.SourceMoved, store.SourceJunk, store.SourceFlagged, store.SourceMark, store.SourceExplicit:
			spoken = true
		}
		switch ingest.Role(m.Role) {
		case ingest.RoleSent, ingest.RoleDrafts, ingest.RoleJunk, ingest.RoleTrash:
			continue
		}
		if m.Arrived >= since && m.Outcome != store.Undecided && !m.Own && m.Rule == 0 && !spoken {
			all[store.MessageKey([]byte(key))] = true
		}
	}
	return all
}

// TestAskNamesWhatMayBeAskedAbout plays a mailbox with all that may happen to a message,
// and asks now and then: the same after a restart, all that may be asked about if so many
// are wanted, and nothing that was answered before.
func TestAskNamesWhatMayBeAskedAbout(t *testing.T) {
	o := testOptions()
	o.Threshold = filter.DefaultOptions().Threshold
	o.SilenceCalendar = true
	w := newWorld(t, o)
	w.apply(&filter.Ruled{At: w.moment(), Rules: []filter.Rule{{Match: "from:boss@example.com", Label: model.Important}}})
	rng := rand.New(rand.NewPCG(3, 4))
	answered := map[store.MessageKey]bool{}
	var letters []letter
	asked, ruled := 0, 0
	for i := range 300 {
		from := []string{"boss@example.com", owner, "ann@example.com", "bob@example.com", "news@example.net"}[rng.IntN(5)]
		box := []string{"INBOX", "INBOX", "INBOX", "Junk", "Keep"}[rng.IntN(5)]
		if from == owner {
			box = "Sent"
		}
		l, r := w.deliver(box, mail(fmt.Sprintf("m%d@x", i), from, owner, fmt.Sprintf("word%d thing%d", rng.IntN(6), rng.IntN(40))))
		if r.Decision != nil && r.Decision.Rule != nil {
			ruled++
		}
		letters = append(letters, l)
		w.now = w.now.Add(time.Duration(rng.IntN(120)) * time.Minute)
		switch about := rng.IntN(len(letters)); rng.IntN(8) {
		case 0:
			w.flag(letters[about], `\Answered`)
		case 1:
			w.flag(letters[about], `\Flagged`)
		case 2:
			letters[about] = w.move(letters[about], []string{"Junk", "Trash", "Keep"}[rng.IntN(3)], `\Seen`)
		case 3:
			w.wait(time.Minute)
		}
		n, since := rng.IntN(5), w.moment().Add(-time.Duration(rng.IntN(72))*time.Hour)
		got, err := w.f.Messages.Ask(n, since)
		testkit.OK(t, err)
		want := w.askable(since)
		if len(got.Messages) != min(n, len(want)) {
			t.Fatalf("after %d messages %d may be asked about, of whom %d are wanted; got %d", i+1, len(want), n, len(got.Messages))
		}
		again := w.restarted()
		if after, err := again.Messages.Ask(n, since); err != nil || !slices.Equal(after.Messages, got.Messages) {
			t.Fatalf("after a restart got %x, %v, want %x", after.Messages, err, got.Messages)
		}
		all, err := w.f.Messages.Ask(1000, since)
		if sum := all.TeachNothing + all.Ruled + all.Labelled + all.Lost + len(all.Messages); err != nil || sum != all.Seen {
			t.Fatalf("%d of %+v are accounted for, %v", sum, all, err)
		}
		for _, k := range all.Messages {
			if !want[k] {
				t.Fatalf("message %x is asked about, or is so twice", k)
			}
			delete(want, k)
		}
		if len(want) > 0 || !slices.Equal(all.Messages[:len(got.Messages)], got.Messages) {
			t.Fatalf("%d are not asked about, or the best of all are not the best few", len(want))
		}
		if i%3 > 0 {
			continue
		}
		for _, k := range got.Messages {
			if answered[k] {
				t.Fatalf("message %x was answered before", k)
			}
			answered[k] = true
			asked++
			if w.f.Messages.SpokenOf(k) {
				t.Fatalf("something was said of message %x", k)
			}
			w.apply(&filter.Labelled{At: w.moment(), Message: k, Label: model.Label(1 - 2*rng.IntN(2))})
			if !w.f.Messages.SpokenOf(k) {
				t.Fatalf("nothing was said of message %x", k)
			}
		}
	}
	if asked < 50 || ruled < 20 {
		t.Errorf("only %d messages were asked about, and %d decided by the rule", asked, ruled)
	}
}

// TestWhatIsNeverAskedAbout has one message of each kind.
func TestWhatIsNeverAskedAbout(t *testing.T) {
	w := newWorld(t, testOptions())
	w.apply(&filter.Ruled{At: w.moment(), Rules: []filter.Rule{{Match: "from:boss@example.com", Label: model.Important}}})
	since := w.moment()
	put := func(box, from string, flags ...string) letter {
		l, _ := w.deliver(box, mail(fmt.Sprint(len(w.journal), "@x"), from, owner, fmt.Sprint("words ", len(w.journal))), flags...)
		return l
	}
	put("Sent", owner)
	put("Drafts", owner)
	put("Junk", "ann@example.com")
	put("Trash", "ann@example.com")
	w.move(put("INBOX", "ann@example.com"), "Trash", `\Seen`)
	put("INBOX", "boss@example.com")
	w.flag(put("INBOX", "ann@example.com"), `\Flagged`)
	told := put("INBOX", "ann@example.com")
	w.apply(&filter.Labelled{At: w.moment(), Message: told.key, Label: model.Ordinary})
	delete(w.features, put("INBOX", "ann@example.com").key)
	w.f.Release()
	quiet := put("INBOX", "ann@example.com")
	before, _ := store.Digest(w.f.State())
	q, err := w.f.Messages.Ask(100, since)
	if err != nil || len(q.Messages) != 1 || q.Messages[0] != quiet.key ||
		q.Seen != 10 || q.TeachNothing != 5 || q.Ruled != 1 || q.Labelled != 2 || q.Lost != 1 {
		t.Errorf("got %+v, %v", q, err)
	}
	if after, _ := store.Digest(w.f.State()); after != before {
		t.Error("asking changed the state")
	}
	if q, err := w.f.Messages.Ask(100, since.Add(time.Hour)); err != nil || q.Seen != 0 {
		t.Errorf("of later mail: got %+v, %v", q, err)
	}
}

// questioned is a filter with messages of some senders, the newest of which comes first in
// what it returns.
func questioned(t *testing.T, important uint64, senders ...string) (*world, []store.MessageKey) {
	w := newWorld(t, testOptions())
	var keys []store.MessageKey
	for i, from := range senders {
		l, _ := w.deliver("INBOX", mail(fmt.Sprintf("m%d@x", i), from, owner, fmt.Sprint("word", i)))
		keys = slices.Insert(keys, 0, l.key)
	}
	w.f.State().Account.Important, w.f.State().Account.Ordinary = important, 100
	return w, keys
}

func TestEarlyQuestionsTakeTurnsAndAskAboutEachSenderOnce(t *testing.T) {
	w, keys := questioned(t, filter.SpreadUntil-1, "shop@x", "ann@x", "shop@x", "bob@x", "ann@x", "shop@x", "eve@x")
	threshold := w.f.Status.Counts().Threshold
	away := []float64{9, 3, 8, 1, -7, 6, -5} // of the messages, the newest first
	var scored []filter.Scored
	for i, k := range keys {
		scored = append(scored, filter.Scored{k, threshold + away[i]})
	}
	// The surest are eve's (9) and ann's (8), bob's (1) is nearest, and shop's (3) is left.
	// Then come second ones: shop's nearest (-5), ann's (6), and shop's third.
	want := []int{0, 3, 2, 1, 6, 5, 4}
	if got := places(keys, w.f.Messages.Choose(7, scored)); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestLateQuestionsAreThoseInDoubt(t *testing.T) {
	w, keys := questioned(t, filter.SpreadUntil, "shop@x", "ann@x", "shop@x", "bob@x")
	threshold := w.f.Status.Counts().Threshold
	scored := []filter.Scored{{keys[0], threshold + 5}, {keys[1], threshold - 1}, {keys[2], threshold + 3}, {keys[3], threshold + 2}}
	// The oldest is in more doubt than ann's, and is of the same sender as the first.
	want := []store.MessageKey{keys[1], keys[2], keys[0], keys[3]}
	if got := w.f.Messages.Choose(9, scored); !slices.Equal(got, want) {
		t.Errorf("got %v", places(keys, got))
	}
}

// places says where keys are in all.
func places(all, keys []store.MessageKey) (out []int) {
	for _, k := range keys {
		out = append(out, slices.Index(all, k))
	}
	return out
}
