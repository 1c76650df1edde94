// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/filter/past"

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
	w := newWorld(t, testOptions())
	w.teach()
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
	if err != nil {
		w.t.Fatal(err)
	}
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
	w.wait(2 * time.Minute)
	w.wantLessons("answered", "important by answered")
	w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Important})
	w.wantLessons("said so, too")
	if s := w.row(l).Source; s != store.SourceExplicit {
		t.Fatalf("the source is %v, want explicit", s)
	}
}

func TestAHandedMessageThatArrivesLaterIsKnownAndNotMarked(t *testing.T) {
	for _, label := range []model.Label{model.Important, model.Ordinary} {
		w := newWorld(t, testOptions())
		w.teach()
		raw := mail("h@x", "boss@example.com", owner, "urgent file")
		w.hand(raw, label)
		w.lessons = nil
		l, r := w.deliver("INBOX", raw)
		if r.Decision != nil || len(w.marks) != 0 {
			t.Fatalf("%v: its arrival gave %+v and the marks %+v", label, r.Decision, w.marks)
		}
		w.wait(30 * 24 * time.Hour)
		w.flag(l, `\Seen`)
		w.wait(time.Hour)
		w.wantLessons("arrived")
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
	w := newWorld(t, testOptions())
	w.teach()
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
		calm, shaken := newWorld(t, testOptions()), newWorld(t, testOptions())
		shaken.restart = true
		calm.twin(seed)
		shaken.twin(seed)
		wantSameDigest(t, "restarted", calm.f, shaken.f)
		f, _, err := past.Replay(store.NewState(), calm.entries(), calm.features)
		if err != nil {
			t.Fatal(err)
		}
		wantSameDigest(t, "replay", calm.f, f)
	}
}
