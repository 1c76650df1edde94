// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"fmt"
	"testing"
	"time"

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
		before := w.f.st.Account
		const id = "digest.20260302.0123456789abcdef@hinged.invalid"
		w.apply(&LetterIntended{At: w.moment(), Mailbox: "INBOX", MessageID: id})
		if r := w.apply(&LetterIntended{At: w.moment(), Mailbox: "INBOX", MessageID: id}); r.Changed {
			t.Error("the same letter was entered twice")
		}
		all := w.f.Letters()
		if len(all) != 1 || all[0].MessageID != id || all[0].State != store.LetterSending || all[0].Intended != w.moment() {
			t.Fatalf("the ledger has the letters %+v", all)
		}
		n := all[0].Number
		l, r := w.deliver("INBOX", mail(id, "boss@example.com", owner, "urgent thing"))
		if r.Decision != nil || len(r.Marks) > 0 {
			t.Errorf("the letter was decided: %+v", r.Decision)
		}
		w.apply(&LetterSettled{At: w.moment(), Ledger: n, Sent: true})
		w.wantLedger(n, store.LetterSent)
		if r := w.apply(&LetterSettled{At: w.moment(), Ledger: n}); r.Changed {
			t.Error("what was sent became unsent")
		}
		w.flag(l, `\Flagged`, `\Seen`, "$Important")
		w.wait(10 * time.Minute)
		l = w.move(l, "Junk", `\Flagged`)
		w.wait(10 * time.Minute)
		l = w.move(l, "INBOX", `\Flagged`, `\Answered`)
		w.wait(10 * time.Minute)
		w.apply(&Vanished{At: w.moment(), Mailbox: "INBOX", UIDValidity: l.place.UIDValidity, UIDs: []uint32{l.place.UID}})
		for range 30 {
			w.wait(24 * time.Hour)
		}
		after := w.f.st.Account
		if len(w.marks) > 0 || after.Messages != before.Messages || after.Decided != before.Decided {
			t.Errorf("it counts: %d messages, %d decided, %d marks asked for", after.Messages-before.Messages, after.Decided-before.Decided, len(w.marks))
		}
		if _, known := w.f.st.Messages.Get(string(l.key[:])); known {
			t.Error("it is known as a message")
		}
		for _, lesson := range w.lessons {
			if lesson.Message == l.key {
				t.Errorf("it taught %+v", lesson)
			}
		}
		if u := w.f.Undoable(0, nil); len(u) > 0 {
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
		w.apply(&LetterIntended{At: w.moment(), Mailbox: "INBOX", MessageID: fmt.Sprintf("%d@hinged.invalid", i)})
	}
	all := w.f.Letters()
	if len(all) == 0 || len(all) > 100 || all[len(all)-1].MessageID != "100@hinged.invalid" || len(w.f.ledger.letters) != len(all) {
		t.Fatalf("of 101 letters the ledger of 100 entries has %d", len(all))
	}
	last := all[len(all)-1].Number
	w.apply(&LetterSettled{At: w.moment(), Ledger: last})
	w.wantLedger(last, store.LetterUnsent)
	if r := w.apply(&LetterSettled{At: w.moment(), Ledger: 1 << 40, Sent: true}); r.Changed {
		t.Error("a letter that is in no ledger changes something")
	}
	if r := w.apply(&LetterIntended{At: w.moment(), Mailbox: "INBOX"}); r.Changed {
		t.Error("a letter without a Message-ID is entered")
	}
}
