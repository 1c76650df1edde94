// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/filter/past"

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
		w.apply(&filter.Ticked{At: w.moment()})
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
		base, _, err := past.Replay(store.NewState(), (&world{journal: live.journal[:middle]}).entries(), live.features)
		if err != nil {
			t.Fatal(err)
		}
		again, _, err := past.Replay(base.State(), (&world{journal: live.journal[middle:]}).entries(), live.features)
		if err != nil {
			t.Fatal(err)
		}
		model, state := store.Digest(live.f.State())
		for name, f := range map[string]*filter.Filter{"with restarts": shaken.f, "replayed": again} {
			if m, s := store.Digest(f.State()); m != model || s != state {
				t.Errorf("window %d, %s: model %s, state %s, %d ordinary; want %s, %s, %d", window, name,
					m, s, f.State().Account.Ordinary, model, state, live.f.State().Account.Ordinary)
			}
		}
	}
}

// TestAForgottenMessageThatComesAgainWaitsAsANewOne: on the same active day it has the same place
// in the queue of silences live and after a restart.
func TestAForgottenMessageThatComesAgainWaitsAsANewOne(t *testing.T) {
	o := testOptions()
	o.SilenceDays = 3
	w := newWorld(t, o)
	w.deliver("INBOX", mail("p@x", "p@example.com", owner, "one"))
	a, _ := w.deliver("INBOX", mail("a@x", "a@example.com", owner, "two"))
	w.deliver("INBOX", mail("b@x", "b@example.com", owner, "three"))
	m, _ := w.f.State().Messages.Get(string(a.key[:]))
	w.f.Lose(a.key, &m)
	w.deliver("INBOX", mail("a@x", "a@example.com", owner, "two"))
	live := w.f.WaitingInOrder()
	w.f.Rebuild()
	if again := w.f.WaitingInOrder(); !slices.Equal(live, again) {
		t.Errorf("live %x, after a restart %x", live, again)
	}
}
