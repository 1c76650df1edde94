// SPDX-License-Identifier: Apache-2.0

package persons

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// blocks reads text/cast.txt once: the lines below each "@name", and the names of persons in
// their order.
var blocks = sync.OnceValues(func() (map[string][]string, []string) {
	raw, err := texts.ReadFile("text/cast.txt")
	if err != nil {
		panic(err)
	}
	all, names, block := map[string][]string{}, []string{}, ""
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '@':
			var person bool
			if block, person = strings.CutPrefix(line[1:], "person "); person {
				names = append(names, block)
			}
		default:
			all[block] = append(all[block], line)
		}
	}
	return all, names
})

// stage is where a block is played: who has which name there.
type stage struct {
	w       *world
	lang    string
	much    float64 // the factor on rates with a star
	days    []string
	groups  map[string][]*contact
	brands  map[string]*brand
	options map[string]string // the "key=value" of the line
}

// play plays the lines of a block.
func (s *stage) play(block string) {
	all, _ := blocks()
	for _, line := range all[block] {
		s.options = map[string]string{}
		var f []string
		for _, x := range strings.Fields(line) {
			if k, v, ok := strings.Cut(x, "="); ok {
				s.options[k] = v
			} else {
				f = append(f, x)
			}
		}
		s.line(f[0], f[1:])
	}
}

// num reads a number: "14*" is times the factor, "3/" divided by it.
func (s *stage) num(x string) float64 {
	n, err := strconv.ParseFloat(strings.TrimRight(x, "*/"), 64)
	if err != nil {
		panic("persons: cast.txt: " + err.Error())
	}
	switch x[len(x)-1] {
	case '*':
		return n * s.much
	case '/':
		return n / s.much
	}
	return n
}

// opt is an option of the line, 0 if it isn't there.
func (s *stage) opt(key string) float64 {
	if s.options[key] == "" {
		return 0
	}
	return s.num(s.options[key])
}

// span reads from how many days before the end until how many.
func (s *stage) span(f []string) (days []int) {
	if len(f) == 0 {
		f = s.days
	}
	for _, x := range f {
		days = append(days, int(s.num(x)))
	}
	return days
}

// pick returns contacts: "team", "team:3" its first three, "team+board" both.
func (s *stage) pick(sel string) (cs []*contact) {
	for name := range strings.SplitSeq(sel, "+") {
		name, n, ok := strings.Cut(name, ":")
		g := s.groups[name]
		if ok {
			g = g[:int(s.num(n))]
		}
		cs = append(cs, g...)
	}
	return cs
}

// line plays a line: its verb and what follows.
func (s *stage) line(verb string, f []string) {
	w := s.w
	switch verb {
	case "owner": // FIRST LAST ADDRESS LANGUAGE PROGRAM PACE and how German letters speak to the owner
		w.first, s.lang, w.look, w.pace, w.honour, w.also = f[0], f[3], looks[f[4]], s.num(f[5]), [2]string(f[6:8]), f[8:]
		w.me = address{f[0] + " " + f[1], f[2]}
	case "hours":
		for _, x := range f {
			w.h.hours = append(w.h.hours, s.num(x))
		}
	case "habits":
		s.habits()
	case "lang":
		s.lang = f[0]
	case "private":
		w.private = true
	case "do": // BLOCK [FACTOR | DAYS...]
		in := &stage{w: w, lang: s.lang, much: s.much, days: s.days, brands: s.brands, groups: s.groups}
		if f[0] == "store" {
			in.days = f[1:]
		} else if len(f) > 1 {
			in.much = s.num(f[1])
		}
		in.play(f[0])
	case "people": // GROUP NUMBER DOMAIN PROGRAM MANNER RATE [DAYS]: the first writes the most
		for i := range int(s.num(f[1])) {
			c := w.person(s.lang, strings.Trim(f[2], "-"), looks[f[3]])
			w.talks(c, f[4], s.num(f[5])/(1+0.6*float64(i)), s.span(f[6:]))
			s.groups[f[0]] = append(s.groups[f[0]], c)
		}
	case "crowd": // NUMBER MANNER RATE: all write the same, little
		for range int(s.num(f[0])) {
			w.talks(w.person(s.lang, "", anyLook), f[1], s.num(f[2]), nil)
		}
	case "talks": // GROUP MANNER RATE
		for _, c := range s.pick(f[0]) {
			w.talks(c, f[1], s.num(f[2]), nil)
		}
	case "trusted":
		w.trusted = s.groups[f[0]][0]
	case "circle": // KIND GROUP RULE RATE [DAYS]
		g := panel{kind: strings.ReplaceAll(f[0], "_", " "), members: s.pick(f[1]), rule: f[2], length: s.opt("length"), named: s.opt("named"), cc: s.opt("cc"),
			answer: s.opt("answer"), wants: s.opt("wants"), list: s.brands[s.options["list"]]}
		w.circle(g, s.num(f[3]), s.span(f[4:]))
	case "invites": // GROUP GUESTS RATE SHARE-OF-BIG-ONES [DAYS]
		for _, c := range s.pick(f[0]) {
			w.invites(c, s.pick(f[1]), s.num(f[2]), s.num(f[3]), s.span(f[4:]))
		}
	case "convenes": // GROUP RATE
		w.convenes(s.pick(f[0]), s.num(f[1]))
	case "brand": // NAME SECTOR [TITLE DOMAIN]
		b := w.brand(s.lang, f[1])
		if len(f) > 2 {
			b.name, b.domain, b.via = strings.ReplaceAll(f[2], "_", " "), f[3], ""
			b.foot = b.name
		}
		s.brands[f[0]] = b
	case "sends", "regular": // BRAND NOTE RATE-OR-DAYS [DAYS]
		b, days := s.brands[f[0]], s.span(f[3:])
		ts := w.times
		if verb == "regular" {
			ts = w.every
		}
		for _, t := range ts(b.r, s.num(f[2]), days, false) {
			w.note(b.r, b, f[1], t)
		}
	case "fakes":
		w.fakes(s.num(f[0]), slices.Clone(w.brands), slices.Clone(w.people))
	default:
		panic(fmt.Sprintf("persons: cast.txt: no verb %q", verb))
	}
}

// habits reads how the owner treats mail, and makes the timetable.
func (s *stage) habits() {
	h := &s.w.h
	for key, to := range map[string]*float64{"skips": &h.skipsDay, "answers": &h.answers, "wait": &h.wait, "opens": &h.opens, "stars": &h.stars, "bins": &h.bins, "cleans": &h.cleans,
		"days": &h.cleanDays, "clears": &h.clears, "archives": &h.archives, "files": &h.files, "forwards": &h.forwards, "noise": &h.noise, "takesoff": &h.takesOff, "trash": &h.trash} {
		*to = s.opt(key)
	}
	h.opensAll, h.marksAll = s.opt("opensall") > 0, s.opt("marksall") > 0
	s.w.timetable(s.w.rand())
}

// looks are the programs that people write with, by their names in cast.txt.
var looks = map[string]look{"text": lookText, "gmail": lookGmail, "outlook": lookOutlook, "apple": lookApple, "any": anyLook}
