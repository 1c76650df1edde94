// SPDX-License-Identifier: Apache-2.0

package persons

import (
	"testing"

	"github.com/hinged/hinged/bench/mailbox/life"
)

// human are the kinds that people write.
var human = map[string]bool{
	"friend": true, "joke": true, "family": true, "work": true, "fyi": true, "household": true, "cold call": true, "recruiter": true, "customer": true, "supplier": true,
	"request": true, "committee": true, "fellow student": true, "teacher": true, "parents": true, "club circle": true, "team": true, "mailing list": true,
}

type counts struct {
	n, own, wanted, human, read, wantedRead, otherRead, answered, wantedAnswered, star, deleted, junk, forwarded float64
	kinds, found                                                                                       map[string]int
}

func count(l *life.Life) counts {
	c := counts{kinds: map[string]int{}, found: map[string]int{}}
	for _, m := range l.Mail {
		if m.Folder == life.Sent {
			c.own++
			continue
		}
		c.n++
		c.kinds[m.Kind]++
		if human[m.Kind] {
			c.human++
		}
		seen := map[life.Do]bool{}
		for _, a := range m.Acts {
			seen[a.Do] = true
		}
		add := func(to *float64, if_ bool) {
			if if_ {
				*to++
			}
		}
		add(&c.wanted, m.Wanted)
		if m.Wanted {
			c.found[m.Kind]++
		}
		add(&c.read, seen[life.Read])
		add(&c.wantedRead, seen[life.Read] && m.Wanted)
		add(&c.otherRead, seen[life.Read] && !m.Wanted)
		add(&c.answered, seen[life.Answer])
		add(&c.wantedAnswered, seen[life.Answer] && m.Wanted)
		add(&c.star, seen[life.Star])
		add(&c.deleted, seen[life.Delete])
		add(&c.forwarded, seen[life.Forward])
		add(&c.junk, m.Folder == life.Junk || seen[life.ToJunk])
	}
	return c
}

func TestShow(t *testing.T) {
	for _, name := range Names() {
		l := Make(name, 1, 1520)
		c := count(l)
		t.Logf("%s: %.0f of others %.0f own, %.0f days; human %.2f wanted %.2f read %.2f (wanted %.2f, others %.2f) answered %.2f (of wanted %.2f) star %.0f forwarded %.0f deleted %.2f junk %.2f\n%v\n%v", name, c.n, c.own,
			l.Mail[len(l.Mail)-1].At.Sub(l.Mail[0].At).Hours()/24, c.human/c.n, c.wanted/c.n, c.read/c.n, c.wantedRead/c.wanted, c.otherRead/(c.n-c.wanted), c.answered/c.n, c.wantedAnswered/c.wanted, c.star, c.forwarded, c.deleted/c.n, c.junk/c.n, c.kinds, c.found)
	}
}
