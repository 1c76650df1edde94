// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"encoding/binary"

	"github.com/hinged/hinged/store"
)

// lessonWindow finds the lessons of a dual learner's window by their messages: the number of a
// row of State.Window, which follows from its key. A message has one row at most; of several, the
// last counts. It is derived from the table, and must hear of what changes there.
type lessonWindow struct {
	rows  *store.Table[store.Windowed]
	first uint64                      // number of the oldest lesson kept
	index map[store.MessageKey]uint64 // nil: not made yet
}

func newLessonWindow(st *store.State) lessonWindow {
	w := lessonWindow{rows: st.Window, first: st.Account.WindowNext}
	if keys := w.rows.Keys(); len(keys) > 0 {
		w.first = windowNumber(keys[0])
	}
	return w
}

// windowNumber is the reverse of store.WindowKey.
func windowNumber(key string) uint64 { return binary.BigEndian.Uint64([]byte(key)) }

// find returns the number of the row that a message has.
func (w *lessonWindow) find(k store.MessageKey) (n uint64, ok bool) {
	n, ok = w.all()[k]
	return n, ok
}

// all returns the numbers of all rows by message. The caller must not change it.
func (w *lessonWindow) all() map[store.MessageKey]uint64 {
	if w.index == nil {
		w.index = make(map[store.MessageKey]uint64, w.rows.Len())
		w.rows.Each(func(key string, row *store.Windowed) {
			w.index[row.Message] = max(w.index[row.Message], windowNumber(key))
		})
	}
	return w.index
}

// put notes that the row of a message has that number now.
func (w *lessonWindow) put(k store.MessageKey, n uint64) { w.all()[k] = n }

// trim lets the oldest lessons go beyond the first size. What they did to the weights
// stays.
func (w *lessonWindow) trim(st *store.State, size int) {
	for st.Account.WindowNext-w.first > uint64(size) {
		key := store.WindowKey(w.first)
		row, _ := w.rows.Get(key)
		w.rows.Delete(key)
		if w.all()[row.Message] == w.first {
			delete(w.index, row.Message)
		}
		w.first++
	}
}
