// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"iter"
	"net/mail"
	"slices"
	"strconv"
	"strings"
	"time"
)

var (
	weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
	months   = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
)

// fromLineDate reads the date of a "From " line: that of asctime(3), "Thu Aug 18
// 18:22:57 2005" (RFC 4155, appendix A), with what various programs do to it:
// no seconds, a time zone before or behind the year, words behind the date. A
// zone that has no number counts as UTC. The result is zero when the line has
// no date.
func fromLineDate(line []byte) time.Time {
	if !bytes.HasPrefix(line, []byte(fromPrefix)) {
		return time.Time{}
	}
	fields := strings.Fields(string(line[len(fromPrefix):]))
	// The sender may hold spaces, and may even be left out.
	for i := range fields {
		if i+4 < len(fields) && slices.Contains(weekdays, strings.ToLower(fields[i])) {
			if date := asctime(fields[i+1:]); !date.IsZero() {
				return date
			}
		}
	}
	return time.Time{}
}

// asctime reads month, day, time of day, year and zone.
func asctime(fields []string) time.Time {
	month := slices.Index(months, strings.ToLower(fields[0])) + 1
	day, err := strconv.Atoi(fields[1])
	if month == 0 || err != nil || day < 1 || day > 31 {
		return time.Time{}
	}
	clock, err := time.Parse("15:04:05", fields[2])
	if err != nil {
		if clock, err = time.Parse("15:04", fields[2]); err != nil {
			return time.Time{}
		}
	}
	year, zone := 0, time.UTC
	for _, f := range fields[3:min(len(fields), 6)] {
		if z, ok := numericZone(f); ok {
			zone = z
		} else if y, err := strconv.Atoi(f); err == nil && year == 0 && len(f) == 4 && y > 0 {
			year = y
		}
	}
	if year == 0 {
		return time.Time{}
	}
	return time.Date(year, time.Month(month), day, clock.Hour(), clock.Minute(), clock.Second(), 0, zone)
}

// numericZone reads "+0200".
func numericZone(s string) (*time.Location, bool) {
	if len(s) != 5 || s[0] != '+' && s[0] != '-' {
		return nil, false
	}
	n, err := strconv.Atoi(s[1:])
	if err != nil || n < 0 {
		return nil, false
	}
	seconds := n/100*3600 + n%100*60
	if s[0] == '-' {
		seconds = -seconds
	}
	return time.FixedZone("", seconds), true
}

// headerBytes is how much of a message is searched for header fields.
const headerBytes = 256 << 10

// arrival returns when a message arrived, as well as its "From " line and its header
// know, and the date of its topmost Received field, which the receiving server wrote.
// Both are zero where there is none.
//
// The date of the "From " line counts only if the topmost Received field or the Date
// field supports it, or if there is neither: public-inbox writes the beginning of 1970
// into each line, git a day of 2001, and programs that import, copy or export mail the
// time at which they did so.
func arrival(envelope time.Time, raw []byte) (date, received time.Time) {
	received = headerDate(raw, "received")
	if supports(received, envelope) {
		return envelope, received
	}
	sent := headerDate(raw, "date")
	switch {
	case supports(sent, envelope):
		return envelope, received
	case !received.IsZero():
		return received, received
	case !sent.IsZero():
		return sent, received
	case plausible(envelope) && !envelope.Equal(gitDate):
		return envelope, received
	}
	return time.Time{}, received
}

// gitDate is in the "From " line of every patch that git writes (git-format-patch(1)).
var gitDate = time.Date(2001, 9, 17, 0, 0, 0, 0, time.UTC)

// plausible reports whether a date is none of a clock that was never set, or a joke.
func plausible(t time.Time) bool { return t.Year() > 1970 && t.Year() < 2100 }

// supports allows a day: "From " lines are often in a local time that they don't name.
func supports(other, envelope time.Time) bool {
	return !other.IsZero() && !envelope.IsZero() && other.Sub(envelope).Abs() <= 24*time.Hour
}

// fields gives name and value of each header field; a folded value has its line ends, and
// a line without a colon is a name.
func fields(raw []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		raw := raw[:min(len(raw), headerBytes)]
		for len(raw) > 0 {
			end := lineEnd(raw)
			if len(bytes.TrimRight(raw[:end], "\r\n")) == 0 {
				return
			}
			for end < len(raw) && (raw[end] == ' ' || raw[end] == '\t') {
				end += lineEnd(raw[end:])
			}
			if name, value, _ := bytes.Cut(raw[:end], []byte(":")); !yield(bytes.TrimRight(name, " \t"), value) {
				return
			}
			raw = raw[end:]
		}
	}
}

// lineEnd returns the length of the first line, with its end.
func lineEnd(b []byte) int {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return i + 1
	}
	return len(b)
}

// headerDate returns the date of the topmost field with a name, in lower case, that has
// one: behind the last semicolon in Received (RFC 5322, section 3.6.7), else the whole of
// it. Zero when there is none.
func headerDate(raw []byte, field string) time.Time {
	for name, value := range fields(raw) {
		if len(name) != len(field) || !strings.EqualFold(string(name), field) {
			continue
		}
		if field == "received" {
			i := bytes.LastIndexByte(value, ';')
			if i < 0 {
				continue
			}
			value = value[i+1:]
		}
		if date := parseDate(value); plausible(date) {
			return date
		}
	}
	return time.Time{}
}

// parseDate reads a date of RFC 5322, with the obsolete forms.
func parseDate(value []byte) time.Time {
	text := strings.Join(strings.Fields(string(value)), " ")
	// A comment behind the zone is allowed, and often malformed.
	plain, _, _ := strings.Cut(text, " (")
	date, err := time.Parse("Mon, 2 Jan 2006 15:04:05 -0700", plain) // nearly all, and quick
	for _, form := range []string{text, plain} {
		if err != nil {
			date, err = mail.ParseDate(form)
		}
	}
	if err != nil {
		return time.Time{}
	}
	return date
}
