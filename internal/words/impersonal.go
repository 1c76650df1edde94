// SPDX-License-Identifier: Apache-2.0

package words

import (
	"slices"
	"sync"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/model"
)

// Impersonal returns the names of the features that name nobody and mean the same in any
// mailbox, sorted: how a message reached its owner, the kind of its sender, its place and
// depth in the thread, its questions and attachments, what is remembered of its sender and
// thread, and the constant. Each name consists of a few fixed words and of counts in bins, so
// it has no address, no person's name and no word of any mail. What only mailing lists have,
// such as patches and their trailers, is not among them. The caller must not change the result.
func Impersonal() []string { return impersonal().alike }

// ImpersonalIndex returns the index of one of Impersonal; ok is false for any other name.
func ImpersonalIndex(name string) (index model.Index, ok bool) {
	if _, ok = slices.BinarySearch(Impersonal(), name); !ok {
		return 0, false
	}
	return indexOf(name), true
}

// ImpersonalName returns the name of the feature that names nobody with that index, idioms of
// mailing lists included; ok is false if there is none.
func ImpersonalName(index model.Index) (name string, ok bool) {
	name, ok = impersonal().byIndex[index]
	return name, ok
}

func indexOf(name string) model.Index {
	if name == featurize.Constant.String() {
		return model.Affine
	}
	return featurize.IndexOf(name)
}

type impersonalSet struct {
	alike   []string // see Impersonal
	byIndex map[model.Index]string
}

var impersonal = sync.OnceValue(func() impersonalSet {
	l := lookup{names: []string{featurize.Constant.String()}}
	l.impersonal()
	slices.Sort(l.names)
	s := impersonalSet{byIndex: map[model.Index]string{}}
	for _, name := range slices.Compact(l.names) {
		s.byIndex[indexOf(name)] = name
		if alike(name) {
			s.alike = append(s.alike, name)
		}
	}
	return s
})

// alike reports whether a feature that names nobody means the same in any mailbox.
func alike(name string) bool {
	n, _ := parse(name)
	if isPatch(n.fact) || slices.ContainsFunc(n.with, isPatch) {
		return false
	}
	if n.prefix != "shape" {
		return true
	}
	switch what, _ := n.count(); what {
	case "questions", "attachments", "recipients", "own words", "to", "cc":
		return true
	default:
		return false
	}
}

// impersonal adds all names of features that featurize makes of what a message is and of
// what is remembered, whom it names aside.
func (l *lookup) impersonal() {
	to, place, counts := facts(addressed), facts(places), bins()
	placeTo, bins := facts(places, addressed), facts(answered)
	var quoted, questions []string
	for _, n := range counts {
		quoted, questions = append(quoted, "quoted "+n), append(questions, "questions "+n)
	}
	l.each("addressed:", to)
	l.each("place:", place, to...)
	l.each("depth:", counts, to...)
	l.each("kind:", facts(senders), slices.Concat(to, questions, facts(files), placeTo)...)
	for what := range shapes {
		l.each("shape:"+what+" ", counts)
	}
	l.each("shape:recipients ", counts, to...)
	l.each("shape:questions ", counts, slices.Concat(to, place)...)
	l.each("shape:trailers ", counts, slices.Concat(to, place)...)
	l.each("shape:own lines ", counts, slices.Concat(to, place, quoted)...)
	l.each("shape:own words ", counts, facts(addressed, places)...)

	l.each("history:sender answered ", bins, slices.Concat(to, place, placeTo)...)
	l.each("history:sender kept ", facts(kept))
	l.each("history:", facts(remembered))
	l.each("history:", []string{"correspondent", "stranger"}, facts(addressed, senders)...)
	l.add("history:answers the owner", slices.Concat(bins, to)...)
	l.each("history:thread by owner ", counts, slices.Concat(bins, placeTo)...)
	l.each("history:thread since owner ", counts)
}
