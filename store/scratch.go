// SPDX-License-Identifier: Apache-2.0

package store

import (
	"maps"
	"slices"
)

// Scratch returns a copy of what learning and deciding need: the account row, what was
// learnt, and the windows of scores, without messages, senders and marks. It is for work
// that is never committed.
func (s *State) Scratch() *State {
	out := NewState()
	out.Account, out.Weights = s.Account, s.Weights.Clone()
	s.Labelled.copyTo(out.Labelled)
	s.Recent.copyTo(out.Recent)
	s.Supports.copyTo(out.Supports)
	s.Window.copyTo(out.Window)
	s.Prior.copyTo(out.Prior)
	out.at.Detached = true
	return out
}

// copyTo gives an empty table the rows of t. Rows share what they point to, as those that
// Get returns do.
func (t *Table[V]) copyTo(to *Table[V]) {
	to.packed, to.broken = t.packed, t.broken
	to.packed.gone = slices.Clone(t.packed.gone)
	to.by8, to.by16, to.byRest = maps.Clone(t.by8), maps.Clone(t.by16), maps.Clone(t.byRest)
}
