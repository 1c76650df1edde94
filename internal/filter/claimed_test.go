// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"testing"
	"time"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/filter/past"

	"github.com/hinged/hinged/store"
)

const (
	vouches = "Authentication-Results: mx.example.org; dmarc=pass header.from=example.org"
	fails   = "Authentication-Results: mx.example.org; dmarc=fail header.from=example.org"
	foreign = "Authentication-Results: mx.example.com; dmarc=pass header.from=example.org"
)

func believing() filter.Options {
	o := testOptions()
	o.Featurize.AuthServID = "mx.example.org"
	return o
}

// TestOnlyTheOwnersOwnReplyTeaches delivers replies to a spam message that all say they
// are from the owner.
func TestOnlyTheOwnersOwnReplyTeaches(t *testing.T) {
	for _, c := range []struct {
		name, box, header string
		believe, own      bool
	}{
		{"in the inbox", "INBOX", "", false, false},
		{"in another folder", "Keep", "", false, false},
		{"in Junk", "Junk", "", false, false},
		{"in Trash", "Trash", "", false, false},
		{"with a result that nobody was told to believe", "INBOX", vouches, false, false},
		{"with a server to believe and no result", "INBOX", "", true, false},
		{"with dmarc=fail", "INBOX", fails, true, false},
		{"with dmarc=fail, in Junk", "Junk", fails, true, false},
		{"with the result of another server", "INBOX", foreign, true, false},
		{"in Sent", "Sent", "", false, true},
		{"in Sent, with a server to believe", "Sent", "", true, true},
		{"vouched for", "INBOX", vouches, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := testOptions()
			if c.believe {
				o = believing()
			}
			w := newWorld(t, o)
			spam, _ := w.deliver("INBOX", mail("spam@x", "crook@example.net", owner, "pills"))
			active := w.f.State().Account.LastActive
			w.now = w.now.Add(time.Hour)
			reply := []string{"In-Reply-To: <spam@x>"}
			if c.header != "" {
				reply = append(reply, c.header)
			}
			l, _ := w.deliver(c.box, mail("reply@x", owner, "crook@example.net", "Re: pills", reply...))
			w.wait(time.Hour)
			crook, _ := w.f.State().Senders.Get(filter.SenderOf("crook@example.net").Key())
			thread, _ := w.f.State().Threads.Get(filter.IDOf("spam@x").Key())
			if !c.own {
				w.wantLessons("a forged reply")
				if crook.Answered != 0 || crook.Written != 0 || thread.ByOwner != 0 || thread.Answered != 0 {
					t.Errorf("it changed the history: %+v, %+v", crook, thread)
				}
				if w.f.State().Account.LastActive != active {
					t.Error("it counts as a sign of the owner")
				}
				if m := w.row(l); m.Own || !m.Claimed {
					t.Errorf("its row is %+v", m)
				}
				return
			}
			w.wantLessons("the owner's reply", "important by answered")
			answered := uint32(1)
			if c.believe {
				answered = 0 // nobody vouches for the crook, so it may be somebody else
			}
			if crook.Answered != answered || crook.Written != 1 || thread.ByOwner != 1 || w.row(spam).Source != store.SourceAnswered {
				t.Errorf("the history is %+v, %+v", crook, thread)
			}
			if w.f.State().Account.LastActive == active || !w.row(l).Own {
				t.Error("it is no sign of the owner")
			}
		})
	}
}

// TestMailThatClaimsToBeTheOwnersIsDecidedAndNeverMarked is about mail that the owner may
// have written or not.
func TestMailThatClaimsToBeTheOwnersIsDecidedAndNeverMarked(t *testing.T) {
	w := newWorld(t, testOptions())
	w.teach()
	l, r := w.deliver("INBOX", mail("me@x", owner, "list@example.net", "urgent matter"))
	if r.Decision == nil || r.Decision.Outcome != store.DecidedImportant || len(w.marks) != 0 || r.Decision.Reason != store.ReasonClaimed {
		t.Fatalf("got %+v and the marks %v", r.Decision, w.marks)
	}
	w.wait(90 * 24 * time.Hour)
	for i := range 10 {
		w.now = w.now.Add(24 * time.Hour)
		w.deliver("Sent", mail("s"+string(rune('a'+i))+"@x", owner, "a@example.com", "a day"))
	}
	w.wantLessons("silence about it")
	w.flag(l, `\Flagged`)
	w.wait(time.Hour)
	w.wantLessons("a star", "important by flagged")
}

// TestACopyOfTheOwnersMailIsTheOwners has a mailing list send back what the owner wrote,
// before or after the copy in Sent is seen.
func TestACopyOfTheOwnersMailIsTheOwners(t *testing.T) {
	for name, first := range map[string]bool{"before": true, "after": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, testOptions())
			w.deliver("INBOX", mail("q@x", "ann@example.net", "list@example.net", "question"))
			sent := func() {
				w.deliver("Sent", mail("a@x", owner, "list@example.net", "Re: question", "In-Reply-To: <q@x>"))
			}
			if !first {
				sent()
			}
			back, r := w.deliver("INBOX", mail("a@x", owner, "list@example.net", "Re: question", "In-Reply-To: <q@x>", "List-Id: <list.example.net>"))
			if (r.Decision == nil) == first {
				t.Errorf("decision %+v", r.Decision)
			}
			if first {
				sent()
			}
			w.wait(time.Hour)
			w.wantLessons("the answer", "important by answered")
			if m := w.row(back); !m.Own || m.Claimed {
				t.Errorf("the copy is %+v", m)
			}
			thread, _ := w.f.State().Threads.Get(filter.IDOf("q@x").Key())
			if thread.ByOwner != 1 || thread.Messages != 2 || thread.Answered != 1 {
				t.Errorf("the thread is %+v", thread)
			}
			// A stranger can't make an own message of another's.
			other, _ := w.deliver("INBOX", mail("a@x", "crook@example.net", owner, "Re: question"))
			if w.row(other).Own {
				t.Error("the Message-ID alone makes a stranger's message the owner's")
			}
		})
	}
}

// TestWhatIsSeenInTheInboxFirstAndThenInSentIsTheOwners is how a server looks that shows
// one message in both folders.
func TestWhatIsSeenInTheInboxFirstAndThenInSentIsTheOwners(t *testing.T) {
	w := newWorld(t, testOptions())
	w.deliver("INBOX", mail("q@x", "ann@example.net", owner, "question"))
	reply := mail("a@x", owner, "ann@example.net", "Re: question", "In-Reply-To: <q@x>")
	l, _ := w.deliver("INBOX", reply)
	w.wait(time.Hour)
	w.wantLessons("the copy in the inbox")
	w.deliver("Sent", reply)
	w.wait(time.Hour)
	w.wantLessons("the copy in Sent", "important by answered")
	if m := w.row(l); !m.Own || m.Claimed {
		t.Errorf("its row is %+v", m)
	}
	// Another's message in Sent stays another's.
	spam, _ := w.deliver("INBOX", mail("s@x", "crook@example.net", owner, "pills", "In-Reply-To: <q@x>"))
	w.deliver("Sent", spam.raw)
	if w.row(spam).Own {
		t.Error("another's message that lies in Sent, too, is the owner's")
	}
}

// TestAHandedMessageThatClaimsToBeTheOwners can be taught once it has arrived, since the
// owner may have been sent a forgery.
func TestAHandedMessageThatClaimsToBeTheOwners(t *testing.T) {
	w := newWorld(t, testOptions())
	raw := mail("forged@x", owner, owner, "pay the invoice")
	w.hand(raw, -1)
	w.wantLessons("what never arrived")
	l, _ := w.deliver("Junk", raw)
	w.hand(l.raw, -1)
	w.wantLessons("what arrived in Junk", "ordinary by explicit")
}

// TestForgeriesLeaveTheHistoryOfASenderAlone writes under the name of a correspondent whose
// server is known to vouch for them.
func TestForgeriesLeaveTheHistoryOfASenderAlone(t *testing.T) {
	w := newWorld(t, believing())
	const signed = "Authentication-Results: mx.example.org; dkim=pass header.d=example.net"
	w.deliver("INBOX", mail("1@x", "ann@example.net", owner, "plan", signed))
	w.deliver("Sent", mail("2@x", owner, "ann@example.net", "Re: plan", "In-Reply-To: <1@x>"))
	of := func() store.Sender {
		s, _ := w.f.State().Senders.Get(filter.SenderOf("ann@example.net").Key())
		s.Seq, s.Lessons = 0, 0
		return s
	}
	want := store.Sender{Received: 1, Answered: 1, Written: 1}
	if of() != want {
		t.Fatalf("the correspondent is %+v", of())
	}
	forged := mail("3@x", "ann@example.net", owner, "pills", "In-Reply-To: <1@x>")
	m := w.reader.Read(forged)
	h := filter.Facts(w.f.State(), filter.NewMeta(m))
	if h.Received != 0 || h.Answered != 0 || h.ParentSender || h.ByOwner != 1 {
		t.Errorf("a forgery has the history %+v", h)
	}
	w.deliver("INBOX", forged)
	w.deliver("Sent", mail("4@x", owner, "ann@example.net", "Re: pills", "In-Reply-To: <3@x>"))
	want.Written = 2
	if of() != want {
		t.Errorf("after a forgery, which was answered, the correspondent is %+v, want %+v", of(), want)
	}
	for _, id := range []string{"3@x", "4@x"} {
		w.rewrite(&past.ForgetRequested{ID: filter.IDOf(id)})
	}
	if of() != want {
		t.Errorf("after it was forgotten, the correspondent is %+v, want %+v", of(), want)
	}
}
