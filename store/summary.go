// SPDX-License-Identifier: Apache-2.0

package store

// A summary is what follows from the rows of a checkpoint and takes long to gather, such as
// their order by something else than their keys. Whoever works with a state says how it is
// made (State.Summarise); Fold returns it; whoever stores the checkpoint keeps it beside that,
// and it is there again when the state is loaded (State.TakeSummary). It is no part of the
// state: no digest covers it, and a state that has none is as good.

// TakeSummary returns the summary of the checkpoint that the state was loaded from, and lets
// go of it; nil if there is none. It holds for the rows of that checkpoint: Based, BasedAt and
// Since tell what became of them.
func (s *State) TakeSummary() []byte {
	summary := s.summary
	s.summary = nil
	return summary
}

// SetSummary gives a state that was loaded the summary of its checkpoint, which the state owns
// from then on.
func (s *State) SetSummary(summary []byte) { s.summary = summary }

// Based returns how many rows the checkpoint had that t was loaded from, or that was written
// last, as long as one of them is in force. They are numbered from 0 in order of their keys.
func (t *Table[V]) Based() int { return len(t.packed.rows) }

// BasedKey returns the key of the i-th row of the checkpoint, and whether the row is in force
// as it was then. The key holds until t is changed.
func (t *Table[V]) BasedKey(i int) (key []byte, inForce bool) {
	return t.packed.key(i), !t.packed.isGone(i)
}

// BasedAt returns the i-th row of the checkpoint, in force or not, and whether it could be
// read.
func (t *Table[V]) BasedAt(i int) (row V, ok bool) {
	ok = t.unpack(i, &row)
	return row, ok
}

// Since calls gone with the rows of the checkpoint that are not in force any more, and now
// with those that came since, changed ones included, each in any order. Both must change
// neither the rows nor t.
func (t *Table[V]) Since(gone func(row *V), now func(key []byte, row *V)) {
	if t.packed.dead > 0 {
		var row V
		for i := range t.packed.rows {
			if t.packed.isGone(i) && t.unpack(i, &row) {
				gone(&row)
			}
		}
	}
	t.eachChanged(now)
}
