// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/filter"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/store"
)

// gmail is a world whose mailboxes are labels.
func gmail(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, testOptions())
	for _, name := range []string{"INBOX", "Trash", "Junk", "Sent"} {
		box, _ := w.f.State().Boxes.Get(name)
		w.apply(&filter.Opened{At: w.moment(), Mailbox: name, Role: ingest.Role(box.Role), UIDValidity: 1, Labels: true})
	}
	w.validity["Important"] = 1
	w.apply(&filter.Opened{At: w.moment(), Mailbox: "Important", Role: ingest.RoleImportant, UIDValidity: 1, Labels: true})
	return w
}

// labelled has a letter appear in another mailbox and stay where it is. It arrived when it
// arrived.
func (w *world) labelled(l letter, mailbox string, away bool, flags ...string) letter {
	w.t.Helper()
	w.uids[mailbox]++
	m := w.reader.Read(l.raw)
	copied := letter{placeAt(mailbox, w.validity[mailbox], w.uids[mailbox]), m.Key, l.raw}
	w.apply(&filter.Arrived{
		At: w.row(l).Arrived, Seen: w.moment(), Place: copied.place, Flags: ingest.CanonicalFlags(flags), Away: away, Meta: filter.NewMeta(m), Message: m,
	})
	return copied
}

// TestWhatTheServerFindsImportantTeachesNothing has a letter appear in the label of
// important mail at the limit, just past it, and while we were away.
func TestWhatTheServerFindsImportantTeachesNothing(t *testing.T) {
	window := filter.ServerWindow + filter.DefaultOptions().Elsewhere
	for _, c := range []struct {
		after time.Duration
		flags []string
		away  bool
		want  []string
	}{
		{0, nil, false, nil},
		{window, nil, false, nil},
		{window, []string{`\Seen`}, false, nil},
		{window + time.Millisecond, nil, false, []string{"important by moved"}},
		{window + time.Millisecond, []string{`\Seen`}, false, []string{"important by moved"}},
		{time.Hour, []string{`\Seen`}, true, nil},
	} {
		w := gmail(t)
		l, _ := w.deliver("INBOX", mail("a@x", "a@example.com", owner, "some words"))
		w.now = w.now.Add(c.after)
		w.labelled(l, "Important", c.away, c.flags...)
		w.wait(time.Minute)
		w.wantLessons(fmt.Sprintf("after %v, %v, away %v", c.after, c.flags, c.away), c.want...)
	}
	// Where mailboxes are no labels, only the owner puts mail there.
	w := newWorld(t, testOptions())
	w.open("Important", ingest.RoleImportant, 1)
	l, _ := w.deliver("INBOX", mail("a@x", "a@example.com", owner, "some words"))
	w.labelled(l, "Important", true)
	w.wait(time.Minute)
	w.wantLessons("a folder", "important by moved")
}

// TestDeletedInALabelIsNotThrownAway: \Deleted takes the label off, and no more; in a
// folder it throws the message away.
func TestDeletedInALabelIsNotThrownAway(t *testing.T) {
	w := gmail(t)
	l, _ := w.deliver("INBOX", mail("a@x", "a@example.com", owner, "some words"))
	w.flag(l, `\Deleted`)
	w.wait(time.Hour)
	w.wantLessons("in a label")

	l, _ = w.deliver("Keep", mail("b@x", "b@example.com", owner, "other words"))
	w.flag(l, `\Deleted`)
	w.wait(time.Hour)
	w.wantLessons("in a folder", "ordinary by moved")
}

// TestMarkThatShowsInAnotherLabelFirstIsOurs: both mailboxes are watched by connections of
// their own, and the mark is seen in one before it is confirmed in the other.
func TestMarkThatShowsInAnotherLabelFirstIsOurs(t *testing.T) {
	for _, read := range [][]string{nil, {`\Seen`}} {
		w := gmail(t)
		w.teach()
		l, request := w.urgent(1)
		other := w.labelled(l, "Important", false)
		w.now = w.now.Add(time.Minute) // or, unread, it could be another program's
		w.flag(other, append(read, "$Important")...)
		w.done(request)
		w.wait(time.Hour)
		w.wantLessons("our own mark")
		w.wantLedger(request.ID, store.MarkConfirmed)
		if n := w.f.State().Account.Strangers; n != 0 {
			t.Errorf("%d marks were taken for another program's", n)
		}
		// The owner takes it off, which shows in both.
		w.flag(other, read...)
		w.flag(l, read...)
		w.wait(time.Hour)
		w.wantLessons("the mark taken off", "ordinary by mark")
		w.wantLedger(request.ID, store.MarkRefused)
	}
}

// markedUnderOne returns a letter under two labels of which the first, in INBOX, is known to
// bear our mark and the companion, and the request for that.
func markedUnderOne(t *testing.T) (w *world, l, other letter, request ingest.MarkRequest) {
	t.Helper()
	w = gmail(t)
	w.teach()
	l, request = w.urgent(1)
	other = w.labelled(l, "Important", false)
	w.done(request, ingest.Companion)
	return w, l, other, request
}

// TestMarkThatAnotherLabelTellsOfLateIsOurs: the flags of the other label were read before
// undo took the mark off, and are heard of after that. They are no other hinged's.
func TestMarkThatAnotherLabelTellsOfLateIsOurs(t *testing.T) {
	const mark, companion = "$Important", ingest.Companion
	w, _, other, _ := markedUnderOne(t)
	w.apply(&filter.UndoRequested{At: w.moment()})
	w.flag(other, mark, companion)
	if a := w.f.State().Account; a.Strangers != 0 || a.Twins != 0 || len(a.TwinMarks) != 0 {
		t.Errorf("%d marks of strangers, %d of them of another hinged, which marks with %q", a.Strangers, a.Twins, a.TwinMarks)
	}
	p, _ := w.f.State().Places.Get(placeKey(other.place))
	if len(p.Own) != 0 {
		t.Errorf("%q were taken for the owner's", p.Own)
	}
	w.wait(time.Hour)
	w.wantLessons("our own mark")
}

// TestMarkOfAnArchivedMessageIsTakenBack: another label told of the mark after it was set,
// and is the only one that is left.
func TestMarkOfAnArchivedMessageIsTakenBack(t *testing.T) {
	const mark, companion = "$Important", ingest.Companion
	w, l, other, request := markedUnderOne(t)
	w.flag(other, mark, companion)
	w.vanish(l)
	w.wait(time.Hour)
	w.marks = nil
	w.apply(&filter.UndoRequested{At: w.moment()})
	if r, asked := w.requestOf(request.ID); !asked || r.Flag != mark || r.Also != companion || r.Place != other.place {
		t.Errorf("asked back: %+v (%v), want %s and %s at %+v", r, asked, mark, companion, other.place)
	}
}

// TestLabelsAreKept: what is known of a mailbox survives a restart, and is renewed.
func TestLabelsAreKept(t *testing.T) {
	w := gmail(t)
	w.restart = true
	if !w.f.Ledger().Places.IsLabel("INBOX") || w.f.Ledger().Places.IsLabel("Keep") {
		t.Error("INBOX is no label, or Keep one")
	}
	w.apply(&filter.Opened{At: w.moment(), Mailbox: "INBOX", Role: ingest.RoleInbox, UIDValidity: 1})
	if w.f.Ledger().Places.IsLabel("INBOX") {
		t.Error("INBOX is a label still")
	}
}
