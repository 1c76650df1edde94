// SPDX-License-Identifier: Apache-2.0

package words

import (
	"slices"
	"strings"
	"sync"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/model"
)

// Lookup returns the names of all features that text may stand for, sorted. It takes
// text as words, in every field that words are read from. It also takes it as an
// address, a host, a header, a path, a list or whatever else a feature is made of,
// alone and with every fact that it may be crossed with. text may also be the full
// name of a feature.
func Lookup(text string) []string {
	l := lookup{names: featurize.WordNames("subject:", text)}
	words := featurize.WordNames("", text)
	for prefix := range wordPlaces {
		l.each(prefix+":", words)
	}
	l.each("name?:", words)
	if text = strings.TrimSpace(text); text != "" {
		l.add(text)
		text = strings.ToLower(text)
		l.add(text)
		l.values(text)
		l.people(text)
		l.facts(text)
	}
	slices.Sort(l.names)
	return slices.Compact(l.names)
}

type lookup struct{ names []string }

// LookupNames returns the names of the features that the words of text are in the name of a
// sender at one of domains, where a server vouches for those; sorted.
func LookupNames(text string, domains []string) []string {
	var l lookup
	words := featurize.WordNames("", text)
	for _, domain := range domains {
		l.each(vouchedName+domain+":", words)
	}
	slices.Sort(l.names)
	return slices.Compact(l.names)
}

// DomainOfName returns the domain of a feature that is a word in a sender's name together
// with a domain; false for any other feature.
func DomainOfName(feature string) (domain string, ok bool) {
	rest, ok := strings.CutPrefix(feature, vouchedName)
	if !ok {
		return "", false
	}
	domain, _, ok = strings.Cut(rest, ":")
	return domain, ok
}

// add adds a name, and it again with each of the facts.
func (l *lookup) add(name string, facts ...string) {
	l.names = append(l.names, name)
	for _, fact := range facts {
		l.names = append(l.names, name+" | "+fact)
	}
}

// each adds a name for each of the values of its first fact.
func (l *lookup) each(prefix string, values []string, facts ...string) {
	for _, value := range values {
		l.add(prefix+value, facts...)
	}
}

// values adds what stands as a whole behind a prefix.
func (l *lookup) values(text string) {
	for prefix := range wholes {
		l.add(prefix + ":" + text)
	}
	l.add("list?:" + text)
	l.add("dkim?:" + text)
	l.add("header:" + text)
	l.add("attachment:" + text)
	l.add("attachment:." + text)
	l.add("trailer:" + text)
	l.add("path:"+text, facts(places)...)
	if i := strings.LastIndexByte(text, '.'); i > 0 { // of a host the last two labels count, too
		last := text[strings.LastIndexByte(text[:i], '.')+1:]
		l.add("host:" + last)
		l.add("received:" + last)
	}
}

// people adds what is made of an address, or of all those at a domain.
func (l *lookup) people(text string) {
	if text == "you" || text == "me" {
		text = "owner"
	}
	for _, prefix := range []string{"cc:", "reply-to:", "sender:", "reply-to?:", "sender?:", "invitation:organiser ", "invitation?:organiser "} {
		l.add(prefix + text)
	}
	l.add("to:"+text, facts(places)...)
	l.sender(text)
	if name, domain, ok := strings.Cut(text, "@"); ok {
		l.each(vouchedName+domain+":", featurize.WordNames("", name))
	}
	if strings.IndexByte(text, '@') < 0 {
		l.add("cc:@" + text)
		l.sender("@" + text)
	}
	for _, kind := range []string{"signed-off-by", "reviewed-by", "acked-by", "tested-by", "reported-by", "suggested-by", "co-developed-by", "cc", "fixes"} {
		l.add("trailer:" + kind + " " + text)
	}
}

func (l *lookup) sender(from string) {
	for _, prefix := range []string{"from:", "from?:"} {
		l.add(prefix+from, slices.Concat(facts(addressed), facts(places), facts(places, addressed))...)
		l.each(prefix+from+" | depth ", bins())
	}
}

// facts adds what is said of a whole message in such words.
func (l *lookup) facts(text string) {
	l.add("addressed:" + text)
	l.add("place:"+text, facts(addressed)...)
	l.add("kind:"+text, slices.Concat(facts(addressed), facts(addressed, places))...)
	l.add("history:" + text)
	l.add("history?:" + text)
	l.add("shape:" + text)
}

// Telling reports whether the name of a feature may be shown to people who did not
// type it. Words that are mostly digits may not: they may be codes or numbers for one
// reader only (one-time codes, accounts, orders).
func Telling(name string) bool {
	prefix, rest, ok := strings.Cut(name, ":")
	if !ok {
		return true
	}
	if strings.HasPrefix(prefix, "name") { // also one claimed, or together with a domain
		prefix = "name"
	}
	if _, word := wordPlaces[prefix]; !word && prefix != "header" && prefix != "path" && prefix != "host" {
		return true
	}
	for word := range strings.FieldsSeq(rest) {
		if featurize.DigitHeavy(word) {
			return false
		}
	}
	return true
}

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
