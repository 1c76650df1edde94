// SPDX-License-Identifier: Apache-2.0

package persons

import (
	"math/rand/v2"
	"strings"
	"time"
)

// panel is a circle of people who write to each other with the owner in the circle: in Cc, in
// To beside others, or on a mailing list.
type panel struct {
	kind    string
	members []*contact
	rule    string  // what opens a thread
	length  float64 // messages of a thread, at the mean
	named   float64 // how often a message speaks to the owner
	cc      float64 // how often the owner is in Cc rather than in To
	list    *brand  // a mailing list, or nil
	answer  float64 // how often the owner answers when spoken to
	wants   float64 // how often a message that speaks to all is wanted
}

// circle plays perYear threads of a panel.
//
// A message to another member is written by the same rules as one to the owner: only the name
// differs, and who stands in To.
func (w *world) circle(g panel, perYear float64, days ...int) {
	r := w.rand()
	from, to := span(days)
	for _, t := range w.times(r, perYear, from, to, g.list == nil) {
		w.thread(r, g, t)
	}
}

// thread plays one thread of a panel.
func (w *world) thread(r *rand.Rand, g panel, t time.Time) {
	var last *letter
	rule := g.rule
	n := 1 + int(r.ExpFloat64()*(g.length-1))
	owned := false // the owner wrote last
	for i := 0; i < n && t.Before(w.end); i++ {
		c := g.members[r.IntN(len(g.members))]
		other := g.members[r.IntN(len(g.members))]
		p := w.pen(r, c.lang, t)
		named := r.Float64() < g.named || owned && r.IntN(3) > 0
		if named && rule == "re" {
			p.v["workask"] = w.first + ", " + lower(p.say("workask"))
		}
		if !named {
			p.v["me"], p.v["mefull"], p.v["melast"] = other.first, other.name, other.name[strings.LastIndexByte(other.name, ' ')+1:]
			if r.IntN(3) == 0 && p.has("all") {
				p.v["me"] = p.say("all")
			}
		}
		p.v["them"], p.v["themfull"] = c.first, c.name
		l := w.from(r, c, p, rule, last, t)
		w.addressees(r, g, l, c, other, named)
		wanted := named || r.Float64() < g.wants && i == 0
		answer := 0.02
		if named {
			answer = g.answer
		}
		answered := w.arrive(r, l, mail{kind: g.kind, wanted: wanted, liked: owned, person: g.list == nil, answer: answer})
		last, owned, rule = l, false, "re"
		if !answered.IsZero() {
			p.v["me"], p.v["mefull"] = w.first, w.me.name
			if last = w.write(r, c, p, "answer", l, answered); last == nil {
				return
			}
			owned, t = true, answered
		}
		t = t.Add(time.Duration(float64(time.Hour)*(0.1+r.ExpFloat64()*7)) + time.Minute)
	}
}

// addressees fills To and Cc of a message in a panel.
func (w *world) addressees(r *rand.Rand, g panel, l *letter, c, other *contact, named bool) {
	if g.list != nil {
		at := slug(g.list.name) + "@" + g.list.domain
		l.to = []address{{mail: at}}
		if named && r.IntN(2) == 0 {
			l.to, l.cc = []address{w.me}, l.to
		}
		if l.quotes == nil && !strings.HasPrefix(l.subject, "Re:") {
			l.subject = "[" + g.list.name + "] " + l.subject
		}
		l.via, l.list = g.list.domain, at
		l.head = append(l.head, "List-Id: "+g.list.name+" <"+slug(g.list.name)+"."+g.list.domain+">", "List-Post: <mailto:"+at+">", "Precedence: list",
			"List-Unsubscribe: <mailto:"+slug(g.list.name)+"-leave@"+g.list.domain+">", "X-Mailman-Version: 3.3.9")
		return
	}
	l.cc = nil
	if other != c {
		l.to = []address{other.address}
	}
	for _, i := range r.Perm(len(g.members))[:min(len(g.members), r.IntN(4))] {
		if m := g.members[i]; m != c && m != other {
			l.cc = append(l.cc, m.address)
		}
	}
	switch {
	case named && r.IntN(4) > 0, r.Float64() > g.cc:
		l.to = append([]address{w.me}, without(l.to, w.me)...)
	case other == c:
		l.to, l.cc = l.cc, []address{w.me}
		if len(l.to) == 0 {
			l.to = []address{{mail: "team@" + c.domain()}}
		}
	default:
		l.cc = append(l.cc, w.me)
	}
}

// lower makes the first letter small.
func lower(s string) string {
	for i, c := range s {
		if i == 0 {
			return strings.ToLower(string(c)) + s[len(string(c)):]
		}
	}
	return s
}
