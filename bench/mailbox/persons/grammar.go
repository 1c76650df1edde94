// SPDX-License-Identifier: Apache-2.0

package persons

import (
	"embed"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed text/*.txt text/kinds.toml
var texts embed.FS

// grammar is a language's rules: the alternatives of each name.
type grammar map[string][]string

// grammars reads every language once: a line "@name" begins a rule, each further line is an
// alternative of it, "#" at the start of a line is a comment.
var grammars = sync.OnceValue(func() map[string]grammar {
	all := map[string]grammar{}
	for _, lang := range []string{"de", "en", "es"} {
		raw, err := texts.ReadFile("text/" + lang + ".txt")
		if err != nil {
			continue
		}
		g, rule := grammar{}, ""
		for line := range strings.Lines(string(raw)) {
			line = strings.TrimRight(line, "\n")
			switch {
			case line == "" || line[0] == '#':
			case line[0] == '@':
				rule = line[1:]
			default:
				g[rule] = append(g[rule], line)
			}
		}
		all[lang] = g
	}
	return all
})

// pen writes one message: it draws from a language's rules.
//
// In an alternative, {name} is a value of the message, a builtin (see builtin) or another
// rule; {name!} is the same each time within the message; [a|b] is one of the two; ¶ ends a
// paragraph and ↵ a line.
type pen struct {
	lang string
	r    *rand.Rand
	at   time.Time
	v    map[string]string
}

// has reports whether the language has the rule.
func (p *pen) has(rule string) bool { return len(grammars()[p.lang][rule]) > 0 }

// either returns the first of the rules that the language has.
func (p *pen) either(rules ...string) string {
	for _, r := range rules[:len(rules)-1] {
		if p.has(r) {
			return r
		}
	}
	return rules[len(rules)-1]
}

// say expands one alternative of a rule. It panics if there is no such rule.
func (p *pen) say(rule string) string {
	if s, ok := p.v[rule]; ok {
		return s
	}
	alts := grammars()[p.lang][rule]
	if len(alts) == 0 {
		panic("persons: no rule " + p.lang + "." + rule)
	}
	return p.expand(alts[p.r.IntN(len(alts))])
}

// split cuts s at the bars that stand in no bracket.
func split(s string) []string {
	var out []string
	depth, from := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case '|':
			if depth == 0 {
				out, from = append(out, s[from:i]), i+1
			}
		}
	}
	return append(out, s[from:])
}

// match returns where the bracket that opens at s[0] closes.
func match(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	panic("persons: open bracket in " + s)
}

// expand writes an alternative out.
func (p *pen) expand(s string) string {
	var b strings.Builder
	for {
		i := strings.IndexAny(s, "[{")
		if i < 0 {
			b.WriteString(s)
			break
		}
		b.WriteString(s[:i])
		end := i + match(s[i:])
		inner := s[i+1 : end]
		if s[i] == '[' {
			alts := split(inner)
			b.WriteString(p.expand(alts[p.r.IntN(len(alts))]))
		} else {
			b.WriteString(p.slot(inner))
		}
		s = s[end+1:]
	}
	return breaks.Replace(b.String())
}

var breaks = strings.NewReplacer("¶", "\n\n", "↵", "\n")

// slot is what stands for {name}.
func (p *pen) slot(name string) string {
	name, keep := strings.CutSuffix(name, "!")
	if s, ok := p.v[name]; ok {
		return s
	}
	s, ok := p.builtin(name)
	if !ok {
		s = p.say(name)
	}
	if keep {
		p.v[name] = s
	}
	return s
}

// builtin are the slots that numbers and dates are made for: n:1:9 a number, sum:5:90 an
// amount of money, day:1:9 a date so many days ahead, code:6 digits, ref a reference.
func (p *pen) builtin(name string) (string, bool) {
	f := strings.Split(name, ":")
	lo, hi := 1, 9
	if len(f) > 1 {
		lo, _ = strconv.Atoi(f[1])
		hi = lo
	}
	if len(f) > 2 {
		hi, _ = strconv.Atoi(f[2])
	}
	x := lo + p.r.IntN(hi-lo+1)
	switch f[0] {
	case "n":
		return strconv.Itoa(x), true
	case "sum":
		return p.money(x), true
	case "day":
		return p.date(p.at.AddDate(0, 0, x)), true
	case "wday":
		return weekdays[p.lang][p.r.IntN(7)], true
	case "month":
		return months[p.lang][int(p.at.Month()+11)%12], true
	case "time":
		return fmt.Sprintf([]string{"%d:%02d", "%02d.%02d"}[p.r.IntN(2)], 8+p.r.IntN(12), 5*p.r.IntN(12)), true
	case "code":
		return fmt.Sprintf("%0*d", lo, p.r.IntN(pow10(lo))), true
	case "ref":
		return p.ref(), true
	case "year":
		return strconv.Itoa(p.at.Year()), true
	case "lb":
		return "[", true
	case "rb":
		return "]", true
	}
	return "", false
}

func pow10(n int) int {
	x := 1
	for range n {
		x *= 10
	}
	return x
}

// ref is a number of a bill or an order as shops make them.
func (p *pen) ref() string {
	n := p.r.IntN(9_000_000) + 1_000_000
	switch p.r.IntN(4) {
	case 0:
		return fmt.Sprintf("%s-%d-%05d", []string{"RE", "INV", "ORD", "KD", "F"}[p.r.IntN(5)], p.at.Year(), n%100000)
	case 1:
		return strconv.Itoa(n)
	case 2:
		return fmt.Sprintf("%c%c%d", 'A'+rune(p.r.IntN(26)), 'A'+rune(p.r.IntN(26)), n)
	}
	return fmt.Sprintf("%03d-%07d-%03d", p.r.IntN(999), n, p.r.IntN(999))
}

func (p *pen) money(whole int) string {
	cents := []int{0, 0, 0, 50, 90, 95, 99, p.r.IntN(100)}[p.r.IntN(8)]
	switch p.lang {
	case "en":
		return fmt.Sprintf("%s%d.%02d", p.v["currency"], whole, cents)
	case "de":
		if p.r.IntN(3) == 0 {
			return fmt.Sprintf("EUR %d,%02d", whole, cents)
		}
	}
	return fmt.Sprintf("%d,%02d €", whole, cents)
}

var weekdays = map[string][]string{
	"de": {"Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"},
	"en": {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"},
	"es": {"lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"},
}

var months = map[string][]string{
	"de": {"Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember"},
	"en": {"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"},
	"es": {"enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre"},
}

// date is a day as people and programs of the language write it.
func (p *pen) date(t time.Time) string {
	m, w := months[p.lang][t.Month()-1], weekdays[p.lang][(int(t.Weekday())+6)%7]
	short := p.r.IntN(3)
	switch p.lang {
	case "de":
		return []string{t.Format("02.01.2006"), fmt.Sprintf("%d. %s", t.Day(), m), fmt.Sprintf("%s, %d. %s", w, t.Day(), m)}[short]
	case "en":
		return []string{t.Format("02/01/2006"), fmt.Sprintf("%d %s", t.Day(), m), fmt.Sprintf("%s %d %s", w, t.Day(), m)}[short]
	case "es":
		return []string{t.Format("02/01/2006"), fmt.Sprintf("%d de %s", t.Day(), m), fmt.Sprintf("%s %d de %s", w, t.Day(), m)}[short]
	}
	return []string{t.Format("02/01/2006"), fmt.Sprintf("%d %s", t.Day(), m), fmt.Sprintf("%s %d %s", w, t.Day(), m)}[short]
}
