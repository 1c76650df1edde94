// SPDX-License-Identifier: Apache-2.0

package persons

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// meeting is an event of a calendar (RFC 5545).
type meeting struct {
	uid, title, place string
	organizer         address
	guests            []address
	start             time.Time
	length            time.Duration
	seq               int
	optional          bool // the owner needn't come
	weekly            bool
}

// ics renders the meeting for a method: REQUEST, CANCEL or REPLY. For a reply, guests is the
// one who replies, and status is the answer.
func (m meeting) ics(method, status string, now time.Time) string {
	const form = "20060102T150405Z"
	var b strings.Builder
	fmt.Fprintf(&b, "BEGIN:VCALENDAR\nPRODID:-//Groupware//EN\nVERSION:2.0\nMETHOD:%s\nBEGIN:VEVENT\nUID:%s\nSEQUENCE:%d\nDTSTAMP:%s\nDTSTART:%s\nDTEND:%s\nSUMMARY:%s\nLOCATION:%s\n",
		method, m.uid, m.seq, now.UTC().Format(form), m.start.Format(form), m.start.Add(m.length).Format(form), strings.ReplaceAll(m.title, ",", "\\,"), m.place)
	fmt.Fprintf(&b, "ORGANIZER;CN=%s:mailto:%s\n", m.organizer.name, m.organizer.mail)
	role := "REQ-PARTICIPANT"
	if m.optional {
		role = "OPT-PARTICIPANT"
	}
	for _, g := range m.guests {
		fmt.Fprintf(&b, "ATTENDEE;ROLE=%s;PARTSTAT=%s;RSVP=TRUE;CN=%s:mailto:%s\n", role, status, g.name, g.mail)
	}
	if m.weekly {
		b.WriteString("RRULE:FREQ=WEEKLY;COUNT=20\n")
	}
	if method == "CANCEL" {
		b.WriteString("STATUS:CANCELLED\n")
	}
	return b.String() + "END:VEVENT\nEND:VCALENDAR\n"
}

// invites lets a contact invite the owner to meetings, with some of others; big ones are for
// everybody, and the owner doesn't want them marked.
func (w *world) invites(c *contact, others []*contact, perYear, big float64, days []int) {
	r := w.rand()
	for _, t := range w.times(r, perYear, days, true) {
		p := w.pen(r, c.lang, t)
		p.v["them"], p.v["themfull"] = c.first, c.name
		m := meeting{organizer: c.address, guests: []address{w.me}, length: time.Duration(1+r.IntN(4)) * 30 * time.Minute, uid: hex(r, 16) + "@" + c.domain(),
			start: t.AddDate(0, 0, 1+r.IntN(12)).Truncate(time.Hour), place: p.say("place"), weekly: r.IntN(8) == 0, optional: r.Float64() < big}
		rule, n := "invite", r.IntN(4)
		if w.private {
			rule, m.length = "invite.private", 4*time.Hour
		}
		if m.optional {
			rule, n = "invite.all", len(others)
		}
		for _, i := range r.Perm(len(others))[:min(n, len(others))] {
			if others[i] != c {
				m.guests = append(m.guests, others[i].address)
			}
		}
		w.invite(r, c, p, m, rule, t)
	}
}

// invite sends an invitation, and perhaps its change or its end.
func (w *world) invite(r *rand.Rand, c *contact, p *pen, m meeting, rule string, t time.Time) {
	subject, body := p.text(rule)
	m.title = subject
	method, prefix := "REQUEST", ""
	if c.look == lookGmail {
		prefix = p.say("invite.prefix")
	}
	for {
		p.at = t
		l := w.base(r, c, prefix+subject, body, t)
		l.to, l.calendar, l.method = m.guests, m.ics(method, "NEEDS-ACTION", t), method
		answer := 0.5
		switch {
		case method == "CANCEL":
			answer = 0
		case m.optional:
			answer = 0.1
		}
		answered := w.arrive(r, l, arrival{kind: "invitation", wanted: !m.optional, person: true, answer: answer})
		if !answered.IsZero() {
			w.accept(r, p, m, l, answered)
		}
		if method == "CANCEL" || r.Float64() < 0.8 {
			return
		}
		t = t.Add(time.Duration(3+r.IntN(40)) * time.Hour)
		if t.After(m.start) {
			return
		}
		m.seq++
		method, prefix = "REQUEST", p.say("invite.update")
		m.start = m.start.Add(time.Duration(1+r.IntN(48)) * time.Hour)
		if r.IntN(3) == 0 {
			method, prefix = "CANCEL", p.say("invite.cancel")
		}
	}
}

// accept is the owner's answer to an invitation, as a calendar program sends it.
func (w *world) accept(r *rand.Rand, p *pen, m meeting, l *letter, t time.Time) {
	if t.After(w.end) {
		return
	}
	own := &letter{from: w.me, to: []address{l.from}, at: t, subject: p.say("invite.accept") + m.title, body: "\n", look: lookText, lang: p.lang, auth: "own", id: id(r, w.look, w.me.domain()),
		refs: []string{l.id}, method: "REPLY"}
	m.guests = []address{w.me}
	own.calendar = m.ics("REPLY", "ACCEPTED", t)
	w.put(r, own, Mail{Folder: Sent, Kind: "own"})
}

// convenes lets the owner invite guests perYear times; their programs answer.
func (w *world) convenes(guests []*contact, perYear float64) {
	r := w.rand()
	for _, t := range w.times(r, perYear, nil, true) {
		p := w.pen(r, guests[0].lang, t)
		p.v["them"] = guests[0].first
		subject, body := p.text("invite")
		m := meeting{uid: hex(r, 16) + "@" + w.me.domain(), title: subject, organizer: w.me, start: t.AddDate(0, 0, 3).Truncate(time.Hour), length: time.Hour, place: p.say("place")}
		var cs []*contact
		for _, i := range r.Perm(len(guests))[:1+r.IntN(min(4, len(guests)))] {
			cs, m.guests = append(cs, guests[i]), append(m.guests, guests[i].address)
		}
		own := &letter{from: w.me, to: m.guests, at: t, subject: subject, body: body, look: w.look, lang: p.lang, auth: "own", id: id(r, w.look, w.me.domain()), calendar: m.ics("REQUEST", "NEEDS-ACTION", t), method: "REQUEST"}
		w.put(r, own, Mail{Folder: Sent, Kind: "own"})
		for _, c := range cs {
			at := t.Add(time.Duration(r.ExpFloat64() * 5 * float64(time.Hour)))
			says, status := p.say("invite.accept"), "ACCEPTED"
			if r.IntN(6) == 0 {
				says, status = p.say("invite.decline"), "DECLINED"
			}
			l := w.base(r, c, says+subject, "\n", at)
			m.guests = []address{c.address}
			l.calendar, l.method, l.refs, l.signature = m.ics("REPLY", status, at), "REPLY", []string{own.id}, ""
			w.arrive(r, l, arrival{kind: "calendar reply"})
		}
	}
}
