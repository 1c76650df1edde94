// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
)

// Pack is Apply for a record of a checkpoint. It keeps a copy of rows and decodes them when
// somebody asks; see Err.
func (s *State) Pack(record []byte, seen Tally) error {
	if len(s.packed)+len(record) > math.MaxUint32 {
		return s.Apply(record, seen)
	}
	return s.apply(record, seen, true, &s.packed, nil)
}

// PackedBytes returns how many bytes of memory hold what Pack has kept, rows included that are
// not in force any more.
func (s *State) PackedBytes() int { return cap(s.packed) }

// applying is a record that is being applied.
type applying struct {
	recordReader
	from   int     // where the item at hand begins
	tables []table // those that the items to come may be of
	values rowReader
	// pack is where rows are kept; nil: nowhere. From the first row on, the record lies
	// there, shift later than in itself.
	pack   *[]byte
	packed bool
	shift  int
	into   *packedRows // where the row at hand is kept; nil: it is not
}

// row sets, keeps or deletes a row of a table. Both tables and items ascend.
func (a *applying) row(it item) error {
	for len(a.tables) > 1 && a.tables[0].id < it.table {
		a.tables = a.tables[1:]
	}
	a.into = nil
	t := a.tables[0]
	if t.id != it.table {
		return fmt.Errorf("record names table %d, which this version does not know", it.table)
	}
	if a.pack != nil && !it.deleted {
		if !a.packed { // weights come first
			a.shift, a.packed = len(*a.pack)-a.from, true
			*a.pack = append(*a.pack, a.record[a.from:]...)
		}
		if p := t.rows.packing(); p != nil && p.add(a.pack, a.keyAt+a.shift, it.key) {
			a.into = p
			return nil
		}
	}
	if it.deleted {
		t.rows.drop(string(it.key))
		return nil
	}
	if err := t.rows.decode(string(it.key), it.value, &a.values); err != nil {
		return fmt.Errorf("decoding a row of %s: %w", t.name, err)
	}
	return nil
}

// run keeps the rows that follow the one at hand, if that is kept, and returns how many. It
// stops before an item of another table, out of order, or longer than rows usually are, which
// the caller reads with next. An account has thousands of rows, and next and row take several
// times as long for each.
func (a *applying) run(table tableID) (n uint64) {
	if a.into == nil {
		return 0
	}
	record, shift, rows := a.record, a.shift, a.into.rows
	for at := a.at; at+3 < len(record) && record[at] == byte(table); n++ {
		keyAt := at + 2
		keyEnd := keyAt + int(record[at+1])
		if record[at+1] > longestKey || keyEnd+1 >= len(record) {
			break
		}
		size, value := int(record[keyEnd]), keyEnd+1
		if size >= 0x80 {
			high := int(record[value])
			if high == 0 || high >= 0x80 {
				break
			}
			size, value = size&0x7f|high<<7, value+1
		}
		end := value + size - 1
		if size == 0 || end > len(record) || !ascends(record[a.keyAt:a.keyEnd], record[keyAt:keyEnd]) {
			break
		}
		rows = append(rows, uint32(keyAt+shift))
		a.keyAt, a.keyEnd, a.at = keyAt, keyEnd, end
		at = end
	}
	a.into.rows = rows
	return n
}

// ascends reports whether b comes after a.
func ascends(a, b []byte) bool {
	if len(a) >= 8 && len(b) >= 8 {
		if a, b := binary.BigEndian.Uint64(a), binary.BigEndian.Uint64(b); a != b {
			return a < b
		}
	}
	return bytes.Compare(a, b) < 0
}
