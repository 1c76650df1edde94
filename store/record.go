// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// A record is a run of changes to a State in its written form: a redo record
// holds those of one commit, the chunks of a checkpoint are records that build
// a State from nothing. Its items stand in strictly ascending order of (table,
// key):
//
//	row      table byte, uvarint length of the key, the key, uvarint n, value
//	         (n is 0 for a deleted row, else the length of value plus 1)
//	weights  byte 2, count, size, 4 bytes each, and size bytes (recordweights.go)
//
// Weights are in checkpoints and in the record of an account's first commit. Later ones have
// a row of table 3 under the empty key: the changes of the weights (steps.go). Fixed-size
// numbers are big endian.

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

// Changes appends to dst the record of all that changed in s since its last
// commit.
func (s *State) Changes(dst []byte) ([]byte, error) {
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	w := recordWriter{buf: dst}
	w.account(s.Account)
	if all := s.Weights; s.at.Commit == 0 && all.Len() > 0 {
		w.weights(all.Sorted(), math.MaxInt)
	}
	if len(s.changes) > 0 {
		w.value.Reset()
		if err := rowEncoding.MarshalToBuffer(s.changes, &w.value); err != nil {
			return nil, fmt.Errorf("encoding changes of weights: %w", err)
		}
		w.item(weightChanges, "", true)
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
	value   []byte // row: its encoding; weights: as they stand there
	count   uint64 // of weights
	deleted bool
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
	case weights:
		if it.count, size, err = r.weightsHead(); err != nil {
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
// counts what was set and forbids deletions and changes of weights, which have no place in
// a checkpoint.
func (s *State) Apply(record []byte, seen Tally) error {
	return s.apply(record, seen, true, nil, nil)
}

// Redo is Apply for one of several redo records, with the vectors of its steps. Each has the
// account's row; only that of the last is read.
func (s *State) Redo(record []byte, last bool, vector FrozenVector) error {
	return s.apply(record, nil, last, nil, vector)
}

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
func (s *State) apply(record []byte, seen Tally, account bool, pack *[]byte, vector FrozenVector) error {
	a := applying{recordReader: recordReader{record: record}, tables: s.tables(), pack: pack}
	for {
		a.from = a.at
		it, ok, err := a.next()
		if err != nil || !ok {
			return err
		}
		if seen != nil && (it.deleted || it.table == weightChanges) {
			return fmt.Errorf("checkpoint deletes from table %d", it.table)
		}
		rows := uint64(1)
		switch it.table {
		case weights:
			rows = it.count
			err = s.applyWeights(it)
		case weightChanges:
			err = s.redoChanges(it, vector)
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
