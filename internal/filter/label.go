// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"github.com/hinged/hinged/store"
)

// stood notes that the label of m is as it was said, by a stronger source. A provisional one is
// none any more.
func (f *Voice) stood(k store.MessageKey, m *store.Message, source store.Source) {
	for _, t := range f.followers {
		t.Stood(k)
	}
	m.Source = source
}

// accept reports whether a label for m is news: not what was learnt already,
// and not weaker than what was. A repeated label only strengthens the source that
// stands behind it and withdraws a contrary pending one.
//
// A provisional label is no word of the owner's, and reading hardly one. The first that is
// gets learnt in its place, also when it says the same.
func (f *Voice) accept(k store.MessageKey, m store.Message, what said) (store.Message, bool) {
	light := m.Source == store.SourceProvisional || m.Source == store.SourceRead || m.Source == store.SourceFound
	if m.Label == what.label && (!light || f.opts.weightOf(what.label, what.source) <= f.opts.ImplicitWeight) {
		if !m.Pending.Source.Outranks(what.strength()) {
			if m.Pending.Label != 0 && !f.Holds(k, &m, nil) { // this gives the label from now on
				m.Source = what.source
			}
			m.Pending = store.Pending{}
		}
		if what.source.Outranks(m.Source) {
			f.stood(k, &m, what.source)
		}
		return m, false
	}
	if m.Label != 0 && !m.Pending.Back && m.Source.Outranks(what.strength()) {
		return m, false
	}
	if m.Pending.Label != 0 && !m.Pending.Back && m.Pending.Source.Outranks(what.strength()) {
		return m, false
	}
	return m, true
}

// label gives m, whose key is k, a label that counts once it has stood for the
// settle window; with no window, at once. The caller puts the row.
func (f *Voice) label(k store.MessageKey, m *store.Message, what said, with manner, r *Result) error {
	if m.Outcome == store.Undecided {
		return nil // own mail and excluded folders teach nothing
	}
	row, fresh := f.accept(k, *m, what)
	*m = row
	if !fresh {
		return nil
	}
	if f.opts.Settle == 0 && what.after == 0 {
		m.Pending = store.Pending{}
		return f.Teacher.learn(k, m, what.label, what.source, r)
	}
	since := f.st.Account.Clock.Add(what.after)
	queued := m.Pending.Label != 0 && m.Pending.Since == since
	m.Pending = store.Pending{Label: what.label, Source: what.source, Since: since, Single: with.single, Batch: with.batch}
	if !queued {
		f.Waits.settling.push(since, m.Seq, k)
	}
	return nil
}
