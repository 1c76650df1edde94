// SPDX-License-Identifier: Apache-2.0

package imap

import "time"

// What an INTERNALDATE looks like (RFC 9051, section 9), and how long one that is none may
// be to be replaced.
const (
	internalDate = `"_2-Jan-2006 15:04:05 -0700"`
	longestDate  = 64
)

// noDate stands in for an INTERNALDATE that is none. A message whose date it is has none.
const noDate = `"01-Jan-1970 00:00:00 +0000"`

// internalOf is the time of an INTERNALDATE, zero for noDate.
func internalOf(t time.Time) time.Time {
	if t.Unix() == 0 {
		return time.Time{}
	}
	return t
}

// put appends c, the next byte of a line, to out, or holds it back with the INTERNALDATE
// that it belongs to until that is whole.
func (d *dialect) put(out []byte, c byte) []byte {
	if d.line != kindFetch {
		return append(out, c)
	}
	if d.dating {
		return d.putDate(out, c)
	}
	switch {
	case d.depth != 1 || d.quoted:
	case c == ' ' || c == '(':
		d.dating = string(d.word) == "INTERNALDATE"
		d.word = d.word[:0]
	case len(d.word) < maxWord:
		d.word = append(d.word, c)
	}
	return append(out, c)
}

// putDate is put within a date: a quoted string, or a word such as NIL, which is none.
func (d *dialect) putDate(out []byte, c byte) []byte {
	quoted := len(d.date) > 0 && d.date[0] == '"'
	switch {
	case quoted && c == '"' && !d.quoted:
		d.date = append(d.date, c)
		return d.endDate(out)
	case !quoted && (c == ' ' || c == ')'):
		return append(d.endDate(out), c)
	}
	d.date = append(d.date, c)
	if len(d.date) > longestDate || d.date[0] == '{' {
		out = d.letGo(out)
	}
	return out
}

// endDate appends the date that is held back, or noDate if the client library would not
// take it.
func (d *dialect) endDate(out []byte) []byte {
	if t, err := time.Parse(internalDate, string(d.date)); err != nil || t.IsZero() {
		d.date = append(d.date[:0], noDate...)
	}
	return d.letGo(out)
}

// letGo appends what is held back as it is.
func (d *dialect) letGo(out []byte) []byte {
	out = append(out, d.date...)
	d.date, d.dating = d.date[:0], false
	return out
}
