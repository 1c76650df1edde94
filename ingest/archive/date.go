// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
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

// headerBytes is how much of a message is searched for a date.
const headerBytes = 256 << 10

// headerDate returns the date of the topmost Received field, else of the Date
// field, else zero (RFC 5322, section 3.6.7 and 3.6.1).
func headerDate(raw []byte) time.Time {
	raw = raw[:min(len(raw), headerBytes)]
	var date time.Time
	for len(raw) > 0 {
		line, rest, _ := bytes.Cut(raw, []byte("\n"))
		if len(bytes.TrimRight(line, "\r")) == 0 {
			break
		}
		wanted := isField(line, "received") || isField(line, "date")
		copied := false
		for len(rest) > 0 && (rest[0] == ' ' || rest[0] == '\t') {
			more, after, _ := bytes.Cut(rest, []byte("\n"))
			if wanted && !copied {
				line, copied = slices.Clone(line), true
			}
			if wanted {
				line = append(line, more...)
			}
			rest = after
		}
		raw = rest
		switch {
		case isField(line, "received"):
			if i := bytes.LastIndexByte(line, ';'); i >= 0 {
				if d := parseDate(line[i+1:]); !d.IsZero() {
					return d
				}
			}
		case date.IsZero() && isField(line, "date"):
			_, value, _ := bytes.Cut(line, []byte(":"))
			date = parseDate(value)
		}
	}
	return date
}

// isField reports whether a header line is of the field name, in lower case.
func isField(line []byte, name string) bool {
	colon := bytes.IndexByte(line, ':')
	return colon >= 0 && strings.EqualFold(string(bytes.TrimRight(line[:colon], " \t")), name)
}

// parseDate reads a date of RFC 5322, with the obsolete forms.
func parseDate(value []byte) time.Time {
	text := strings.TrimSpace(string(value))
	date, err := mail.ParseDate(text)
	if err != nil {
		// A comment behind the zone is allowed, and often malformed.
		if text, _, _ = strings.Cut(text, "("); text != "" {
			date, err = mail.ParseDate(strings.TrimSpace(text))
		}
		if err != nil {
			return time.Time{}
		}
	}
	return date
}
