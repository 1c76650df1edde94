// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
)

// field is one header field: its name as written, its value unfolded and
// trimmed. Both may lie in the raw message or in the featurizer's scratch.
type field struct {
	name  []byte
	value []byte
}

const (
	maxFields = 1000    // of one header
	blank     = " \t\r" // around a value
)

// stripEnvelope drops what a mailbox file or a careless exporter puts before the
// header: a byte order mark, and the "From " line of an mbox.
func stripEnvelope(raw []byte) []byte {
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	if bytes.HasPrefix(raw, []byte("From ")) || bytes.HasPrefix(raw, []byte(">From ")) {
		_, rest := cutLine(raw)
		return rest
	}
	return raw
}

// key hashes a message, each CRLF as LF, without copying it whole.
func (f *Featurizer) key(raw []byte) (key [16]byte) {
	f.hash.Reset()
	f.block.Reset(f.hash)
	for found := true; found; {
		var line []byte
		line, raw, found = bytes.Cut(raw, []byte("\r\n"))
		_, _ = f.block.Write(line)
		if found {
			_ = f.block.WriteByte('\n')
		}
	}
	_ = f.block.Flush() // a hash takes all
	f.sum = f.hash.Sum(f.sum[:0])
	copy(key[:], f.sum)
	return key
}

// cutLine returns the first line of text without its end (LF or CRLF), and what
// follows.
func cutLine(text []byte) (line, rest []byte) {
	end := bytes.IndexByte(text, '\n')
	if end < 0 {
		return text, nil
	}
	line, rest = text[:end], text[end+1:]
	if end > 0 && line[end-1] == '\r' {
		line = line[:end-1]
	}
	return line, rest
}

// split finds the header fields and the body of an entity (RFC 5322, section
// 2.1), and takes what it can where the rules are broken:
//
//   - a line that is no field is dropped from the header and returned as debris,
//     whose words still count;
//   - where no blank line ends the header, the body begins at the first such
//     line; where there is no field at all, everything is body;
//   - fields beyond the limits are cut or left out.
//
// Blank lines before the first field are skipped in a message; in a part of one
// (top is false) they are the end of an empty header.
//
// The fields are appended to fields[:0]; those and the debris are valid until the
// next message.
func (f *Featurizer) split(raw []byte, fields []field, top bool) (_ []field, body, debris []byte) {
	rest := raw
	if top {
		var empty bool
		if rest, empty = f.skipBlank(raw); empty {
			return fields[:0], rest, nil
		}
	}
	h := headerLines{fields: fields[:0], last: -1}
	debris0 := len(f.debris)
	for len(rest) > 0 {
		line, next := cutLine(rest)
		if len(line) > 0 {
			f.takeLine(&h, line, rest)
			rest = next
			continue
		}
		if len(h.fields) == 0 && h.broken != nil {
			f.defect("no header")
			return h.fields, h.broken, nil
		}
		return h.fields, next, f.debris[debris0:]
	}
	if h.broken == nil {
		return h.fields, nil, nil
	}
	f.defect("no blank line after the header")
	return fieldsBefore(h.fields, raw, h.broken), h.broken, nil
}

// skipBlank returns what follows the blank lines before a header; empty: that is
// the body, because no header follows them.
func (f *Featurizer) skipBlank(rest []byte) (_ []byte, empty bool) {
	for len(rest) > 0 {
		line, next := cutLine(rest)
		if len(bytes.TrimSpace(line)) != 0 {
			break
		}
		if first := firstLine(next); fieldName(first) <= 0 && len(bytes.TrimSpace(first)) > 0 {
			return next, true
		}
		f.defect("blank line before the header")
		rest = next
	}
	return rest, false
}

// headerLines is what was read of a header so far.
type headerLines struct {
	fields []field
	used   int    // bytes
	last   int    // the field that a continuation line continues; -1: none; -2: one that is not kept
	broken []byte // the message from the first broken line on
}

// takeLine reads one line of a header, with which rest begins.
func (f *Featurizer) takeLine(h *headerLines, line, rest []byte) {
	h.used += len(line) + 1
	if h.used <= f.MaxHeader && line[0] != ' ' && line[0] != '\t' {
		f.takeField(h, line, rest)
		return
	}
	switch {
	case h.used > f.MaxHeader:
		f.defect("header too long")
		cut := len(line) - (h.used - f.MaxHeader)
		if name, _ := cutField(line); h.last == -1 && name > 0 && cut > 0 {
			name, colon := cutField(line[:cut])
			h.fields = f.appendField(h.fields, line[:cut], name, colon)
		}
		h.last = -2
	case h.last >= 0:
		h.fields[h.last].value = f.fold(h.fields[h.last].value, line)
	case len(h.fields) == 0:
		f.dropLine(h, line, rest)
	}
}

// takeField reads a line that should begin a field.
func (f *Featurizer) takeField(h *headerLines, line, rest []byte) {
	name, colon := cutField(line)
	switch {
	case name == 0:
		f.dropLine(h, line, rest)
		h.last = -1
	case len(h.fields) == maxFields:
		f.defect("too many header fields")
		h.last = -2
	default:
		h.fields = f.appendField(h.fields, line, name, colon)
		h.last = len(h.fields) - 1
	}
}

// dropLine leaves a line that is no field out of the header.
func (f *Featurizer) dropLine(h *headerLines, line, rest []byte) {
	f.defect("header line without field name")
	f.debris = append(append(f.debris, line...), '\n')
	if h.broken == nil {
		h.broken = rest
	}
}

func firstLine(text []byte) []byte {
	line, _ := cutLine(text)
	return line
}

// fieldsBefore keeps the fields that stand before at, a tail of raw: those are
// the header of a message that has no blank line.
func fieldsBefore(fields []field, raw, at []byte) []field {
	head := raw[:len(raw)-len(at)]
	n := 0
	for len(head) > 0 && n < len(fields) {
		var line []byte
		line, head = cutLine(head)
		if fieldName(line) > 0 {
			n++
		}
	}
	return fields[:n]
}

// fieldName returns the length of the field name that line begins with, or 0.
// White space before the colon is borne (RFC 5322, section 4.5).
func fieldName(line []byte) int {
	name, _ := cutField(line)
	return name
}

// cutField returns what fieldName does and the place of the colon.
func cutField(line []byte) (name, colon int) {
	colon = bytes.IndexByte(line[:min(len(line), 200)], ':')
	if colon <= 0 {
		return 0, colon
	}
	for name = colon; name > 0 && (line[name-1] == ' ' || line[name-1] == '\t'); {
		name--
	}
	for _, c := range line[:name] {
		if c <= ' ' || c >= 0x7f {
			return 0, colon
		}
	}
	return name, colon
}

// appendField appends the field of a line, whose name and colon cutField has found.
func (f *Featurizer) appendField(fields []field, line []byte, n, colon int) []field {
	value := line[colon+1:]
	if len(value) > f.MaxField {
		f.defect("header field too long")
		value = value[:f.MaxField]
	}
	value = bytes.Trim(value, blank)
	return append(fields, field{line[:n], value[:len(value):len(value)]})
}

// fold appends a continuation line to a value, white space as one space. The
// value moves to the featurizer's scratch with the first continuation and grows
// there, since no other field can come between.
func (f *Featurizer) fold(value, line []byte) []byte {
	line = bytes.Trim(line, blank)
	if len(value)+1+len(line) > f.MaxField {
		f.defect("header field too long")
		line = line[:max(0, f.MaxField-len(value)-1)]
	}
	if len(line) == 0 {
		return value
	}
	if end := len(f.folded); end >= len(value) && len(value) > 0 && &f.folded[end-len(value)] == &value[0] {
		f.folded = append(append(f.folded, ' '), line...)
		return f.folded[end-len(value) : len(f.folded) : len(f.folded)]
	}
	start := len(f.folded)
	f.folded = append(f.folded, value...)
	if len(value) > 0 {
		f.folded = append(f.folded, ' ')
	}
	f.folded = append(f.folded, line...)
	return f.folded[start:len(f.folded):len(f.folded)]
}

// defect notes what was wrong with the message, once.
func (f *Featurizer) defect(what string) {
	for _, d := range f.defects {
		if d == what {
			return
		}
	}
	f.defects = append(f.defects, what)
}
