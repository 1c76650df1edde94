// SPDX-License-Identifier: Apache-2.0

package persons

import (
	"math/rand/v2"
	"time"

	"github.com/hinged/hinged/bench/mailbox/life"
)

// manner is how a kind of personal mail is wanted and answered. Its text is the language's
// rule of the same name.
type manner struct {
	kind   string
	wanted float64
	answer float64
	more   float64 // how often the other comes back after the owner's answer
	starts float64 // how often it's the owner who begins
	open   bool    // liked without being wanted
	files  float64 // how often something is attached
	office bool    // at office hours
}

var manners = map[string]manner{
	"friend":   {kind: "friend", wanted: 1, answer: 0.55, more: 0.5, starts: 0.25, files: 0.1},
	"forward":  {kind: "joke", answer: 0.06, more: 0.1, open: true, files: 0.3},
	"family":   {kind: "family", wanted: 1, answer: 0.5, more: 0.4, starts: 0.25, files: 0.12},
	"client":   {kind: "work", wanted: 1, answer: 0.75, more: 0.6, starts: 0.3, files: 0.25, office: true},
	"work":     {kind: "work", wanted: 1, answer: 0.6, more: 0.5, starts: 0.3, files: 0.2, office: true},
	"fyi":      {kind: "fyi", answer: 0.05, more: 0.1, open: true, files: 0.3, office: true},
	"landlord": {kind: "household", wanted: 1, answer: 0.45, more: 0.4, starts: 0.3, files: 0.2, office: true},
	"teacher":  {kind: "school", wanted: 1, answer: 0.3, more: 0.2, starts: 0.15, files: 0.2, office: true},
	"doctor":   {kind: "doctor", wanted: 1, answer: 0.3, more: 0.3, starts: 0.2, office: true},
	"cold":     {kind: "cold call", answer: 0.04, more: 0.6, files: 0.05, office: true},
	"recruit":  {kind: "recruiter", answer: 0.05, more: 0.5, office: true},
	"customer": {kind: "customer", wanted: 1, answer: 0.85, more: 0.45, starts: 0.05, files: 0.1},
	"supplier": {kind: "supplier", wanted: 1, answer: 0.5, more: 0.4, starts: 0.3, files: 0.4, office: true},
	"citizen":  {kind: "request", wanted: 1, answer: 0.5, more: 0.3, files: 0.15},
	"board":    {kind: "committee", wanted: 1, answer: 0.45, more: 0.4, starts: 0.2, files: 0.3},
	"fellow":   {kind: "fellow student", wanted: 1, answer: 0.6, more: 0.5, starts: 0.2, files: 0.2},
	"prof":     {kind: "teacher", wanted: 1, answer: 0.5, more: 0.3, starts: 0.3, files: 0.15, office: true},
}

// talks lets a contact write about perYear conversations, in a manner.
func (w *world) talks(c *contact, rule string, perYear float64, days ...int) {
	m, r := manners[rule], w.rand()
	from, to := span(days)
	for _, t := range w.times(r, perYear, from, to, m.office) {
		w.talk(r, c, rule, m, t)
	}
}

// span is from how many days before the end until how many; 0: the life's begin and end.
func span(days []int) (from, to int) {
	if len(days) > 0 {
		from = days[0]
	}
	if len(days) > 1 {
		to = days[1]
	}
	return from, to
}

// talk plays a conversation from its first message on.
func (w *world) talk(r *rand.Rand, c *contact, rule string, m manner, t time.Time) {
	p := w.pen(r, c.lang, t)
	p.v["them"], p.v["themfull"] = c.first, c.name
	var last *letter
	wanted := r.Float64() < m.wanted
	answer := m.answer
	if r.Float64() < m.starts && w.h.answers > 0 {
		last = w.write(r, c, p, "own."+w.ownRule(c.lang, rule), nil, t)
		if last == nil || r.Float64() > 0.85 {
			return
		}
		t = w.later(r, t, m)
		rule = "re"
	}
	for range 6 {
		l := w.from(r, c, p, rule, last, t)
		if last == nil && r.Float64() < m.files && p.has("file") {
			l.files = append(l.files, w.file(r, p, "file"))
		}
		answered := w.arrive(r, l, mail{kind: m.kind, wanted: wanted, liked: m.open, person: true, answer: answer})
		if answered.IsZero() {
			return
		}
		last = w.write(r, c, p, "answer", l, answered)
		if last == nil || r.Float64() > m.more {
			return
		}
		t = w.later(r, answered, m)
		rule, answer = "re", m.answer*0.8
		if r.Float64() < 0.3 { // only thanks
			rule, answer, wanted = "thanks", 0.05, false
		} else {
			wanted = m.wanted > 0
		}
	}
}

// ownRule is what the owner begins a conversation of a manner with.
func (w *world) ownRule(lang, rule string) string {
	if (&pen{lang: lang}).has("own." + rule) {
		return rule
	}
	if manners[rule].office && (&pen{lang: lang}).has("own.work") {
		return "work"
	}
	return "friend"
}

// later is when the other comes back.
func (w *world) later(r *rand.Rand, t time.Time, m manner) time.Time {
	t = t.Add(time.Duration((0.2+r.ExpFloat64()*14)*float64(time.Hour)) + 3*time.Minute)
	for t.Hour() < 6 || m.office && (t.Weekday() == time.Saturday || t.Weekday() == time.Sunday) {
		t = t.Add(5 * time.Hour)
	}
	return t
}

// from makes a contact's message by a rule; last is what it answers, or nil.
func (w *world) from(r *rand.Rand, c *contact, p *pen, rule string, last *letter, t time.Time) *letter {
	p.at = t
	subject, body := p.text(rule)
	l := w.base(r, c, subject, body, t)
	l.follow(r, last)
	return l
}

// base makes a contact's message to the owner.
func (w *world) base(r *rand.Rand, c *contact, subject, body string, t time.Time) *letter {
	l := &letter{from: c.address, to: []address{w.me}, at: t, subject: subject, body: body, look: c.look, lang: c.lang, id: id(r, c.look, c.domain()), signature: c.signature}
	if c.second != "" && r.IntN(6) == 0 {
		l.from.mail = c.second
	}
	if r.IntN(12) == 0 {
		l.signature = ""
	}
	if r.IntN(3) == 0 {
		l.to[0].name = ""
	}
	if c.xmailer != "" {
		l.head = append(l.head, c.xmailer)
	}
	return l
}

// follow makes the letter an answer to last.
func (l *letter) follow(r *rand.Rand, last *letter) {
	if last == nil {
		return
	}
	re := "Re: "
	if l.look == lookOutlook && l.lang == "de" {
		re = "AW: "
	}
	l.subject = re + bare(last.subject)
	l.refs = append(append([]string{}, last.refs...), last.id)
	if r.IntN(10) > 0 {
		l.quotes = last
	}
}

func bare(subject string) string {
	for _, re := range []string{"Re: ", "AW: ", "WG: ", "Fwd: "} {
		if len(subject) > len(re) && subject[:len(re)] == re {
			return bare(subject[len(re):])
		}
	}
	return subject
}

// write makes what the owner sends, by a rule; nil if that is after the life's end.
func (w *world) write(r *rand.Rand, c *contact, p *pen, rule string, last *letter, t time.Time) *letter {
	if t.After(w.end) {
		return nil
	}
	p.at = t
	subject, body := p.text(rule)
	l := &letter{from: w.me, to: []address{c.address}, at: t, subject: subject, body: body, look: w.look, lang: c.lang, id: id(r, w.look, w.me.domain()), signature: w.signature, auth: "own"}
	l.follow(r, last)
	if last != nil && len(last.cc) > 0 && r.IntN(3) > 0 {
		l.cc = without(last.cc, w.me)
	}
	if last != nil && last.list != "" {
		l.to, l.cc = []address{{mail: last.list}}, l.to
	}
	w.put(r, l, life.Mail{Folder: life.Sent, Kind: "own"})
	w.echo(r, c, p, l)
	return l
}

// echo is what machines answer to the owner's mail now and then: an absence, or that it
// couldn't be delivered.
func (w *world) echo(r *rand.Rand, c *contact, p *pen, own *letter) {
	rule, m := "oof", mail{kind: "auto-reply"}
	if r.IntN(3) == 0 {
		rule, m = "bounce", mail{kind: "bounce", wanted: true}
	}
	if r.IntN(30) > 0 || !p.has(rule) {
		return
	}
	q := w.pen(r, c.lang, own.at)
	q.v["subject"], q.v["domain"] = own.subject, c.domain()
	subject, body := q.text(rule)
	l := w.base(r, c, subject, body, own.at.Add(40*time.Second))
	l.refs = []string{own.id}
	l.head = append(l.head, "Auto-Submitted: auto-replied", "X-Auto-Response-Suppress: All")
	if rule == "bounce" {
		l.from, l.look, l.signature = address{"Mail Delivery System", "MAILER-DAEMON@" + w.me.domain()}, lookText, ""
	}
	w.arrive(r, l, m)
}

func without(as []address, me address) []address {
	var out []address
	for _, a := range as {
		if a.mail != me.mail {
			out = append(out, a)
		}
	}
	return out
}

// file names an attachment by a rule.
func (w *world) file(r *rand.Rand, p *pen, rule string) file {
	f := file{name: p.say(rule), size: 600 + r.IntN(1800)}
	f.kind = fileKind(f.name)
	return f
}

func fileKind(name string) string {
	switch name[len(name)-4:] {
	case ".jpg", "jpeg":
		return "image/jpeg"
	case "docx":
		return "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	case "xlsx":
		return "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	case ".zip":
		return "application/zip"
	}
	return "application/pdf"
}
