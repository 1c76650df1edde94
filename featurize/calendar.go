// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"strings"
	"time"
)

// calendar is what the iCalendar objects of a message ask or say: the first METHOD (RFC
// 5546) and the first PARTSTAT that are known.
type calendar struct {
	read           bool
	method, status string
}

// refuses reports whether the answer to an invitation is no yes to it; a maybe, a substitute
// and another time are.
func (c *calendar) refuses() bool {
	return c.method == "reply" && (c.status == "" || c.status == "declined")
}

var (
	methods  = []string{"request", "cancel", "reply", "counter", "publish"}
	statuses = []string{"accepted", "declined", "tentative", "delegated"}
	dayTimes = []string{"at night", "in the morning", "in the afternoon", "in the evening"} // quarters
)

// readCalendar makes words and facts of an iCalendar object (RFC 5545) in UTF-8, as people
// see an invitation: its title, place, time and organiser. The description counts only
// where the message has no other text so far, since that usually repeats it. What is not
// readable is skipped.
func (f *Featurizer) readCalendar(text []byte) {
	c := &f.calendar
	c.read = true
	bare := f.structure.own+f.structure.quoted == 0
	depth, event := 0, 0 // components that are open, and which of them is the event
	for len(text) > 0 {
		var line, more []byte
		line, text = cutLine(text)
		line = line[:len(line):len(line)]
		for len(text) > 0 && (text[0] == ' ' || text[0] == '\t') { // section 3.1
			more, text = cutLine(text)
			line = append(line, more[1:]...)
		}
		name, params, value := contentLine(line)
		switch {
		case name == "begin":
			if depth++; equalFold(value, "vevent") || equalFold(value, "vtodo") {
				event = depth
			}
		case name == "end":
			depth = max(depth-1, 0)
		case name == "method" && c.method == "":
			c.method = f.invitation(value, methods)
		case depth == event && event > 0:
			f.readEventLine(name, params, value, bare)
		}
	}
}

// invitation makes a fact of a value if it is one of those known, and returns that.
func (f *Featurizer) invitation(value []byte, known []string) string {
	for _, fact := range known {
		if equalFold(value, fact) {
			f.fact("invitation:", fact)
			return fact
		}
	}
	return ""
}

// contentLine takes a content line apart (section 3.1). The name is in lower case, and empty
// where there is none.
func contentLine(line []byte) (name string, params, value []byte) {
	quoted := false
	colon := bytes.IndexFunc(line, func(r rune) bool {
		quoted = quoted != (r == '"')
		return r == ':' && !quoted
	})
	if colon < 0 {
		colon = bytes.IndexByte(line, ':') // a quote that is not closed
	}
	head, params, _ := bytes.Cut(line[:max(colon, 0)], []byte{';'})
	return strings.ToLower(string(head[:min(len(head), 20)])), params, bytes.Trim(line[colon+1:], blank)
}

// readEventLine reads a property of an event.
func (f *Featurizer) readEventLine(name string, params, value []byte, bare bool) {
	switch name {
	case "summary", "location":
		f.body.text -= len(value)
		for line := range bytes.Lines(plainValue(value)) {
			f.words.line(f, line, &kindOwn)
		}
	case "description":
		if bare {
			f.readText(f.plainLines(plainValue(value)))
		}
	case "organizer":
		if address := bareAddress(value[bytes.IndexByte(value, ':')+1:]); address != "" { // mailto:
			_, domain, _ := cutAddress(address)
			f.fact(f.said("invitation:", f.vouchesFor(domain)), "organiser "+address)
		}
	case "attendee":
		if _, status, ok := bytes.Cut(bytes.ToLower(params), []byte("partstat=")); ok && f.calendar.method == "reply" && f.calendar.status == "" {
			status, _, _ = bytes.Cut(status, []byte{';'})
			f.calendar.status = f.invitation(bytes.Trim(status, `"`), statuses)
		}
	case "dtstart": // in its own zone; of an hour in UTC nobody knows what it is there
		date, hour, _ := strings.Cut(string(value[:min(len(value), 20)]), "T")
		day, err := time.Parse("20060102", date)
		if err != nil {
			return
		}
		f.fact("invitation:", "on "+strings.ToLower(day.Weekday().String()))
		if n, ok := wholeNumber(hour[:min(len(hour), 2)]); ok && n >= 0 && n < 24 && !strings.HasSuffix(hour, "Z") {
			f.fact("invitation:", dayTimes[n/6])
		}
	}
}

// plainValue undoes the escapes of a text (section 3.3.11).
func plainValue(value []byte) []byte {
	if bytes.IndexByte(value, '\\') < 0 {
		return value
	}
	return []byte(calendarEscapes.Replace(string(value)))
}

var calendarEscapes = strings.NewReplacer(`\n`, "\n", `\N`, "\n", `\,`, ",", `\;`, ";", `\\`, `\`)
