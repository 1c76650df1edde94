// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Table is one keyed part of an account's state, held in memory whole. It remembers which rows
// changed since the last commit, so that a commit writes those alone. Keys are raw bytes in a
// string and order as bytes do.
//
// Rows are values: Get returns a copy, and a row that holds slices shares them with the table,
// so change a row by putting a new one. Not safe for concurrent use.
type Table[V any] struct {
	rows map[string]V
	// loaded has the rows that were loaded and that nobody has asked for since, encoded: one
	// decision needs a few of the thousands that an account has.
	loaded map[string][]byte
	dirty  map[string]struct{}
	// row is where rows are encoded from and decoded to, so that this does not allocate one
	// each time.
	row V
	// blank zeroes the parts of a row that no digest covers; nil: not made yet.
	blank func(*V)
	// broken is why a row could not be decoded.
	broken error
}

func newTable[V any]() *Table[V] {
	return &Table[V]{rows: map[string]V{}, loaded: map[string][]byte{}, dirty: map[string]struct{}{}}
}

// Get returns the row at key and whether there is one.
func (t *Table[V]) Get(key string) (row V, ok bool) {
	if row, ok = t.rows[key]; ok || len(t.loaded) == 0 {
		return row, ok
	}
	if value, ok := t.loaded[key]; ok && t.unpack(strings.Clone(key), value) {
		return t.row, true
	}
	return row, false
}

// unpack decodes a loaded row into t.row and reports whether it could. A malformed row counts as
// absent, and the state can no longer be committed.
func (t *Table[V]) unpack(key string, value []byte) bool {
	var zero V
	t.row = zero
	delete(t.loaded, key)
	if err := DecodeRow(value, &t.row); err != nil {
		if t.broken == nil {
			t.broken = fmt.Errorf("row %x: %w", key, err)
		}
		return false
	}
	t.rows[key] = t.row
	return true
}

// unpackAll decodes all loaded rows.
func (t *Table[V]) unpackAll() {
	for key, value := range t.loaded {
		t.unpack(key, value)
	}
}

// Put sets the row at key.
func (t *Table[V]) Put(key string, row V) {
	delete(t.loaded, key)
	t.rows[key] = row
	t.dirty[key] = struct{}{}
}

// Delete removes the row at key, if there is one.
func (t *Table[V]) Delete(key string) {
	if t.has(key) {
		t.drop(key)
		t.dirty[key] = struct{}{}
	}
}

func (t *Table[V]) has(key string) bool {
	if _, ok := t.rows[key]; ok {
		return true
	}
	_, ok := t.loaded[key]
	return ok
}

func (t *Table[V]) drop(key string) {
	delete(t.rows, key)
	delete(t.loaded, key)
}

// Len returns the number of rows.
func (t *Table[V]) Len() int { return len(t.rows) + len(t.loaded) }

// Keys returns the keys of all rows in ascending byte order. O(n log n).
func (t *Table[V]) Keys() []string {
	keys := make([]string, 0, t.Len())
	for key := range t.rows {
		keys = append(keys, key)
	}
	for key := range t.loaded {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// Find returns the keys of the rows for which is reports true, in ascending byte order.
// It asks about every row, in any order.
func (t *Table[V]) Find(is func(V) bool) (keys []string) {
	t.Each(func(key string, row *V) {
		if is(*row) {
			keys = append(keys, key)
		}
	})
	slices.Sort(keys)
	return keys
}

// Each calls fn with every row and its key, in any order. The row holds until fn returns; fn
// must change neither it nor the table.
func (t *Table[V]) Each(fn func(key string, row *V)) {
	t.unpackAll()
	var row V // one for all
	for key, is := range t.rows {
		row = is
		fn(key, &row)
	}
}

// copyTo gives an empty table the rows of t. Rows share what they point to, as those that
// Get returns do.
func (t *Table[V]) copyTo(to *Table[V]) {
	to.rows, to.loaded, to.broken = maps.Clone(t.rows), maps.Clone(t.loaded), t.broken
}

// rows is what the store asks of a table, whatever the type of its rows.
type rows interface {
	Len() int
	Keys() []string
	// dirtyKeys returns the keys put or deleted since clean, ascending.
	dirtyKeys() []string
	clean()
	// encode appends the row at key to buf and reports whether there is one.
	encode(buf *bytes.Buffer, key string) (bool, error)
	// encodeForDigest is encode without what no digest covers.
	encodeForDigest(buf *bytes.Buffer, key string) error
	// load sets the row at key from what encode wrote, and keeps value; it is not dirty then.
	load(key, value []byte) error
	drop(key string)
	// err is why a loaded row could not be decoded; check decodes all.
	err() error
	check()
}

func (t *Table[V]) dirtyKeys() []string { return slices.Sorted(maps.Keys(t.dirty)) }

func (t *Table[V]) clean() {
	if len(t.dirty) > 0 { // a map that has grown large takes long to clear
		t.dirty = map[string]struct{}{}
	}
}

func (t *Table[V]) encode(buf *bytes.Buffer, key string) (bool, error) {
	if value, ok := t.loaded[key]; ok {
		buf.Write(value)
		return true, nil
	}
	row, ok := t.rows[key]
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

func (t *Table[V]) load(key, value []byte) error {
	delete(t.rows, string(key))
	t.loaded[string(key)] = value
	return nil
}

func (t *Table[V]) err() error { return t.broken }

func (t *Table[V]) check() { t.unpackAll() }
