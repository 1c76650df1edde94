// SPDX-License-Identifier: Apache-2.0

// Package persons makes up private mailboxes: what comes, what its owner wants of it, and
// what the owner does with it.
package persons

import (
	"time"

	"github.com/hinged/hinged/bench/mailbox/life"
)

// Kind is what a message is.
type Kind struct {
	Name     string
	MustFind bool // what the owner wants of it has to be marked nearly always
	Phishing bool // a mark on it is dangerous
}

// Kinds are the kinds that need a look of their own.
var Kinds = []Kind{
	{Name: "bill", MustFind: true}, {Name: "security", MustFind: true}, {Name: "invitation", MustFind: true}, {Name: "travel", MustFind: true},
	{Name: "phishing", Phishing: true},
}

// cast is who there is.
var cast = []struct {
	name string
	make func(*world)
}{
	{"family", family}, {"office", office}, {"phone", phone}, {"shop", shop}, {"student", student},
	{"official", official}, {"retired", retired}, {"developer", developer},
}

// Names returns the persons that Make knows.
func Names() []string {
	var names []string
	for _, c := range cast {
		names = append(names, c.name)
	}
	return names
}

// Make plays the life of a person until arrivals messages of others came; 1,520 take about a
// year and a month. The same arguments make the same bytes. Fewer arrivals are the end of the
// same life. It panics if the name is none of Names.
func Make(name string, seed uint64, arrivals int) *life.Life {
	for _, c := range cast {
		if c.name == name {
			w := &world{seed: seed, name: name, taken: map[string]bool{}}
			days := max(460, 460*arrivals/1520)
			w.begin = time.Date(2024, 11, 11, 0, 0, 0, 0, time.UTC)
			w.end = w.begin.AddDate(0, 0, days)
			c.make(w)
			return &life.Life{Person: name, Owner: append([]string{w.me.mail}, w.also...), Mail: w.cut(arrivals), TakesOff: w.h.takesOff}
		}
	}
	panic("persons: nobody is called " + name)
}
