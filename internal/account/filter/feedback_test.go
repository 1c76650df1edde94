// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

func TestFeedbackByFlags(t *testing.T) {
	for _, c := range []struct {
		name  string
		flags []string
		want  []string
	}{
		{"star", []string{`\Flagged`}, []string{"important by flagged"}},
		{"answer", []string{`\Answered`}, []string{"important by answered"}},
		{"junk", []string{"Junk"}, []string{"ordinary by junk"}},
		{"mute", []string{"$Muted"}, []string{"ordinary by muted"}},
		{"reading alone", []string{`\Seen`}, nil},
		{"read, then deleted", []string{`\Seen`, `\Deleted`}, nil},
		{"star outranks junk", []string{`\Flagged`, "$Junk"}, []string{"important by flagged"}},
		{"mark outranks junk", []string{"$Important", `\Seen`, "$Junk"}, []string{"important by mark"}},
		{"unknown keyword", []string{"$label5"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, testOptions())
			l, _ := w.deliver("INBOX", mail("f@x", "a@example.com", owner, "some words"))
			w.wait(time.Minute)
			w.flag(l, c.flags...)
			w.teaches(time.Minute-time.Millisecond, "just before the settle window ends")
			w.teaches(time.Millisecond, "when it ends", c.want...)
		})
	}
}

// Muting ranks with junk, though it was numbered last: a star, a mark and the owner's
// word outrank it, and it outranks an answer.
func TestMutingIsAsStrongAsJunk(t *testing.T) {
	muted := store.SourceMuted
	for s := store.SourceNone; s <= store.SourceMuted; s++ {
		if got, want := s.Outranks(muted), s.Outranks(store.SourceJunk); got != want {
			t.Errorf("%s outranks muted: %v, and junk: %v", s, got, want)
		}
		if got, want := muted.Outranks(s), store.SourceJunk.Outranks(s); got != want {
			t.Errorf("muted outranks %s: %v, and junk does: %v", s, got, want)
		}
	}
	for _, c := range []struct {
		first, then, want string
		source            store.Source
	}{
		{"$Muted", `\Flagged`, "important by flagged", store.SourceFlagged},
		{`\Flagged`, "$Muted", "important by flagged", store.SourceFlagged},
		{`\Answered`, "$Muted", "ordinary by muted", store.SourceMuted},
		{"$Muted", `\Answered`, "ordinary by muted", store.SourceMuted},
	} {
		w := newWorld(t, testOptions())
		l, _ := w.deliver("INBOX", mail("f@x", "a@example.com", owner, "some words"))
		w.flag(l, c.first)
		w.wait(time.Second)
		w.flag(l, c.first, c.then)
		w.teaches(time.Hour, c.first+", then "+c.then, c.want)
		if got := w.row(l).Source; got != c.source {
			t.Errorf("%s, then %s: the label is from %s, want %s", c.first, c.then, got, c.source)
		}
	}
}

func TestALabelIsLearntOnceHoweverOftenItIsGiven(t *testing.T) {
	w := newWorld(t, testOptions())
	l, _ := w.deliver("INBOX", mail("f@x", "a@example.com", owner, "some words"))
	w.flag(l, `\Answered`)
	w.wait(time.Minute)
	w.deliver("Sent", mail("own@x", owner, "a@example.com", "re: some words", "In-Reply-To: <f@x>"))
	w.wait(time.Minute)
	w.flag(l, `\Answered`, `\Flagged`)
	w.teaches(time.Minute, "three ways to say important", "important by answered")
	if got := w.row(l).Source; got != store.SourceFlagged {
		t.Fatalf("the label rests on %v, want the strongest source, flagged", got)
	}
}

func TestACleanUpTeachesNothing(t *testing.T) {
	for _, c := range []struct {
		name string
		n    int
		away bool
		want int
	}{
		{"just as many as may be", 50, false, 50},
		{"one more", 51, false, 0},
		{"as many as there are", 500, false, 0},
		{"found after being away, as many commands did", 500, true, 500},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, testOptions())
			var letters []letter
			for i := range c.n {
				l, _ := w.deliver("INBOX", mail(fmt.Sprintf("b%d@x", i), "a@example.com", owner, fmt.Sprint("words ", i)))
				letters = append(letters, l)
			}
			w.wait(time.Minute)
			for i, l := range letters {
				w.now = w.now.Add(59 * time.Second / time.Duration(c.n))
				if i == 0 {
					// Something else in the same window is heard all the same.
					other, _ := w.deliver("INBOX", mail("other@x", "a@example.com", owner, "other words"))
					w.flag(other, `\Flagged`)
				}
				w.apply(&filter.Flagged{At: w.moment(), Place: l.place, Flags: []string{"$junk"}, Away: c.away})
			}
			w.wait(2 * time.Minute)
			junk, stars := 0, 0
			for _, l := range w.lessons {
				switch l.Source {
				case store.SourceJunk:
					junk++
				case store.SourceFlagged:
					stars++
				}
			}
			if junk != c.want || stars != 1 {
				t.Fatalf("%d messages junked: %d lessons from it and %d from the star, want %d and 1", c.n, junk, stars, c.want)
			}
			if got := w.f.State().Account.Bulk; got != uint64(c.n-c.want) {
				t.Fatalf("%d labels counted as withdrawn, want %d", got, c.n-c.want)
			}
		})
	}
}

// tell gives feedback on a message by its Message-ID, as a record of a topic does.
func (w *world) tell(raw []byte, label model.Label, source store.Source) filter.Result {
	w.t.Helper()
	id := w.reader.Read(raw).MessageID
	return w.apply(&filter.Labelled{
		Waits: true,
		At:    w.moment(), ID: filter.IDOf("<" + id + ">"), Label: label, Source: source,
		Origin: store.Origin{Topic: "mail", Partition: 2, Offset: int64(len(w.journal)), Record: []byte(id)},
	})
}

func TestFeedbackBeforeItsMessageIsHeardAtItsArrivalInTheOrderGiven(t *testing.T) {
	w := newWorld(t, testOptions())
	raw := mail("e@x", "a@example.com", owner, "some words")
	w.tell(raw, model.Important, store.SourceExplicit)
	w.now = w.now.Add(time.Hour)
	key := store.MessageKey(w.reader.Read(raw).Key)
	w.apply(&filter.Labelled{At: w.moment(), Waits: true, Message: key, Label: model.Ordinary, Source: store.SourceExplicit})
	w.wantLessons("before the message")
	if got := w.f.State().Early.Len(); got != 2 {
		t.Fatalf("%d wait, want 2", got)
	}
	l, _ := w.deliver("INBOX", raw)
	w.wantLessons("at its arrival", "important by explicit", "ordinary by explicit")
	if m := w.row(l); m.Label != model.Ordinary || m.Source != store.SourceExplicit {
		t.Fatalf("the row is %+v", m)
	}
	if got := w.f.State().Early.Len(); got != 0 {
		t.Fatalf("%d still wait", got)
	}
	w.teaches(30*24*time.Hour, "later")
	if len(w.expired) != 0 {
		t.Fatalf("what was heard expired: %+v", w.expired)
	}
}

func TestFeedbackOnAKnownMessageIsAsStrongAsItsSource(t *testing.T) {
	for source, weight := range map[store.Source]float64{
		store.SourceExplicit: 1, store.SourceMark: 1, store.SourceFlagged: 1, store.SourceJunk: 1,
		store.SourceMoved: 2.0 / 3, store.SourceAnswered: 2.0 / 3,
	} {
		for _, early := range []bool{false, true} {
			o := testOptions()
			o.Dual.Bold = 1
			w := newWorld(t, o)
			raw := mail("k@x", "a@example.com", owner, "some words")
			if early {
				w.tell(raw, model.Important, source)
			}
			w.deliver("INBOX", raw)
			if !early {
				w.tell(raw, model.Important, source)
			}
			if source == store.SourceExplicit {
				if len(w.lessons) != 1 {
					t.Fatalf("early %v: %d lessons at once, want 1", early, len(w.lessons))
				}
			} else {
				w.wantLessons(fmt.Sprintf("%v, early %v, before the settle window", source, early))
				w.wait(time.Minute)
			}
			if len(w.lessons) != 1 || w.lessons[0].Source != source || w.lessons[0].Weight != weight {
				t.Fatalf("%v, early %v: lessons %+v, want one of weight %v", source, early, w.lessons, weight)
			}
			// A weaker source does not displace it.
			w.lessons = nil
			if source > store.SourceAnswered {
				w.tell(raw, model.Ordinary, store.SourceAnswered)
				w.teaches(time.Hour, "a weaker word")
			}
		}
	}
}

func TestEarlyFeedbackExpiresByTheAccountsClockWithItsOrigin(t *testing.T) {
	w := newWorld(t, testOptions())
	raw := mail("late@x", "a@example.com", owner, "words")
	record := bytes.Repeat([]byte("r"), filter.MaxRecord+1)
	origin := store.Origin{Topic: "in", Partition: 3, Offset: 77, Record: record[:filter.MaxRecord]}
	w.apply(&filter.Labelled{At: w.moment(), Waits: true, ID: filter.IDOf("late@x"), Label: model.Important, Source: store.SourceMark, Origin: origin})
	long := origin
	long.Record, long.Offset = record, 78
	w.now = w.now.Add(time.Millisecond)
	w.apply(&filter.Labelled{At: w.moment(), Waits: true, ID: filter.IDOf("late@x"), Label: model.Ordinary, Source: store.SourceExplicit, Origin: long})

	w.now = w.now.Add(7*24*time.Hour - 2*time.Millisecond)
	if w.f.Waits.Due(w.moment()) {
		t.Fatal("due before its time")
	}
	w.now = w.now.Add(time.Millisecond)
	if !w.f.Waits.Due(w.moment()) {
		t.Fatal("not due at its time")
	}
	r := w.wait(0)
	if len(r.Expired) != 1 || r.Expired[0].Displaced || fmt.Sprint(r.Expired[0].Feedback.Origin) != fmt.Sprint(origin) ||
		r.Expired[0].Feedback.Label != model.Important || r.Expired[0].Feedback.Source != store.SourceMark {
		t.Fatalf("expired %+v, want the first with %+v", r.Expired, origin)
	}
	// The message comes in the very moment in which the second is over.
	w.now = w.now.Add(time.Millisecond)
	_, r = w.deliver("INBOX", raw)
	w.wantLessons("its message came too late")
	if len(r.Expired) != 1 || !r.Expired[0].Feedback.Origin.Cut || !bytes.Equal(r.Expired[0].Feedback.Origin.Record, record[:filter.MaxRecord]) {
		t.Fatalf("expired %d bytes, cut %v; want the first %d", len(r.Expired[0].Feedback.Origin.Record), r.Expired[0].Feedback.Origin.Cut, filter.MaxRecord)
	}
	if a := w.f.State().Account; a.EarlyNext != 2 {
		t.Fatalf("the account counts %d that had to wait", a.EarlyNext)
	}
}

func TestTheOldestEarlyFeedbackMakesRoom(t *testing.T) {
	o := testOptions()
	o.Limits.Early = 100
	w := newWorld(t, o)
	for i := range 105 {
		w.tell(mail(fmt.Sprintf("r%d@x", i), "a@example.com", owner, "words"), model.Important, store.SourceExplicit)
		if got := w.f.State().Early.Len(); got > 100 {
			t.Fatalf("%d wait", got)
		}
	}
	if len(w.expired) != 5 {
		t.Fatalf("%d were displaced, want 5", len(w.expired))
	}
	for i, x := range w.expired {
		if want := fmt.Sprintf("r%d@x", i); !x.Displaced || string(x.Feedback.Origin.Record) != want {
			t.Fatalf("number %d is %+v, want %s displaced", i, x, want)
		}
	}
	w.deliver("INBOX", mail("r4@x", "a@example.com", owner, "words"))
	w.wantLessons("one that was displaced")
	w.deliver("INBOX", mail("r5@x", "a@example.com", owner, "words"))
	w.wantLessons("the oldest that was not", "important by explicit")
}

func TestEarlyFeedbackThatMustNotWaitExpiresAtOnce(t *testing.T) {
	o := testOptions()
	o.EarlyFor = 0
	w := newWorld(t, o)
	if r := w.tell(mail("n@x", "a@example.com", owner, "words"), model.Important, store.SourceExplicit); len(r.Expired) != 1 {
		t.Fatalf("expired %+v, want it at once", r.Expired)
	}
}

func TestEarlyFeedbackOnOwnMailTeachesNothingAndIsGone(t *testing.T) {
	w := newWorld(t, testOptions())
	raw := mail("own@x", owner, "a@example.com", "words")
	w.tell(raw, model.Important, store.SourceExplicit)
	w.deliver("Sent", raw)
	w.tell(raw, model.Important, store.SourceExplicit)
	w.teaches(30*24*time.Hour, "own mail")
	if len(w.expired) != 0 || w.f.State().Early.Len() != 0 {
		t.Fatalf("expired %+v, %d wait", w.expired, w.f.State().Early.Len())
	}
}

func TestEarlyFeedbackIsHeardByAHandedMessageBeforeItsLabel(t *testing.T) {
	w := newWorld(t, testOptions())
	raw := mail("h@x", "a@example.com", owner, "words")
	w.tell(raw, model.Important, store.SourceExplicit)
	w.hand(raw, model.Ordinary)
	w.wantLessons("handed over", "important by explicit", "ordinary by explicit")
}

func TestAMarkThatIsToldToBeTakenOffIsNeverSetAgain(t *testing.T) {
	for _, early := range []bool{false, true} {
		w := taught(t, testOptions())
		raw := mail("t@x", "boss@example.com", owner, "urgent told")
		if early {
			w.tell(raw, model.Ordinary, store.SourceMark)
			w.deliver("INBOX", raw)
		} else {
			w.deliver("Junk", raw)
			w.deliver("Keep", mail("other@x", "boss@example.com", owner, "urgent other"))
			w.marks = nil
			w.apply(&filter.Labelled{At: w.moment(), Waits: true, Message: store.MessageKey(w.reader.Read(mail("other@x", "boss@example.com", owner, "urgent other")).Key),
				Label: model.Ordinary, Source: store.SourceMark})
			w.deliver("INBOX", append(mail("other@x", "boss@example.com", owner, "urgent other"), "a list footer\r\n"...))
		}
		if len(w.marks) != 0 {
			t.Fatalf("early %v: marks were requested: %+v", early, w.marks)
		}
	}
}

func TestMalformedFeedbackIsAnErrorAndChangesNothing(t *testing.T) {
	w := newWorld(t, testOptions())
	for _, e := range []*filter.Labelled{
		{Label: model.Important},
		{ID: 1, Message: store.MessageKey{1}, Label: model.Important},
		{ID: 1, Handed: &filter.Arrived{}, Label: model.Important},
		{ID: 1},
		{ID: 1, Label: 2},
		{ID: 1, Label: model.Important, Source: store.SourceSilence},
		{ID: 1, Label: model.Important, Source: store.SourceExplicit + 1},
	} {
		e.At, e.Waits = w.moment(), true
		if r, err := w.f.Apply(e); !errors.Is(err, filter.ErrBadEvent) || r.Changed {
			t.Errorf("%+v gave %v, changed %v", e, err, r.Changed)
		}
	}
}

func TestIDOfIsTheIDUnderWhichAMessageIsKnown(t *testing.T) {
	w := newWorld(t, testOptions())
	want := filter.NewMeta(w.reader.Read(mail("some.id@host.example", "a@example.com", owner, "x"))).ID
	for _, s := range []string{"some.id@host.example", "<some.id@host.example>", "  < some.id@host.example >\t"} {
		if got := filter.IDOf(s); got != want || got == 0 {
			t.Errorf("%q is %d, want %d", s, got, want)
		}
	}
	if filter.IDOf("") != 0 || filter.IDOf("<>") != 0 {
		t.Error("no Message-ID has an ID")
	}
}
