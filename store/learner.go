// SPDX-License-Identifier: Apache-2.0

package store

import (
	"maps"
	"slices"
)

// Learner returns a copy of s as far as learning and deciding are concerned: the account
// row, what was learnt, and the windows of scores, with no message, sender or mark. It is
// to be worked on and never committed.
func (s *State) Learner() *State {
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
