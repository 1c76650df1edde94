// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// Order is the order of the messages of a folder. The messages of one mbox
// always come as they stand in it, and paths in the order in which they were
// given.
type Order uint8

// The orders.
const (
	ByPath Order = iota // by path; in a Maildir by the time in the file name
	ByDate              // by Message.Date, those without one last; equal dates by path
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
	// Path is the file that the message is in; "-" is standard input.
	Path string
	// Index numbers the messages of the file, from 0.
	Index int
	// Offset is where the message begins in the file, "From " line included,
	// counted behind decompression.
	Offset int64
	// Size is what len(Raw) would be without a limit; where it was cut,
	// unquoting is not accounted for.
	Size int64
	// Envelope is the date in the mbox "From " line, UTC where that names no
	// zone; zero when there is none.
	Envelope time.Time
	// Flags are those in a Maildir file name, as IMAP writes them, in the order
	// of the name.
	Flags []string
}

// Date returns when the message arrived, as well as the archive knows: the date
// of its "From " line, else that of the topmost Received field, which the
// receiving server wrote, else that of the Date field. Zero when there is none.
func (m *Message) Date() time.Time {
	if !m.Envelope.IsZero() {
		return m.Envelope
	}
	return headerDate(m.Raw)
}

// Reader gives the messages of some paths. Not safe for concurrent use, save
// for Progress.
type Reader struct {
	options Options
	entries []entry
	at      int // the next of entries
	mbox    *splitter
	stream  *stream
	buf     []byte // of single messages
	message Message

	done  atomic.Int64 // bytes of entries that were read to their end
	now   atomic.Pointer[stream]
	total int64
}

// Open prepares to read paths: mbox files, files with one message, Maildirs,
// folders, or "-" for standard input. It reads the names in folders, and with
// ByDate the headers, but no message. An error names the path. The caller
// closes the Reader.
//
// A file that begins with "From " is an mbox, and so is an empty one; any other
// is one message, and so is an empty standard input. Inside a folder every file is one message, unless its name ends in .mbox (with .gz
// or .zst behind it where it is compressed); names that begin with a dot are
// passed over. A folder with cur or new in it is a Maildir, and those inside it
// (Maildir++, ".Sent") are read too.
func Open(paths []string, o Options) (*Reader, error) {
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Stdin == nil {
		o.Stdin = os.Stdin
	}
	r := &Reader{options: o}
	for _, path := range paths {
		entries, err := list(path, o.Order)
		if err != nil {
			return nil, err
		}
		r.entries = append(r.entries, entries...)
	}
	for _, e := range r.entries {
		r.total += e.size
	}
	return r, nil
}

// Progress tells how many bytes of files were read, and how many there are;
// standard input counts for nothing in total. Safe for concurrent use.
func (r *Reader) Progress() (done, total int64) {
	done = r.done.Load()
	if s := r.now.Load(); s != nil {
		done += s.read.Load()
	}
	return done, r.total
}

// Next returns the next message, or io.EOF behind the last. The message and its
// Raw are valid until the next call.
//
// Any other error is about one file: it names it and the offset, and comes
// behind the messages that could be read, the last of them perhaps cut short.
// Next may be called again then, and goes on with the next file.
func (r *Reader) Next() (*Message, error) {
	for {
		if r.mbox != nil {
			m, err := r.nextOfMbox()
			if m != nil || err != nil {
				return m, err
			}
			continue
		}
		if r.at == len(r.entries) {
			return nil, io.EOF
		}
		e := r.entries[r.at]
		r.at++
		if e.failed != nil {
			return nil, e.failed
		}
		m, err := r.open(e)
		if err != nil {
			r.leave()
			return nil, err
		}
		if m != nil {
			return m, nil
		}
	}
}

// open starts on one entry. It returns its message when it is a single one, and
// nil when it is an mbox, whose first comes from nextOfMbox.
func (r *Reader) open(e entry) (*Message, error) {
	s, err := openStream(e.path, r.options.Stdin)
	if err != nil {
		return nil, err
	}
	r.stream = s
	r.now.Store(s)
	head, err := s.peek(len(fromPrefix))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s at offset 0: %w", e.path, err)
	}
	if !e.single && (string(head) == fromPrefix || len(head) == 0 && e.path != stdinPath) {
		s.readAhead()
		r.mbox = newSplitter(s, r.options.MaxBytes)
		return nil, nil
	}
	return r.readSingle(e, s)
}

// nextOfMbox returns the next message of the mbox being read; neither message
// nor error when it is at its end.
func (r *Reader) nextOfMbox() (*Message, error) {
	p, err := r.mbox.next()
	if err == nil {
		r.message = Message{
			Raw: p.content, Path: r.stream.path, Index: p.index, Offset: p.offset, Envelope: p.date,
		}
		if p.quoted {
			r.message.Raw = unquote(p.content)
		}
		r.message.Size = int64(len(r.message.Raw)) + p.skipped
		return &r.message, nil
	}
	path := r.stream.path
	offset := r.mbox.offset
	r.leave()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	return nil, fmt.Errorf("read %s at offset %d: %w", path, offset, err)
}

// readSingle reads a file that is one message. What could be read of it is
// given even when the rest could not; the error comes with the next call.
func (r *Reader) readSingle(e entry, s *stream) (*Message, error) {
	if cap(r.buf) > 1<<20 {
		r.buf = nil // after a great message, don't keep its room for small ones
	}
	content := bytes.NewBuffer(r.buf[:0])
	kept, err := io.Copy(content, io.LimitReader(s, int64(r.options.MaxBytes)))
	skipped := int64(0)
	if err == nil {
		skipped, err = io.Copy(io.Discard, s)
	}
	r.buf = content.Bytes()
	raw := r.buf
	r.message = Message{Path: e.path, Flags: e.flags}
	if bytes.HasPrefix(raw, []byte(fromPrefix)) {
		// A message that was saved with its "From " line, in a folder.
		line, rest, _ := bytes.Cut(raw, []byte("\n"))
		if date := fromLineDate(line); !date.IsZero() {
			r.message.Envelope = date
			raw = rest
		}
	}
	r.message.Raw = raw
	r.message.Size = int64(len(raw)) + skipped
	if err != nil {
		err = fmt.Errorf("read %s at offset %d: %w", e.path, kept+skipped, err)
		if len(raw) == 0 {
			return nil, err
		}
		// An entry that only reports what went wrong with this one.
		r.at--
		r.entries[r.at] = entry{path: e.path, failed: err}
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

// Close ends reading and waits for what was read ahead.
func (r *Reader) Close() error {
	r.leave()
	r.at = len(r.entries)
	return nil
}
