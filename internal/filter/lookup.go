// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"encoding/binary"

	"github.com/hinged/hinged/store"
)

// lookup finds the rows of State.Window by the message that they are of: the number of a row,
// which follows from its key. A message has one row at most; of several, the last counts. It
// is derived from the table, and must hear of what changes there.
type lookup struct {
	rows  *store.Table[store.Windowed]
	index map[store.MessageKey]uint64 // nil: not made yet
}

// windowNumber is the reverse of store.WindowKey.
func windowNumber(key string) uint64 { return binary.BigEndian.Uint64([]byte(key)) }

// find returns the number of the row that a message has.
func (l *lookup) find(k store.MessageKey) (n uint64, ok bool) {
	n, ok = l.all()[k]
	return n, ok
}

// all returns the numbers of all rows by message. The caller must not change it.
func (l *lookup) all() map[store.MessageKey]uint64 {
	if l.index == nil {
		l.index = make(map[store.MessageKey]uint64, l.rows.Len())
		l.rows.Each(func(key string, row *store.Windowed) {
			l.index[row.Message] = max(l.index[row.Message], windowNumber(key))
		})
	}
	return l.index
}

// put notes that the row of a message has that number now.
func (l *lookup) put(k store.MessageKey, n uint64) { l.all()[k] = n }

// drop notes that the row with that number is that of the message no more.
func (l *lookup) drop(k store.MessageKey, n uint64) {
	if l.all()[k] == n {
		delete(l.index, k)
	}
}
