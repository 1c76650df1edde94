// SPDX-License-Identifier: Apache-2.0

package persons

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/hinged/hinged/bench/mailbox/life"
)

// note is a kind of machine mail. Its text is the language's rule of the same name, its
// senders' local parts are the rule NAME.from, else "from".
type note struct {
	kind   string
	wanted bool
	liked  bool
	answer float64
	bulk   bool    // List-Unsubscribe
	auto   bool    // Auto-Submitted
	pdf    float64 // how often the rule NAME.pdf names an attachment
	junk   bool
	auth   string
	inJunk float64 // how often the server put it into Junk
	look   look    // lookText: the sender's own
	text   string  // the rule, if it isn't the note's name
	reply  bool    // Reply-To is a stranger's address, who wrote it
}

var notes = map[string]note{
	"bill":       {kind: "bill", wanted: true, pdf: 0.7},
	"reminder":   {kind: "bill", wanted: true, pdf: 0.4},
	"receipt":    {kind: "receipt", pdf: 0.3, auto: true},
	"parcel":     {kind: "parcel", wanted: true},
	"shipped":    {kind: "order"},
	"code":       {kind: "code", liked: true, auto: true},
	"security":   {kind: "security", wanted: true, auto: true},
	"alert":      {kind: "bank alert", wanted: true, auto: true},
	"statement":  {kind: "statement", auto: true},
	"travel":     {kind: "travel", wanted: true, pdf: 0.5},
	"appoint":    {kind: "doctor", wanted: true, auto: true},
	"school":     {kind: "school", wanted: true, pdf: 0.3},
	"deadline":   {kind: "deadline", wanted: true},
	"course":     {kind: "course", auto: true, liked: true},
	"newsletter": {kind: "newsletter", bulk: true},
	"favourite":  {kind: "newsletter", bulk: true, liked: true},
	"marketing":  {kind: "marketing", bulk: true},
	"social":     {kind: "social", bulk: true, auto: true},
	"digest":     {kind: "digest", bulk: true, look: lookPlainish},
	"notice":     {kind: "notice", auto: true},
	"survey":     {kind: "survey", bulk: true},
	"assigned":   {kind: "ticket", wanted: true, answer: 0.15, auto: true},
	"ticket":     {kind: "ticket update", auto: true},
	"report":     {kind: "report", auto: true, look: lookPlainish},
	"order":      {kind: "shop order", wanted: true, answer: 0.05},
	"awaited":    {kind: "newsletter", wanted: true, bulk: true, text: "favourite"},
	"renewal":    {kind: "deadline", wanted: true},
	"official":   {kind: "authority", wanted: true, auto: true},
	"club":       {kind: "club", wanted: true, bulk: true, answer: 0.15},
	"relay":      {kind: "marketplace", wanted: true, answer: 0.6},
	"esign":      {kind: "signature", wanted: true},
	"shared":     {kind: "document", wanted: true, answer: 0.1},
	"edits":      {kind: "document update", auto: true},
	"voicemail":  {kind: "voicemail", wanted: true, auto: true},
	"jobs":       {kind: "job list", bulk: true},
	"event":      {kind: "event", wanted: true, pdf: 0.6},
	"reset":      {kind: "code", liked: true, auto: true},
	"form":       {kind: "customer", wanted: true, answer: 0.8, reply: true},
	"formspam":   {kind: "form spam", reply: true},
	"review":     {kind: "review", auto: true, liked: true},
	"pull":       {kind: "code review", auto: true},
	"asked":      {kind: "review request", wanted: true, answer: 0.3, auto: true},
	"failed":     {kind: "build", auto: true, liked: true},
	"moved":      {kind: "course", wanted: true, auto: true},
	"uninews":    {kind: "newsletter", bulk: true},
	"webinar":    {kind: "marketing", bulk: true, text: "marketing"},
	"phish":      {kind: "phishing", junk: true, auth: "fail", inJunk: 0.3},
	"spam":       {kind: "spam", junk: true, auth: "fail", inJunk: 0.6},
}

// notes lets a brand send a kind of mail at times.
func (w *world) notes(b *brand, rule string, ts []time.Time) {
	for _, t := range ts {
		w.note(b.r, b, rule, t)
	}
}

// sends lets a brand send a kind of mail perYear times, at random.
func (w *world) sends(b *brand, rule string, perYear float64, days ...int) {
	from, to := span(days)
	w.notes(b, rule, w.times(b.r, perYear, from, to, false))
}

// regular lets a brand send a kind of mail every so many days.
func (w *world) regular(b *brand, rule string, days float64, at ...int) {
	from, to := span(at)
	w.notes(b, rule, w.every(b.r, days, 1+days/8, from, to))
}

// note sends one message by machine.
func (w *world) note(r *rand.Rand, b *brand, rule string, t time.Time) {
	n, ok := notes[rule]
	if !ok {
		panic("persons: no note " + rule)
	}
	if t.After(w.end) {
		return
	}
	l := w.compose(r, b, rule, n, t)
	m := mail{kind: n.kind, wanted: n.wanted, liked: n.liked, answer: n.answer, junk: n.junk}
	if r.Float64() < n.inJunk || !n.junk && r.Float64() < 0.003 {
		out := life.Mail{Folder: life.Junk, Kind: n.kind, Wanted: n.wanted}
		if n.wanted && r.Float64() < 0.7 {
			out.Acts = []life.Act{{At: after(w.sessions, t.Add(30*time.Hour)), Do: life.Rescue}}
		}
		w.put(r, l, out)
		return
	}
	w.arrive(r, l, m)
}

// compose writes a machine's message.
func (w *world) compose(r *rand.Rand, b *brand, rule string, n note, t time.Time) *letter {
	p := w.pen(r, b.lang, t)
	p.v["brand"], p.v["no"], p.v["domain"] = b.name, b.no, b.domain
	text := rule
	if n.text != "" {
		text = n.text
	}
	subject, body := p.text(text)
	l := &letter{from: address{b.name, b.local(p, rule, n.bulk) + "@" + b.domain}, to: []address{w.me}, at: t, subject: subject, body: body, look: b.look, lang: b.lang,
		brand: b.name, color: b.color, signature: b.foot, via: b.via, auth: n.auth}
	if n.look != lookText {
		l.look = n.look
	}
	if r.IntN(4) > 0 {
		l.to[0].name = ""
	}
	l.id = id(r, lookText, l.from.domain())
	l.preheader, _, _ = strings.Cut(strings.TrimLeft(body, "#>=- "), "\n")
	if n.reply {
		l.head = append(l.head, "Reply-To: "+slug(p.say("first"))+"."+slug(p.say("last"))+"@freepost.example", "X-Mailer: PHPMailer 6.9 (https://phpmailer.example)")
		l.look = lookText
	}
	if n.bulk || b.lists {
		l.unsub = fmt.Sprintf("https://%s/u/%s", strings.TrimPrefix(b.via+"."+b.domain, "."), hex(r, 14))
		l.head = append(l.head, fmt.Sprintf("List-Id: <%s.%s>", slug(rule), b.domain), "X-Mailer: "+b.mailer)
	}
	if rule == "webinar" {
		at := t.AddDate(0, 0, 6).Truncate(time.Hour)
		l.calendar, l.method = meeting{uid: hex(r, 16) + "@" + b.domain, title: subject, organizer: l.from, guests: l.to, start: at, length: time.Hour, place: "online"}.ics("REQUEST", "NEEDS-ACTION", t), "REQUEST"
	}
	if n.auto {
		l.head = append(l.head, "Auto-Submitted: auto-generated")
	}
	if r.Float64() < n.pdf && p.has(rule+".pdf") {
		l.files = append(l.files, w.file(r, p, rule+".pdf"))
	}
	return l
}
