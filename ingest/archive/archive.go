// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync/atomic"
	"time"
)

// Order is the order of the messages.
type Order uint8

// The orders. By path means in the order of the paths given, in a folder of its paths, and
// in a Maildir of the times in the file names.
//
// By date, a message that has none comes with the one before it in its mbox; a file with
// one message that has none comes last, and so does standard input. Equal dates go by
// path, and in an mbox by place. An mbox that is in order but for a few messages stays as
// it is where their Received fields say so: their dates are wrong, not their places.
const (
	ByPath Order = iota
	ByDate
)

// DefaultMaxBytes is how much of one message is kept unless Options say
// otherwise: more than mail servers let through.
const DefaultMaxBytes = 64 << 20

// Options for Open. The zero value is fine.
type Options struct {
	// MaxBytes of a message to keep; the rest is read over and counted in
	// Message.Size. 0 means DefaultMaxBytes.
	MaxBytes int
	Order    Order
	// Stdin is what the path "-" reads; nil means os.Stdin.
	Stdin io.Reader
}

// Message is one message of an archive.
type Message struct {
	// Raw holds the message without the mbox "From " line, unquoted, cut to
	// Options.MaxBytes. It belongs to the Reader and is overwritten by the next
	// call of Next.
	Raw []byte
	// Path is the file that the message is in; "-" is standard input. It is behind the
	// path with the number Source.
	Path   string
	Source int
	// Index numbers the messages of the file, from 0.
	Index int
	// Offset is where the message begins in the file, "From " line included,
	// counted behind decompression.
	Offset int64
	// Size is what len(Raw) would be without a limit; where it was cut,
	// unquoting is not accounted for.
	Size int64
	// Envelope is the date in the mbox "From " line, UTC where that names no
	// zone, or beside an .emlx message; zero when there is none.
	Envelope time.Time
	// Flags are those that the archive keeps beside the message, as IMAP writes them: in
	// a Maildir file name, in the order of the name; in an .emlx file; in the sequences
	// of an MH folder.
	Flags []string

	date time.Time // what Date returns, if it was found before
}

// Date returns when the message arrived, as well as the archive knows: Envelope if
// another date is near it or there is no other, else the date of the topmost Received
// field, which the receiving server wrote, else that of the Date field. Zero when there
// is none.
func (m *Message) Date() time.Time {
	if m.date.IsZero() {
		m.date, _ = arrival(m.Envelope, m.Raw)
	}
	return m.date
}

// Reader gives the messages of some paths. Not safe for concurrent use, save
// for Progress.
type Reader struct {
	options Options
	steps   []step
	at      int // the next of steps
	mbox    *splitter
	stream  *stream
	buf     []byte // of single messages
	message Message
	failed  error // about the file of the message given last
	passed  []string

	done  atomic.Int64 // bytes of files that were read to their end
	now   atomic.Pointer[stream]
	total int64
}

// Open prepares to read paths: mbox files, files with one message, Maildirs,
// folders, or "-" for standard input. It reads the names in folders; with
// ByDate also the headers and, to find their order, every mbox. An error names the
// path. The caller closes the Reader.
//
// A file that begins with "From " is an mbox, and so is an empty one; any other
// is one message, and so is an empty standard input. Other programs' files that hold no
// message in this form are an error that says what to do.
//
// Inside a folder, a file in a Maildir, with a number as its name (MH) or with a name in
// .eml or .emlx is one message. Any other is read if it begins with "From " or with a
// header; else it is passed over (see PassedOver), as are names that begin with a dot. A
// folder with cur or new in it is a Maildir, and those inside it (Maildir++, ".Sent") are
// read too.
func Open(paths []string, o Options) (*Reader, error) {
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Stdin == nil {
		o.Stdin = os.Stdin
	}
	r := &Reader{options: o}
	var entries []*entry
	for i, path := range paths {
		found, err := list(path)
		if err != nil {
			return nil, err
		}
		for _, e := range found {
			e.source = i
			r.total += e.size
			r.steps = append(r.steps, step{entry: e})
		}
		entries = append(entries, found...)
	}
	if o.Order == ByDate {
		r.steps = r.byDate(entries)
	}
	return r, nil
}

// PassedOver returns the paths of the files in folders that were passed over because they
// hold no message, as far as they were come across. With ByDate these are all.
func (r *Reader) PassedOver() []string { return r.passed }

// Progress tells how many bytes of files were read, and how many there are;
// standard input counts for nothing in total. Safe for concurrent use.
func (r *Reader) Progress() (done, total int64) {
	done = r.done.Load()
	if s := r.now.Load(); s != nil {
		done += s.read.Load()
	}
	return min(done, r.total), r.total // pieces are counted behind decompression
}

// Next returns the next message, or io.EOF behind the last. The message and its
// Raw are valid until the next call.
//
// Any other error is about one file: it names it and the offset, and comes
// behind the messages that could be read, the last of them perhaps cut short.
// Next may be called again then, and goes on with the next file.
func (r *Reader) Next() (*Message, error) {
	for {
		if err := r.failed; err != nil {
			r.failed = nil
			return nil, err
		}
		if r.mbox != nil {
			m, err := r.nextOfMbox()
			if m != nil || err != nil {
				return m, err
			}
			continue
		}
		if r.at == len(r.steps) {
			return nil, io.EOF
		}
		s := r.steps[r.at]
		r.at++
		if s.length > 0 {
			return r.readPiece(s)
		}
		m, err := r.open(s.entry)
		if err != nil {
			r.leave()
			return nil, err
		}
		if m != nil {
			return m, nil
		}
	}
}

// open starts on one file. It returns its message when it is a single one, and
// nil when it is an mbox, whose first comes from nextOfMbox, or passed over.
func (r *Reader) open(e *entry) (*Message, error) {
	s, what, err := r.begin(e)
	if err != nil {
		return nil, err
	}
	r.stream = s
	r.now.Store(s)
	switch what {
	case nothing:
		r.leave()
	case mailbox:
		r.mbox = newSplitter(s, r.options.MaxBytes)
	case single:
		return r.readSingle(e, s)
	}
	return nil, nil
}

// begin opens a file and says what is in it. The caller closes the stream.
func (r *Reader) begin(e *entry) (s *stream, what content, err error) {
	if s, err = openStream(e.path, r.options.Stdin); err != nil {
		return nil, nothing, err
	}
	n := sniffBytes
	if e.path == stdinPath {
		n = len(outlook) // the rest may be long in coming
	}
	head, err := s.peek(n)
	if err != nil && !errors.Is(err, io.EOF) && len(head) == 0 {
		err = fmt.Errorf("read %s at offset 0: %w", e.path, err)
	} else if what, err = e.holds(head); what == nothing && err == nil && len(head) > 0 && !slices.Equal(r.passed[max(0, len(r.passed)-1):], []string{e.path}) {
		r.passed = append(r.passed, e.path)
	}
	if err != nil {
		s.close()
		return nil, nothing, err
	}
	return s, what, nil
}

// nextOfMbox returns the next message of the mbox being read; neither message
// nor error when it is at its end.
func (r *Reader) nextOfMbox() (*Message, error) {
	p, err := r.mbox.next()
	if err == nil {
		r.take(r.steps[r.at-1].entry, p)
		return &r.message, nil
	}
	path, offset := r.stream.path, r.mbox.offset
	r.leave()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	return nil, fmt.Errorf("read %s at offset %d: %w", path, offset, err)
}

// take makes a piece of an mbox the message at hand.
func (r *Reader) take(e *entry, p piece) {
	m := Message{Raw: p.content, Path: e.path, Source: e.source, Index: p.index, Offset: p.offset, Envelope: p.date}
	if p.quoted {
		m.Raw = unquote(p.content)
	}
	reveal(p.fromLine, m.Raw)
	m.Size = int64(len(m.Raw)) + p.skipped
	r.message = m
}

// readSingle reads a file that is one message. What could be read of it is
// given even when the rest could not; the error comes with the next call.
func (r *Reader) readSingle(e *entry, s io.Reader) (*Message, error) {
	if cap(r.buf) > 1<<20 {
		r.buf = nil // after a great message, don't keep its room for small ones
	}
	limit := r.options.MaxBytes
	if e.emlx {
		limit += plistBytes
	}
	content := bytes.NewBuffer(r.buf[:0])
	kept, err := io.Copy(content, io.LimitReader(s, int64(limit)))
	skipped := int64(0)
	if err == nil {
		skipped, err = io.Copy(io.Discard, s)
	}
	r.buf = content.Bytes()
	raw := r.buf
	r.message = Message{Path: e.path, Source: e.source, Flags: e.flags}
	if bytes.HasPrefix(raw, []byte(fromPrefix)) {
		// A message that was saved with its "From " line, in a folder.
		line, rest, _ := bytes.Cut(raw, []byte("\n"))
		if date := fromLineDate(line); !date.IsZero() {
			r.message.Envelope = date
			raw = rest
		}
	}
	if e.emlx {
		raw, r.message.Envelope, r.message.Flags = readEmlx(raw)
		over := max(0, len(raw)-r.options.MaxBytes)
		raw, skipped = raw[:len(raw)-over], skipped+int64(over)
	}
	r.message.Raw = raw
	r.message.Size = int64(len(raw)) + skipped
	if err != nil {
		err = fmt.Errorf("read %s at offset %d: %w", e.path, kept+skipped, err)
		if len(raw) == 0 {
			return nil, err
		}
		r.failed = err
	}
	r.leave()
	return &r.message, nil
}

// leave ends the file being read.
func (r *Reader) leave() {
	if r.stream != nil {
		r.stream.close()
		r.now.Store(nil)
		r.done.Add(r.stream.read.Load())
	}
	r.stream, r.mbox = nil, nil
}

// Close ends reading.
func (r *Reader) Close() error {
	r.leave()
	for _, s := range r.steps {
		if s.file != nil {
			_ = s.file.Close()
			s.file = nil
		}
	}
	r.at, r.failed = len(r.steps), nil
	return nil
}
