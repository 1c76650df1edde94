// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"github.com/hinged/hinged/store"
)

// A state out of a backup does not know what was marked since, nor what the owner
// took the mark off. The mail in question arrives once more, with or without a
// mark. It must not be marked, because of those taken off: the source reports it
// as backlog. And a mark that it comes with must teach nothing, because it may be
// our own.

// apply notes that the mailboxes may have moved on without the state.
// What has settled is learnt by the next tick, if the account is not paused.
func (e *Restored) apply(f *Filter, r *Result) error {
	r.Changed = true
	a := &f.st.Account
	a.Clock, a.Restored = max(a.Clock, e.At), true
	// A mark that is absent may have been set and taken off, so it is not asked for
	// again; one that is there is ours (appeared).
	f.ledger.Entries.Abandon(func(store.LedgerEntry) bool { return true })
	for _, name := range f.st.Boxes.Keys() {
		box, _ := f.st.Boxes.Get(name)
		box.RestoredBefore = store.RestoredPending
		f.st.Boxes.Put(name, box)
	}
	return nil
}

// perhapsOurs returns the marks of an arrival that may have been set by a daemon
// whose state is lost.
func (f *Arrivals) perhapsOurs(e *Arrived) []string {
	if !f.ledger.Places.Doubtful(e.Place) {
		return nil
	}
	return f.ledger.MarksAmong(e.Flags)
}
