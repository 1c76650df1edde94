// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"maps"
	"slices"
	"sync"

	"github.com/hinged/hinged/model"
)

// impersonalPrefixes begin the names of features that name nobody.
var impersonalPrefixes = []string{"addressed:", "depth:", "history:", "kind:", "place:", "shape:"}

// mostCounted is more than anything in one message or one thread is counted up to.
const mostCounted = 1 << 26

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
	if name == Constant.String() {
		return model.Affine, true
	}
	return IndexOf(name), true
}

// ImpersonalName returns the name of the feature that names nobody with that index, idioms of
// mailing lists included; ok is false if there is none.
func ImpersonalName(index model.Index) (name string, ok bool) {
	name, ok = impersonal().byIndex[index]
	return name, ok
}

type impersonalSet struct {
	alike   []string // see Impersonal
	byIndex map[model.Index]string
}

var impersonal = sync.OnceValue(func() impersonalSet {
	var l lookup
	l.names = append(l.names, Constant.String())
	l.impersonal()
	slices.Sort(l.names)
	s := impersonalSet{byIndex: map[model.Index]string{model.Affine: Constant.String()}}
	for _, name := range slices.Compact(l.names) {
		if name != Constant.String() {
			s.byIndex[IndexOf(name)] = name
		}
		if alike(name) {
			s.alike = append(s.alike, name)
		}
	}
	return s
})

// alike reports whether a feature that names nobody means the same in any mailbox.
func alike(name string) bool {
	n, ok := ParseName(name)
	isPatch := func(fact string) bool { return patchPlaces[fact] }
	if !ok || n.Prefix != "shape" {
		return !isPatch(n.Fact) && !slices.ContainsFunc(n.With, isPatch)
	}
	what, _ := n.Count()
	switch what {
	case "questions", "attachments", "recipients", "own words", "to", "cc":
		return !slices.ContainsFunc(n.With, isPatch)
	default:
		return false
	}
}

// impersonal adds all that readStructure, readSocial and History.each can name.
func (l *lookup) impersonal() {
	counts := bins(mostCounted)
	for _, to := range addresses() {
		l.add("addressed:" + to)
	}
	for _, place := range places() {
		l.add("place:"+place, addresses()...)
	}
	for _, depth := range bins(maxReferences) {
		l.add("depth:"+depth, addresses()...)
	}
	for _, c := range new(structure).counts(&Message{}) {
		l.each(c.name, counts)
	}
	var quoted, questions []string
	for _, n := range counts {
		quoted, questions = append(quoted, "quoted "+n), append(questions, "questions "+n)
	}
	l.each("kind:", senders(), slices.Concat(addresses(), questions, slices.Sorted(maps.Keys(fileWords)))...)
	for _, place := range places() {
		for _, to := range addresses() {
			l.each("kind:", senders(), place+" | "+to)
		}
	}
	l.each("shape:recipients ", bins(2*maxAddresses), addresses()...)
	l.each("shape:questions ", counts, slices.Concat(addresses(), places())...)
	l.each("shape:trailers ", counts, slices.Concat(addresses(), places())...)
	l.each("shape:own lines ", counts, slices.Concat(addresses(), places(), quoted)...)
	l.each("shape:own words ", bins(openingWords), addressedPlaces()...)
	l.impersonalHistory(counts)
}

func (l *lookup) impersonalHistory(counts []string) {
	answered := slices.Sorted(maps.Keys(answeredWords))
	l.each("history:sender answered ", answered, slices.Concat(addresses(), places())...)
	for _, place := range places() {
		for _, to := range addresses() {
			l.each("history:sender answered ", answered, place+" | "+to)
			l.each("history:thread by owner ", counts, place+" | "+to)
		}
	}
	l.add("history:answers the owner", slices.Concat(answered, addresses())...)
	for _, what := range []string{"what the owner answered", "itself", "another", "something unknown"} {
		l.add("history:answers " + what)
	}
	l.each("history:thread by owner ", counts, answered...)
	l.each("history:thread since owner ", counts)
	l.each("history:sender kept ", slices.Sorted(maps.Keys(keptWords)))
	for _, to := range addresses() {
		for _, kind := range senders() {
			l.each("history:", []string{"correspondent", "stranger"}, to+" | "+kind)
		}
	}
}

// each adds a name for each of the values of its first fact.
func (l *lookup) each(prefix string, values []string, facts ...string) {
	for _, value := range values {
		l.add(prefix+value, facts...)
	}
}

// addressedPlaces are the ways of addressing with each place.
func addressedPlaces() (all []string) {
	for _, to := range addresses() {
		for _, place := range places() {
			all = append(all, to+" | "+place)
		}
	}
	return all
}

func senders() (all []string) {
	for s := senderPerson; s <= senderAutomatic; s++ {
		all = append(all, s.String())
	}
	return all
}

// bins are the names of the counts from 0 to most.
func bins(most int) (all []string) {
	for n := 0; n <= most; n = max(n+1, 2*(n&^3)) {
		all = append(all, bin(n))
	}
	return all
}
