// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"strconv"
	"strings"
	"time"
)

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

// optional are the numbers that an answer may do without, each with its bits. One that is
// none becomes 0, which stands for "not known".
var optional = map[string]int{"HIGHESTMODSEQ": 63, "MODSEQ": 63, "RFC822.SIZE": 63, "MESSAGES": 32, "UIDNEXT": 32}

const itemDate = "INTERNALDATE"

// put appends c, the next byte of a line, to out, or holds it back with the date or number
// that it belongs to until that is whole.
func (d *dialect) put(out []byte, c byte) []byte {
	if d.item != "" {
		return d.putValue(out, c)
	}
	switch d.line {
	case kindText:
		d.name(c, d.code == codeName && c != '[', d.code == codePast && c == ' ' && len(d.word) > 0)
	case kindFetch, kindStatus:
		if d.depth == 1 && !d.quoted {
			apart := c == ' ' || c == '('
			d.name(c, !apart, apart)
		}
	}
	out = append(out, c)
	if d.asUID && c == '(' {
		out, d.asUID = append(out, "UID "+d.number+" "...), false
	}
	return out
}

// name takes a byte that is part of the name of an item, or comes after it.
func (d *dialect) name(c byte, part, after bool) {
	switch {
	case part && len(d.word) < maxWord:
		d.word = append(d.word, c)
	case after:
		d.item = strings.ToUpper(string(d.word))
		if _, number := optional[d.item]; !number && (d.item != itemDate || d.line != kindFetch) {
			d.item = ""
		}
		d.word = d.word[:0]
	}
}

// putValue is put within the value of an item: a quoted string, or a word.
func (d *dialect) putValue(out []byte, c byte) []byte {
	quoted := len(d.value) > 0 && d.value[0] == '"'
	switch {
	case quoted && c == '"' && !d.quoted:
		d.value = append(d.value, c)
		return d.endValue(out)
	case !quoted && (c == ' ' || c == ')' || c == ']'):
		return append(d.endValue(out), c)
	}
	d.value = append(d.value, c)
	if len(d.value) > longestDate || d.value[0] == '{' {
		out = d.letGo(out)
	}
	return out
}

// endValue appends the value that is held back, or one that the client library takes.
func (d *dialect) endValue(out []byte) []byte {
	if bits, number := optional[d.item]; number {
		digits, inner := strings.CutPrefix(string(d.value), "(") // as that of MODSEQ is
		if _, err := strconv.ParseUint(digits, 10, bits); err != nil {
			if d.value = d.value[:0]; inner {
				d.value = append(d.value, '(')
			}
			d.value = append(d.value, '0')
		}
	} else if t, err := time.Parse(internalDate, string(d.value)); err != nil || t.IsZero() {
		d.value = append(d.value[:0], noDate...)
	}
	return d.letGo(out)
}

// letGo appends what is held back as it is.
func (d *dialect) letGo(out []byte) []byte {
	out = append(out, d.value...)
	d.value, d.item = d.value[:0], ""
	return out
}
