// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"net/mail"
	"time"
)

// parseDate reads the date of a header field; the zero time and false where there is
// none.
func parseDate(value []byte) (time.Time, bool) {
	if date, ok := plainDate(value); ok {
		return date, true
	}
	date, err := mail.ParseDate(string(value))
	if err != nil || date.Year() <= 0 {
		return time.Time{}, false
	}
	return date, true
}

// plainDate reads a date of the form in which nearly all are written:
//
//	Thu, 18 Aug 2005 18:22:57 +0200 (CEST)
//
// with or without the day of the week, and with one or two digits for the day, or a space
// in the place of the first. ok is false for any other form, which net/mail has to read. It
// takes a fiftieth of the time of net/mail, which tries one layout after the other
// (docs/results.md); a test and a fuzz target hold it against net/mail.
func plainDate(value []byte) (date time.Time, ok bool) {
	d := dateReader{rest: value}
	if len(value) > 4 && value[3] == ',' {
		at := bytes.Index(dayNames, value[:3])
		d.bad = at < 0 || at%3 != 0
		d.rest = value[4:]
		d.byte(' ')
		d.rest = bytes.TrimPrefix(d.rest, []byte(" ")) // of a day of one digit
	}
	day := d.number(1, 2)
	d.byte(' ')
	month := d.month()
	d.byte(' ')
	year := d.number(4, 4)
	d.byte(' ')
	hour := d.number(2, 2)
	d.byte(':')
	minute := d.number(2, 2)
	d.byte(':')
	second := d.number(2, 2)
	d.byte(' ')
	west := len(d.rest) > 0 && d.rest[0] == '-'
	if !west {
		d.byte('+')
	} else {
		d.byte('-')
	}
	hours, minutes := d.number(2, 2), d.number(2, 2)
	if d.bad || !d.over() || day == 0 || year == 0 || hour > 23 || minute > 59 || second > 59 || hours > 23 || minutes > 59 {
		return date, false
	}
	offset := 3600*hours + 60*minutes
	if west {
		offset = -offset
	}
	date = time.Date(year, month, day, hour, minute, second, 0, time.FixedZone("", offset))
	if date.Day() != day { // the month is shorter than that
		return time.Time{}, false
	}
	return date, true
}

var (
	dayNames   = []byte("MonTueWedThuFriSatSun")
	monthNames = []byte("JanFebMarAprMayJunJulAugSepOctNovDec")
)

// dateReader reads the parts of a date one after another.
type dateReader struct {
	rest []byte
	bad  bool
}

// byte reads one character.
func (d *dateReader) byte(c byte) {
	if d.bad = d.bad || len(d.rest) == 0 || d.rest[0] != c; !d.bad {
		d.rest = d.rest[1:]
	}
}

// number reads a number of least to most digits.
func (d *dateReader) number(least, most int) int {
	n, digits := 0, 0
	for digits < most && digits < len(d.rest) && asciiClass[d.rest[digits]]&digit != 0 {
		n = 10*n + int(d.rest[digits]-'0')
		digits++
	}
	d.rest, d.bad = d.rest[digits:], d.bad || digits < least
	return n
}

// month reads the name of a month.
func (d *dateReader) month() time.Month {
	if d.bad || len(d.rest) < 3 {
		d.bad = true
		return 0
	}
	at := bytes.Index(monthNames, d.rest[:3])
	d.rest, d.bad = d.rest[3:], at < 0 || at%3 != 0
	return time.Month(at/3 + 1)
}

// over reports whether nothing follows, or only the name of a zone in parentheses.
func (d *dateReader) over() bool {
	if len(d.rest) == 0 {
		return true
	}
	name, found := bytes.CutPrefix(d.rest, []byte(" ("))
	if !found || len(name) < 2 || name[len(name)-1] != ')' {
		return false
	}
	for _, c := range name[:len(name)-1] {
		if asciiClass[c]&letter == 0 {
			return false
		}
	}
	return true
}
