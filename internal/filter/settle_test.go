// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"fmt"
	"testing"
	"time"

	"github.com/hinged/hinged/store"
)

// rescue is the life of a mailbox in which a message that was first seen in Trash, and so not
// decided, is taken out of it days later. then is called right after that.
func (w *world) rescue(then func()) {
	w.t.Helper()
	thrown, _ := w.deliver("Trash", mail("old@x", "x@example.com", owner, "thrown away"), `\Seen`)
	for i := range 12 {
		w.deliver("INBOX", mail(fmt.Sprintf("m%d@x", i), "a@example.com", owner, fmt.Sprintf("words %d", i)))
		if i == 6 {
			w.move(thrown, "INBOX", `\Seen`)
			then()
		}
		w.now = w.now.Add(24 * time.Hour)
		w.deliver("Sent", mail(fmt.Sprintf("own%d@x", i), owner, "person1@example.com", fmt.Sprintf("something %d", i)))
		w.apply(&Ticked{At: w.moment()})
	}
}

// TestAMessageDecidedLateWaitsForSilenceAfterOthers: also after a restart, and in a replay that
// begins in between. Else it would stand before them, and hold up what their silence teaches.
func TestAMessageDecidedLateWaitsForSilenceAfterOthers(t *testing.T) {
	for _, window := range []int{1000, 0} { // without one the learner hears of silence once it is final
		o := testOptions()
		o.Dual.Window = window
		live, shaken := newWorld(t, o), newWorld(t, o)
		middle := 0
		live.rescue(func() { middle = len(live.journal) })
		shaken.restart = true
		shaken.rescue(func() {})
		base, err := Replay(store.NewState(), (&world{journal: live.journal[:middle]}).entries(), live.features)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Replay(base.State(), (&world{journal: live.journal[middle:]}).entries(), live.features)
		if err != nil {
			t.Fatal(err)
		}
		model, state := store.Digest(live.f.State())
		for name, f := range map[string]*Filter{"with restarts": shaken.f, "replayed": again} {
			if m, s := store.Digest(f.State()); m != model || s != state {
				t.Errorf("window %d, %s: model %s, state %s, %d ordinary; want %s, %s, %d", window, name,
					m, s, f.State().Account.Ordinary, model, state, live.f.State().Account.Ordinary)
			}
		}
	}
}
