// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/filter"

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
			w.wait(time.Minute - time.Millisecond)
			w.wantLessons("just before the settle window ends")
			w.wait(time.Millisecond)
			w.wantLessons("when it ends", c.want...)
		})
	}
}

func TestAChangeUndoneWithinTheSettleWindowTeachesNothing(t *testing.T) {
	w := newWorld(t, testOptions())
	l, _ := w.deliver("INBOX", mail("f@x", "a@example.com", owner, "some words"))
	w.flag(l, `\Flagged`)
	w.wait(30 * time.Second)
	w.flag(l)
	w.wait(time.Hour)
	w.wantLessons("a star set and cleared")
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
		w.wait(time.Hour)
		w.wantLessons(c.first+", then "+c.then, c.want)
		if got := w.row(l).Source; got != c.source {
			t.Errorf("%s, then %s: the label is from %s, want %s", c.first, c.then, got, c.source)
		}
	}
	w := newWorld(t, testOptions())
	l, _ := w.deliver("INBOX", mail("f@x", "a@example.com", owner, "some words"))
	w.flag(l, "$Muted")
	w.wait(30 * time.Second)
	w.flag(l)
	w.wait(time.Hour)
	w.wantLessons("muted and no longer")
}

func TestALabelIsLearntOnceHoweverOftenItIsGiven(t *testing.T) {
	w := newWorld(t, testOptions())
	l, _ := w.deliver("INBOX", mail("f@x", "a@example.com", owner, "some words"))
	w.flag(l, `\Answered`)
	w.wait(time.Minute)
	w.deliver("Sent", mail("own@x", owner, "a@example.com", "re: some words", "In-Reply-To: <f@x>"))
	w.wait(time.Minute)
	w.flag(l, `\Answered`, `\Flagged`)
	w.wait(time.Minute)
	w.wantLessons("three ways to say important", "important by answered")
	if got := w.row(l).Source; got != store.SourceFlagged {
		t.Fatalf("the label rests on %v, want the strongest source, flagged", got)
	}
}

func TestAnswersInSentAreLabels(t *testing.T) {
	w := newWorld(t, testOptions())
	w.deliver("INBOX", mail("q@x", "a@example.com", owner, "a question"))
	w.deliver("Sent", mail("own@x", owner, "a@example.com", "re: a question", "In-Reply-To: <q@x>"))
	w.wait(time.Minute)
	w.wantLessons("a reply in Sent", "important by answered")
}

func TestMovesAreLabels(t *testing.T) {
	for _, c := range []struct {
		name  string
		from  string
		to    string
		flags []string
		want  []string
	}{
		{"to Junk", "INBOX", "Junk", nil, []string{"ordinary by junk"}},
		{"to Trash unread", "INBOX", "Trash", nil, []string{"ordinary by moved"}},
		{"to Trash read", "INBOX", "Trash", []string{`\Seen`}, nil},
		{"to a folder to keep", "INBOX", "Keep", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, testOptions())
			l, _ := w.deliver(c.from, mail("m@x", "a@example.com", owner, "some words"))
			w.move(l, c.to, c.flags...)
			w.wait(time.Minute)
			w.wantLessons(c.name, c.want...)
		})
	}
	t.Run("out of Junk", func(t *testing.T) {
		w := newWorld(t, testOptions())
		l, r := w.deliver("Junk", mail("m@x", "a@example.com", owner, "some words"))
		if r.Decision != nil {
			t.Fatalf("mail in Junk was decided: %+v", r.Decision)
		}
		w.move(l, "INBOX")
		w.wait(time.Minute)
		w.wantLessons("rescued", "important by moved")
	})
	t.Run("from Junk to Trash is a clean-up", func(t *testing.T) {
		w := newWorld(t, testOptions())
		l, _ := w.deliver("INBOX", mail("m@x", "a@example.com", owner, "some words"))
		l = w.move(l, "Junk")
		w.wait(time.Minute)
		w.wantLessons("to Junk", "ordinary by junk")
		w.move(l, "Trash")
		w.wait(time.Minute)
		w.wantLessons("Junk to Trash")
	})
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
