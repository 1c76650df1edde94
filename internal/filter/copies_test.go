// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/filter/past"

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
	w.wait(time.Hour)
	w.wantLessons("a reply to the list", "important by answered")
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
		f, err := filter.New(w.f.State(), w.features)
		if err != nil {
			t.Fatal(err)
		}
		for id := range 170 {
			id := filter.IDOf(fmt.Sprintf("m%d@x", id))
			if got, want := w.f.CopiesOf(id), f.CopiesOf(id); !slices.Equal(got, want) {
				t.Fatalf("after %d messages: got %x, want %x", i+1, got, want)
			}
		}
	}
}
