// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// packedRows are rows of a table as they were loaded: encoded, in ascending order of their
// keys. One decision needs a few of the thousands that an account has, so a row is decoded
// when somebody asks for it. They never change; a row that does, moves to the table's maps.
type packedRows struct {
	// data has the keys and values of all tables. It is shared, and grows while they are
	// loaded.
	data *[]byte
	rows []packedRow
	gone []uint64 // a bit for each row that is not in force any more; nil: none
	dead int      // how many those are
}

// packedRow is where a row lies in data: the key from key to keyEnd, then, after its
// length, the value from value to end.
type packedRow struct{ key, keyEnd, value, end uint32 }

func (p *packedRows) len() int { return len(p.rows) - p.dead }

func (p *packedRows) key(i int) []byte {
	r := &p.rows[i]
	return (*p.data)[r.key:r.keyEnd]
}

func (p *packedRows) value(i int) []byte {
	r := &p.rows[i]
	return (*p.data)[r.value:r.end]
}

// add adds a row that lies in data, and reports whether it could: its key must come after
// all others.
func (p *packedRows) add(data *[]byte, r packedRow) bool {
	if n := len(p.rows); n > 0 && bytes.Compare(p.key(n-1), (*data)[r.key:r.keyEnd]) >= 0 {
		return false
	}
	p.data, p.rows = data, append(p.rows, r)
	return true
}

// at returns the place of the row at key, -1 if there is none.
func (p *packedRows) at(key string) int {
	if p.len() == 0 {
		return -1
	}
	data, rows := *p.data, p.rows
	from, to := 0, len(rows)
	if len(key) >= 8 { // most have 8 bytes, or differ in the first 8
		for begin := binary.BigEndian.Uint64([]byte(key[:8])); from < to; {
			mid := int(uint(from+to) / 2)
			r := &rows[mid]
			if r.keyEnd-r.key < 8 {
				break
			}
			if is := binary.BigEndian.Uint64(data[r.key:]); is < begin {
				from = mid + 1
			} else if is > begin {
				to = mid
			} else {
				break
			}
		}
	}
	for from < to {
		mid := int(uint(from+to) / 2)
		if r := &rows[mid]; string(data[r.key:r.keyEnd]) < key {
			from = mid + 1
		} else {
			to = mid
		}
	}
	if from == len(p.rows) || string(p.key(from)) != key || p.isGone(from) {
		return -1
	}
	return from
}

func (p *packedRows) isGone(i int) bool { return p.gone != nil && p.gone[i/64]>>(i%64)&1 != 0 }

// drop takes a row out of force.
func (p *packedRows) drop(i int) {
	if p.dead++; p.dead == len(p.rows) {
		*p = packedRows{}
		return
	}
	if p.gone == nil {
		p.gone = make([]uint64, (len(p.rows)+63)/64)
	}
	p.gone[i/64] |= 1 << (i % 64)
}

// each calls fn with the place of every row that is in force, in ascending order.
func (p *packedRows) each(fn func(i int)) {
	if p.gone == nil {
		for i := range p.rows {
			fn(i)
		}
		return
	}
	for word, gone := range p.gone {
		for there := ^gone; there != 0; there &= there - 1 {
			if i := 64*word + bits.TrailingZeros64(there); i < len(p.rows) {
				fn(i)
			}
		}
	}
}

// keys returns the keys of all rows that are in force, in ascending order, in one piece of
// memory.
func (p *packedRows) keys() []string {
	size := 0
	p.each(func(i int) { size += len(p.key(i)) })
	all := make([]byte, 0, size)
	p.each(func(i int) { all = append(all, p.key(i)...) })
	joined := string(all)
	keys := make([]string, 0, p.len())
	p.each(func(i int) {
		n := len(p.key(i))
		keys, joined = append(keys, joined[:n]), joined[n:]
	})
	return keys
}
