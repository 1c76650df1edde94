// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"sort"
)

// packedRows are rows of a table as they were loaded: encoded, in ascending order of their
// keys. One decision needs a few of the thousands that an account has, so a row is decoded
// when somebody asks for it. They never change; a row that does, moves to the table's maps.
type packedRows struct {
	// data has the rows of all tables as they stand in records: the length of the key in one
	// byte, the key, the length of the value plus 1, the value. It is shared, and grows
	// while they are loaded.
	data *[]byte
	rows []uint32 // where their keys begin in data
	gone []uint64 // a bit for each row that is not in force any more; nil: none
	dead int      // how many those are
}

// longestKey is how long a key may be whose row is packed.
const longestKey = 0x7f

func (p *packedRows) len() int { return len(p.rows) - p.dead }

func (p *packedRows) key(i int) []byte {
	data, at := *p.data, int(p.rows[i])
	return data[at : at+int(data[at-1])]
}

func (p *packedRows) value(i int) []byte {
	begin, end := p.span(i)
	return (*p.data)[begin:end]
}

// span returns where the row's value begins and ends in data.
func (p *packedRows) span(i int) (begin, end int) {
	data, at := *p.data, int(p.rows[i])
	at += int(data[at-1])
	size, n := binary.Uvarint(data[at:])
	return at + n, at + n + int(size) - 1
}

// add adds a row whose key is in data at, and reports whether it could: the key must come
// after all others, and not be too long.
func (p *packedRows) add(data *[]byte, at int, key []byte) bool {
	if len(key) > longestKey {
		return false
	}
	if n := len(p.rows); n > 0 && !ascends(p.key(n-1), key) {
		return false
	}
	p.data, p.rows = data, append(p.rows, uint32(at))
	return true
}

// item returns the row as it stands in a record.
func (p *packedRows) item(i int) []byte {
	_, end := p.span(i)
	return (*p.data)[p.rows[i]-2 : end]
}

// at returns the place of the row at key, -1 if there is none.
func (p *packedRows) at(key string) int {
	if p.len() == 0 {
		return -1
	}
	i := p.search(key)
	if i == len(p.rows) || string(p.key(i)) != key || p.isGone(i) {
		return -1
	}
	return i
}

// search returns the place of the first row that doesn't come before key, in force or not.
func (p *packedRows) search(key string) int {
	if len(p.rows) == 0 {
		return 0
	}
	data, rows := *p.data, p.rows
	from, to := 0, len(rows)
	if len(key) >= 8 { // most have 8 bytes, or differ in the first 8
		for begin := binary.BigEndian.Uint64([]byte(key[:8])); from < to; {
			mid := int(uint(from+to) / 2)
			at := rows[mid]
			if data[at-1] < 8 {
				break
			}
			if is := binary.BigEndian.Uint64(data[at:]); is < begin {
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
		if string(p.key(mid)) < key {
			from = mid + 1
		} else {
			to = mid
		}
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

// eachWith calls fn with the place of every row that is in force and whose key or value
// contains part, in ascending order. It looks through the bytes of all rows at once.
func (p *packedRows) eachWith(part []byte, fn func(i int)) {
	if len(p.rows) == 0 {
		return
	}
	_, last := p.span(len(p.rows) - 1)
	data := (*p.data)[:last]
	for begin := int(p.rows[0]); begin < len(data); {
		at := bytes.Index(data[begin:], part)
		if at < 0 {
			return
		}
		at += begin
		i := sort.Search(len(p.rows), func(i int) bool { return int(p.rows[i]) > at }) - 1
		_, end := p.span(i)
		if at >= end { // between two rows
			begin = at + 1
			continue
		}
		if !p.isGone(i) {
			fn(i)
		}
		begin = end
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
