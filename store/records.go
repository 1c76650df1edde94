// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"sync"
)

// Records hands the records that build s from nothing to emit, in order, each
// at most most bytes unless one row is larger. emit must not keep
// them. It returns how many rows they hold.
func (s *State) Records(most int, emit func(record []byte) error) (Tally, error) {
	w := recordsWriter{most: most, emit: emit, rows: Tally{}}
	err := w.state(s)
	return w.rows, err
}

// mostFolded bounds the bytes of rows that Fold keeps at a time.
const mostFolded = 4 << 20

// Fold is Records, after which the rows of s lie packed, as if it had been loaded from those
// records: they take less memory, and the next records are made of them by copying. It also
// returns the summary of the state; nil if it has none. A state with more than mostFolded
// bytes of records stays as it is, and so does one of which a record was not taken; neither
// has a summary.
func (s *State) Fold(most int, emit func(record []byte) error) (rows Tally, summary []byte, err error) {
	room := folding.Get().(*[]byte)
	w := recordsWriter{recordWriter: recordWriter{buf: (*room)[:0]}, most: most, emit: emit, rows: Tally{}, fold: true}
	err = w.state(s)
	*room = w.buf
	folding.Put(room)
	if err == nil && w.fold && s.Summarise != nil {
		summary = s.Summarise()
	}
	return w.rows, summary, err
}

// folding has what records are written to that Fold keeps until the last of them.
var folding = sync.Pool{New: func() any { return new([]byte) }}

// recordsWriter writes the records of a state, one after the other.
type recordsWriter struct {
	recordWriter
	most int
	emit func(record []byte) error
	rows Tally
	// from is where the record at hand begins in buf.
	from int
	// fold: what was emitted stays in buf, and places has where the keys of the rows of each
	// table begin in it that can be packed.
	fold   bool
	places [][]uint32
}

func (w *recordsWriter) state(s *State) error {
	w.account(s.Account)
	w.rows[accountRow] = 1
	if err := w.allWeights(s); err != nil {
		return err
	}
	first, tables := len(w.buf), s.tables()
	w.places = make([][]uint32, len(tables))
	for i, t := range tables {
		if err := w.table(t, i); err != nil {
			return err
		}
	}
	if err := w.flush(); err != nil {
		return err
	}
	if w.fold {
		s.packed = slices.Clone(w.buf[first:])
		for i, t := range tables {
			t.rows.repack(&s.packed, w.places[i], uint32(first))
		}
	}
	return nil
}

// flush ends a record.
func (w *recordsWriter) flush() error { return w.flushTo(len(w.buf)) }

// flushTo ends a record there; what is beyond begins the next one.
func (w *recordsWriter) flushTo(end int) error {
	if err := w.emit(w.buf[w.from:end]); err != nil {
		return err
	}
	if w.from = end; end > mostFolded {
		w.fold = false
	}
	if !w.fold {
		w.buf, w.from = append(w.buf[:0], w.buf[end:]...), 0
	}
	return nil
}

func (w *recordsWriter) allWeights(s *State) error {
	all := s.Weights.Sorted()
	if len(all) > 0 {
		w.rows[weights] = uint64(len(all))
	}
	for len(all) > 0 {
		n := w.weights(all, w.most-(len(w.buf)-w.from))
		if all = all[n:]; len(all) > 0 {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// table writes the rows of the i-th table.
func (w *recordsWriter) table(t table, i int) error {
	return t.rows.inOrder(func(item []byte) error {
		w.buf = append(w.buf, item...)
		return w.written(t, i, len(w.buf)-len(item), int(item[1]))
	}, func(key string) error {
		begin := len(w.buf)
		if err := w.row(t, key); err != nil {
			return err
		}
		return w.written(t, i, begin, len(key))
	})
}

// written counts a row of the i-th table that begins there, and has a key of so many bytes.
func (w *recordsWriter) written(t table, i, begin, key int) error {
	w.rows[t.id]++
	if len(w.buf)-w.from > w.most && begin > w.from {
		if err := w.flushTo(begin); err != nil {
			return err
		}
		begin = w.from // the row that does not fit begins the next record
	}
	if w.fold && key <= longestKey {
		w.places[i] = append(w.places[i], uint32(begin+2))
	}
	return nil
}
