// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/filter"

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
	w := newWorld(t, o)
	w.teach()
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
			a.w.apply(&filter.Vanished{At: a.w.moment(), Mailbox: "INBOX", UIDValidity: 1, UIDs: []uint32{a.about.place.UID}})
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
	w := newWorld(t, testOptions())
	w.teach()
	about, _ := w.deliver("INBOX", mail("m@x", "ann@example.com", owner, "lunch"))
	w.apply(&filter.LetterIntended{At: w.moment(), Mailbox: "INBOX", MessageID: "q@hinged.invalid", Asks: about.key})
	w.f.Ledger().Letters.ForgetAsked(func(k store.MessageKey) bool { return k == about.key })
	if l := w.f.Ledger().Letters.All(); len(l) != 1 || l[0].Asks != (store.MessageKey{}) {
		t.Errorf("the ledger has %+v", l)
	}
}
