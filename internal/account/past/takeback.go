// SPDX-License-Identifier: Apache-2.0

package past

import (
	"cmp"
	"maps"
	"slices"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/store"
)

// TakeBackRequested takes back the lessons of all that is filter.TakenBack, those alone that the
// owner took back: what a message had taught before stands again.
type TakeBackRequested struct{ At store.Moment }

// taken is what becomes of a message whose lesson is taken back.
type taken struct {
	row     store.Message
	lessons []store.Lesson // of it, in order
	at      []int          // their places in the log
	gone    uint32         // so many of them go
}

func (e *TakeBackRequested) plan(w *rewriting) (func(*store.Lesson) bool, error) {
	w.at, w.taken = e.At, map[store.MessageKey]*taken{}
	for _, k := range w.f.Waits.TakenBack() {
		row, _ := w.st.Messages.Get(string(k[:]))
		w.taken[k] = &taken{row: row}
	}
	n := 0
	for l, err := range w.past.Lessons() {
		if err := cmp.Or(err, w.past.Interrupted()); err != nil {
			return nil, err
		}
		if t := w.taken[l.Message]; t != nil && l.Learnt() {
			t.lessons, t.at = append(t.lessons, l), append(t.at, n)
		}
		n++
	}
	goes := map[int]bool{}
	for k, t := range w.taken {
		t.unlearn(w.f, k, goes)
	}
	n = -1
	return func(*store.Lesson) bool { n++; return goes[n] }, nil
}

// unlearn finds which lessons on message k go, and gives its row the label that stands then. A
// label that is older may have been taken back, too, while the newer one stood.
func (t *taken) unlearn(f *filter.Filter, k store.MessageKey, goes map[int]bool) {
	m := &t.row
	m.Pending = store.Pending{}
	for i, l := range slices.Backward(t.lessons) {
		if l.Label != m.Label {
			return
		}
		if l.Source != m.Source { // what is taken back had only made that label stronger
			if m.Source = l.Source; f.Voice.Holds(k, m, nil) {
				return
			}
		}
		goes[t.at[i]] = true
		t.gone++
		if m.Label, m.Source = l.Before, l.BeforeSource; f.Voice.Holds(k, m, nil) {
			return
		}
	}
}

// finishTaking brings the rows of the messages into the state.
func (w *rewriting) finishTaking() {
	for _, k := range slices.SortedFunc(maps.Keys(w.taken), func(x, y store.MessageKey) int { return slices.Compare(x[:], y[:]) }) {
		t := w.taken[k]
		w.f.Teacher.Restand(k, &t.row, t.gone)
		w.st.Messages.Put(string(k[:]), t.row)
	}
}
