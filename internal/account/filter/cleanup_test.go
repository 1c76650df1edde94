// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/account/filter"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/store"
)

// many delivers n messages and waits until they are old news.
func (w *world) many(n int, flags ...string) []letter {
	w.t.Helper()
	var all []letter
	for i := range n {
		l, _ := w.deliver("INBOX", mail(fmt.Sprintf("b%d@x", i), "a@example.com", owner, fmt.Sprint("words ", i)), flags...)
		all = append(all, l)
	}
	w.wait(time.Hour)
	w.lessons = nil
	return all
}

// take moves a message as a source reports it that looked in between.
func (w *world) take(l letter, to string, away bool, modseq uint64, flags ...string) letter {
	w.t.Helper()
	w.vanish(l)
	ago := w.moment().Add(-30 * 24 * time.Hour)
	moved, _ := w.arrived(to, l.raw, filter.Arrived{At: ago, Seen: w.moment(), Dated: ago, Away: away, ModSeq: modseq}, flags...)
	return moved
}

// TestOneCommandWhileWeWereAwayIsACleanUp (R8): what shares one MODSEQ was done at
// once, whenever that was.
func TestOneCommandWhileWeWereAwayIsACleanUp(t *testing.T) {
	for _, c := range []struct {
		name   string
		n      int
		modseq func(i int) uint64
		move   bool
		want   int
	}{
		{"as many flags as may be", 50, func(int) uint64 { return 7 }, false, 50},
		{"one more", 51, func(int) uint64 { return 7 }, false, 0},
		{"one by one over a week", 200, func(i int) uint64 { return uint64(7 + i) }, false, 200},
		{"two commands of 30", 60, func(i int) uint64 { return uint64(7 + i%2) }, false, 60},
		{"no CONDSTORE", 200, func(int) uint64 { return 0 }, false, 200},
		{"as many moves as may be", 50, func(int) uint64 { return 7 }, true, 50},
		{"one move more", 51, func(int) uint64 { return 7 }, true, 0},
		{"moves one by one over a week", 200, func(i int) uint64 { return uint64(7 + i) }, true, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, testOptions())
			letters := w.many(c.n)
			for i, l := range letters {
				w.now = w.now.Add(time.Second) // a slow server: found over minutes
				if c.move {
					w.take(l, "Junk", true, c.modseq(i))
				} else {
					w.apply(&filter.Flagged{At: w.moment(), Place: l.place, Flags: []string{"$junk"}, Away: true, ModSeq: c.modseq(i)})
				}
			}
			w.wait(2 * time.Minute)
			if len(w.lessons) != c.want {
				t.Errorf("%d lessons, want %d", len(w.lessons), c.want)
			}
			if got := w.f.State().Account.Bulk; got != uint64(c.n-c.want) {
				t.Errorf("%d labels withdrawn, want %d", got, c.n-c.want)
			}
		})
	}
}

// TestALargeCleanUpTeachesNothingToItsEnd (R8): 5,000 messages that are found over ten
// minutes, so that its beginning settles long before its end is seen, and its end is
// few.
func TestALargeCleanUpTeachesNothingToItsEnd(t *testing.T) {
	for name, with := range map[string]filter.Flagged{"seen live": {}, "while away": {Away: true, ModSeq: 9}} {
		t.Run(name, func(t *testing.T) { testLargeCleanUp(t, with) })
	}
}

func testLargeCleanUp(t *testing.T, with filter.Flagged) {
	const n = 5020 // 501 are seen within one settle window
	w := newWorld(t, testOptions())
	letters := w.many(n)
	for _, l := range letters {
		w.wait(120 * time.Millisecond)
		with.At, with.Place, with.Flags = w.moment(), l.place, []string{`\flagged`}
		e := with
		w.apply(&e)
	}
	w.wait(2 * time.Minute)
	if len(w.lessons) > 0 || w.f.State().Account.Bulk != n {
		t.Fatalf("%d lessons of %d stars, %d withdrawn; want none, all", len(w.lessons), n, w.f.State().Account.Bulk)
	}
	// A single star of the next hour is an opinion again.
	w.wait(time.Hour)
	l, _ := w.deliver("INBOX", mail("single@x", "a@example.com", owner, "single words"))
	w.flag(l, `\Flagged`)
	w.teaches(time.Minute, "a single star", "important by flagged")
}

// TestAMoveOfStarredMailSaysNothingOfTheStars (R8): the stars were set earlier, learnt
// or not, and come along.
func TestAMoveOfStarredMailSaysNothingOfTheStars(t *testing.T) {
	for name, to := range map[string]string{"to keep": "Keep", "to Trash": "Trash", "to Junk": "Junk", "to Important": "Priority"} {
		for _, n := range []int{1, 50, 120} {
			for _, away := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d %s, away %v", n, name, away), func(t *testing.T) {
					w := newWorld(t, testOptions())
					w.open("Priority", ingest.RoleImportant, 1)
					letters := w.many(120)
					for _, l := range letters { // at once, so that they teach nothing
						w.flag(l, `\Flagged`, `\Seen`, "$Important")
					}
					w.teaches(time.Hour, "a clean-up")
					for _, l := range letters[:n] {
						w.take(l, to, away, 9, `\Flagged`, `\Seen`, "$Important")
					}
					w.wait(time.Hour)
					for _, l := range w.lessons {
						if n > 50 || l.Source == store.SourceFlagged || l.Source == store.SourceMark {
							t.Fatalf("learnt %v by %v", l.Label, l.Source)
						}
					}
					if speaks := to == "Junk" || to == "Priority"; n <= 50 && speaks != (len(w.lessons) == n) {
						t.Fatalf("%d lessons from %d moves", len(w.lessons), n)
					}
				})
			}
		}
	}
}

// A star that is set after its message moved is news, also on a copy of it.
func TestANewFlagOnAMovedMessageIsHeard(t *testing.T) {
	w := newWorld(t, testOptions())
	l := w.many(1)[0]
	l = w.take(l, "Keep", false, 0, `\Flagged`)
	w.teaches(time.Minute, "a star that came with the move", "important by flagged")
	w.flag(l)
	l = w.take(l, "INBOX", false, 0)
	w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: -1, Source: store.SourceMark})
	w.teaches(time.Minute, "taken back", "ordinary by mark")
	w.take(l, "Keep", false, 0, `\Flagged`, "$Important", `\Seen`)
	w.teaches(time.Minute, "set once more", "important by mark")
}

// seenInJunkAfter has a message seen in Junk, where it lay for a moment, only after it was
// seen back.
func (w *world) seenInJunkAfter(back letter) {
	w.t.Helper()
	there, _ := w.deliver("Junk", back.raw)
	w.apply(&filter.Vanished{At: w.moment(), Mailbox: "Junk", UIDValidity: there.place.UIDValidity, UIDs: []uint32{there.place.UID}})
}

// fate is what happens to a message, and what it teaches.
type fate struct {
	name string
	do   func(w *world, l letter)
	want []string
}

func (c fate) comes(t *testing.T, takes bool) {
	t.Run(c.name, func(t *testing.T) {
		w := newWorld(t, testOptions())
		w.takes = takes
		c.do(w, w.many(1)[0])
		w.teaches(time.Hour, c.name, c.want...)
	})
}

// TestJunkAndBack (R6): what is taken back within the settle window was never said; later
// it is the later word that counts.
func TestJunkAndBack(t *testing.T) {
	for _, c := range []fate{
		{"out of Junk", func(w *world, _ letter) {
			l, r := w.deliver("Junk", mail("m@x", "a@example.com", owner, "some words"))
			if r.Decision != nil {
				w.t.Errorf("mail in Junk was decided: %+v", r.Decision)
			}
			w.move(l, "INBOX")
		}, []string{"important by moved"}},
		{"back within the window", func(w *world, l letter) {
			l = w.take(l, "Junk", false, 0)
			w.wait(time.Minute - time.Millisecond)
			w.take(l, "INBOX", false, 0)
		}, nil},
		{"back when it has passed", func(w *world, l letter) {
			l = w.take(l, "Junk", false, 0)
			w.wait(time.Minute)
			w.take(l, "INBOX", false, 0)
		}, []string{"ordinary by junk"}},
		{"there again", func(w *world, l letter) {
			l = w.take(l, "Junk", false, 0)
			w.wait(time.Hour)
			l = w.take(l, "INBOX", false, 0)
			w.wait(time.Hour)
			w.take(l, "Junk", false, 0)
		}, []string{"ordinary by junk", "ordinary by junk"}},
		{"back before it was seen there", func(w *world, l letter) {
			w.seenInJunkAfter(w.move(l, "INBOX"))
		}, nil},
		{"back before it was seen there, and there again", func(w *world, l letter) {
			back := w.move(l, "INBOX")
			w.seenInJunkAfter(back)
			w.wait(time.Hour)
			w.take(back, "Junk", false, 0)
		}, []string{"ordinary by junk"}},
		{"gone from Junk before it is seen to be gone from INBOX", func(w *world, l letter) {
			there, _ := w.deliver("Junk", l.raw)
			w.wait(time.Hour)
			w.apply(&filter.Vanished{At: w.moment(), Mailbox: "Junk", UIDValidity: there.place.UIDValidity, UIDs: []uint32{there.place.UID}})
			w.take(l, "INBOX", false, 0)
		}, []string{"ordinary by junk"}},
		{"by keyword, within the window", func(w *world, l letter) {
			w.flag(l, "$Junk")
			w.wait(time.Minute - time.Millisecond)
			w.flag(l, "$NotJunk")
		}, nil},
		{"by keyword, later", func(w *world, l letter) {
			w.flag(l, "$Junk")
			w.wait(time.Minute)
			w.flag(l, "$NotJunk")
		}, []string{"ordinary by junk"}},
		{"by keyword and move, within the window", func(w *world, l letter) {
			w.flag(l, "Junk")
			l = w.take(l, "Junk", false, 0, "Junk")
			w.wait(30 * time.Second)
			w.flag(l, "NonJunk")
			w.take(l, "INBOX", false, 0, "NonJunk")
		}, nil},
		{"by keyword and move, later", func(w *world, l letter) {
			w.flag(l, "Junk")
			l = w.take(l, "Junk", false, 0, "Junk")
			w.wait(time.Hour)
			w.flag(l, "NonJunk")
			w.take(l, "INBOX", false, 0, "NonJunk")
		}, []string{"ordinary by junk"}},
		{"by copy and delete, within the window", func(w *world, l letter) {
			w.take(l, "Junk", false, 0)
			w.wait(30 * time.Second)
			w.copy(l, "INBOX")
		}, nil},
		{"the owner's own mark is stronger", func(w *world, l letter) {
			w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: -1, Source: store.SourceMark})
			w.wait(time.Hour)
			l = w.take(l, "Junk", false, 0)
			w.wait(time.Hour)
			w.take(l, "INBOX", false, 0)
		}, []string{"ordinary by mark"}},
		{"from Junk to Trash", func(w *world, l letter) {
			l = w.take(l, "Junk", false, 0)
			w.wait(time.Hour)
			w.take(l, "Trash", false, 0)
		}, []string{"ordinary by junk"}},
	} {
		c.comes(t, true)
	}
}

// copy puts another copy of a message into a mailbox.
func (w *world) copy(l letter, to string, flags ...string) letter {
	w.t.Helper()
	c, _ := w.deliver(to, l.raw, flags...)
	return c
}

// TestDeletedUnreadWaitsForTheOtherCopy (R6): a mail program without MOVE copies,
// deletes and expunges; that is a move, and says what a move says.
func TestDeletedUnreadWaitsForTheOtherCopy(t *testing.T) {
	elsewhere := testOptions().Elsewhere
	for _, c := range []fate{
		{"to Trash unread", func(w *world, l letter) { w.move(l, "Trash") }, []string{"ordinary by moved"}},
		{"to Trash read", func(w *world, l letter) { w.flag(l, `\Seen`); w.move(l, "Trash", `\Seen`) }, nil},
		{"to a folder to keep", func(w *world, l letter) { w.move(l, "Keep") }, nil},
		{"nowhere else", func(w *world, l letter) { w.flag(l, `\Deleted`) }, []string{"ordinary by moved"}},
		{"undeleted in time", func(w *world, l letter) {
			w.flag(l, `\Deleted`)
			w.wait(elsewhere + time.Minute - time.Millisecond)
			w.flag(l)
		}, nil},
		{"the copy is seen first", func(w *world, l letter) {
			w.copy(l, "Keep")
			w.flag(l, `\Deleted`)
		}, nil},
		{"the copy is seen in time", func(w *world, l letter) {
			w.flag(l, `\Deleted`)
			w.vanish(l)
			w.wait(elsewhere + time.Minute - time.Millisecond)
			w.copy(l, "Keep")
		}, nil},
		{"copied to Trash", func(w *world, l letter) {
			w.copy(l, "Trash")
			w.flag(l, `\Deleted`)
		}, []string{"ordinary by moved"}},
		{"copied to Junk", func(w *world, l letter) {
			w.flag(l, `\Deleted`)
			w.wait(time.Minute)
			w.copy(l, "Junk")
		}, []string{"ordinary by junk"}},
		{"read, then deleted", func(w *world, l letter) { w.flag(l, `\Deleted`, `\Seen`) }, nil},
		{"for good at once", func(w *world, l letter) { w.vanish(l) }, []string{"ordinary by moved"}},
		{"for good at once, or who knows", func(w *world, l letter) {
			w.apply(&filter.Vanished{At: w.moment(), Mailbox: "INBOX", UIDValidity: 1, UIDs: []uint32{l.place.UID}, Unclear: true})
		}, nil},
		{"for good at once, read", func(w *world, l letter) { w.flag(l, `\Seen`); w.vanish(l) }, nil},
		{"for good, one of two copies", func(w *world, l letter) { w.copy(l, "Keep"); w.vanish(l) }, nil},
		{"for good, and it turns up in time", func(w *world, l letter) {
			w.vanish(l)
			w.wait(elsewhere + time.Minute - time.Millisecond)
			w.copy(l, "Keep")
		}, nil},
		{"for good, and it turns up in Trash", func(w *world, l letter) { w.vanish(l); w.wait(time.Minute); w.copy(l, "Trash") }, []string{"ordinary by moved"}},
		{"for good, after it was starred", func(w *world, l letter) { w.flag(l, `\Flagged`); w.vanish(l) }, []string{"important by flagged"}},
	} {
		c.comes(t, false)
	}
	t.Run("not before its time, which is told", func(t *testing.T) {
		w := newWorld(t, testOptions())
		l := w.many(1)[0]
		w.flag(l, `\Deleted`)
		end := w.moment().Add(elsewhere + time.Minute)
		w.now = w.now.Add(time.Second)
		w.vanish(l) // does not begin the wait anew
		if c := w.f.Status.Counts(); c.Pending != 1 || c.Settled != end {
			t.Errorf("%d labels are pending until %v, want 1 until %v", c.Pending, c.Settled.Time(), end.Time())
		}
		w.now = end.Time().Add(-time.Millisecond)
		w.teaches(0, "a moment before")
		w.teaches(time.Millisecond, "then", "ordinary by moved")
	})
	t.Run("many at once are a clean-up", func(t *testing.T) {
		w := newWorld(t, testOptions())
		for _, l := range w.many(51) {
			w.vanish(l)
		}
		w.teaches(time.Hour, "51 at once")
	})
}

// TestAReplacementOfAllFlagsIsNoRefusal (R2): the mark alone taken off is the owner's
// word. Gone together with what else was there, or as something else came, it is not;
// in any case it is never set again.
func TestAReplacementOfAllFlagsIsNoRefusal(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after []string
		refused       bool
	}{
		{"the mark alone", []string{"$Important", `\Seen`}, []string{`\Seen`}, true},
		{"the mark alone, unread", []string{"$Important"}, nil, true},
		{"beside the owner's own keyword", []string{"$Important", "$label1", `\Seen`}, []string{"$label1", `\Seen`}, true},
		{"replaced by read", []string{"$Important"}, []string{`\Seen`}, false},
		{"replaced by nothing", []string{"$Important", `\Answered`, `\Seen`}, nil, false},
		{"a keyword went too", []string{"$Important", "$label1", `\Seen`}, []string{`\Seen`}, false},
		{"with the companion left", []string{"$Important", "$Hinged"}, []string{`\Seen`, "$Hinged"}, true},
		{"with the companion gone", []string{"$Important", "$Hinged", `\Seen`}, []string{`\Seen`}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := taught(t, testOptions())
			l, m := w.urgent(1)
			w.done(m, c.before...)
			w.wait(time.Hour)
			w.lessons = nil
			w.flag(l, c.after...)
			w.wait(time.Hour)
			var want []string
			state := store.MarkConfirmed
			if c.refused {
				want, state = []string{"ordinary by mark"}, store.MarkRefused
			}
			w.wantLessons(c.name, want...)
			w.wantLedger(m.ID, state)

			w.marks = nil
			moved := w.move(l, "Keep", c.after...)
			w.open("Keep", ingest.RoleOther, 2)
			w.deliver("Keep", moved.raw)
			w.deliver("INBOX", append(moved.raw, "a list footer\r\n"...))
			if len(w.marks) != 0 {
				t.Fatalf("it was marked again: %v", w.marks)
			}
		})
	}
	t.Run("put back", func(t *testing.T) {
		w := taught(t, testOptions())
		l, _ := w.marked(1)
		w.flag(l, `\Seen`)
		w.wait(time.Hour)
		w.flag(l, `\Seen`, "$Important")
		w.teaches(time.Hour, "a mark of ours that was wiped and put back")
	})
}
