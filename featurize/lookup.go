// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/hinged/hinged/model"
)

// IndexOf returns the index of the feature with that name.
func IndexOf(name string) model.Index { return model.FoldIndex(xxhash.Sum64String(name)) }

// Lookup returns the names of all features that text may stand for, sorted. It takes
// text as words, in every field that words are read from. It also takes it as an
// address, a host, a header, a path, a list or whatever else a feature is made of,
// alone and with every fact that it may be crossed with. text may also be the full
// name of a feature.
func Lookup(text string) []string {
	l := lookup{}
	l.words(text, &kindSubject, &kindOpening, &kindOwn, &kindQuoted, &kindPatch, &kindSignature, &kindMailer, &kindName, &kindClaimedName)
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
	l := lookup{}
	for _, domain := range domains {
		l.words(text, vouchedName(domain))
	}
	slices.Sort(l.names)
	return slices.Compact(l.names)
}

// vouchedName is the kind of the words in a sender's name at a domain that is vouched for.
func vouchedName(domain string) *kind {
	return &kind{prefix: namePrefix + domain + ":", group: kindName.group}
}

// namePrefix comes before the domain.
const namePrefix = "name@"

// DomainOfName returns the domain of a feature that is a word in a sender's name together
// with a domain; false for any other feature.
func DomainOfName(feature string) (domain string, ok bool) {
	rest, ok := strings.CutPrefix(feature, namePrefix)
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

// words adds what a text makes of its words in fields of these kinds.
func (l *lookup) words(text string, kinds ...*kind) {
	f, err := New(DefaultOptions())
	if err != nil {
		return // the defaults are good, as a test has it
	}
	for _, k := range kinds {
		f.reset()
		f.words.text(f, text, k)
		c := f.terms.content()
		for _, t := range c.terms {
			l.names = append(l.names, c.names[t.start:t.start+uint32(t.size)])
		}
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
	l.add("path:"+text, places()...)
	if i := strings.IndexByte(text, '.'); i > 0 { // of a host the last two labels count, too
		l.add("host:" + string(lastLabels([]byte(text))))
		l.add("received:" + string(lastLabels([]byte(text))))
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
	l.add("to:"+text, places()...)
	l.sender(text)
	if name, domain, ok := strings.Cut(text, "@"); ok {
		l.words(name, vouchedName(domain))
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
		l.add(prefix+from, slices.Concat(addresses(), places(), depths())...)
		for _, place := range places() {
			for _, to := range addresses() {
				l.add(prefix + from + " | " + place + " | " + to)
			}
		}
	}
}

// facts adds what is said of a whole message in such words.
func (l *lookup) facts(text string) {
	l.add("addressed:" + text)
	l.add("place:"+text, addresses()...)
	l.add("kind:"+text, slices.Concat(addresses(), addressedPlaces())...)
	l.add("history:" + text)
	l.add("history?:" + text)
	l.add("shape:" + text)
}

func addresses() (all []string) {
	for a := addressedElsewhere; a <= addressedToAlone; a++ {
		all = append(all, a.String())
	}
	return all
}

func places() (all []string) {
	for p := placeStart; p <= placePatchReply; p++ {
		all = append(all, p.String())
	}
	return all
}

// depths are the bins of how many references a message has.
func depths() (all []string) {
	for n := 0; n <= maxReferences; n++ {
		all = append(all, "depth "+bin(n))
	}
	return slices.Compact(all)
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
		if digitHeavy(word) {
			return false
		}
	}
	return true
}

// digitHeavy reports whether text is a number or a code rather than a word.
func digitHeavy[T string | []byte](text T) bool {
	digits := 0
	for i := range len(text) {
		if asciiClass[text[i]]&digit != 0 {
			digits++
		}
	}
	return digits > 4 || len(text) > 2 && 2*digits > len(text)
}
