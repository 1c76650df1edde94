// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"maps"
	"slices"
	"sync"

	"github.com/hinged/hinged/model"
)

// impersonalPrefixes begin the names of features that name nobody.
var impersonalPrefixes = []string{"addressed:", "depth:", "history:", "place:", "shape:"}

// mostCounted is more than anything in one message or one thread is counted up to.
const mostCounted = 1 << 26

// Impersonal returns the names of all features that name nobody, sorted: how a message
// reached its owner, its place and depth in the thread, its shape, what is remembered
// of its sender and thread, and the constant. Each name consists of a few fixed words
// and of counts in bins, so it has no address, no person's name and no word of any
// mail. The caller must not change the result.
func Impersonal() []string { return impersonal().names }

// ImpersonalIndex returns the index of an impersonal feature; ok is false for any
// other name.
func ImpersonalIndex(name string) (index model.Index, ok bool) {
	if _, ok = slices.BinarySearch(Impersonal(), name); !ok {
		return 0, false
	}
	if name == Constant.String() {
		return model.Affine, true
	}
	return IndexOf(name), true
}

// ImpersonalName returns the name of the impersonal feature with that index; ok is
// false if there is none.
func ImpersonalName(index model.Index) (name string, ok bool) {
	name, ok = impersonal().byIndex[index]
	return name, ok
}

type impersonalSet struct {
	names   []string
	byIndex map[model.Index]string
}

var impersonal = sync.OnceValue(func() impersonalSet {
	var l lookup
	l.names = append(l.names, Constant.String())
	l.impersonal()
	slices.Sort(l.names)
	s := impersonalSet{slices.Compact(l.names), map[model.Index]string{model.Affine: Constant.String()}}
	for _, name := range s.names {
		if name != Constant.String() {
			s.byIndex[IndexOf(name)] = name
		}
	}
	return s
})

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
	var quoted []string
	for _, n := range counts {
		quoted = append(quoted, "quoted "+n)
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

// bins are the names of the counts from 0 to most.
func bins(most int) (all []string) {
	for n := 0; n <= most; n = max(n+1, 2*(n&^3)) {
		all = append(all, bin(n))
	}
	return all
}
