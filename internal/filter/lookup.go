// SPDX-License-Identifier: Apache-2.0

package filter

import "github.com/hinged/hinged/store"

// fewLookups is how often a lookup searches the table before it makes an index, which takes
// far longer: an account that is loaded for one message asks twice.
const fewLookups = 8

// lookup finds rows of a table by the message that they are of: the number of a row, which
// follows from its key. A message has one row at most; of several, the last counts. It is
// derived from the table, and must hear of what changes there.
type lookup[V any] struct {
	rows   *store.Table[V]
	number func(key []byte) uint64
	of     func(*V) store.MessageKey
	index  map[store.MessageKey]uint64 // nil: not made yet
	asked  int
}

// find returns the number of the row that a message has.
func (l *lookup[V]) find(k store.MessageKey) (n uint64, ok bool) {
	if l.index == nil && l.asked < fewLookups {
		l.asked++
		l.rows.EachWith(k[:], func(key []byte, row *V) {
			if l.of(row) == k {
				n, ok = max(n, l.number(key)), true
			}
		})
		return n, ok
	}
	n, ok = l.all()[k]
	return n, ok
}

// all returns the numbers of all rows by message. The caller must not change it.
func (l *lookup[V]) all() map[store.MessageKey]uint64 {
	if l.index == nil {
		l.index = make(map[store.MessageKey]uint64, l.rows.Len())
		l.rows.Each(func(key []byte, row *V) {
			k, n := l.of(row), l.number(key)
			if before, ok := l.index[k]; !ok || before < n {
				l.index[k] = n
			}
		})
	}
	return l.index
}

// put notes that the row of a message has that number now.
func (l *lookup[V]) put(k store.MessageKey, n uint64) {
	if l.index != nil {
		l.index[k] = n
	}
}

// drop notes that the row with that number is that of the message no more.
func (l *lookup[V]) drop(k store.MessageKey, n uint64) {
	if l.index != nil && l.index[k] == n {
		delete(l.index, k)
	}
}
