// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"testing"

	"github.com/hinged/hinged/internal/filter"

	"github.com/hinged/hinged/store"
)

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
