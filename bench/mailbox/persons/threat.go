// SPDX-License-Identifier: Apache-2.0

package persons

import (
	"math/rand/v2"
	"strings"
	"time"
)

// fakes sends perYear look-alikes of the owner's own companies and people: their words, from
// a domain that is nearly right, or from theirs without the right to it.
func (w *world) fakes(perYear float64, brands []*brand, people []*contact) {
	r := w.rand()
	for _, t := range w.times(r, perYear, nil, false) {
		if r.IntN(5) == 0 && len(people) > 0 {
			w.impostor(r, people[r.IntN(len(people))], t)
			continue
		}
		b := *brands[r.IntN(len(brands))]
		rules := append([]string{"phish", "phish", "security"}, fakeRules[b.sector]...)
		rule := rules[r.IntN(len(rules))]
		n := note{Kind: "phishing", Junk: true, Auth: "fail", PDF: kinds().Notes[rule].PDF}
		b.froms, b.domain, b.no = nil, nearly(r, b.domain), "••••"
		if r.IntN(3) == 0 { // a domain of its own passes its own checks
			n.Auth = "pass"
		}
		if r.IntN(4) == 0 {
			n.Auth = "none"
		}
		b.via = []string{b.domain, "vps" + hex(r, 4) + ".cheaphost.example", "web.hacked-blog.example"}[r.IntN(3)]
		l := w.compose(r, &b, rule, n, t)
		for i := range l.files {
			if r.IntN(2) == 0 {
				l.files[i].name = strings.TrimSuffix(l.files[i].name, ".pdf") + ".zip"
				l.files[i].kind = "application/zip"
			}
		}
		w.unwelcome(r, l, "phishing", 0.35)
	}
}

// fakeRules are what a look-alike of a sector sends besides.
var fakeRules = map[string][]string{
	"bank": {"alert", "alert", "security"}, "parcel": {"parcel", "parcel", "parcel"}, "telecom": {"bill", "reminder"}, "energy": {"bill", "reminder"}, "insurer": {"bill", "reminder"},
	"shop": {"bill", "receipt"}, "software": {"notice", "reminder"}, "travel": {"receipt"},
}

// unwelcome delivers phishing or spam: to Junk, as far as the server sees it.
func (w *world) unwelcome(r *rand.Rand, l *letter, kind string, caught float64) {
	if r.Float64() < caught {
		w.put(r, l, Mail{Folder: Junk, Kind: kind})
		return
	}
	w.arrive(r, l, arrival{kind: kind, junk: true})
}

// impostor writes in a known person's name from a stranger's mailbox.
func (w *world) impostor(r *rand.Rand, c *contact, t time.Time) {
	p := w.pen(r, c.lang, t)
	p.v["them"], p.v["themfull"] = c.first, c.name
	subject, body := p.text("impostor")
	l := w.base(r, c, subject, body, t)
	l.from.mail = slug(c.first) + hex(r, 4) + "@" + []string{"mailz.example", "postbox24.example", "zmai1.example"}[r.IntN(3)]
	l.id, l.signature = id(r, lookText, l.from.domain()), ""
	if r.IntN(2) == 0 {
		l.auth = "fail"
		l.from.mail = c.mail
		l.head = append(l.head, "Reply-To: "+slug(c.first)+"@postbox24.example")
	}
	w.unwelcome(r, l, "phishing", 0.15)
}

// nearly is a domain that looks like another.
func nearly(r *rand.Rand, domain string) string {
	base := strings.TrimSuffix(domain, ".example")
	switch r.IntN(6) {
	case 0:
		return base + "-" + []string{"service", "secure", "login", "kunden", "support"}[r.IntN(5)] + ".example"
	case 1:
		i := 1 + r.IntN(len(base)-1)
		return base[:i] + base[i-1:] + ".example"
	case 2:
		return strings.NewReplacer("l", "1", "o", "0", "i", "1", "e", "3").Replace(base) + "-online.example"
	case 3:
		return base + ".example.account-" + hex(r, 4) + ".example"
	case 4:
		return []string{"notice", "mailer", "web"}[r.IntN(3)] + hex(r, 5) + ".example"
	}
	return domain
}
