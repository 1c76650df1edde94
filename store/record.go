// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"github.com/hinged/hinged/model"
)

// A record is a run of changes to a State in its written form: a redo record
// holds those of one commit, the chunks of a checkpoint are records that build
// a State from nothing. Its items stand in strictly ascending order of (table,
// key):
//
//	table byte, uvarint length of the key, the key, uvarint n, value
//	(n is 0 for a deleted row, else the length of value plus 1)
//
// The value of a row is CBOR, that of an entry of a Ring is described there. Weights are in
// checkpoints and in the record of an account's first commit, in one item without a key, whose
// value is
//
//	uvarint count, count × uvarint (by how much the index is greater than the one
//	before, or than 0), count × 8 bytes (Float64bits, big endian)
//
// Indices are hashes of 38 bits: in 100,000 of them the difference of two takes four bytes or
// fewer. Values stand together so that a compressor finds equal ones: all features that one
// message has alone share a value. Later records have a row of table 3 under the empty key: the
// changes of the weights (steps.go).

// rowEncoding is CBOR in core deterministic encoding (RFC 8949, section
// 4.2.1): equal rows are equal bytes, which the digest relies on.
var rowEncoding = func() cbor.UserBufferEncMode {
	mode, err := cbor.CoreDetEncOptions().UserBufferEncMode()
	if err != nil {
		panic(err)
	}
	return mode
}()

// rowDecoding is strict: what this version does not know is an error, since the
// schema version, not the reader, says what may be in a row. Invalid UTF-8 is
// let through, because names of mailboxes and words of mail are whatever they
// were.
var rowDecoding = func() cbor.DecMode {
	mode, err := cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		IndefLength:       cbor.IndefLengthForbidden,
		TagsMd:            cbor.TagsForbidden,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
		UTF8:              cbor.UTF8DecodeInvalid,
	}.DecMode()
	if err != nil {
		panic(err)
	}
	return mode
}()

// EncodeRow returns v, a row or a record of rows, in the encoding of rows.
func EncodeRow(v any) ([]byte, error) { return rowEncoding.Marshal(v) }

// DecodeRow sets v from what EncodeRow returned. What v does not know is an error.
func DecodeRow(data []byte, v any) error { return rowDecoding.Unmarshal(data, v) }

func key64(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// recordWriter builds records.
type recordWriter struct {
	buf   []byte
	value bytes.Buffer
}

// row appends the row of t at key, or, where there is none, its deletion.
func (w *recordWriter) row(t table, key string) error {
	w.value.Reset()
	ok, err := t.rows.encode(&w.value, key, false)
	if err != nil {
		return fmt.Errorf("encoding a row of table %d: %w", t.id, err)
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

// weights appends v, which ascends, unless it is empty.
func (w *recordWriter) weights(v model.Vector) {
	if len(v) == 0 {
		return
	}
	w.value.Reset()
	b := binary.AppendUvarint(w.value.AvailableBuffer(), uint64(len(v)))
	last := model.Index(0)
	for _, f := range v {
		b = binary.AppendUvarint(b, uint64(f.Index-last))
		last = f.Index
	}
	for _, f := range v {
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(f.Value))
	}
	w.value.Write(b)
	w.item(weights, "", true)
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
	if s.at.Commit == 0 {
		w.weights(s.Weights.Sorted())
	}
	if len(s.changes) > 0 {
		w.value.Reset()
		if err := rowEncoding.MarshalToBuffer(s.changes, &w.value); err != nil {
			return nil, fmt.Errorf("encoding changes of weights: %w", err)
		}
		w.item(weightChanges, "", true)
	}
	for _, t := range s.tables {
		for _, key := range slices.Sorted(maps.Keys(s.edits.keys[t.id])) {
			if err := w.row(t, key); err != nil {
				return nil, err
			}
		}
	}
	return w.buf, nil
}

// mostWeight is the most bytes that a weight takes in a record.
const mostWeight = binary.MaxVarintLen64 + 8

// Records hands the records that build s from nothing to emit, in order, each
// at most most bytes unless one row is larger. emit must not keep
// them.
func (s *State) Records(most int, emit func(record []byte) error) error {
	var w recordWriter
	// cut emits what stands before end in a record of its own.
	cut := func(end int) error {
		err := emit(w.buf[:end])
		w.buf = append(w.buf[:0], w.buf[end:]...)
		return err
	}
	w.account(s.Account)
	for all := s.Weights.Sorted(); len(all) > 0; {
		n := min(len(all), max((most-len(w.buf)-mostWeight)/mostWeight, 1))
		w.weights(all[:n])
		if all = all[n:]; len(all) > 0 {
			if err := cut(len(w.buf)); err != nil {
				return err
			}
		}
	}
	for _, t := range s.tables {
		for _, key := range t.rows.Keys() {
			before := len(w.buf)
			if err := w.row(t, key); err != nil {
				return err
			}
			if len(w.buf) > most && before > 0 {
				if err := cut(before); err != nil {
					return err
				}
			}
		}
	}
	return cut(len(w.buf))
}

// MessagesIn hands the keys of the messages that a record has rows of to fn.
func MessagesIn(record []byte, fn func(MessageKey)) error {
	r := recordReader{rest: record}
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

var (
	errRecordShort = errors.New("record ends within an item")
	errNumber      = errors.New("record holds a malformed number")
	errWeight      = errors.New("weights are malformed")
)

// recordReader takes a record apart.
type recordReader struct {
	rest  []byte
	last  item // the item before
	begun bool
}

// item is one item of a record. What it points to is shared with the record.
type item struct {
	table   tableID
	key     []byte
	value   []byte
	deleted bool
}

// next returns the next item, or ok false at the end of the record.
func (r *recordReader) next() (it item, ok bool, err error) {
	if len(r.rest) == 0 {
		return item{}, false, nil
	}
	it.table = tableID(r.rest[0])
	r.rest = r.rest[1:]
	size, err := uvarint(&r.rest)
	if err != nil {
		return item{}, false, err
	}
	if it.key, err = r.take(size); err != nil {
		return item{}, false, err
	}
	if size, err = uvarint(&r.rest); err != nil {
		return item{}, false, err
	}
	if it.deleted = size == 0; !it.deleted {
		if it.value, err = r.take(size - 1); err != nil {
			return item{}, false, err
		}
	}
	if r.begun && (it.table < r.last.table || it.table == r.last.table && bytes.Compare(it.key, r.last.key) <= 0) {
		return item{}, false, fmt.Errorf("item of table %d is out of order", it.table)
	}
	r.last, r.begun = it, true
	return it, true, nil
}

// take cuts n bytes off the front.
func (r *recordReader) take(n uint64) ([]byte, error) {
	if n > uint64(len(r.rest)) {
		return nil, errRecordShort
	}
	taken := r.rest[:n:n]
	r.rest = r.rest[n:]
	return taken, nil
}

// uvarint cuts a number in its shortest form off the front.
func uvarint(rest *[]byte) (uint64, error) {
	v, n := binary.Uvarint(*rest)
	if n <= 0 || n > 1 && (*rest)[n-1] == 0 {
		return 0, errNumber
	}
	*rest = (*rest)[n:]
	return v, nil
}

// Apply makes the changes of a record without steps to s, which is left half changed if the
// record is malformed. Rows that it sets are decoded when somebody asks for them, see Err.
func (s *State) Apply(record []byte) error { return s.Redo(record, true, nil) }

// Redo is Apply for one of several redo records, with the vectors of its steps. Each has the
// account's row; only that of the last is read.
func (s *State) Redo(record []byte, last bool, vector FrozenVector) error {
	r, owned, tables := recordReader{rest: record}, false, s.tables
	for {
		if !owned && len(r.rest) > 0 && tableID(r.rest[0]) > weightChanges {
			r.rest, owned = bytes.Clone(r.rest), true // tables keep the values
		}
		it, ok, err := r.next()
		if err != nil || !ok {
			return err
		}
		switch it.table {
		case weights:
			err = s.applyWeights(it)
		case weightChanges:
			err = s.redoChanges(it, vector)
		case accountRow:
			if last {
				err = s.applyAccount(it)
			}
		default:
			for len(tables) > 1 && tables[0].id < it.table { // both ascend
				tables = tables[1:]
			}
			err = tables[0].apply(it)
		}
		if err != nil {
			return err
		}
	}
}

// apply sets or deletes a row.
func (t table) apply(it item) error {
	if t.id != it.table {
		return fmt.Errorf("record names table %d, which this version does not know", it.table)
	}
	if it.deleted {
		t.rows.drop(string(it.key))
		return nil
	}
	return t.rows.load(it.key, it.value)
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
	indices := it.value
	count, err := uvarint(&indices)
	if err != nil || it.deleted || len(it.key) > 0 || count == 0 || count > uint64(len(indices)/9) {
		return errWeight
	}
	indices, values := indices[:len(indices)-8*int(count)], indices[len(indices)-8*int(count):]
	last := uint64(0)
	for range count {
		d, n := binary.Uvarint(indices)
		if n <= 0 || d == 0 || d >= indexEnd-last {
			return errWeight
		}
		last, indices = last+d, indices[n:]
		s.Weights.Set(model.Index(last), math.Float64frombits(binary.BigEndian.Uint64(values)))
		values = values[8:]
	}
	if len(indices) > 0 {
		return errWeight
	}
	return nil
}

// indexEnd is above every index.
const indexEnd = 1 << model.IndexBits

func encodeAccount(a Account) []byte {
	b, err := rowEncoding.Marshal(&a)
	must(err)
	return b
}

// must stands where an error would mean that a row type cannot be encoded at
// all, which no data can bring about.
func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("store: %v", err))
	}
}
