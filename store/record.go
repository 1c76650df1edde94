// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/hinged/hinged/model"
)

// A record is a run of changes to a State in its written form: a redo record
// holds those of one commit, the chunks of a checkpoint are records that build
// a State from nothing. Its items stand in strictly ascending order of (table,
// key):
//
//	row      table byte, uvarint length of the key, the key, uvarint n, value
//	         (n is 0 for a deleted row, else the length of value plus 1)
//	weights  byte 2, uvarint count, count × (index, value), 8 bytes each; or, in a checkpoint,
//	         byte 2, byte 0, count, size, 4 bytes each, and size bytes (recordweights.go)
//	gone     byte 3, uvarint count, count × index, 8 bytes each
//
// Fixed-size numbers are big endian; the value of a weight is its Float64bits.

// recordWriter builds records.
type recordWriter struct {
	buf   []byte
	value bytes.Buffer
	seen  *seenValues // nil: not needed yet
}

// row appends the row of t at key, or, where there is none, its deletion.
func (w *recordWriter) row(t table, key string) error {
	w.value.Reset()
	ok, err := t.rows.encode(&w.value, key)
	if err != nil {
		return fmt.Errorf("encoding a row of %s: %w", t.name, err)
	}
	w.item(t.id, key, ok)
	return nil
}

// account appends the row of counters and clocks.
func (w *recordWriter) account(a Account) {
	w.value.Reset()
	w.value.Write(encodeAccount(a))
	w.item(accountRow, "", true)
}

func (w *recordWriter) item(id tableID, key string, present bool) {
	w.buf = append(w.buf, byte(id))
	w.buf = binary.AppendUvarint(w.buf, uint64(len(key)))
	w.buf = append(w.buf, key...)
	if !present {
		w.buf = binary.AppendUvarint(w.buf, 0)
		return
	}
	w.buf = binary.AppendUvarint(w.buf, uint64(w.value.Len())+1)
	w.buf = append(w.buf, w.value.Bytes()...)
}

// plainWeights appends the values of v, which ascends. A commit writes its weights so, since
// most of them were in the commit before: so they compress better in a snapshot.
func (w *recordWriter) plainWeights(v model.Vector) {
	w.buf = append(w.buf, byte(weights))
	w.buf = binary.AppendUvarint(w.buf, uint64(len(v)))
	for _, f := range v {
		w.buf = binary.BigEndian.AppendUint64(w.buf, uint64(f.Index))
		w.buf = binary.BigEndian.AppendUint64(w.buf, math.Float64bits(f.Value))
	}
}

// Changes appends to dst the record of all that changed in s since its last
// commit.
func (s *State) Changes(dst []byte) ([]byte, error) {
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	w := recordWriter{buf: dst}
	w.account(s.Account)
	touched := s.Weights.Marked()
	set := make(model.Vector, 0, len(touched))
	var gone []model.Index
	for _, i := range touched {
		if v, ok := s.Weights.Lookup(i); ok {
			set = append(set, model.Feature{Index: i, Value: v})
		} else {
			gone = append(gone, i)
		}
	}
	w.buf = slices.Grow(w.buf, 16*len(set)+8*len(gone)+32)
	if len(set) > 0 {
		w.plainWeights(set)
	}
	if len(gone) > 0 {
		w.buf = append(w.buf, byte(weightsGone))
		w.buf = binary.AppendUvarint(w.buf, uint64(len(gone)))
		for _, i := range gone {
			w.buf = binary.BigEndian.AppendUint64(w.buf, uint64(i))
		}
	}
	for _, t := range s.tables() {
		for _, key := range t.rows.dirtyKeys() {
			if err := w.row(t, key); err != nil {
				return nil, err
			}
		}
	}
	return w.buf, nil
}

// MessagesIn hands the keys of the messages that a record has rows of to fn.
func MessagesIn(record []byte, fn func(MessageKey)) error {
	r := recordReader{record: record}
	for {
		it, ok, err := r.next()
		if err != nil || !ok {
			return err
		}
		if it.table == messages && len(it.key) == len(MessageKey{}) {
			fn(MessageKey(it.key))
		}
	}
}

// Tally counts the rows that records hold, by the number of their table.
type Tally map[tableID]uint64

// Weights is how many of them are weights.
func (t Tally) Weights() uint64 { return t[weights] }

// Rows is how many rows there are of all tables.
func (t Tally) Rows() (rows uint64) {
	for _, n := range t {
		rows += n
	}
	return rows
}

var errRecordShort = errors.New("record ends within an item")

// recordReader takes a record apart.
type recordReader struct {
	record []byte
	at     int
	table  tableID // of the item before, whose key lies from keyAt to keyEnd
	keyAt  int
	keyEnd int
	begun  bool
}

// item is one item of a record. What it points to is shared with the record.
type item struct {
	table   tableID
	key     []byte
	value   []byte // row: its encoding; weights: as they stand there; gone: the indices
	count   uint64 // of weights
	deleted bool
	packed  bool // the weights are in the form of recordweights.go
}

// next returns the next item, or ok false at the end of the record.
func (r *recordReader) next() (it item, ok bool, err error) {
	if r.at == len(r.record) {
		return item{}, false, nil
	}
	it.table = tableID(r.record[r.at])
	r.at++
	var size uint64
	keyAt, keyEnd := r.at, r.at
	switch it.table {
	case weights, weightsGone:
		if size, err = r.weightsHead(&it); err != nil {
			return item{}, false, err
		}
	default:
		n, err := r.uvarint()
		if err != nil {
			return item{}, false, err
		}
		if n > r.left() {
			return item{}, false, errRecordShort
		}
		keyAt, keyEnd = r.at, r.at+int(n)
		r.at = keyEnd
		it.key = r.record[keyAt:keyEnd]
		if size, err = r.uvarint(); err != nil {
			return item{}, false, err
		}
		if size == 0 {
			it.deleted = true
		} else {
			size--
		}
	}
	if size > r.left() {
		return item{}, false, errRecordShort
	}
	it.value = r.record[r.at : r.at+int(size)]
	r.at += int(size)
	if r.begun && (it.table < r.table || it.table == r.table && !ascends(r.record[r.keyAt:r.keyEnd], it.key)) {
		return item{}, false, fmt.Errorf("item of table %d is out of order", it.table)
	}
	r.table, r.keyAt, r.keyEnd, r.begun = it.table, keyAt, keyEnd, true
	return it, true, nil
}

// weightsHead reads how many weights an item has and in which form, and returns how many bytes
// they take.
func (r *recordReader) weightsHead(it *item) (size uint64, err error) {
	if it.count, err = r.uvarint(); err != nil {
		return 0, err
	}
	if it.count == 0 && it.table == weights {
		it.packed = true
		it.count, size, err = r.packedHead()
		return size, err
	}
	width := uint64(16)
	if it.table == weightsGone {
		width = 8
	}
	if it.count == 0 || it.count > r.left()/width {
		return 0, fmt.Errorf("%w: %d weights announced, %d bytes left", errRecordShort, it.count, r.left())
	}
	return it.count * width, nil
}

func (r *recordReader) left() uint64 { return uint64(len(r.record) - r.at) }

// uvarint reads a number in its shortest form.
func (r *recordReader) uvarint() (uint64, error) {
	if r.at < len(r.record) && r.record[r.at] < 0x80 {
		r.at++
		return uint64(r.record[r.at-1]), nil
	}
	v, n := binary.Uvarint(r.record[r.at:])
	if n <= 0 || n > 1 && r.record[r.at+n-1] == 0 {
		return 0, errors.New("record holds a malformed number")
	}
	r.at += n
	return v, nil
}

// Apply makes the changes of a record to s, which is left half changed if the
// record is malformed. Rows that it sets are not dirty. seen, if not nil,
// counts what was set and forbids deletions, which have no place in a
// checkpoint.
func (s *State) Apply(record []byte, seen Tally) error { return s.apply(record, seen, true, nil) }

// Redo is Apply for one of several redo records. Each has the account's row; only that of
// the last is read.
func (s *State) Redo(record []byte, last bool) error { return s.apply(record, nil, last, nil) }

// Err returns why a row that Pack has kept could not be decoded, if there was one that
// somebody asked for. Such a state can't be committed.
func (s *State) Err() error {
	for _, t := range s.tables() {
		if err := t.rows.err(); err != nil {
			return fmt.Errorf("decoding a row of %s: %w", t.name, err)
		}
	}
	return nil
}

// Check decodes every row that Pack has kept, and returns Err.
func (s *State) Check() error {
	for _, t := range s.tables() {
		t.rows.check()
	}
	return s.Err()
}

// apply makes the changes of a record, that of the account's row only if account says so.
// Rows are kept in pack, if it is not nil.
func (s *State) apply(record []byte, seen Tally, account bool, pack *[]byte) error {
	a := applying{recordReader: recordReader{record: record}, tables: s.tables(), pack: pack}
	for {
		a.from = a.at
		it, ok, err := a.next()
		if err != nil || !ok {
			return err
		}
		if seen != nil && (it.deleted || it.table == weightsGone) {
			return fmt.Errorf("checkpoint deletes from table %d", it.table)
		}
		rows := uint64(1)
		switch it.table {
		case weights, weightsGone:
			rows = it.count
			err = s.applyWeights(it)
		case accountRow:
			if account {
				err = s.applyAccount(it)
			}
		default:
			if err = a.row(it); err == nil {
				rows += a.run(it.table)
			}
		}
		if err != nil {
			return err
		}
		if seen != nil {
			seen[it.table] += rows
		}
	}
}

func (s *State) applyAccount(it item) error {
	if it.deleted || len(it.key) > 0 {
		return errors.New("account row is malformed")
	}
	s.Account = Account{}
	if err := rowDecoding.Unmarshal(it.value, &s.Account); err != nil {
		return fmt.Errorf("decoding the account: %w", err)
	}
	return nil
}

func (s *State) applyWeights(it item) error {
	if it.packed {
		return s.applyPackedWeights(it)
	}
	width := 16
	if it.table == weightsGone {
		width = 8
	}
	last := model.Index(0)
	for at := 0; at < len(it.value); at += width {
		i := model.Index(binary.BigEndian.Uint64(it.value[at:]))
		if i <= last || i >= indexEnd {
			return fmt.Errorf("weight %#x is out of order", uint64(i))
		}
		last = i
		if it.table == weightsGone {
			s.Weights.Delete(i)
			continue
		}
		s.Weights.Set(i, math.Float64frombits(binary.BigEndian.Uint64(it.value[at+8:])))
	}
	return nil
}
