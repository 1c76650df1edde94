// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"strings"
	"time"
	"unicode/utf8"
)

// parseDate reads the date of a header field in the form of RFC 5322, section 3.3, or any other
// that can mean one day only: other orders, months in other languages, ISO 8601, named zones. A
// zone that is missing or not known to be of one place is time.UTC itself. net/mail reads the
// usual form alone, in thirty times the time; a fuzz target holds it against that.
func parseDate(value []byte) (time.Time, bool) {
	d := dateReader{rest: value, hour: -1}
	for len(d.rest) > 0 && !(d.zoned && d.hour >= 0 && d.year > 0) {
		switch c := d.rest[0]; {
		case asciiClass[c]&digit != 0:
			d.number()
		case (c == '+' || c == '-') && d.hour >= 0 && len(d.rest) > 1 && asciiClass[d.rest[1]]&digit != 0:
			d.offset(c == '-')
		case c == '(' && d.hour >= 0 && (d.named || d.zoned):
			d.rest = nil
		case c >= utf8.RuneSelf || asciiClass[c]&letter != 0:
			d.word()
		default:
			if c != ' ' && d.between == 0 && d.count > 0 {
				d.between = c
			}
			d.rest = d.rest[1:]
		}
	}
	return d.date()
}

// dateReader is what was read of a date so far.
type dateReader struct {
	rest                 []byte
	numbers              [3]int     // of one or two digits: day, month or year
	count                int        // of numbers
	between              byte       // behind the first of them
	year                 int        // 0: not seen
	month                time.Month // 0: not seen by its name
	hour, minute, second int        // hour is -1: not seen
	half                 byte       // 'a' or 'p' of the day; 0: not seen
	zone                 int        // seconds east
	// named: a zone was named. zoned: one was given as a number, or as "Z".
	yearFirst, named, zoned, impossible bool
}

// digits reads a number of at most most digits and says how many there were.
func (d *dateReader) digits(most int) (n, size int) {
	for size < min(most, len(d.rest)) && asciiClass[d.rest[size]]&digit != 0 {
		n = 10*n + int(d.rest[size]-'0')
		size++
	}
	d.rest = d.rest[size:]
	return n, size
}

// after reads one character.
func (d *dateReader) after(c byte) bool {
	if len(d.rest) > 1 && d.rest[0] == c && asciiClass[d.rest[1]]&digit != 0 {
		d.rest = d.rest[1:]
		return true
	}
	return false
}

// number reads a time of the day, or a number of a date.
func (d *dateReader) number() {
	n, size := d.digits(18)
	switch {
	case size <= 2 && d.hour < 0 && d.after(':'):
		d.hour = n
		d.minute, _ = d.digits(2)
		if d.after(':') {
			d.second, _ = d.digits(2)
			if d.after('.') || d.after(',') {
				d.digits(18)
			}
		}
		d.impossible = n > 23 || d.minute > 59 || d.second > 60
	case size >= 3 && size <= 4 && d.year == 0:
		if d.yearFirst = d.count == 0 && d.month == 0; size == 3 {
			n += 1900 // RFC 5322, section 4.3
		}
		d.year = n
		d.impossible = d.impossible || n == 0
	case size == 10 && len(d.rest) == 0 && d.count == 0 && d.month == 0: // seconds since 1970
		t := time.Unix(int64(n), 0).UTC()
		d.year, d.month, d.numbers[0], d.count = t.Year(), t.Month(), t.Day(), 1
		d.hour, d.minute, d.second = t.Clock()
	case size <= 2 && d.count < len(d.numbers):
		d.numbers[d.count] = n
		d.count++
	}
}

// offset reads a zone as hours and minutes.
func (d *dateReader) offset(west bool) {
	d.rest = d.rest[1:]
	n, size := d.digits(4)
	hours, minutes := n/100, n%100
	if size <= 2 {
		hours, minutes = n, 0
		if d.after(':') {
			minutes, _ = d.digits(2)
		}
	}
	if d.zoned = true; hours <= 24 && minutes <= 60 {
		d.zone = 3600*hours + 60*minutes
	}
	if west {
		d.zone = -d.zone
	}
}

// word reads the name of a month or a zone, or a half of the day; any other word, such as
// the day of the week, says nothing. A month that stands behind another is the month: the
// first was a day (mardi, martes).
func (d *dateReader) word() {
	end := bytes.IndexFunc(d.rest, func(r rune) bool {
		return r < utf8.RuneSelf && asciiClass[r]&letter == 0 || r == '年' || r == '月' || r == '日'
	})
	if end < 0 {
		end = len(d.rest)
	}
	if end == 0 { // one of those three
		end = len("年")
	}
	var lower [24]byte
	word := d.rest[:min(end, len(lower))]
	if d.rest = d.rest[end:]; isASCII(word) {
		word = appendLower(lower[:0], word)
	} else {
		word = bytes.ToLower(word)
	}
	switch string(word) {
	case "am", "上午", "午前", "오전":
		d.half = 'a'
		return
	case "pm", "下午", "午後", "오후":
		d.half = 'p'
		return
	}
	if zone, ok := zoneNames[string(word)]; ok && d.hour >= 0 && !d.named && !d.zoned {
		d.zone, d.named, d.zoned = 3600*zone, true, string(word) == "z"
		return
	}
	if d.hour >= 0 && d.month != 0 {
		return
	}
	for n := len(word); n >= 3; n-- {
		if month, ok := monthNames[string(word[:n])]; ok {
			d.month = month
			return
		}
	}
}

// date puts together what was read.
func (d *dateReader) date() (date time.Time, ok bool) {
	n, day, year := d.numbers, d.numbers[0], d.numbers[1]
	switch {
	case d.month != 0:
	case d.yearFirst, d.between == '/' && n[1] > 12:
		d.month, day, year = time.Month(n[0]), n[1], n[2]
	case d.between == '.', d.between == '/' && (n[0] > 12 || n[0] == n[1]):
		d.month, year = time.Month(n[1]), n[2]
	default: // which is the month can't be told
		return date, false
	}
	if d.year == 0 && d.count > 1 {
		if d.year = 2000 + year; year >= 69 { // as net/mail has it
			d.year -= 100
		}
	}
	switch {
	case d.half == 'p' && d.hour < 12:
		d.hour += 12
	case d.half == 'a' && d.hour == 12:
		d.hour = 0
	}
	if d.impossible || d.count == 0 || day == 0 || d.month < 1 || d.month > 12 || d.year == 0 {
		return date, false
	}
	zone := time.UTC
	if d.zoned || d.named {
		zone = time.FixedZone("", d.zone)
	}
	date = time.Date(d.year, d.month, day, max(d.hour, 0), d.minute, min(d.second, 59), 0, zone)
	if date.Day() != day { // the month is shorter than that
		return time.Time{}, false
	}
	return date, true
}

// monthNames has how the months begin in the languages in which mail programs write them.
var monthNames = func() map[string]time.Month {
	names := map[string]time.Month{}
	for i, month := range lists["months"] {
		for name := range strings.FieldsSeq(month) {
			names[name] = time.Month(i + 1)
		}
	}
	return names
}()

// zoneNames has the hours east of UTC of zones whose names mean one place in mail (RFC 5322,
// section 4.3, and the zones of Europe, East Asia and the Pacific).
var zoneNames = map[string]int{
	"z": 0, "ut": 0, "utc": 0, "gmt": 0, "wet": 0, "west": 1, "bst": 1, "cet": 1, "met": 1, "mez": 1,
	"cest": 2, "mest": 2, "mesz": 2, "eet": 2, "sast": 2, "eest": 3, "msk": 3, "hkt": 8, "sgt": 8, "awst": 8,
	"jst": 9, "kst": 9, "aest": 10, "aedt": 11, "nzst": 12, "nzdt": 13, "hst": -10, "akst": -9, "akdt": -8,
	"pst": -8, "pdt": -7, "mst": -7, "mdt": -6, "cst": -6, "cdt": -5, "est": -5, "edt": -4, "ast": -4, "adt": -3,
}
