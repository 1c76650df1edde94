// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
)

// Table is one keyed part of an account's state, held in memory whole. It
// remembers which rows changed since the last commit, so that a commit writes
// those alone. Keys are raw bytes in a string and order as bytes do.
//
// Rows are values: Get returns a copy, and a row that holds slices shares them
// with the table, so change a row by putting a new one. Not safe for concurrent
// use.
type Table[V any] struct {
	// packed has the rows that were loaded and not changed since, the maps have the others.
	packed packedRows
	// Most keys are 8 bytes (a hash, a number) or 16 (a content hash). Kept as
	// arrays they cost their own size, where a string costs 16 bytes more and an
	// allocation.
	// Each map is made when it gets its first row: of an account that is loaded for one
	// message, few are needed.
	by8    map[[8]byte]V
	by16   map[[16]byte]V
	byRest map[string]V
	dirty  map[string]struct{}

	// share, if set, replaces what a row holds by an equal value that other rows
	// hold too.
	share func(V) V
	// row is where rows are encoded from and decoded to, so that this does not
	// allocate one each time.
	row    V
	reader rowReader
	// blank zeroes the parts of a row that no digest covers; nil: not made yet.
	blank func(*V)
	// broken is why a packed row could not be decoded.
	broken error
}

func newTable[V any]() *Table[V] {
	return &Table[V]{}
}

// Get returns the row at key and whether there is one.
func (t *Table[V]) Get(key string) (V, bool) {
	var v V
	var ok bool
	switch len(key) {
	case 8:
		v, ok = t.by8[[8]byte([]byte(key))]
	case 16:
		v, ok = t.by16[[16]byte([]byte(key))]
	default:
		v, ok = t.byRest[key]
	}
	if ok {
		return v, ok
	}
	if i := t.packed.at(key); i >= 0 && t.unpack(i, &t.row) {
		return t.row, true
	}
	return v, false
}

// unpack decodes a packed row into row and reports whether it could. One that is malformed,
// which nobody ever wrote, is none; from then on the state can't be committed.
func (t *Table[V]) unpack(i int, row *V) bool {
	var zero V
	*row = zero
	err := readRow(t.packed.value(i), row, &t.reader)
	if err != nil && t.broken == nil {
		t.broken = fmt.Errorf("row %x: %w", t.packed.key(i), err)
	}
	return err == nil
}

// Put sets the row at key.
func (t *Table[V]) Put(key string, row V) {
	t.set(key, row)
	t.mark(key)
}

func (t *Table[V]) mark(key string) { put(&t.dirty, key, struct{}{}) }

// put sets m[k] and makes m if it has not been made.
func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

func (t *Table[V]) set(key string, row V) {
	if t.share != nil {
		row = t.share(row)
	}
	if i := t.packed.at(key); i >= 0 {
		t.packed.drop(i)
	}
	switch len(key) {
	case 8:
		put(&t.by8, [8]byte([]byte(key)), row)
	case 16:
		put(&t.by16, [16]byte([]byte(key)), row)
	default:
		put(&t.byRest, key, row)
	}
}

// Delete removes the row at key, if there is one.
func (t *Table[V]) Delete(key string) {
	if _, ok := t.Get(key); ok {
		t.drop(key)
		t.mark(key)
	}
}

func (t *Table[V]) drop(key string) {
	if i := t.packed.at(key); i >= 0 {
		t.packed.drop(i)
		return
	}
	switch len(key) {
	case 8:
		delete(t.by8, [8]byte([]byte(key)))
	case 16:
		delete(t.by16, [16]byte([]byte(key)))
	default:
		delete(t.byRest, key)
	}
}

// Len returns the number of rows.
func (t *Table[V]) Len() int { return t.packed.len() + t.Changed() }

// Changed returns how many of the rows were put since they were loaded, or never loaded.
// They take more memory than those that lie as they were loaded.
func (t *Table[V]) Changed() int { return len(t.by8) + len(t.by16) + len(t.byRest) }

// Keys returns the keys of all rows in ascending byte order. O(n log n).
func (t *Table[V]) Keys() []string {
	var packed []string
	if t.packed.len() > 0 {
		packed = t.packed.keys()
	}
	return merged(packed, t.changed(func(*V) bool { return true }))
}

// Find returns the keys of the rows for which is reports true, in ascending byte order.
// It asks about every row, in any order.
func (t *Table[V]) Find(is func(V) bool) []string {
	var packed []string
	t.packed.each(func(i int) {
		if t.unpack(i, &t.row) && is(t.row) {
			packed = append(packed, string(t.packed.key(i)))
		}
	})
	return merged(packed, t.changed(func(row *V) bool { return is(*row) }))
}

// changed is Find in the maps.
func (t *Table[V]) changed(is func(*V) bool) (keys []string) {
	t.eachChanged(func(key []byte, row *V) {
		if is(row) {
			keys = append(keys, string(key))
		}
	})
	slices.Sort(keys)
	return keys
}

// merged returns all keys of two lists that ascend and share none, in order.
func merged(a, b []string) []string {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	all := make([]string, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0] < b[0] {
			all, a = append(all, a[0]), a[1:]
		} else {
			all, b = append(all, b[0]), b[1:]
		}
	}
	return append(append(all, a...), b...)
}

// Each calls fn with every row and its key, in any order. Both hold until fn returns; fn
// must change neither them nor the table.
func (t *Table[V]) Each(fn func(key []byte, row *V)) {
	var row V
	t.packed.each(func(i int) {
		if t.unpack(i, &row) {
			fn(t.packed.key(i), &row)
		}
	})
	t.eachChanged(fn)
}

// EachWith is Each for rows whose encoding contains part, as that of a row does which has a
// MessageKey with those bytes. Of other rows it may call fn with some.
func (t *Table[V]) EachWith(part []byte, fn func(key []byte, row *V)) {
	var row V
	t.packed.eachWith(part, func(i int) {
		if t.unpack(i, &row) {
			fn(t.packed.key(i), &row)
		}
	})
	t.eachChanged(fn)
}

// EachKey is Each without the rows.
func (t *Table[V]) EachKey(fn func(key []byte)) {
	t.packed.each(func(i int) { fn(t.packed.key(i)) })
	t.eachChanged(func(key []byte, _ *V) { fn(key) })
}

func (t *Table[V]) eachChanged(fn func(key []byte, row *V)) {
	var row V
	var key []byte
	for k, v := range t.by8 {
		row, key = v, append(key[:0], k[:]...)
		fn(key, &row)
	}
	for k, v := range t.by16 {
		row, key = v, append(key[:0], k[:]...)
		fn(key, &row)
	}
	for k, v := range t.byRest {
		row, key = v, append(key[:0], k...)
		fn(key, &row)
	}
}

// rows is what the store asks of a table, whatever the type of its rows.
type rows interface {
	Len() int
	Keys() []string
	isDirty() bool
	// dirtyKeys returns the keys put or deleted since clean, ascending.
	dirtyKeys() []string
	clean()
	// encode appends the row at key to buf and reports whether there is one.
	encode(buf *bytes.Buffer, key string) (bool, error)
	// encodeForDigest is encode without what no digest covers.
	encodeForDigest(buf *bytes.Buffer, key string) error
	// decode sets the row at key from what encode wrote, which it reads with r; it is
	// not dirty then.
	decode(key string, value []byte, r *rowReader) error
	drop(key string)
	// packing is where packed rows go; nil: they are to be decoded.
	packing() *packedRows
	// inOrder calls packed with the items of the rows that lie packed, as they stand in a
	// record, and changed with the keys of the others, in ascending order of all keys.
	inOrder(packed func(item []byte) error, changed func(key string) error) error
	// repack notes that the state lies in a checkpoint now. The rows are packed whose keys
	// begin in data at places, less shift: all that there are, but those whose keys are too
	// long, if the table packs any.
	repack(data *[]byte, places []uint32, shift uint32)
	// err is why a packed row could not be decoded; check decodes all.
	err() error
	check()
}

func (t *Table[V]) isDirty() bool { return len(t.dirty) > 0 }

func (t *Table[V]) dirtyKeys() []string { return slices.Sorted(maps.Keys(t.dirty)) }

func (t *Table[V]) clean() { t.dirty = emptied(t.dirty) }

func (t *Table[V]) encode(buf *bytes.Buffer, key string) (bool, error) {
	if i := t.packed.at(key); i >= 0 {
		buf.Write(t.packed.value(i))
		return true, nil
	}
	row, ok := t.Get(key)
	if !ok {
		return false, nil
	}
	t.row = row
	return true, rowEncoding.MarshalToBuffer(&t.row, buf)
}

func (t *Table[V]) encodeForDigest(buf *bytes.Buffer, key string) error {
	t.row, _ = t.Get(key)
	if t.blank == nil {
		t.blank = blanker[V]()
	}
	t.blank(&t.row)
	return rowEncoding.MarshalToBuffer(&t.row, buf)
}

func (t *Table[V]) decode(key string, value []byte, r *rowReader) error {
	var zero V
	t.row = zero
	if err := readRow(value, &t.row, r); err != nil {
		return err
	}
	t.set(key, t.row)
	t.row = zero
	return nil
}

func (t *Table[V]) packing() *packedRows {
	if t.share != nil { // they share what they hold
		return nil
	}
	return &t.packed
}

func (t *Table[V]) inOrder(packed func(item []byte) error, changed func(key string) error) error {
	from := 0
	upTo := func(end int) error {
		for ; from < end; from++ {
			if !t.packed.isGone(from) {
				if err := packed(t.packed.item(from)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for _, key := range t.changed(func(*V) bool { return true }) {
		if err := upTo(t.packed.search(key)); err != nil {
			return err
		}
		if err := changed(key); err != nil {
			return err
		}
	}
	return upTo(len(t.packed.rows))
}

func (t *Table[V]) repack(data *[]byte, places []uint32, shift uint32) {
	if t.packing() == nil {
		return
	}
	rows := make([]uint32, len(places))
	for i, at := range places {
		rows[i] = at - shift
	}
	t.packed = packedRows{data: data, rows: rows}
	t.by8, t.by16 = nil, nil
	maps.DeleteFunc(t.byRest, func(key string, _ V) bool { return len(key) <= longestKey })
}

func (t *Table[V]) err() error { return t.broken }

func (t *Table[V]) check() { t.packed.each(func(i int) { t.unpack(i, &t.row) }) }

// readRow sets a zero row from what encode wrote.
func readRow[V any](value []byte, row *V, r *rowReader) error {
	if q, ok := any(row).(quickRow); ok {
		if r.read(value, q) {
			return nil
		}
		var zero V
		*row = zero
	}
	return rowDecoding.Unmarshal(value, row)
}

// emptied returns an empty set: m itself, or none where m has grown so
// large that clearing it would cost more than all that goes into it next.
func emptied[K comparable](m map[K]struct{}) map[K]struct{} {
	if len(m) > 4096 {
		return nil
	}
	clear(m)
	return m
}
