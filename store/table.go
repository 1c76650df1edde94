// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
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
	// sorted has the rows that came in order of their keys, the maps the others.
	sorted sorted[V]
	// Most keys are 8 bytes (a hash, a number) or 16 (a content hash). Kept as
	// arrays they cost their own size, where a string costs 16 bytes more and an
	// allocation.
	by8    map[[8]byte]V
	by16   map[[16]byte]V
	byRest map[string]V
	dirty  map[string]struct{}

	// share, if set, replaces what a row holds by an equal value that other rows
	// hold too.
	share func(V) V
	// row is where rows are encoded from and decoded to, so that this does not
	// allocate one each time.
	row V
	// blank zeroes the parts of a row that no digest covers; nil: not made yet.
	blank func(*V)
}

func newTable[V any]() *Table[V] {
	return &Table[V]{
		by8:    map[[8]byte]V{},
		by16:   map[[16]byte]V{},
		byRest: map[string]V{},
		dirty:  map[string]struct{}{},
	}
}

// Get returns the row at key and whether there is one.
func (t *Table[V]) Get(key string) (V, bool) {
	if row := t.sorted.get(key); row != nil {
		return *row, true
	}
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
	return v, ok
}

// Put sets the row at key.
func (t *Table[V]) Put(key string, row V) {
	t.set(key, row)
	t.dirty[key] = struct{}{}
}

func (t *Table[V]) set(key string, row V) {
	if t.share != nil {
		row = t.share(row)
	}
	if t.sorted.put(key, row) {
		return
	}
	switch len(key) {
	case 8:
		t.by8[[8]byte([]byte(key))] = row
	case 16:
		t.by16[[16]byte([]byte(key))] = row
	default:
		t.byRest[key] = row
	}
}

// Delete removes the row at key, if there is one.
func (t *Table[V]) Delete(key string) {
	if _, ok := t.Get(key); ok {
		t.drop(key)
		t.dirty[key] = struct{}{}
	}
}

func (t *Table[V]) drop(key string) {
	if t.sorted.remove(key) {
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
func (t *Table[V]) Len() int { return t.sorted.len() + t.unsorted() }

func (t *Table[V]) unsorted() int { return len(t.by8) + len(t.by16) + len(t.byRest) }

// Keys returns the keys of all rows in ascending byte order. O(n log n).
func (t *Table[V]) Keys() []string {
	return t.merged(t.sorted.len(), func(V) bool { return true })
}

// Find returns the keys of the rows for which is reports true, in ascending byte order.
// It asks about every row, in any order.
func (t *Table[V]) Find(is func(V) bool) []string { return t.merged(0, is) }

// merged is Find, of about so many rows in t.sorted.
func (t *Table[V]) merged(about int, is func(V) bool) []string {
	ordered := make([]string, 0, about)
	t.sorted.each(func(i int) {
		if is(t.sorted.rows[i]) {
			ordered = append(ordered, t.sorted.keys[i])
		}
	})
	if t.unsorted() == 0 {
		return ordered
	}
	var others []string
	for k, v := range t.by8 {
		if is(v) {
			others = append(others, string(k[:]))
		}
	}
	for k, v := range t.by16 {
		if is(v) {
			others = append(others, string(k[:]))
		}
	}
	for k, v := range t.byRest {
		if is(v) {
			others = append(others, k)
		}
	}
	slices.Sort(others)
	return merge(ordered, others)
}

// merge returns all keys of two lists that ascend and share none, in order.
func merge(a, b []string) []string {
	if len(a) == 0 {
		return b
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

// Each calls fn with every row and its key, in any order. The row holds until fn returns;
// fn must change neither it nor the table.
func (t *Table[V]) Each(fn func(key string, row *V)) {
	t.sorted.each(func(i int) { fn(t.sorted.keys[i], &t.sorted.rows[i]) })
	var row V
	for k, v := range t.by8 {
		row = v
		fn(string(k[:]), &row)
	}
	for k, v := range t.by16 {
		row = v
		fn(string(k[:]), &row)
	}
	for k, v := range t.byRest {
		row = v
		fn(k, &row)
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
	// not dirty then. It keeps nothing of either.
	decode(key, value []byte, r *rowReader) error
	drop(key string)
	// reserve makes room for so many rows in an empty table.
	reserve(n int)
}

func (t *Table[V]) isDirty() bool { return len(t.dirty) > 0 }

func (t *Table[V]) dirtyKeys() []string { return slices.Sorted(maps.Keys(t.dirty)) }

func (t *Table[V]) clean() { t.dirty = emptied(t.dirty) }

func (t *Table[V]) encode(buf *bytes.Buffer, key string) (bool, error) {
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

func (t *Table[V]) reserve(n int) { t.sorted.reserve(n) }

func (t *Table[V]) decode(key, value []byte, r *rowReader) error {
	next := t.sorted.place(string(key)) == len(t.sorted.keys)
	if next && t.share == nil {
		return readRow(value, t.sorted.extend(t.sorted.own(key)), r)
	}
	var zero V
	t.row = zero
	if err := readRow(value, &t.row, r); err != nil {
		return err
	}
	if next {
		t.set(t.sorted.own(key), t.row)
	} else {
		t.set(string(key), t.row)
	}
	t.row = zero
	return nil
}

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

// emptied returns an empty set: m itself, or a new one where m has grown so
// large that clearing it would cost more than all that goes into it next.
func emptied[K comparable](m map[K]struct{}) map[K]struct{} {
	if len(m) > 4096 {
		return map[K]struct{}{}
	}
	clear(m)
	return m
}
