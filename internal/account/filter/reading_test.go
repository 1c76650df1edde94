// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/internal/testkit"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// readerWorld is a mailbox whose owner reads half of the mail, one by one, and nothing else.
func readerWorld(t *testing.T, change func(*filter.Options)) *world {
	t.Helper()
	o := testOptions()
	o.SilenceCalendar = true
	o.Dual.Bold = 1
	if change != nil {
		change(&o)
	}
	w := newWorld(t, o)
	for i := range 10 {
		l, _ := w.deliver("INBOX", mail(fmt.Sprintf("before%d@x", i), "a@example.com", owner, "some words"))
		w.wait(time.Hour)
		if i%2 == 1 {
			w.flag(l, `\Seen`)
		}
		w.wait(12 * time.Hour)
	}
	w.wait(9 * 24 * time.Hour)
	w.lessons, w.personal = nil, true
	return w
}

func TestWhatIsReadAndKeptIsASmallYesWhereReadingTells(t *testing.T) {
	w := readerWorld(t, nil)
	if tells, words := words.Reading(w.f); tells != 1 {
		t.Fatalf("reading tells %v: %s", tells, words)
	}
	l, _ := w.deliver("INBOX", mail("bill@x", "bills@example.com", owner, "your bill"))
	w.wait(time.Hour)
	w.flag(l, `\Seen`)
	w.teaches(5*time.Hour+time.Minute, "five hours after it was read")
	w.wait(time.Hour)
	o := w.f.Options()
	if len(w.lessons) != 1 || w.lessons[0].Weight != float64(float64(o.ImplicitWeight*filter.ReadWeight)*w.lessons[0].Tells) || w.lessons[0].Tells < 0.9 {
		t.Errorf("got %+v", w.lessons)
	}
	w.wantLessons("six hours", "important by read")
	if s, _ := w.f.State().Senders.Get(filter.SenderOf("bills@example.com").Key()); s.Read != 1 {
		t.Errorf("its sender is %+v", s)
	}
	w.teaches(9*24*time.Hour, "nine days")
	// The owner's own word weighs more, and takes its place.
	w.flag(l, `\Seen`, `\Flagged`)
	w.teaches(time.Minute, "a star", "important by flagged")
	w.flag(l, `\Seen`, "$Junk")
	w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Ordinary})
	w.wantLessons("the owner's word", "ordinary by explicit")
	if s, _ := w.f.State().Senders.Get(filter.SenderOf("bills@example.com").Key()); s.Read != 0 || s.Wanted != 0 || s.Unwanted != 1 {
		t.Errorf("its sender is %+v", s)
	}
}

func TestWhatIsReadLateIsAYesAllTheSame(t *testing.T) {
	w := readerWorld(t, nil)
	l, _ := w.deliver("INBOX", mail("late@x", "bills@example.com", owner, "your bill"))
	w.teaches(7*time.Hour, "left unread")
	w.flag(l, `\Seen`)
	w.teaches(6*time.Hour, "read, and kept for six hours", "important by read")
}

func TestWhatIsReadAndDeletedIsNoYes(t *testing.T) {
	w := readerWorld(t, nil)
	l, _ := w.deliver("INBOX", mail("shop@x", "shop@example.com", owner, "an offer"))
	w.flag(l, `\Seen`)
	w.wait(time.Minute)
	w.move(l, "Trash", `\Seen`)
	w.teaches(7*time.Hour, "read and deleted", "ordinary by provisional")
	if m := w.row(l); m.Handled != store.HandledDone {
		t.Errorf("it was handled as %d", m.Handled)
	}
}

// TestNewsThatIsReadAndKeptTeachesNothing, and is ordinary for the threshold and the figures.
func TestNewsThatIsReadAndKeptTeachesNothing(t *testing.T) {
	w := readerWorld(t, nil)
	w.personal = false
	judged := w.f.Line().Standing()
	l, _ := w.deliver("INBOX", mail("news@x", "news@example.com", owner, "news"))
	w.flag(l, `\Seen`)
	w.wait(9 * 24 * time.Hour)
	if m := w.row(l); m.Label != 0 || m.Lessons != 0 || w.f.Status.Counts().Unknown != 0 {
		t.Errorf("it is %+v", m)
	}
	if now := w.f.Line().Standing(); now.Labels != judged.Labels+1 || now.Important != judged.Important {
		t.Errorf("judged by %+v, before by %+v", now, judged)
	}
}

// TestWhoOpensEverythingTellsByWhatIsThrownAway, half as much as by what is left unread.
func TestWhoOpensEverythingTellsByWhatIsThrownAway(t *testing.T) {
	f := newWorld(t, testOptions()).f
	for range 4 {
		f.CountReading(store.HandledRead, 1)
		f.CountReading(store.HandledRead, 1)
		f.CountReading(store.HandledDone, 1)
		f.CountReading(store.HandledDone, 1)
	}
	if tells, words := words.Reading(f); tells != 0.5 || words != "what you read and keep counts as a small yes: you read 16 of the last 16 messages and threw 8 of them away" {
		t.Errorf("%v: %s", tells, words)
	}
	f.CountReading(store.HandledDone, -1)
	if tells, _ := words.Reading(f); tells != 7.0/15 {
		t.Errorf("one of them taken back: %v", tells)
	}
}

func TestWhatWasMarkedAndReadIsNoYes(t *testing.T) {
	w := readerWorld(t, func(o *filter.Options) { o.Shadow = filter.ShadowOff })
	w.teach()
	w.wait(9 * 24 * time.Hour)
	w.lessons = nil
	l, _ := w.marked(1)
	w.flag(l, "$Important", `\Seen`)
	w.teaches(12*24*time.Hour, "marked, read and kept")
}

func TestMarkingAllAsReadSaysNothing(t *testing.T) {
	w := readerWorld(t, nil)
	w.personal = false
	var all []letter
	for i := range filter.ReadMany + 3 {
		l, _ := w.deliver("INBOX", mail(fmt.Sprintf("all%d@x", i), "news@example.com", owner, "news"))
		all = append(all, l)
	}
	w.wait(time.Hour)
	for _, l := range all {
		w.flag(l, `\Seen`)
	}
	read := w.f.State().Account.Reading.Read
	w.wait(9 * 24 * time.Hour)
	for _, l := range w.lessons {
		if l.Label != model.Ordinary {
			t.Fatalf("got %+v", l)
		}
	}
	if len(w.lessons) != len(all) || w.f.State().Account.Reading.Read != read {
		t.Errorf("%d lessons; %d were read before, %d after", len(w.lessons), read, w.f.State().Account.Reading.Read)
	}
}

// TestMarkingAllAsReadSaysNothingAlsoAcrossACrash: hinged ends when it has heard of some of
// the messages and finds the others read when it comes back, by what the server calls one
// command, or before the settle window has passed.
func TestMarkingAllAsReadSaysNothingAlsoAcrossACrash(t *testing.T) {
	all := func(before int, modseq uint64, down time.Duration) (rows []string) {
		w := readerWorld(t, nil)
		var letters []letter
		for i := range filter.ReadMany + 5 {
			l, _ := w.deliver("INBOX", mail(fmt.Sprintf("all%d@x", i), "news@example.com", owner, "news"))
			letters = append(letters, l)
		}
		w.wait(time.Hour)
		for i, l := range letters {
			if i == before {
				w.now = w.now.Add(down)
				f, err := filter.New(copyState(t, w.f.State()), w.features)
				testkit.OK(t, err)
				w.f = f
			}
			w.apply(&filter.Flagged{At: w.moment(), Place: l.place, Flags: []string{`\seen`}, Away: i >= before, ModSeq: modseq})
		}
		w.wait(12 * 24 * time.Hour)
		for _, l := range letters {
			m := w.row(l)
			rows = append(rows, fmt.Sprint(m.Label, m.Source, m.Handled, m.Together))
		}
		s, _ := w.f.State().Senders.Get(filter.SenderOf("news@example.com").Key())
		reading := w.f.State().Account.Reading
		return append(rows, fmt.Sprint(s.Read, s.Unread, reading.Read, reading.Passed, w.f.State().Account.ReadRun.Many))
	}
	for _, c := range []struct {
		name   string
		modseq uint64
		down   time.Duration
	}{{"one command, an hour", 77, time.Hour}, {"no numbers, half a minute", 0, 30 * time.Second}} {
		want := all(filter.ReadMany+5, c.modseq, 0)
		for before := 1; before < filter.ReadMany+5; before++ {
			if got := all(before, c.modseq, c.down); !slices.Equal(got, want) {
				t.Errorf("%s: a crash after %d gives\n%q, want\n%q", c.name, before, got, want)
			}
		}
	}
}

// TestWhatWasReadInAWeekIsNoBulk, though it is found at once.
func TestWhatWasReadInAWeekIsNoBulk(t *testing.T) {
	for _, modseq := range []uint64{0, 100} {
		w := readerWorld(t, nil)
		var letters []letter
		for i := range 2 * filter.ReadMany {
			l, _ := w.deliver("INBOX", mail(fmt.Sprintf("week%d@x", i), "bills@example.com", owner, "your bill"))
			letters = append(letters, l)
		}
		w.wait(time.Hour)
		for i, l := range letters {
			if modseq > 0 {
				modseq = 100 + uint64(i)
			}
			w.apply(&filter.Flagged{At: w.moment(), Place: l.place, Flags: []string{`\seen`}, Away: true, ModSeq: modseq})
			if w.row(l).Together {
				t.Fatalf("message %d, changed by command %d, was read with others", i, modseq)
			}
		}
	}
}

func TestWhoReadsEverythingSaysNothingByIt(t *testing.T) {
	for name, flags := range map[string][]string{"the owner": nil, "a program, as it comes": {`\Seen`}} {
		t.Run(name, func(t *testing.T) {
			o := testOptions()
			o.SilenceCalendar = true
			w := newWorld(t, o)
			for i := range 20 {
				l, _ := w.deliver("INBOX", mail(fmt.Sprintf("m%d@x", i), "a@example.com", owner, "some words"), flags...)
				w.wait(time.Hour)
				w.flag(l, `\Seen`)
				w.wait(12 * time.Hour)
			}
			w.wait(9 * 24 * time.Hour)
			for _, l := range w.lessons {
				if l.Label != model.Ordinary {
					t.Fatalf("got %+v", l)
				}
			}
			if tells, words := words.Reading(w.f); tells != 0 || len(w.lessons) != 20 {
				t.Errorf("reading tells %v: %s; %d lessons", tells, words, len(w.lessons))
			}
		})
	}
}

func TestSilenceAboutAPersonalLetterThatWasReadIsUnknown(t *testing.T) {
	o := testOptions()
	o.SilenceCalendar, o.Shadow = true, filter.ShadowOn
	w := newWorld(t, o)
	w.teach() // or nothing is judged
	judged := w.f.Status.Judgement().Labels
	w.personal = true
	read, _ := w.deliver("INBOX", mail("read@x", "ann@example.com", owner, "how are you"))
	unread, _ := w.deliver("INBOX", mail("unread@x", "eve@example.com", owner, "please look"))
	w.flag(read, `\Seen`)
	w.teaches(7*time.Hour, "hours")
	w.teaches(9*24*time.Hour, "days", "ordinary by silence")
	if m := w.row(unread); m.Label != model.Ordinary {
		t.Errorf("the unread one is %+v", m)
	}
	if n := w.f.Status.Counts().Unknown; n != 1 || w.row(read).Label != 0 || w.f.Status.Judgement().Labels != judged+1 {
		t.Errorf("%d are unknown, %+v, %d judged", n, w.row(read), w.f.Status.Judgement().Labels-judged)
	}
	w.flag(read, `\Seen`, `\Answered`)
	w.teaches(time.Minute, "a late answer", "important by answered")
	if n := w.f.Status.Counts().Unknown; n != 0 {
		t.Errorf("%d are unknown after the answer", n)
	}
}

func TestWhatIsPutAsideUnreadIsANo(t *testing.T) {
	w := newWorld(t, testOptions())
	w.apply(&filter.Opened{At: w.moment(), Mailbox: "Archive", UIDValidity: 1, Role: ingest.RoleArchive})
	l, _ := w.deliver("INBOX", mail("news@x", "news@example.com", owner, "news"))
	w.wait(time.Hour)
	w.lessons = nil
	w.move(l, "Archive")
	w.teaches(time.Minute, "archived unread", "ordinary by moved")
	if m := w.row(l); m.Handled != store.HandledBinned {
		t.Errorf("it was handled as %d", m.Handled)
	}
}

// TestAStarOutranksPuttingAsideUnread, also one of many that taught nothing; a star that is
// our own mark does not.
func TestAStarOutranksPuttingAsideUnread(t *testing.T) {
	for _, ours := range []bool{false, true} {
		o := testOptions()
		o.Bulk = 1
		want := []string{}
		if ours {
			o.Marks, o.Shadow, want = []string{`\Flagged`}, filter.ShadowOff, []string{"ordinary by moved"}
		}
		w := newWorld(t, o)
		w.apply(&filter.Opened{At: w.moment(), Mailbox: "Archive", UIDValidity: 1, Role: ingest.RoleArchive})
		w.teach()
		l, r := w.deliver("INBOX", mail("one@x", "boss@example.com", owner, "urgent thing"))
		if ours {
			w.done(r.Marks[0])
		} else {
			other, _ := w.deliver("INBOX", mail("other@x", "boss@example.com", owner, "urgent thing"))
			w.flag(other, `\Flagged`)
		}
		w.flag(l, `\Flagged`)
		w.wait(time.Hour)
		w.lessons = nil
		w.vanish(l)
		w.deliver("Archive", l.raw, `\Flagged`)
		w.teaches(time.Hour, fmt.Sprintf("archived unread, the star is ours: %v", ours), want...)
	}
}

func TestAMarkThatIsTakenOffMovesTheNextOfItsKindDown(t *testing.T) {
	w := readerWorld(t, func(o *filter.Options) { o.Shadow = filter.ShadowOff })
	w.teach()
	l, _ := w.marked(1)
	w.flag(l, "$Important", `\Seen`)
	w.wait(time.Hour)
	_, before := w.deliver("INBOX", mail("next@x", "boss@example.com", owner, "urgent urgent please"))
	w.flag(l, `\Seen`)
	w.wait(time.Minute)
	_, after := w.deliver("INBOX", mail("next2@x", "boss@example.com", owner, "urgent urgent please"))
	if w.row(l).Label != model.Ordinary || !(after.Decision.Score < before.Decision.Score) {
		t.Errorf("it is %+v; the next scored %v before and %v after", w.row(l), before.Decision.Score, after.Decision.Score)
	}
}

func TestWhatIsReadAndPutIntoAnOwnFolderIsAYes(t *testing.T) {
	w := newWorld(t, testOptions())
	w.apply(&filter.Opened{At: w.moment(), Mailbox: "Tax", UIDValidity: 1, Role: ingest.RoleOther})
	l, _ := w.deliver("INBOX", mail("bill@x", "bills@example.com", owner, "your bill"))
	w.flag(l, `\Seen`)
	w.wait(time.Minute)
	w.lessons = nil
	w.move(l, "Tax", `\Seen`)
	w.teaches(time.Minute, "filed", "important by moved")
}
