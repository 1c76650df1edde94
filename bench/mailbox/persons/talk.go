// SPDX-License-Identifier: Apache-2.0

package persons

import (
	"math/rand/v2"
	"time"
)

// manner is how a kind of personal mail is wanted and answered. Its text is the language's
// rule of the same name.
type manner struct {
	Kind   string
	Wanted float64
	Answer float64
	More   float64 // how often the other comes back after the owner's answer
	Starts float64 // how often it's the owner who begins
	Open   bool    // liked without being wanted
	Files  float64 // how often something is attached
	Office bool    // at office hours
}

// talks lets a contact write about perYear conversations, in a manner.
func (w *world) talks(c *contact, rule string, perYear float64, days []int) {
	m, r := kinds().Manners[rule], w.rand()
	for _, t := range w.times(r, perYear, days, m.Office) {
		w.talk(r, c, rule, m, t)
	}
}

// talk plays a conversation from its first message on.
func (w *world) talk(r *rand.Rand, c *contact, rule string, m manner, t time.Time) {
	p := w.pen(r, c.lang, t)
	p.v["them"], p.v["themfull"] = c.first, c.name
	var last *letter
	opening := rule
	wanted := r.Float64() < m.Wanted
	answer := m.Answer
	if r.Float64() < m.Starts && w.h.answers > 0 {
		last = w.write(r, c, p, "own."+w.ownRule(c.lang, rule), nil, t)
		if last == nil || r.Float64() > 0.85 {
			return
		}
		t = w.later(r, t, m)
		rule = p.either("re."+style(opening), "re")
	}
	for range 6 {
		l := w.from(r, c, p, rule, last, t)
		if last == nil && r.Float64() < m.Files && p.has("file") {
			l.files = append(l.files, w.file(r, p, "file"))
		}
		if m.Open && last == nil {
			w.many(r, l)
		}
		answered := w.arrive(r, l, arrival{kind: m.Kind, wanted: w.whim(r, m.Kind, wanted), liked: m.Open, person: true, answer: answer})
		w.elsewhere = answered.IsZero() && r.Float64() < w.away()*answer
		if w.elsewhere {
			answered = w.later(r, l.at, m)
		}
		if answered.IsZero() {
			return
		}
		last = w.write(r, c, p, p.either("answer."+style(opening), "answer"), l, answered)
		if last == nil || r.Float64() > m.More {
			return
		}
		t = w.later(r, answered, m)
		rule, answer = p.either("re."+style(opening), "re"), m.Answer*0.8
		if r.Float64() < 0.3 { // only thanks
			rule, answer, wanted = "thanks", 0.05, false
		} else {
			wanted = m.Wanted > 0
		}
	}
}

// many sends a letter to others besides: by the firm's own list, in To or in Cc.
func (w *world) many(r *rand.Rand, l *letter) {
	if l.from.domain() == w.me.domain() && r.IntN(2) == 0 {
		l.to = []address{{mail: []string{"all", "staff", "everybody"}[r.IntN(3)] + "@" + w.me.domain()}}
		return
	}
	for range r.IntN(7) {
		a := w.people[r.IntN(len(w.people))].address
		if r.IntN(3) == 0 {
			l.cc = append(l.cc, a)
		} else {
			l.to = append(l.to, a)
		}
	}
}

// away is how often the owner answers with a program that leaves no trace here.
func (w *world) away() float64 {
	if w.h.answers == 0 {
		return 0.8
	}
	return 0.05
}

// style is how people write to each other in a manner: the rules "re." and "answer." of it.
func style(rule string) string {
	switch rule {
	case "work", "client", "fyi", "board", "supplier", "landlord", "trade":
		return "work"
	case "customer", "citizen", "teacher", "doctor", "cold", "recruit", "prof", "stranger":
		return "formal"
	}
	return rule
}

// ownRule is what the owner begins a conversation of a manner with.
func (w *world) ownRule(lang, rule string) string {
	if (&pen{lang: lang}).has("own." + rule) {
		return rule
	}
	if kinds().Manners[rule].Office && (&pen{lang: lang}).has("own.work") {
		return "work"
	}
	return "friend"
}

// later is when the other comes back.
func (w *world) later(r *rand.Rand, t time.Time, m manner) time.Time {
	t = t.Add(time.Duration((0.2+r.ExpFloat64()*14)*float64(time.Hour)) + 3*time.Minute)
	for t.Hour() < 6 || m.Office && (t.Weekday() == time.Saturday || t.Weekday() == time.Sunday) {
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
	if len(w.also) > 0 && r.IntN(6) == 0 {
		l.to[0].mail = w.also[0]
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
	elsewhere := w.elsewhere
	w.elsewhere = false
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
	if elsewhere {
		return l
	}
	w.put(r, l, Mail{Folder: Sent, Kind: "own"})
	w.echo(r, c, p, l)
	return l
}

// echo is what machines answer to the owner's mail now and then: an absence, or that it
// couldn't be delivered.
func (w *world) echo(r *rand.Rand, c *contact, p *pen, own *letter) {
	rule, m := "oof", arrival{kind: "auto-reply"}
	if r.IntN(3) == 0 {
		rule, m = "bounce", arrival{kind: "bounce", wanted: true}
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
