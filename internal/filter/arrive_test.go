package filter

import "testing"

// A stream has no mailboxes: its mail must be decided as any other, and must not
// fill the state with places, of which there would be more every day.
func TestAnArrivalWithoutAPlaceIsDecidedOnceAndLeavesNone(t *testing.T) {
	w := newWorld(t, testOptions())
	active := w.f.State().Account.ActiveDays
	arrive := func() Result {
		m := w.reader.Read([]byte("From: a@example.org\r\nSubject: plan\r\n\r\nthe plan\r\n"))
		return w.apply(&Arrived{At: w.moment(), Meta: NewMeta(m), Message: m})
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
