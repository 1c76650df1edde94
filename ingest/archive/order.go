// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sort"
	"time"
)

// step is what a Reader reads next: a whole file, or if length is not 0 one message of an
// mbox, or nothing but an error.
type step struct {
	entry          *entry
	offset, length int64
	when           int64 // by which to sort, in Unix seconds
	received       int64 // 0: not known
	index          int32
	quoted, dated  bool // dated: when is known
	failed         error
}

func whole(entries []*entry) []step {
	steps := make([]step, len(entries))
	for i, e := range entries {
		steps[i].entry = e
	}
	return steps
}

// stepOf notes where a message of an mbox lies, and finds its date.
func stepOf(e *entry, p piece, m *Message) step {
	s := step{entry: e, offset: p.offset, length: p.length, index: int32(p.index), quoted: p.quoted}
	date, received := arrival(m.Envelope, m.Raw)
	m.date = date
	s.dated, s.when = !date.IsZero(), date.Unix()
	if !received.IsZero() {
		s.received = received.Unix()
	}
	return s
}

// byDate reads the headers of some files and brings their messages in order of date.
func (r *Reader) byDate(entries []*entry) []step {
	var all, failed []step
	for _, e := range entries {
		steps, err := r.scan(e)
		if err != nil {
			// It comes again if the file is read at one go.
			failed = append(failed, step{entry: e, failed: err})
		}
		all = append(all, steps...)
	}
	slices.SortStableFunc(all, func(a, b step) int { return cmp.Compare(a.when, b.when) })
	all = joined(all)
	for _, s := range all {
		if s.length == 0 {
			failed = slices.DeleteFunc(failed, func(f step) bool { return f.entry == s.entry })
		}
	}
	return append(all, failed...)
}

// scan returns the messages of one file, those of an mbox in order.
func (r *Reader) scan(e *entry) ([]step, error) {
	s, what, err := r.begin(e)
	if err != nil {
		return nil, err
	}
	defer func() { s.close() }()
	one := step{entry: e, when: math.MaxInt64}
	switch what {
	case nothing:
		r.total -= e.size
		return nil, nil
	case single:
		head := make([]byte, headerBytes)
		n, _ := fill(s, head) // what was read may have a date
		head = head[:n]
		var envelope time.Time
		if e.emlx {
			var list []byte
			head, list = splitEmlx(head)
			envelope, _ = readPlist(list)
		} else if line := head[:fromLineEnd(head)]; len(line) > 0 {
			envelope = fromLineDate(line)
			if !envelope.IsZero() {
				head = head[len(line):]
			}
		}
		if date, _ := arrival(envelope, head); !date.IsZero() {
			one.when = date.Unix()
		}
		return []step{one}, nil
	}
	s.readAhead()
	mbox := newSplitter(s, headerBytes)
	var steps []step
	for {
		p, err := mbox.next()
		if err != nil {
			if errors.Is(err, io.EOF) && err == io.EOF { //nolint:errorlint // an error that wraps io.EOF is no end
				err = nil
			} else {
				err = fmt.Errorf("read %s at offset %d: %w", e.path, mbox.offset, err)
			}
			return inOrder(steps), err
		}
		steps = append(steps, stepOf(e, p, &Message{Raw: p.content, Envelope: p.date}))
	}
}

// An mbox is in order but for a few messages where less than one in displaced is out of
// order. If for less than one in misplaced of them all no Received field says that its
// place is right, the others vouch for the file, and all stay: a moderated list has such.
const (
	displaced = 10
	misplaced = 200
)

// inOrder brings the messages of one mbox in order of date. It sets when of each to what
// it was sorted by.
func inOrder(steps []step) []step {
	last := int64(math.MaxInt64)
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i].dated {
			last = steps[i].when // of the first that has a date
		}
	}
	for i := range steps {
		if !steps[i].dated {
			steps[i].when = last
		}
		last = steps[i].when
	}
	kept, n := rising(steps)
	if n == len(steps) {
		return steps
	}
	if n < len(steps)/2 {
		// Newest first, where those of equal date go backwards too.
		slices.Reverse(steps)
		if turned, m := rising(steps); m > n {
			kept, n = turned, m
		} else {
			slices.Reverse(steps)
		}
	}
	if (len(steps)-n)*displaced < len(steps) && leave(steps, kept, false)*misplaced < len(steps) {
		leave(steps, kept, true)
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.when, b.when) })
	return steps
}

// leave keeps those messages in their places that are not among kept, the ones in order,
// but were received when those around them were, give or take a day; or else all. It
// counts the others.
func leave(steps []step, kept []bool, all bool) (others int) {
	next := make([]int64, len(steps)) // when the next that is in order came
	after := int64(math.MaxInt64)
	for i := len(steps) - 1; i >= 0; i-- {
		next[i] = after
		if kept[i] {
			after = steps[i].when
		}
	}
	const day, unknown = 24 * 3600, math.MinInt64 / 2
	before := int64(unknown)
	for i := range steps {
		s := &steps[i]
		switch {
		case kept[i]:
			before = s.when
		case all || s.received != 0 && s.received > before-day && s.received-day < next[i]:
			if s.when = before; before == unknown {
				s.when = next[i]
			}
		default:
			others++
		}
	}
	return others
}

// rising finds the most messages that are in order where they stand, and their number:
// the longest subsequence whose dates don't fall (Schensted 1961).
func rising(steps []step) (kept []bool, n int) {
	var ends []int32 // of the best subsequence of each length, its last
	previous := make([]int32, len(steps))
	for i, s := range steps {
		at := sort.Search(len(ends), func(k int) bool { return steps[ends[k]].when > s.when })
		previous[i] = -1
		if at > 0 {
			previous[i] = ends[at-1]
		}
		if at == len(ends) {
			ends = append(ends, 0)
		}
		ends[at] = int32(i)
	}
	kept = make([]bool, len(steps))
	if len(ends) > 0 {
		for i := ends[len(ends)-1]; i >= 0; i = previous[i] {
			kept[i] = true
		}
	}
	return kept, len(ends)
}

// joined puts a whole file in the place of its messages where they stand next to each other and
// as in the file, so that it is read at one go. It counts those of the others.
func joined(steps []step) []step {
	count := map[*entry]int{}
	for _, s := range steps {
		count[s.entry]++
	}
	var out []step
	for i := 0; i < len(steps); {
		s := steps[i]
		n := 1
		for i+n < len(steps) && steps[i+n].entry == s.entry && steps[i+n].offset > steps[i+n-1].offset {
			n++
		}
		if n == count[s.entry] {
			s.length = 0
			out = append(out, s)
		} else {
			out = append(out, steps[i:i+n]...)
		}
		i += n
	}
	return out
}

// Rewind goes back to the first message; from now on, with ByDateLater, in order of date.
// It reports whether the messages are the same in the same order as before.
func (r *Reader) Rewind() (same bool, err error) {
	same = true
	if r.noting {
		for err == nil { // what was not read yet
			_, err = r.Next()
		}
		if err != io.EOF { //nolint:errorlint // an error that wraps io.EOF is no end
			return false, err
		}
		r.noting = false
		if len(r.noted) > 0 {
			r.steps = joined(inOrder(r.noted))
			same = len(r.steps) == 1 && r.steps[0].length == 0
		}
		r.noted = nil
	}
	r.leave()
	r.at, r.failed = 0, nil
	r.done.Store(0)
	for _, f := range r.files {
		f.read = 0
	}
	return same, nil
}

// readPiece reads one message of an mbox.
func (r *Reader) readPiece(s step) (*Message, error) {
	f, err := r.files.open(s.entry)
	if err != nil {
		return nil, err
	}
	keep := min(s.length, int64(r.options.MaxBytes)+maxFromLine)
	if int64(cap(r.buf)) < keep || cap(r.buf) > 1<<20 {
		r.buf = make([]byte, 0, max(keep+lookback, blockBytes))
	}
	buf := r.buf[:keep]
	if _, err = f.ReadAt(buf, s.offset); err == nil && keep < s.length {
		// The end tells whether there is a blank line.
		tail := min(lookback, s.length-keep)
		buf = buf[:keep+tail]
		_, err = f.ReadAt(buf[keep:], s.offset+s.length-tail)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s at offset %d: %w", s.entry.path, s.offset, err)
	}
	p := pieceOf(buf, s.length-int64(len(buf)), r.options.MaxBytes)
	p.quoted, p.offset, p.index, p.date = s.quoted, s.offset, int(s.index), fromLineDate(p.fromLine)
	r.take(s.entry.path, p)
	before := f.read * s.entry.size / max(1, f.size)
	f.read += s.length
	r.done.Add(f.read*s.entry.size/max(1, f.size) - before)
	return &r.message, nil
}

// files are mboxes that are read in pieces: the files themselves, or what was in
// compressed ones.
type files map[*entry]*file

type file struct {
	*os.File
	temporary  bool
	size, read int64
}

// maxFiles is how many of them are kept open; those of compressed ones all are.
const maxFiles = 64

// open returns an mbox from which any piece can be read. What is compressed is written to
// a temporary file, which is deleted with close.
func (f files) open(e *entry) (*file, error) {
	got := f[e]
	if got != nil && got.File != nil {
		return got, nil
	}
	if len(f) >= maxFiles {
		for _, other := range f {
			if other.File != nil && !other.temporary {
				_ = other.Close()
				other.File = nil
			}
		}
	}
	if got == nil {
		got = &file{size: e.size}
		f[e] = got
	}
	s, err := openStream(e.path, nil)
	if err != nil {
		return nil, err
	}
	defer func() { s.close() }()
	if s.decode == nil {
		got.File, err = os.Open(e.path)
		return got, err
	}
	got.temporary = true
	if got.File, err = os.CreateTemp("", "hinged-archive-"); err != nil {
		return nil, err
	}
	got.size, err = io.Copy(got.File, untilError{s})
	return got, err
}

// untilError ends where r fails: that a file is damaged was reported when its messages were
// found.
type untilError struct{ r io.Reader }

func (u untilError) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if err != nil {
		err = io.EOF
	}
	return n, err
}

func (f files) close() {
	for e, got := range f {
		if got.File != nil {
			_ = got.Close()
			if got.temporary {
				_ = os.Remove(got.Name())
			}
		}
		delete(f, e)
	}
}
