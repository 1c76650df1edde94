// SPDX-License-Identifier: Apache-2.0

package persons

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
	"time"
	"unicode"
)

// world is a life while it is made.
type world struct {
	seed       uint64
	name       string
	me         address
	first      string
	also       []string // the owner's other addresses
	currency   string
	begin, end time.Time
	h          habits
	look       look // how the owner's program writes
	signature  string
	sources    uint64    // how many were added so far: each has a random stream of its own
	pace       float64   // factor on how often others write
	private    bool      // meetings are parties
	honour     [2]string // "Liebe", "Frau"
	sessions   []time.Time
	cleanups   []time.Time
	out        []Mail
	taken      map[string]bool // domains
	brands     []*brand
	people     []*contact
	elsewhere  bool     // the owner's next message is written on another device
	trusted    *contact // who gets what the owner passes on
}

// rand returns the next source's random numbers. Sources don't disturb each other.
func (w *world) rand() *rand.Rand {
	w.sources++
	var h uint64
	for _, c := range []byte(w.name) {
		h = h*131 + uint64(c)
	}
	return rand.New(rand.NewPCG(w.seed, h<<16^w.sources)) //nolint:gosec // a made-up life is to be the same each time
}

// contact is a person who writes.
type contact struct {
	address
	first     string
	lang      string
	look      look
	signature string
	xmailer   string
	second    string // another address, used now and then
}

var clients = []struct {
	look   look
	mailer string
	weight int
}{
	{lookGmail, "", 5}, {lookApple, "X-Mailer: iPhone Mail (22B91)", 4}, {lookApple, "X-Mailer: Apple Mail (2.3774.600.62)", 2},
	{lookOutlook, "X-Mailer: Microsoft Outlook 16.0", 3}, {lookText, "User-Agent: Mozilla Thunderbird", 2}, {lookText, "X-Mailer: WebService/1.1 mail", 1},
}

// slug is a name as it stands in an address.
func slug(s string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(s) {
		if to, ok := plainLetters[c]; ok {
			b.WriteString(to)
		} else if c < 128 && (unicode.IsLetter(c) || unicode.IsDigit(c)) {
			b.WriteRune(c)
		} else if n := b.Len(); n > 0 && b.String()[n-1] != '-' && (c == ' ' || c == '-' || c == '.') {
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String(), "-")
}

var plainLetters = map[rune]string{
	'ä': "ae", 'ö': "oe", 'ü': "ue", 'ß': "ss", 'é': "e", 'è': "e", 'ê': "e", 'á': "a", 'í': "i", 'ó': "o", 'ú': "u", 'ñ': "n", 'ç': "c", 'à': "a", 'â': "a", 'ô': "o", 'î': "i",
}

// person invents somebody. domain "" is a provider of free mailboxes; program < 0 is any.
func (w *world) person(lang, domain string, l look) *contact {
	r := w.rand()
	p := &pen{lang: lang, r: r, at: w.begin, v: map[string]string{}}
	first, last := p.say("first"), p.say("last")
	c := &contact{first: first, lang: lang}
	if domain == "" {
		domain = []string{"freepost.example", "mailbude.example", "gmx-mail.example", "inboxly.example", "wolkenpost.example", "correolibre.example", "zmail.example", "zmail.example"}[r.IntN(8)]
	}
	local := []string{slug(first) + "." + slug(last), slug(first) + slug(last), slug(first)[:1] + "." + slug(last), slug(last) + fmt.Sprint(60+r.IntN(40)), slug(first)}[r.IntN(4)]
	c.address = address{first + " " + last, local + "@" + domain}
	for {
		i := r.IntN(len(clients))
		if r.IntN(5) < clients[i].weight && (l == 255 || clients[i].look == l) {
			c.look, c.xmailer = clients[i].look, clients[i].mailer
			break
		}
	}
	if r.IntN(5) == 0 {
		c.second = slug(first) + "@" + slug(last) + "-" + hex(r, 3) + ".example"
	}
	if r.IntN(3) == 0 && p.has("sig") {
		p.v["them"], p.v["themfull"] = first, c.name
		c.signature = p.say("sig")
	}
	w.people = append(w.people, c)
	return c
}

const anyLook look = 255

// brand is a company, an office or a school that writes by machine.
type brand struct {
	name, domain string
	lang         string
	color        string
	via          string // its mailing service
	same         bool   // marketing comes from the address that bills come from
	sector       string
	no           string // the customer's number
	zone         int    // hours east of UTC of its clock, 99: the owner's
	r            *rand.Rand
	look         look
	foot         string
	lists        bool              // even its bills carry List-Unsubscribe
	auto         bool              // its programs say that they are programs
	mailer       string            // its X-Mailer
	froms        map[string]string // the local part for each kind of mail
}

// bills are the sectors that send bills.
var bills = map[string]bool{"telecom": true, "energy": true, "insurer": true, "shop": true, "bank": true, "gym": true, "travel": true}

// local is the part before @ of what the brand sends by a rule.
func (b *brand) local(p *pen, rule string, bulk bool) string {
	if bulk && b.same {
		rule = map[bool]string{true: "bill"}[bills[b.sector]]
	}
	rule += ".from"
	if !p.has(rule) {
		rule = "from"
	}
	if b.froms == nil {
		b.froms = map[string]string{}
	}
	if b.froms[rule] == "" {
		b.froms[rule] = p.say(rule)
	}
	return b.froms[rule]
}

// brand invents one of a sector: a rule brand.SECTOR of the language.
func (w *world) brand(lang, sector string) *brand {
	r := w.rand()
	p := &pen{lang: lang, r: r, at: w.begin, v: map[string]string{}}
	b := &brand{lang: lang, r: r, sector: sector, zone: []int{0, 0, 99, 99, -7}[r.IntN(5)]}
	for {
		b.name = p.say("brand." + sector)
		b.domain = slug(b.name) + ".example"
		if !w.taken[b.domain] {
			break
		}
	}
	w.taken[b.domain] = true
	b.color = fmt.Sprintf("#%06x", r.IntN(1<<24))
	b.via = []string{"", "mail." + b.domain, "sendwell.example", "mjpost.example", "em.clickpost.example"}[r.IntN(5)]
	b.same, b.lists, b.auto = r.IntN(3) == 0, r.IntN(5) == 0, r.IntN(5) < 3
	b.mailer = []string{"SendWell 4.2", "MJPost", "ClickPost Cloud", "PHPMailer 6.9"}[r.IntN(4)]
	b.no = p.say("custno")
	b.look = []look{lookMJML, lookMJML, lookMJML, lookHTMLOnly, lookPlainish}[r.IntN(5)]
	p.v["brand"] = b.name
	b.foot = p.say("foot")
	w.brands = append(w.brands, b)
	return b
}

// pen returns what writes for a message at at.
func (w *world) pen(r *rand.Rand, lang string, at time.Time) *pen {
	return &pen{lang: lang, r: r, at: at, v: map[string]string{"me": w.first, "mefull": w.me.name, "memail": w.me.mail, "melast": w.me.name[strings.LastIndexByte(w.me.name, 32)+1:], "currency": w.currency, "liebe": w.honour[0], "mr": w.honour[1], "sehr": map[string]string{"Liebe": "Sehr geehrte", "Lieber": "Sehr geehrter"}[w.honour[0]]}}
}

// text splits what a rule says into subject and body: "subject || body".
func (p *pen) text(rule string) (subject, body string) {
	subject, body, ok := strings.Cut(p.say(rule), "||")
	if !ok {
		return "", strings.TrimSpace(subject)
	}
	return strings.TrimSpace(subject), strings.TrimSpace(body)
}

// put renders a letter and adds it.
func (w *world) put(r *rand.Rand, l *letter, m Mail) {
	to := w.me
	m.At, m.Raw = l.at, l.render(r, to)
	w.out = append(w.out, m)
}

// arrive adds a message to the owner and lets the owner treat it. It returns when the owner
// answers (zero: never).
func (w *world) arrive(r *rand.Rand, l *letter, m arrival) time.Time {
	if l.at.After(w.end) {
		return time.Time{}
	}
	acts, answered := w.handle(r, m, l.at)
	if m.wanted && answered.IsZero() && w.trusted != nil && r.Float64() < w.h.forwards {
		acts = w.pass(r, l, acts)
	}
	w.put(r, l, Mail{Folder: Inbox, Kind: m.kind, Wanted: m.wanted, Acts: acts})
	return answered
}

// pass forwards a message that was read to the one whom the owner trusts.
func (w *world) pass(r *rand.Rand, l *letter, acts []Act) []Act {
	if len(acts) == 0 || acts[0].Do != Read {
		return acts
	}
	t := acts[0].At.Add(3 * time.Second)
	p := w.pen(r, w.trusted.lang, t)
	p.v["them"], p.v["subject"] = w.trusted.first, l.subject
	own := &letter{from: w.me, to: []address{w.trusted.address}, at: t, subject: "Fwd: " + l.subject, body: p.say("ask") + "\n\n" + w.first, look: w.look, lang: p.lang, id: id(r, w.look, w.me.domain()), quotes: l, auth: "own", files: l.files}
	w.put(r, own, Mail{Folder: Sent, Kind: "own"})
	return w.order(append(acts, Act{At: t, Do: Forward}))
}

// id makes a Message-ID as the program of the look does.
func id(r *rand.Rand, l look, domain string) string {
	switch l {
	case lookGmail:
		return fmt.Sprintf("CA%s+%s@mail.%s", hex(r, 12), hex(r, 14), domain)
	case lookOutlook:
		return fmt.Sprintf("DB9PR0%dMB%d%s@DB9PR0%dMB%d.prod.%s", r.IntN(9), r.IntN(9999), strings.ToUpper(hex(r, 16)), r.IntN(9), r.IntN(9999), domain)
	case lookApple:
		h := strings.ToUpper(hex(r, 16))
		return fmt.Sprintf("%s-%s-%s@%s", h[:8], h[8:12], h[12:], domain)
	}
	return fmt.Sprintf("%s.%s@%s", hex(r, 8), hex(r, 12), domain)
}

// span is the time from days[0] until days[1] days before the life's end; what isn't there, or
// is 0, is the life's begin or end.
func (w *world) span(days []int) (begin, end time.Time) {
	begin, end = w.begin, w.end
	if len(days) > 0 && days[0] > 0 {
		begin = w.end.AddDate(0, 0, -days[0])
	}
	if len(days) > 1 {
		end = w.end.AddDate(0, 0, -days[1])
	}
	return begin, end
}

// times draws when a source writes: perYear at random, at the hours at which people or
// machines write, in a span of days.
func (w *world) times(r *rand.Rand, perYear float64, days []int, office bool) (ts []time.Time) {
	begin, end := w.span(days)
	for t := begin; ; {
		t = t.Add(time.Duration(r.ExpFloat64() * 365 / (perYear * w.pace) * 24 * float64(time.Hour)))
		if t.After(end) {
			return ts
		}
		day, h := t.Truncate(24*time.Hour), 13+3.8*r.NormFloat64()
		if office {
			h = 12 + 2.6*r.NormFloat64()
			if day.Weekday() == time.Saturday || day.Weekday() == time.Sunday {
				day = day.AddDate(0, 0, 2)
			}
		}
		at := day.Add(time.Duration(min(max(h, 0.2), 23.8) * float64(time.Hour)))
		if at.Before(end) && at.After(begin) {
			ts = append(ts, at)
		}
	}
}

// every draws times at a regular distance of days, such as a newsletter or a bill keeps.
func (w *world) every(r *rand.Rand, distance float64, days []int, _ bool) (ts []time.Time) {
	begin, end := w.span(days)
	jitter := 1 + distance/8 // hours
	if distance < 20 {
		distance /= w.pace
	}
	hour := time.Duration(5+r.IntN(13))*time.Hour + time.Duration(r.IntN(60))*time.Minute
	for x := r.Float64() * distance; ; x += distance {
		t := begin.Add(time.Duration(x * 24 * float64(time.Hour))).Truncate(24 * time.Hour).Add(hour)
		t = t.Add(time.Duration(jitter * r.NormFloat64() * float64(time.Hour))).Add(time.Duration(r.IntN(3000)) * time.Second)
		if t.After(end) {
			return ts
		}
		if t.After(begin) {
			ts = append(ts, t)
		}
	}
}

// cut keeps the last arrivals messages of others and what the owner wrote among them.
func (w *world) cut(arrivals int) []Mail {
	sort.SliceStable(w.out, func(i, j int) bool { return w.out[i].At.Before(w.out[j].At) })
	n := 0
	for i := len(w.out) - 1; i >= 0; i-- {
		if w.out[i].Folder != Sent {
			if n == arrivals {
				return w.out[i+1:]
			}
			n++
		}
	}
	return w.out
}
