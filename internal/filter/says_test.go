// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/filter/past"

	"github.com/hinged/hinged/store"
)

const ines = "ines@harbour.example"

// asked is a world with one message in its inbox.
func asked(t *testing.T, subject string) (*world, letter) {
	t.Helper()
	w := newWorld(t, testOptions())
	l, _ := w.deliver("INBOX", mail("q@harbour.example", ines, owner, subject))
	w.now = w.now.Add(time.Hour)
	return w, l
}

func TestWhatTheOwnersMailSaysTeachesAsMuch(t *testing.T) {
	const refers = "In-Reply-To: <q@harbour.example>"
	invitation := func(status string) []byte {
		return fmt.Appendf(nil, "From: %s\r\nTo: %s\r\nSubject: Ja: Boat\r\nMessage-ID: <own>\r\n%s\r\nContent-Type: text/calendar; method=REPLY\r\n\r\n"+
			"BEGIN:VCALENDAR\r\nMETHOD:REPLY\r\nBEGIN:VEVENT\r\nATTENDEE;PARTSTAT=%s:mailto:%s\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n", owner, ines, refers, status, owner)
	}
	const answered, forwarded = "important by answered", "important by forwarded"
	for _, c := range []struct {
		name             string
		own              []byte
		lesson           string
		written, answers uint32
		active           bool
	}{
		{"an answer", mail("own", owner, ines, "Re: Boat", refers), answered, 1, 1, true},
		{"an answer with References alone", mail("own", owner, ines, "Re: Boat", "References: <other@x> <q@harbour.example>"), answered, 1, 1, true},
		{"an answer by its subject alone", mail("own", owner, "Ines <"+ines+">", "AW: boat"), answered, 1, 1, true},
		{"an answer to somebody else", mail("own", owner, "eve@harbour.example", "AW: boat"), "", 0, 0, true},
		{"a letter about the same", mail("own", owner, ines, "Boat"), "", 1, 0, true},
		{"a forward", mail("own", owner, "eve@harbour.example", "Fwd: Boat", refers), forwarded, 0, 0, true},
		{"an accepted invitation", invitation("ACCEPTED"), answered, 1, 1, true},
		{"a declined invitation", invitation("DECLINED"), "", 0, 0, true},
		{"a wish to be left alone", mail("own", owner, ines, "unsubscribe", refers), "", 0, 0, true},
		{"an answering machine", mail("own", owner, ines, "Re: Boat", refers, "Auto-Submitted: auto-replied"), "", 0, 0, false},
		{"an answering machine that gives its answer's subject alone", mail("own", owner, ines, "Abwesenheitsnotiz: Boat"), "", 0, 0, false},
	} {
		for _, flags := range [][]string{nil, {`\Seen`}} {
			w, l := asked(t, "Boat")
			days, active := w.f.State().Account.ActiveDays, w.f.State().Account.LastActive
			w.uids["Sent"]++
			m := w.reader.Read(c.own)
			w.apply(&filter.Arrived{At: w.moment(), Place: placeAt("Sent", 1, w.uids["Sent"]), Flags: flags, Backlog: flags != nil, Meta: filter.NewMeta(m), Message: m})
			if is := w.f.State().Account.LastActive != active || w.f.State().Account.ActiveDays != days; is != c.active {
				t.Errorf("%s: shows that the owner is there: %v", c.name, is)
			}
			if th, _ := w.f.State().Threads.Get(filter.IDOf("q@harbour.example").Key()); (th.ByOwner > 0) != (c.lesson != "") {
				t.Errorf("%s: the thread has %d messages of the owner's", c.name, th.ByOwner)
			}
			if got := w.f.People.Correspondence(filter.SenderOf(ines)); got.Written != c.written || got.Answered != c.answers {
				t.Errorf("%s: the history has %+v, want %d written and %d answered", c.name, got, c.written, c.answers)
			}
			w.wait(2 * time.Minute)
			if c.lesson == "" {
				w.wantLessons(c.name)
			} else {
				w.wantLessons(c.name, c.lesson)
			}
			if c.lesson != "" && w.row(l).Source == store.SourceNone {
				t.Errorf("%s: the source is not kept", c.name)
			}
		}
	}
}

func TestAForwardIsLessThanAnAnswerAndMoreThanSilence(t *testing.T) {
	w, l := asked(t, "Boat")
	w.deliver("Sent", mail("f", owner, "eve@x", "Fwd: Boat", "In-Reply-To: <q@harbour.example>"))
	w.wait(2 * time.Minute)
	if got := w.lessons[0].Weight / w.f.Boldness(); math.Abs(got-w.f.Options().ImplicitWeight) > 1e-9 {
		t.Errorf("its weight is %v, want %v", got, w.f.Options().ImplicitWeight)
	}
	if !store.SourceForwarded.Outranks(store.SourceSilence) || store.SourceForwarded.Outranks(store.SourceAnswered) || !store.SourceAnswered.Outranks(store.SourceForwarded) {
		t.Error("its rank is wrong")
	}
	w.deliver("Sent", mail("a", owner, ines, "Re: Boat", "In-Reply-To: <q@harbour.example>"))
	w.wait(2 * time.Minute)
	if got := w.row(l).Source; got != store.SourceAnswered {
		t.Errorf("after the answer the source is %v", got)
	}
	if got := w.f.People.Correspondence(filter.SenderOf(ines)); got.Answered != 1 {
		t.Errorf("the history has %+v", got)
	}
}

// The last way finds the newest message, within a month, that still is where one answers,
// after a restart, too; not one that is forgotten.
func TestAnAnswerBySubjectFindsTheNewestOfAMonth(t *testing.T) {
	w := newWorld(t, testOptions())
	w.restart = true
	old, _ := w.deliver("INBOX", mail("m1@x", ines, owner, "Minutes"))
	w.wait(20 * 24 * time.Hour)
	eve, _ := w.deliver("INBOX", mail("m2@x", "eve@x", owner, "minutes"))
	junk, _ := w.deliver("Junk", mail("m3@x", ines, owner, "Minutes"))
	bob, _ := w.deliver("INBOX", mail("m4@x", "bob@x", owner, "Minutes"))
	w.deliver("Sent", mail("own1", owner, ines+", eve@x", "Re: Minutes"))
	w.wait(2 * time.Minute)
	for _, l := range []letter{old, junk, bob} {
		if m := w.row(l); m.Source == store.SourceAnswered {
			t.Errorf("%x is answered: %+v", l.key, m)
		}
	}
	if m := w.row(eve); m.Source != store.SourceAnswered {
		t.Errorf("the newest is not: %+v", m)
	}
	r := w.rewrite(&past.ForgetRequested{Key: eve.key})
	if _, there := w.f.State().Messages.Get(string(eve.key[:])); there || r.Messages != 1 {
		t.Error("it is not forgotten")
	}
	w.wait(11 * 24 * time.Hour)
	w.lessons = nil
	w.deliver("Sent", mail("own2", owner, ines, "Re: Minutes"))
	w.wait(2 * time.Minute)
	for _, l := range w.lessons {
		if l.Source == store.SourceAnswered {
			t.Errorf("after a month %x is answered", l.Message)
		}
	}
}
