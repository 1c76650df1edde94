// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"fmt"
	"iter"
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
	edits  *edits // of the State
	id     tableID
	// row is where rows are encoded from and decoded to, so that this does not allocate one
	// each time.
	row V
	// blank zeroes the parts of a row that no digest covers; nil: not made yet.
	blank func(*V)
}

func newTable[V any](s *State, id tableID) *Table[V] {
	t := &Table[V]{rows: map[string]V{}, loaded: map[string][]byte{}, edits: &s.edits, id: id}
	s.tables = append(s.tables, table{id, t})
	return t
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
		if t.edits.broken == nil {
			t.edits.broken = fmt.Errorf("decoding row %x of table %d: %w", key, t.id, err)
		}
		return false
	}
	t.rows[key] = t.row
	return true
}

func (t *Table[V]) check() {
	for key, value := range t.loaded {
		t.unpack(key, value)
	}
}

// Put sets the row at key.
func (t *Table[V]) Put(key string, row V) {
	delete(t.loaded, key)
	t.rows[key] = row
	t.edits.note(t.id, key)
}

// Delete removes the row at key, if there is one.
func (t *Table[V]) Delete(key string) {
	before := t.Len()
	if t.drop(key); t.Len() < before {
		t.edits.note(t.id, key)
	}
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

// All yields the rows by key, in ascending byte order. Whoever gets them may change the table.
func (t *Table[V]) All() iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, key := range t.Keys() {
			if row, ok := t.Get(key); ok && !yield(key, row) {
				return
			}
		}
	}
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
	t.check()
	var row V // one for all
	for key, is := range t.rows {
		row = is
		fn(key, &row)
	}
}

// copyTo gives another table the rows of t alone. Rows share what they point to, as those that
// Get returns do.
func (t *Table[V]) copyTo(to *Table[V]) {
	to.rows, to.loaded = maps.Clone(t.rows), maps.Clone(t.loaded)
}

// rows is what the store asks of a table, whatever the type of its rows.
type rows interface {
	Keys() []string
	// encode appends the row at key to buf, for a digest without what no digest covers, and
	// reports whether there is one.
	encode(buf *bytes.Buffer, key string, digest bool) (bool, error)
	// load sets the row at key from what encode wrote, and keeps value.
	load(key, value []byte) error
	drop(key string)
	// check decodes all loaded rows; see State.Err.
	check()
}

func (t *Table[V]) encode(buf *bytes.Buffer, key string, digest bool) (ok bool, err error) {
	if value, ok := t.loaded[key]; ok && !digest {
		buf.Write(value)
		return true, nil
	}
	if t.row, ok = t.Get(key); !ok {
		return false, nil
	}
	if digest {
		if t.blank == nil {
			t.blank = blanker[V]()
		}
		t.blank(&t.row)
	}
	return true, rowEncoding.MarshalToBuffer(&t.row, buf)
}

func (t *Table[V]) load(key, value []byte) error {
	delete(t.rows, string(key))
	t.loaded[string(key)] = value
	return nil
}
