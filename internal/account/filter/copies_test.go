// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/past"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// TestAnAnswerGoesToTheCopyThatTheOwnerSaw has a crook take the Message-ID of an honest
// message that the owner answers.
func TestAnAnswerGoesToTheCopyThatTheOwnerSaw(t *testing.T) {
	const signed = "Authentication-Results: mx.example.org; dkim=pass header.d=example.net"
	for _, c := range []struct {
		name            string
		from            string // of the crook's message
		box             string // where it lies
		believe, first  bool
		seen            bool // the owner read the honest one
		label, credited bool
	}{
		{"before it", "crook@example.com", "INBOX", false, true, false, true, true},
		{"after it", "crook@example.com", "INBOX", false, false, false, true, true},
		{"in Junk, before it", "crook@example.com", "Junk", false, true, false, true, true},
		{"with the same From, in Junk", "ann@example.net", "Junk", false, true, false, true, true},
		{"with the same From, unread", "ann@example.net", "INBOX", false, true, true, true, true},
		{"with the same From, and neither was read", "ann@example.net", "INBOX", false, true, false, false, true},
		{"with the same From, after it, and neither was read", "ann@example.net", "INBOX", false, false, false, false, true},
		{"with the same From, and only one is vouched for", "ann@example.net", "INBOX", true, true, false, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := testOptions()
			if c.believe {
				o = believing()
			}
			o.Dual.Horizon = 0
			w := newWorld(t, o)
			var honest, stolen letter
			steal := func() { stolen, _ = w.deliver(c.box, mail("m@x", c.from, owner, "pills")) }
			if c.first {
				steal()
			}
			honest, _ = w.deliver("INBOX", mail("m@x", "ann@example.net", owner, "plan", signed))
			if !c.first {
				steal()
			}
			if c.seen {
				w.flag(honest, `\Seen`)
			}
			reply := mail("r@x", owner, "ann@example.net", "Re: plan", "In-Reply-To: <m@x>")
			w.deliver("Sent", reply)
			w.wait(time.Hour)
			var want []string
			if c.label {
				want = []string{"important by answered"}
			}
			w.wantLessons("the answer", want...)
			if label := w.row(honest).Label; (label == model.Important) != c.label {
				t.Errorf("the honest message has the label %v", label)
			}
			if w.row(stolen).Label != 0 {
				t.Errorf("the crook's message has the label %v", w.row(stolen).Label)
			}
			ann, _ := w.f.State().Senders.Get(filter.SenderOf("ann@example.net").Key())
			crook, _ := w.f.State().Senders.Get(filter.SenderOf("crook@example.com").Key())
			if (ann.Answered == 1) != c.credited || crook.Answered != 0 {
				t.Errorf("the history is %+v, %+v", ann, crook)
			}
			if !c.label {
				// One of the two was answered: silence about them says nothing.
				for i := range 20 {
					w.now = w.now.Add(24 * time.Hour)
					w.deliver("Sent", mail(fmt.Sprintf("d%d@x", i), owner, "b@example.com", "a day"))
				}
				w.wantLessons("silence")
			}
			w.rewrite(&past.ForgetRequested{ID: filter.IDOf("m@x")})
			if ann, _ = w.f.State().Senders.Get(filter.SenderOf("ann@example.net").Key()); ann.Answered != 0 {
				t.Errorf("after it was forgotten, the sender is %+v", ann)
			}
		})
	}
}

func TestAReplyToAMessageInJunkThatGoesElsewhereAnswersNothing(t *testing.T) {
	w := newWorld(t, testOptions())
	w.deliver("Junk", mail("m@x", "crook@example.com", owner, "pills"))
	w.deliver("Sent", mail("r@x", owner, "ann@example.net", "Re: plan", "In-Reply-To: <m@x>"))
	crook, _ := w.f.State().Senders.Get(filter.SenderOf("crook@example.com").Key())
	if crook.Answered != 0 {
		t.Errorf("the history is %+v", crook)
	}
	// Elsewhere a reply may go to a list, or to Reply-To.
	l, _ := w.deliver("INBOX", mail("n@x", "bob@example.net", "list@example.net", "question"))
	w.deliver("Sent", mail("s@x", owner, "list@example.net", "Re: question", "In-Reply-To: <n@x>"))
	w.teaches(time.Hour, "a reply to the list", "important by answered")
	if w.row(l).Label != model.Important {
		t.Error("a reply to a list answers nothing")
	}
}

// TestFeedbackThatNamesSeveralMessagesTeachesNothing is about a label by Message-ID.
func TestFeedbackThatNamesSeveralMessagesTeachesNothing(t *testing.T) {
	w := newWorld(t, testOptions())
	w.deliver("INBOX", mail("m@x", "ann@example.net", owner, "plan"))
	w.tell(mail("m@x", "ann@example.net", owner, "plan"), model.Important, store.SourceExplicit)
	w.wantLessons("one message", "important by explicit")
	say := func() filter.Result {
		return w.apply(&filter.Labelled{At: w.moment(), ID: filter.IDOf("m@x"), Label: model.Ordinary, Waits: true})
	}
	w.deliver("INBOX", mail("m@x", "crook@example.com", owner, "pills"))
	if r := say(); len(r.Expired) != 1 || !r.Expired[0].Unsure {
		t.Errorf("got %+v", r.Expired)
	}
	w.wantLessons("two messages")
	w = newWorld(t, believing())
	w.deliver("INBOX", mail("m@x", "crook@example.com", owner, "pills"))
	w.deliver("INBOX", mail("m@x", "ann@example.net", owner, "plan", "Authentication-Results: mx.example.org; dkim=pass header.d=example.net"))
	if r := say(); len(r.Expired) != 0 {
		t.Errorf("got %+v", r.Expired)
	}
	w.wantLessons("one is vouched for", "ordinary by explicit")
}

func TestCopiesBeginWithTheNewestInTheInbox(t *testing.T) {
	w := newWorld(t, testOptions())
	var keys []store.MessageKey
	for i, box := range []string{"INBOX", "Keep", "INBOX", "Keep", "Junk", "Sent"} {
		l, _ := w.deliver(box, mail("m@x", fmt.Sprintf("s%d@example.net", i), owner, "plan"))
		keys = append(keys, l.key)
	}
	want := []store.MessageKey{keys[2], keys[0], keys[3], keys[1], keys[5], keys[4]}
	for range 2 {
		if got := w.f.People.Copies(filter.IDOf("m@x")); !slices.Equal(got, want) {
			t.Errorf("got %x, want %x", got, want)
		}
		w.restart = true
		w.wait(time.Second)
	}
	if w.f.People.Copies(0) != nil || w.f.People.Copies(filter.IDOf("other@x")) != nil {
		t.Error("there are copies of nothing")
	}
}

// TestTheIndexOfCopiesIsThatOfTheTable compares what was kept up to date with what is built
// anew, through arrivals, twins and forgetting.
func TestTheIndexOfCopiesIsThatOfTheTable(t *testing.T) {
	o := testOptions()
	o.Limits.Messages = 100
	w := newWorld(t, o)
	for i := range 500 {
		w.deliver("INBOX", mail(fmt.Sprintf("m%d@x", i%170), fmt.Sprintf("s%d@example.net", i), owner, "plan"))
		if i%50 != 49 {
			continue
		}
		f := w.restarted()
		for id := range 170 {
			id := filter.IDOf(fmt.Sprintf("m%d@x", id))
			if got, want := w.f.CopiesOf(id), f.CopiesOf(id); !slices.Equal(got, want) {
				t.Fatalf("after %d messages: got %x, want %x", i+1, got, want)
			}
		}
	}
}

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
	w := taught(t, testOptions())
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
	w.teaches(time.Hour, "a star", "important by flagged")
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
			w.teaches(time.Hour, "the answer", "important by answered")
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
	w.teaches(time.Hour, "the copy in the inbox")
	w.deliver("Sent", reply)
	w.teaches(time.Hour, "the copy in Sent", "important by answered")
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

// A stream has no mailboxes: its mail must be decided as any other, and must not
// fill the state with places, of which there would be more every day.
func TestAnArrivalWithoutAPlaceIsDecidedOnceAndLeavesNone(t *testing.T) {
	w := newWorld(t, testOptions())
	active := w.f.State().Account.ActiveDays
	arrive := func() filter.Result {
		m := w.reader.Read([]byte("From: a@example.org\r\nSubject: plan\r\n\r\nthe plan\r\n"))
		return w.apply(&filter.Arrived{At: w.moment(), Meta: filter.NewMeta(m), Message: m})
	}
	first := arrive()
	if first.Decision == nil || first.Features == nil {
		t.Fatalf("got decision %v, features %v; want both", first.Decision, first.Features)
	}
	if again := arrive(); again.Decision != nil {
		t.Errorf("sent twice it was decided twice: %+v", again.Decision)
	}
	st := w.f.State()
	k := first.Decision.Message
	m, known := st.Messages.Get(string(k[:]))
	if !known || m.Copies != 0 || st.Places.Len() != 0 {
		t.Errorf("known %v, %d copies, %d places; want true, 0, 0", known, m.Copies, st.Places.Len())
	}
	if st.Account.ActiveDays != active {
		t.Errorf("mail that was sent twice counts as activity of the owner")
	}
}

// What reads the decisions of a stream marks; the silence about a marked message
// is then our own echo, as over IMAP.
func TestAMarkInAStreamStandsAtOnce(t *testing.T) {
	o := testOptions()
	o.Shadow, o.Threshold.Value = filter.ShadowOff, -1
	w := newWorld(t, o)
	m := w.reader.Read([]byte("From: a@example.org\r\nSubject: plan\r\n\r\nthe plan\r\n"))
	r := w.apply(&filter.Arrived{At: w.moment(), Meta: filter.NewMeta(m), Message: m})
	if r.Decision == nil || r.Decision.Outcome != store.DecidedImportant || r.Decision.Reason != store.ReasonThreshold {
		t.Fatalf("got %+v, want important by the threshold", r.Decision)
	}
	if len(r.Marks) != 0 || len(w.f.Ledger().Intents()) != 0 {
		t.Errorf("%d marks are asked of a source that does not exist, %d intended", len(r.Marks), len(w.f.Ledger().Intents()))
	}
	if !w.f.Ledger().Marked(r.Decision.Message) || w.f.State().Account.Marked != 1 {
		t.Errorf("marked %v, %d confirmed; want true, 1", w.f.Ledger().Marked(r.Decision.Message), w.f.State().Account.Marked)
	}
}
