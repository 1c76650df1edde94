// SPDX-License-Identifier: Apache-2.0

package store

import (
	"math/bits"
	"strings"
)

// sorted holds rows in ascending order of their keys, each new one after all that are
// there. Rows come so when an account is loaded, and so do those that are numbered. Beside
// a map, a row takes no room but its own and that of its key, and no time to enter.
type sorted[V any] struct {
	keys []string
	rows []V
	gone []uint64 // a bit for each row that was removed; nil: none
	dead int      // how many those are
	last string   // the greatest key that there ever was
	room strings.Builder
}

func (s *sorted[V]) len() int { return len(s.keys) - s.dead }

// reserve makes room for so many rows.
func (s *sorted[V]) reserve(n int) { s.keys, s.rows = make([]string, 0, n), make([]V, 0, n) }

// at returns the place of the row at key, -1 if there never was one.
func (s *sorted[V]) at(key string) int {
	from, to := 0, len(s.keys)
	for from < to {
		if mid := int(uint(from+to) / 2); s.keys[mid] < key {
			from = mid + 1
		} else {
			to = mid
		}
	}
	if from < len(s.keys) && s.keys[from] == key {
		return from
	}
	return -1
}

// place is at for a row that may come after all others, those included that were removed:
// then it is the place to be.
func (s *sorted[V]) place(key string) int {
	if key > s.last || s.keys == nil {
		return len(s.keys)
	}
	return s.at(key)
}

func (s *sorted[V]) isGone(i int) bool { return s.gone != nil && s.gone[i/64]>>(i%64)&1 != 0 }

// get returns the row at key, nil if there is none. It holds until the next row is put or
// removed.
func (s *sorted[V]) get(key string) *V {
	if i := s.at(key); i >= 0 && !s.isGone(i) {
		return &s.rows[i]
	}
	return nil
}

// put sets the row at key, and reports whether it could: whether there is one or was, or
// key comes after all others.
func (s *sorted[V]) put(key string, row V) bool {
	i := s.place(key)
	if i < 0 {
		return false
	}
	if i == len(s.keys) {
		*s.extend(key) = row
		return true
	}
	if s.isGone(i) {
		s.gone[i/64] &^= 1 << (i % 64)
		s.dead--
	}
	s.rows[i] = row
	return true
}

// extend adds a zero row, whose key comes after all others, and returns it.
func (s *sorted[V]) extend(key string) *V {
	var zero V
	i := len(s.keys)
	s.keys, s.rows, s.last = append(s.keys, key), append(s.rows, zero), key
	if s.gone != nil && i/64 == len(s.gone) {
		s.gone = append(s.gone, 0)
	}
	return &s.rows[i]
}

// remove removes the row at key and reports whether there was one.
func (s *sorted[V]) remove(key string) bool {
	i := s.at(key)
	if i < 0 || s.isGone(i) {
		return false
	}
	if s.gone == nil {
		s.gone = make([]uint64, (len(s.keys)+63)/64)
	}
	s.gone[i/64] |= 1 << (i % 64)
	s.dead++
	var zero V
	s.rows[i] = zero
	if s.dead > 64 && s.dead > len(s.keys)/2 {
		s.close()
	}
	return true
}

// close closes the gaps that removed rows left.
func (s *sorted[V]) close() {
	var to sorted[V]
	to.reserve(s.len() + s.len()/4)
	s.each(func(i int) {
		to.keys, to.rows = append(to.keys, to.own([]byte(s.keys[i]))), append(to.rows, s.rows[i])
	})
	s.keys, s.rows, s.gone, s.dead, s.room = to.keys, to.rows, nil, 0, strings.Builder{}
}

// each calls fn with the place of every row, in ascending order of their keys.
func (s *sorted[V]) each(fn func(i int)) {
	if s.gone == nil {
		for i := range s.keys {
			fn(i)
		}
		return
	}
	for word, gone := range s.gone {
		there := ^gone
		for ; there != 0; there &= there - 1 {
			i := 64*word + bits.TrailingZeros64(there)
			if i >= len(s.keys) {
				return
			}
			fn(i)
		}
	}
}

// own returns a copy of a key to keep. Those of one table share their memory: most have 8
// bytes.
func (s *sorted[V]) own(key []byte) string {
	const most = 4096
	if s.room.Cap()-s.room.Len() < len(key) {
		next := max(min(2*s.room.Cap(), most), 64, len(key))
		s.room = strings.Builder{}
		s.room.Grow(next)
	}
	from := s.room.Len()
	s.room.Write(key)
	return s.room.String()[from:]
}
