// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/past"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// hand gives the filter a message with a label, as `hinged learn FILE` does.
func (w *world) hand(raw []byte, label model.Label) (letter, filter.Result) {
	w.t.Helper()
	m := w.reader.Read(raw)
	return letter{key: m.Key, raw: raw}, w.apply(&filter.Labelled{At: w.moment(), Label: label, Handed: &filter.Arrived{Meta: filter.NewMeta(m), Message: m}})
}

func TestAHandedMessageIsDecidedRecordedAndLearntAtOnce(t *testing.T) {
	w := taught(t, testOptions())
	before, judged := w.f.State().Account, w.f.Status.Judgement().Decisions
	l, r := w.hand(mail("h@x", "boss@example.com", owner, "urgent file"), model.Ordinary)
	w.wantLessons("handed over", "ordinary by explicit")
	if r.Decision == nil || r.Decision.Outcome != store.DecidedImportant || r.Features == nil {
		t.Fatalf("the result is %+v, want a decision for important with its features", r)
	}
	row := w.row(l)
	if row.Label != model.Ordinary || row.Source != store.SourceExplicit || row.Reason != store.ReasonHandedOver || row.Copies != 0 || row.Score != r.Decision.Score {
		t.Fatalf("the row is %+v", row)
	}
	after := w.f.State().Account
	if after.Messages != before.Messages+1 || after.Decided != before.Decided+1 || w.f.Status.Judgement().Decisions.FalseAlarms != judged.FalseAlarms+1 {
		t.Fatalf("the account went from %+v to %+v", before, after)
	}
	if len(w.marks) != 0 {
		t.Fatalf("marks were requested: %+v", w.marks)
	}
	if got := w.f.Learner().Score(w.vector(l)); got >= r.Decision.Score {
		t.Fatalf("the score went from %v to %v, want it lower", r.Decision.Score, got)
	}
}

func (w *world) vector(l letter) model.Vector {
	w.t.Helper()
	x, err := w.features.Features(l.key)
	testkit.OK(w.t, err)
	return x.Vector()
}

func TestTheSameLabelTwiceChangesNothingAndTheOtherIsANewLesson(t *testing.T) {
	w := newWorld(t, testOptions())
	l, _ := w.hand(mail("h@x", "a@example.com", owner, "some file"), model.Important)
	w.wantLessons("first", "important by explicit")
	if _, r := w.hand(l.raw, model.Important); r.Changed {
		t.Fatalf("handed over again: %+v", r)
	}
	if r := w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Important}); r.Changed {
		t.Fatalf("labelled again: %+v", r)
	}
	w.wantLessons("said again")
	w.hand(l.raw, model.Ordinary)
	w.wantLessons("the other label", "ordinary by explicit")
	if got := w.f.State().Account.Messages; got != 1 {
		t.Fatalf("%d messages, want 1", got)
	}
}

func TestAWeakerLabelIsMadeExplicitWithoutASecondLesson(t *testing.T) {
	w := newWorld(t, testOptions())
	l, _ := w.deliver("INBOX", mail("m@x", "a@example.com", owner, "words"))
	w.flag(l, `\Answered`)
	w.teaches(2*time.Minute, "answered", "important by answered")
	w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Important})
	w.wantLessons("said so, too")
	if s := w.row(l).Source; s != store.SourceExplicit {
		t.Fatalf("the source is %v, want explicit", s)
	}
}

func TestAHandedMessageThatArrivesLaterIsKnownAndNotMarked(t *testing.T) {
	for _, label := range []model.Label{model.Important, model.Ordinary} {
		w := taught(t, testOptions())
		raw := mail("h@x", "boss@example.com", owner, "urgent file")
		w.hand(raw, label)
		w.lessons = nil
		l, r := w.deliver("INBOX", raw)
		if r.Decision != nil || len(w.marks) != 0 {
			t.Fatalf("%v: its arrival gave %+v and the marks %+v", label, r.Decision, w.marks)
		}
		w.wait(30 * 24 * time.Hour)
		w.flag(l, `\Seen`)
		w.teaches(time.Hour, "arrived")
		if m := w.row(l); m.Copies != 1 || m.Label != label {
			t.Fatalf("%v: the row is %+v", label, m)
		}
	}
}

func TestOwnMailIsNotLearntFrom(t *testing.T) {
	w := newWorld(t, testOptions())
	if _, r := w.hand(mail("own@x", owner, "a@example.com", "words"), model.Important); r.Changed {
		t.Fatalf("own mail by its From: %+v", r)
	}
	// By its folder: an alias that nobody configured.
	l, _ := w.deliver("Sent", mail("alias@x", "alias@example.org", "a@example.com", "words"))
	if _, r := w.hand(l.raw, model.Important); r.Changed {
		t.Fatalf("own mail by its folder: %+v", r)
	}
	w.wantLessons("own mail")
}

func TestMailOfAnExcludedFolderCanBeHandedOver(t *testing.T) {
	w := taught(t, testOptions())
	l, _ := w.deliver("Junk", mail("j@x", "boss@example.com", owner, "urgent junk"))
	if r := w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Important}); r.Changed {
		t.Fatalf("without its content there is nothing to learn from: %+v", r)
	}
	w.hand(l.raw, model.Important)
	w.wantLessons("from Junk", "important by explicit")
	w.move(l, "INBOX")
	if len(w.marks) != 0 {
		t.Fatalf("it was marked when it came back: %+v", w.marks)
	}
}

// twin plays a life in which the owner hands messages over and pauses.
func (w *world) twin(seed uint64) {
	w.t.Helper()
	w.teach()
	w.storm(seed, 150)
	for i := range 40 {
		label := model.Important
		if i%3 == 0 {
			label = model.Ordinary
		}
		w.now = w.now.Add(time.Minute)
		w.hand(mail(fmt.Sprintf("hand%d-%d@x", seed, i), fmt.Sprintf("person%d@example.com", i%8), owner, fmt.Sprintf("invoice %d", i)), label)
		if i%10 == 0 {
			w.apply(&filter.Paused{At: w.moment()})
			w.deliver("INBOX", mail(fmt.Sprintf("away%d-%d@x", seed, i), "boss@example.com", owner, "urgent"))
			w.wait(100 * time.Hour)
			w.apply(&filter.Resumed{At: w.moment()})
		}
	}
	w.storm(seed+1000, 150)
}

func TestReplayOfHandedMessagesAndPausesGivesTheSameState(t *testing.T) {
	for seed := range uint64(4) {
		threeWays(t, testOptions(), func(w *world) { w.twin(seed) })
	}
}

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
	copied, _ := w.arrived(mailbox, l.raw, filter.Arrived{At: w.row(l).Arrived, Seen: w.moment(), Away: away}, flags...)
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
		w.teaches(time.Minute, fmt.Sprintf("after %v, %v, away %v", c.after, c.flags, c.away), c.want...)
	}
	// Where mailboxes are no labels, only the owner puts mail there.
	w := newWorld(t, testOptions())
	w.open("Important", ingest.RoleImportant, 1)
	l, _ := w.deliver("INBOX", mail("a@x", "a@example.com", owner, "some words"))
	w.labelled(l, "Important", true)
	w.teaches(time.Minute, "a folder", "important by moved")
}

// TestDeletedInALabelIsNotThrownAway: \Deleted takes the label off, and no more; in a
// folder it throws the message away.
func TestDeletedInALabelIsNotThrownAway(t *testing.T) {
	w := gmail(t)
	l, _ := w.deliver("INBOX", mail("a@x", "a@example.com", owner, "some words"))
	w.flag(l, `\Deleted`)
	w.teaches(time.Hour, "in a label")

	l, _ = w.deliver("Keep", mail("b@x", "b@example.com", owner, "other words"))
	w.flag(l, `\Deleted`)
	w.teaches(time.Hour, "in a folder", "ordinary by moved")
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
		w.teaches(time.Hour, "our own mark")
		w.wantLedger(request.ID, store.MarkConfirmed)
		if n := w.f.State().Account.Strangers; n != 0 {
			t.Errorf("%d marks were taken for another program's", n)
		}
		// The owner takes it off, which shows in both.
		w.flag(other, read...)
		w.flag(l, read...)
		w.teaches(time.Hour, "the mark taken off", "ordinary by mark")
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
	w.teaches(time.Hour, "our own mark")
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

func TestWhatTheOwnerDidWithAMessageIsCountedOnce(t *testing.T) {
	w := newWorld(t, testOptions())
	l, _ := w.deliver("INBOX", mail("1@x", "ann@example.net", "me@example.org", "dinner on Sunday"))
	count := func(what string, want store.Sender) {
		t.Helper()
		s, _ := w.f.State().Senders.Get(filter.SenderOf("ann@example.net").Key())
		got := store.Sender{Read: s.Read, Binned: s.Binned, Unread: s.Unread, Wanted: s.Wanted, Unwanted: s.Unwanted}
		if got != want {
			t.Errorf("%s: the sender's row has %+v, want %+v", what, got, want)
		}
	}
	m := w.row(l)
	for _, c := range []struct {
		name string
		what store.Handling
		want store.Sender
	}{
		{"read", store.HandledRead, store.Sender{Read: 1}},
		{"read once more", store.HandledRead, store.Sender{Read: 1}},
		{"deleted", store.HandledBinned, store.Sender{Binned: 1}},
		{"left unread", store.HandledUnread, store.Sender{Unread: 1}},
		{"called ordinary", store.HandledUnwanted, store.Sender{Unwanted: 1}},
		{"taken back", store.HandledNothing, store.Sender{}},
		{"starred", store.HandledWanted, store.Sender{Wanted: 1}},
	} {
		w.f.Handle(&m, c.what)
		count(c.name, c.want)
	}
	w.f.State().Messages.Put(string(l.key[:]), m)
	w.deliver("INBOX", mail("2@x", "ann@example.net", "me@example.org", "dinner on Monday"))
	w.rewrite(&past.ForgetRequested{Key: l.key})
	count("forgotten", store.Sender{})
}
