// SPDX-License-Identifier: Apache-2.0

package words

import (
	"slices"
	"strings"

	"github.com/hinged/hinged/featurize"
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
