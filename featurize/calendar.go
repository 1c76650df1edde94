// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"strings"
	"time"
)

// calendar is what the iCalendar objects of a message ask or say: the first METHOD and the
// first PARTSTAT that are known.
type calendar struct {
	read           bool
	method, status string
	events         int
}

// replies reports whether they answer an invitation, and accepts whether they are no
// refusal: a maybe, a substitute and another time are answers, too.
func (c *calendar) replies() bool { return c.method == "reply" || c.method == "counter" }

func (c *calendar) accepts() bool {
	return c.method == "counter" || c.status != "" && c.status != "declined"
}

// invitationWords describe the facts of an invitation: its METHOD (RFC 5546), the PARTSTAT of
// a reply, and when it is. That of its organiser stands apart.
var invitationWords = map[string]string{
	"request": "is an invitation", "cancel": "cancels an invitation", "reply": "answers an invitation",
	"counter": "proposes another time", "declinecounter": "declines another time", "publish": "announces an event",
	"accepted": "accepts an invitation", "declined": "declines an invitation", "tentative": "accepts an invitation perhaps", "delegated": "sends somebody else",
	"on monday": "is about a Monday", "on tuesday": "is about a Tuesday", "on wednesday": "is about a Wednesday", "on thursday": "is about a Thursday",
	"on friday": "is about a Friday", "on saturday": "is about a Saturday", "on sunday": "is about a Sunday",
	"all day": "is about a whole day", "at night": "is about a time before 6", "in the morning": "is about a morning",
	"in the afternoon": "is about an afternoon", "in the evening": "is about an evening", "repeated": "is about something that is repeated",
}

// dayTimes are the quarters of a day.
var dayTimes = [...]string{"at night", "in the morning", "in the afternoon", "in the evening"}

// maxEvents bounds the events of a message that become features.
const maxEvents = 10

// readCalendar makes words and facts of an iCalendar object (RFC 5545) in UTF-8, as people
// see an invitation: its title, place, time and organiser. The description counts only
// where the message has no other text so far, since that usually repeats it. What is not
// readable is skipped.
func (f *Featurizer) readCalendar(text []byte) {
	c := &f.calendar
	c.read = true
	bare := f.structure.own+f.structure.quoted == 0
	depth, event := 0, -1 // components that are open, and which of them is the event
	var unfolded []byte
	for len(text) > 0 {
		var line []byte
		line, text = cutLine(text)
		for folded := false; len(text) > 0 && (text[0] == ' ' || text[0] == '\t'); folded = true { // section 3.1
			var more []byte
			if more, text = cutLine(text); !folded {
				unfolded = append(unfolded[:0], line...)
			}
			unfolded = append(unfolded, more[1:]...)
			line = unfolded
		}
		name, params, value := contentLine(line)
		switch {
		case name == "begin":
			if depth++; equalFold(value, "vevent") || equalFold(value, "vtodo") {
				event = depth
				c.events++
			}
		case name == "end":
			depth--
		case name == "method" && c.method == "":
			c.method = f.invitation(value)
		case depth == event && c.events > 0 && c.events <= maxEvents:
			f.readEventLine(name, params, value, bare)
		}
	}
}

// invitation makes a fact of what invitationWords has, in whatever case, and returns that.
func (f *Featurizer) invitation(value []byte) string {
	fact := strings.ToLower(string(value[:min(len(value), 20)]))
	if invitationWords[fact] == "" {
		return ""
	}
	f.fact("invitation:", fact)
	return fact
}

// contentLine takes a content line apart (RFC 5545, section 3.1). The name is in lower case;
// it is empty where there is none.
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
	return strings.ToLower(string(head[:min(len(head), 20)])), params, trimBlank(line[colon+1:])
}

// readEventLine reads a property of an event.
func (f *Featurizer) readEventLine(name string, params, value []byte, bare bool) {
	switch name {
	case "summary", "location":
		text := plainValue(value)
		f.body.text -= len(text)
		for line := range bytes.Lines(text) {
			f.words.line(f, line, &kindOwn)
		}
	case "description":
		if bare {
			f.readText(f.plainLines(plainValue(value)))
		}
	case "organizer":
		if address := bareAddress(value[bytes.IndexByte(value, ':')+1:]); address != "" { // mailto:
			_, domain, _ := cutAddress(address)
			if f.owner[address] {
				address = "owner"
			}
			f.fact(f.said("invitation:", f.vouchesFor(domain)), "organiser "+strings.ReplaceAll(address, " | ", " _ "))
		}
	case "attendee":
		if _, status, ok := bytes.Cut(bytes.ToLower(params), []byte("partstat=")); ok && f.calendar.replies() && f.calendar.status == "" {
			status, _, _ = bytes.Cut(status, []byte{';'})
			f.calendar.status = f.invitation(bytes.Trim(status, `"`))
		}
	case "dtstart":
		f.readStart(value)
	case "rrule":
		f.invitation([]byte("repeated"))
	}
}

// readStart makes facts of when an event begins, where it is: of the hour in UTC nobody
// knows what it is there.
func (f *Featurizer) readStart(value []byte) {
	date, hour, timed := strings.Cut(string(value[:min(len(value), 20)]), "T")
	day, err := time.Parse("20060102", date)
	if err != nil {
		return
	}
	f.invitation([]byte("on " + day.Weekday().String()))
	if n, ok := wholeNumber(hour[:min(len(hour), 2)]); ok && n >= 0 && n < 24 && !strings.HasSuffix(hour, "Z") {
		f.invitation([]byte(dayTimes[n/6]))
	} else if !timed {
		f.invitation([]byte("all day"))
	}
}

// plainValue undoes the escapes of a text (RFC 5545, section 3.3.11).
func plainValue(value []byte) []byte {
	text := make([]byte, 0, len(value))
	for i := 0; i < len(value); i++ {
		c := value[i]
		if c == '\\' && i+1 < len(value) {
			if i++; value[i] == 'n' || value[i] == 'N' {
				c = '\n'
			} else {
				c = value[i]
			}
		}
		text = append(text, c)
	}
	return text
}
