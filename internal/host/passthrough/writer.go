// SPDX-License-Identifier: Apache-2.0

package passthrough

import (
	"bytes"
	"errors"
	"io"
)

// forged is how the fields begin that are ours alone, in any case of letters.
const forged = "x-hinged-"

// maxEnvelope is the longest line whose end is looked for before the header.
const maxEnvelope = 64 << 10

// Writer copies one message to another writer. It takes out what the message
// brings of X-Hinged-… fields, and puts its own at the head of the header: behind
// the "From " line of an mbox and the ">From " lines that may follow it, and with
// the line end of the message's own first line (CRLF or LF; LF where that line has
// none within 64 KiB; a "From " line longer than that is taken for none).
//
// A header reaches to the first empty line, as the program that reads it next
// may have it, even over lines that are no fields (RFC 5322, section 2.1). In it
// every line that begins with "X-Hinged-" goes, with or without a colon, and so
// do its continuation lines; the body is left alone. Memory is bounded, whatever
// the message is.
//
// Close ends the message; it does not close the writer behind, which gets the
// header line by line and had better be a buffer. After an error, a *WriteError,
// what was written is a part of the message. Not safe for concurrent use.
type Writer struct {
	to     io.Writer
	fields []byte
	part   part
	held   []byte // what came last and is too little yet to tell what it is
	eol    string // the message's own line end
	mbox   bool   // a "From " line was met
	inLine bool   // what comes continues a line
	drop   bool   // that line goes, and those that continue it
	err    error
}

// part is how far a Writer is in the message.
type part uint8

const (
	envelope part = iota // before the header
	header
	body
)

// NewWriter returns a Writer to w. fields are lines that end in LF; with none it
// only takes out.
func NewWriter(w io.Writer, fields []byte) *Writer {
	return &Writer{to: w, fields: fields, eol: "\n"}
}

// WriteError is an error in writing a message.
type WriteError struct{ Err error }

func (e *WriteError) Error() string { return "writing the message: " + e.Err.Error() }
func (e *WriteError) Unwrap() error { return e.Err }

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.feed(p, false)
	if w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

// Close ends the message.
func (w *Writer) Close() error {
	w.feed(nil, true)
	return w.err
}

// Copy copies a whole message from src to dst, as a Writer with fields does. An
// error in reading is returned as it is, one in writing as a *WriteError.
func Copy(dst io.Writer, src io.Reader, fields []byte) error {
	w := NewWriter(dst, fields)
	buffer := make([]byte, 32<<10)
	for {
		n, err := src.Read(buffer)
		if _, werr := w.Write(buffer[:n]); werr != nil {
			return werr
		}
		switch {
		case errors.Is(err, io.EOF):
			return w.Close()
		case err != nil:
			return err
		}
	}
}

// Add returns a copy of raw as a Writer with fields writes it.
func Add(raw, fields []byte) []byte {
	var out bytes.Buffer
	out.Grow(len(raw) + 2*len(fields))
	w := NewWriter(&out, fields)
	_, _ = w.Write(raw) // a buffer takes all
	_ = w.Close()
	return out.Bytes()
}

// Strip returns raw without the X-Hinged-… fields of its header: raw itself when
// there are none, else a copy.
func Strip(raw []byte) []byte {
	for rest := raw; len(rest) > 0 && !isEmpty(rest); rest = rest[len(firstLine(rest)):] {
		if isForged(rest) {
			return Add(raw, nil)
		}
	}
	return raw
}

// feed takes the next bytes of the message, or its end.
func (w *Writer) feed(p []byte, end bool) {
	rest := p
	if len(w.held) > 0 {
		w.held = append(w.held, p...)
		rest = w.held
	}
	for w.err == nil && (len(rest) > 0 || w.part == envelope) {
		line, wait := firstLine(rest), false
		switch w.part {
		case envelope:
			line, wait = w.envelope(line, end)
		case header:
			wait = w.headerLine(line, end)
		case body:
			line = rest
			w.write(line)
		}
		if wait {
			w.held = append(w.held[:0], line...)
			return
		}
		rest = rest[len(line):]
	}
	w.held = w.held[:0]
}

// envelope takes a line where envelope lines may stand, and returns what of it is
// done with: nothing when the header begins there. wait: more of it is needed to say.
func (w *Writer) envelope(line []byte, end bool) (done []byte, wait bool) {
	if !isWhole(line) && !end && len(line) <= maxEnvelope {
		return line, true
	}
	// However the message comes in pieces, a longer line is not looked at.
	whole := isWhole(line) && len(line) <= maxEnvelope
	if whole {
		w.eol = lineEnd(line)
	} else if len(line) > 0 {
		w.eol = "\n"
	}
	if whole && w.isEnvelope(line) {
		w.mbox = true
		w.write(line)
		return line, false
	}
	// Behind a line without an end there would be no place for them.
	for field := range bytes.Lines(w.fields) {
		w.write(field[:len(field)-1])
		w.write([]byte(w.eol))
	}
	w.part = header
	return nil, false
}

// headerLine takes a line of the header, or a piece of one. wait: more of it is
// needed to say whether it stays.
func (w *Writer) headerLine(line []byte, end bool) (wait bool) {
	if !w.inLine {
		if !end && mayBecome(line) {
			return true
		}
		switch {
		case isEmpty(line):
			w.part, w.drop = body, false
		case line[0] != ' ' && line[0] != '\t':
			w.drop = isForged(line)
		}
	}
	w.inLine = !isWhole(line)
	if !w.drop {
		w.write(line)
	}
	return false
}

func (w *Writer) write(b []byte) {
	if w.err == nil && len(b) > 0 {
		if _, err := w.to.Write(b); err != nil {
			w.err = &WriteError{err}
		}
	}
}

// isEnvelope tells the lines of an mbox that stand before the header.
func (w *Writer) isEnvelope(line []byte) bool {
	if w.mbox {
		return bytes.HasPrefix(line, []byte(">From "))
	}
	return bytes.HasPrefix(line, []byte("From "))
}

// firstLine returns the first line of text with its end, or all of text.
func firstLine(text []byte) []byte {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return text[:i+1]
	}
	return text
}

// isWhole tells a line with an end.
func isWhole(line []byte) bool { return len(line) > 0 && line[len(line)-1] == '\n' }

// isEmpty tells that text begins with the line that ends a header.
func isEmpty(text []byte) bool {
	return len(text) > 0 && text[0] == '\n' || len(text) > 1 && text[0] == '\r' && text[1] == '\n'
}

// isForged tells a line that pretends to be ours.
func isForged(line []byte) bool {
	return len(line) >= len(forged) && equalFold(line[:len(forged)], forged)
}

// IsForged reports whether a line, or the name of a field, pretends to be ours.
func IsForged(line string) bool { return isForged([]byte(line)) }

// mayBecome tells the beginning of a line that isForged or isEmpty can't judge.
func mayBecome(line []byte) bool {
	return len(line) == 1 && line[0] == '\r' || len(line) < len(forged) && equalFold(line, forged[:len(line)])
}

// equalFold compares with a text in small letters. Only the letters of ASCII
// have two forms here: the names of fields have no others.
func equalFold(b []byte, lower string) bool {
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// lineEnd returns how a line ends; LF when it does not.
func lineEnd(line []byte) string {
	if bytes.HasSuffix(line, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}
