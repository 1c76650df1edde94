// SPDX-License-Identifier: Apache-2.0

package persons

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// note is a kind of machine mail. Its text is the language's rule of the same name, its
// senders' local parts are the rule NAME.from, else "from".
type note struct {
	Kind   string
	Wanted bool
	Liked  bool
	Answer float64
	Bulk   bool    // List-Unsubscribe
	Auto   bool    // Auto-Submitted
	PDF    float64 // how often the rule NAME.pdf names an attachment
	Junk   bool
	Auth   string
	InJunk float64 `toml:"in_junk"` // how often the server put it into Junk
	Short  bool    // a machine's short HTML, not in the sender's own look
	Text   string  // the rule, if it isn't the note's name
	Reply  bool    // Reply-To is a stranger's address, who wrote it
}

// kinds reads text/kinds.toml once.
var kinds = sync.OnceValue(func() (k struct {
	Notes   map[string]note
	Manners map[string]manner
}) {
	raw, err := texts.ReadFile("text/kinds.toml")
	if err == nil {
		err = toml.Unmarshal(raw, &k)
	}
	if err != nil {
		panic(err)
	}
	return k
})

// sectors are the groups of companies whose advertisements differ.
var sectors = map[string]string{"telecom": "contract", "energy": "contract", "insurer": "contract", "bank": "contract", "travel": "travel", "gym": "gym", "software": "software"}

// note sends one message by machine.
func (w *world) note(r *rand.Rand, b *brand, rule string, t time.Time) {
	n, ok := kinds().Notes[rule]
	if !ok {
		panic("persons: no note " + rule)
	}
	if t.After(w.end) {
		return
	}
	l := w.compose(r, b, rule, n, t)
	m := arrival{kind: n.Kind, wanted: w.whim(r, n.Kind, n.Wanted), liked: n.Liked, answer: n.Answer, junk: n.Junk}
	if r.Float64() < n.InJunk || !n.Junk && r.Float64() < 0.003 {
		out := Mail{Folder: Junk, Kind: n.Kind, Wanted: m.wanted}
		if m.wanted && r.Float64() < 0.7 {
			out.Acts = []Act{{At: after(w.sessions, t.Add(30*time.Hour)), Do: Rescue}}
		}
		w.put(r, l, out)
		return
	}
	if answered := w.arrive(r, l, m); !answered.IsZero() {
		w.reply(r, b, l, answered)
	}
}

// reply answers what a machine sent for somebody, who may come back by themselves.
func (w *world) reply(r *rand.Rand, b *brand, l *letter, t time.Time) {
	p := w.pen(r, b.lang, t)
	c := &contact{address: l.from, first: p.say("first"), lang: b.lang, look: lookGmail}
	c.name = c.first + " " + p.say("last")
	if l.author != "" {
		c.mail = l.author
	}
	p.v["them"], p.v["themfull"] = c.first, c.name
	own := w.write(r, c, p, p.either("answer.formal", "answer"), l, t)
	if own != nil && l.author != "" && r.IntN(3) == 0 {
		m := kinds().Manners["customer"]
		w.arrive(r, w.from(r, c, p, "re.formal", own, w.later(r, t, m)), arrival{kind: m.Kind, wanted: true, person: true})
	}
}

// whim is what the owner wants of a message this time: a little differs from what the kind
// says. What must be found is always wanted, spam and phishing never.
func (w *world) whim(r *rand.Rand, kind string, wanted bool) bool {
	x := r.Float64()
	switch kind {
	case "marketing", "newsletter", "order", "ticket update", "course", "notice":
		return wanted || x < 0.008
	case "friend", "family", "parcel", "club", "ticket", "marketplace", "voicemail", "request", "customer", "work":
		return wanted && x > 0.03
	}
	return wanted
}

// compose writes a machine's message.
func (w *world) compose(r *rand.Rand, b *brand, rule string, n note, t time.Time) *letter {
	p := w.pen(r, b.lang, t)
	p.v["brand"], p.v["no"], p.v["domain"] = b.name, b.no, b.domain
	text := cmp.Or(n.Text, rule)
	subject, body := p.text(p.either(text+"."+sectors[b.sector], text))
	switch { // bills carry advertisements, and advertisements a customer's number
	case n.Bulk && r.IntN(3) == 0:
		body += "\n\n" + p.say("extra.service")
	case !n.Bulk && !n.Short && r.IntN(4) == 0:
		body += "\n\n" + p.say("extra.ad")
	}
	l := &letter{from: address{b.name, b.local(p, rule, n.Bulk) + "@" + b.domain}, to: []address{w.me}, at: t, subject: subject, body: body, look: b.look, lang: b.lang,
		brand: b.name, color: b.color, signature: b.foot, via: b.via, auth: n.Auth, zone: b.zone}
	if n.Short {
		l.look = lookPlainish
	}
	if r.IntN(4) > 0 {
		l.to[0].name = ""
	}
	l.id = id(r, lookText, l.from.domain())
	l.preheader, _, _ = strings.Cut(strings.TrimLeft(body, "#>=- "), "\n")
	if n.Reply {
		l.author = slug(p.say("first")) + "." + slug(p.say("last")) + "@freepost.example"
		l.head = append(l.head, "Reply-To: "+l.author, "X-Mailer: PHPMailer 6.9 (https://phpmailer.example)")
		l.look = lookText
	}
	if n.Bulk || b.lists {
		l.unsub = fmt.Sprintf("https://%s/u/%s", cmp.Or(b.via, b.domain), hex(r, 14))
		l.head = append(l.head, fmt.Sprintf("List-Id: <%s.%s>", slug(rule), b.domain), "X-Mailer: "+b.mailer)
	}
	if rule == "webinar" {
		at := t.AddDate(0, 0, 6).Truncate(time.Hour)
		l.calendar, l.method = meeting{uid: hex(r, 16) + "@" + b.domain, title: subject, organizer: l.from, guests: l.to, start: at, length: time.Hour, place: "online"}.ics("REQUEST", "NEEDS-ACTION", t), "REQUEST"
	}
	if n.Auto && b.auto {
		l.head = append(l.head, "Auto-Submitted: auto-generated")
	}
	if r.Float64() < n.PDF && p.has(rule+".pdf") {
		l.files = append(l.files, w.file(r, p, rule+".pdf"))
	}
	return l
}
