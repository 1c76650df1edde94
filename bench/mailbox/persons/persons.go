// SPDX-License-Identifier: Apache-2.0

package persons

import (
	"slices"
	"time"
)

// Kind is what a message is.
type Kind struct {
	Name     string
	MustFind bool // what the owner wants of it has to be marked nearly always
	Phishing bool // a mark on it is dangerous
}

// Kinds are the kinds of which a bench gives figures of their own. The other names of kinds
// (Mail.Kind) stand in text/kinds.toml and beside each panel.
var Kinds = []Kind{
	{Name: "bill", MustFind: true}, {Name: "security", MustFind: true}, {Name: "invitation", MustFind: true}, {Name: "travel", MustFind: true},
	{Name: "phishing", Phishing: true},
}

// Names returns the persons that Make knows.
func Names() []string {
	_, names := blocks()
	return slices.Clone(names)
}

// Make plays the life of a person until arrivals messages of others came; 1,520 take about a
// year and a month. The same arguments make the same bytes. Fewer arrivals are the end of the
// same life. It panics if the name is none of Names.
func Make(name string, seed uint64, arrivals int) *Life {
	if !slices.Contains(Names(), name) {
		panic("persons: nobody is called " + name)
	}
	w := &world{seed: seed, name: name, currency: "£", taken: map[string]bool{}, begin: time.Date(2024, 11, 11, 0, 0, 0, 0, time.UTC)}
	w.end = w.begin.AddDate(0, 0, max(460, 460*arrivals/1520))
	(&stage{w: w, much: 1, groups: map[string][]*contact{}, brands: map[string]*brand{}}).play(name)
	return &Life{Person: name, Owner: append([]string{w.me.mail}, w.also...), Mail: w.cut(arrivals), TakesOff: w.h.takesOff,
		TrashKept: time.Duration(w.h.trash) * 24 * time.Hour}
}
