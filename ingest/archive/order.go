// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sort"
)

// step is what a Reader reads next: a file, or if length is not 0 one message of an mbox.
type step struct {
	*entry
	offset, length int64
	when, received int64 // Unix seconds, 0: not known; steps are sorted by when
	index          int
	quoted         bool
}

// stepOf notes where a message of an mbox lies, and its date.
func stepOf(e *entry, p piece, m *Message) step {
	s := step{entry: e, offset: p.offset, length: p.length, index: p.index, quoted: p.quoted}
	date, received := arrival(m.Envelope, m.Raw)
	if m.date = date; !date.IsZero() {
		s.when = date.Unix()
	}
	if !received.IsZero() {
		s.received = received.Unix()
	}
	return s
}

func byWhen(a, b step) int { return cmp.Compare(a.when, b.when) }

// byDate brings the messages of some files in order of date.
func (r *Reader) byDate(entries []*entry) (all []step) {
	for _, e := range entries {
		all = append(all, r.scan(e)...)
	}
	slices.SortStableFunc(all, byWhen)
	return joined(all)
}

// scan returns the messages of one file, those of an mbox in order. What can't be read to
// its end is one step, whose turn will tell.
func (r *Reader) scan(e *entry) (steps []step) {
	one := []step{{entry: e, when: math.MaxInt64}}
	if e.path == stdinPath {
		return one
	}
	s, what, err := r.begin(e)
	if err != nil {
		return one
	}
	defer s.close()
	switch what {
	case nothing:
		r.total -= e.size
		return nil
	case single:
		m, _ := r.readSingle(e, io.LimitReader(s, headerBytes))
		if r.failed = nil; m != nil && !m.Date().IsZero() {
			one[0].when = m.Date().Unix()
		}
		return one
	}
	mbox := newSplitter(s, headerBytes)
	p, err := mbox.next()
	for ; err == nil; p, err = mbox.next() {
		steps = append(steps, stepOf(e, p, &Message{Raw: p.content, Envelope: p.date}))
	}
	if err == io.EOF { //nolint:errorlint // an error that wraps io.EOF is no end
		return inOrder(steps)
	}
	if len(steps) > 0 {
		one[0].when = steps[0].when
	}
	return one
}

// An mbox is in order but for a few where less than one in displaced is out of order. If
// for less than one in misplaced of all no Received field says that its place is right,
// the others vouch for the file, and all stay: a moderated list has such.
const (
	displaced = 10
	misplaced = 200
)

// inOrder sorts the messages of one mbox by date. In one that is in order but for a few,
// those stay in their places that were received when the ones around them were, give or
// take a day: their clocks were wrong.
func inOrder(steps []step) []step {
	last := int64(math.MaxInt64)
	for _, s := range slices.Backward(steps) {
		if s.when != 0 {
			last = s.when // of the first that has a date
		}
	}
	for i := range steps {
		if steps[i].when == 0 {
			steps[i].when = last
		}
		last = steps[i].when
	}
	kept := rising(steps)
	if len(kept) < len(steps)/2 {
		// If it is newest first, those of equal date go backwards too.
		slices.Reverse(steps)
		if turned := rising(steps); len(turned) > len(kept) {
			kept = turned
		} else {
			slices.Reverse(steps)
		}
	}
	if (len(steps)-len(kept))*displaced < len(steps) {
		hold(steps, kept)
	}
	slices.SortStableFunc(steps, byWhen)
	return steps
}

// hold gives what stays in its place the date of the one before it among kept, which are
// in order.
func hold(steps []step, kept []int32) {
	const day = 24 * 3600
	others := map[int]int64{}
	before := steps[kept[0]].when
	for i, k := 0, 0; i < len(steps); i++ {
		after := int64(math.MaxInt64)
		if k < len(kept) {
			after = steps[kept[k]].when
		}
		switch s := &steps[i]; {
		case k < len(kept) && int(kept[k]) == i:
			before = s.when
			k++
		case s.received > before-day && s.received-day < after:
			s.when = before
		default:
			others[i] = before
		}
	}
	if len(others)*misplaced < len(steps) {
		for i, when := range others {
			steps[i].when = when
		}
	}
}

// rising returns the most messages that are in order where they stand: the longest
// subsequence whose dates don't fall (Schensted 1961).
func rising(steps []step) []int32 {
	var ends []int32 // of the best subsequence of each length, its last
	previous := make([]int32, len(steps))
	for i, s := range steps {
		at := sort.Search(len(ends), func(k int) bool { return steps[ends[k]].when > s.when })
		if at == len(ends) {
			ends = append(ends, 0)
		}
		if ends[at] = int32(i); at > 0 {
			previous[i] = ends[at-1]
		}
	}
	for k := len(ends) - 1; k > 0; k-- {
		ends[k-1] = previous[ends[k]]
	}
	return ends
}

// joined puts a whole file in the place of its messages where they follow each other as in
// the file.
func joined(steps []step) (out []step) {
	count := map[*entry]int{}
	for _, s := range steps {
		count[s.entry]++
	}
	for len(steps) > 0 {
		e, n := steps[0].entry, 1
		for n < len(steps) && steps[n].entry == e && steps[n].offset > steps[n-1].offset {
			n++
		}
		if n == count[e] {
			out = append(out, step{entry: e})
		} else {
			out = append(out, steps[:n]...)
		}
		steps = steps[n:]
	}
	return out
}

// Rewind goes back to the first message.
func (r *Reader) Rewind() {
	r.leave()
	r.at, r.failed = 0, nil
	r.done.Store(0)
}

// readPiece reads one message of an mbox. What is compressed is first written to a
// temporary file, which on Unix has no name.
func (r *Reader) readPiece(s step) (*Message, error) {
	if s.file == nil {
		in, err := openStream(s.path, nil)
		if err != nil {
			return nil, err
		}
		defer in.close()
		if in.decode == nil {
			s.file, err = os.Open(s.path)
		} else if s.file, err = os.CreateTemp("", "hinged-archive-"); err == nil {
			_ = os.Remove(s.file.Name())
			_, err = io.Copy(s.file, in)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", s.path, err)
		}
	}
	length := min(s.length, int64(r.options.MaxBytes)+maxFromLine)
	r.buf = slices.Grow(r.buf[:0], int(length))
	buf := r.buf[:length]
	if _, err := s.file.ReadAt(buf, s.offset); err != nil {
		return nil, fmt.Errorf("read %s at offset %d: %w", s.path, s.offset, err)
	}
	p := pieceOf(buf, s.length-int64(len(buf)), r.options.MaxBytes)
	p.quoted, p.offset, p.index, p.date = s.quoted, s.offset, s.index, fromLineDate(p.fromLine)
	r.take(s.entry, p)
	r.done.Add(s.length)
	return &r.message, nil
}
