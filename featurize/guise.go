// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/net/publicsuffix"
)

// Guise is what a sender is taken for at a glance: names that the eye reads from the name and
// the domain in From, blurred so that 1, l and i are one letter. Who takes another's guise
// uses the same names from another home. Mailing lists have none: there many people write
// from one address, and one person from many.
type Guise struct {
	// Home is a hash of the label under which the domain is registered, such as example in
	// mail.example.org: a company's domains in two countries are one home. 0: no guise.
	Home uint64
	// Names are hashes of what the eye may read, each once, at most maxGuises. The first Own of
	// them, at most 2, are names that the sender may be known by.
	Names []uint64
	Own   int
	// Failed: a server wrote that the message is not from the domain in From (dmarc=fail,
	// RFC 8601, section 2.7). Anybody can write that, but nobody does so of their own mail.
	// Passed: it is, by the word of Options.AuthServID, or of any server where none is named.
	Failed, Passed bool
	// Domains are hashes of the domain in From and of those above it down to the registered
	// one, at most maxDomains.
	Domains []uint64
}

const (
	maxGuises  = 12
	maxDomains = 4
	// shortGuise is of fewer letters than say who somebody is.
	shortGuise = 5
)

// readGuise reads the guise of the sender.
func (f *Featurizer) readGuise(m *Message, name string) (g Guise) {
	if m.sender == senderList || len(m.From) == 0 {
		return g
	}
	_, domain, ok := cutAddress(m.From[0])
	if !ok {
		return g
	}
	registered, err := publicsuffix.EffectiveTLDPlusOne(domain)
	if err != nil {
		return g
	}
	label, _, _ := strings.Cut(registered, ".")
	g.Home, g.Names = xxhash.Sum64String(label), make([]uint64, 0, maxGuises)
	g.Passed, g.Failed = f.dmarc(m)
	for above := domain; len(above) >= len(registered) && len(g.Domains) < maxDomains; _, above, _ = strings.Cut(above, ".") {
		g.Domains = append(g.Domains, xxhash.Sum64String(above))
	}
	whole := string(f.blur(label))
	g.see([]byte(whole))
	g.Own = len(g.Names)
	isPerson := m.sender == senderPerson && strings.IndexByte(name, ' ') > 0
	full := f.blur(name)
	isBrand := len(whole) >= shortGuise && len(full) >= shortGuise && (strings.Contains(string(full), whole) || strings.Contains(whole, string(full)))
	if g.see(full); isPerson || isBrand {
		g.Own = len(g.Names)
	}
	for _, labels := range []string{strings.TrimSuffix(domain, registered), label} {
		for part := range strings.SplitSeq(labels, ".") {
			g.see(f.blur(part))
			for piece := range strings.SplitSeq(part, "-") {
				g.see(f.blur(piece))
			}
		}
	}
	if !isPerson {
		for word := range strings.FieldsSeq(name) {
			g.see(f.blur(word))
		}
	}
	return g
}

// see adds a blurred name.
func (g *Guise) see(blurred []byte) {
	if hash := xxhash.Sum64(blurred); len(blurred) >= shortGuise && len(g.Names) < maxGuises && !slices.Contains(g.Names, hash) {
		g.Names = append(g.Names, hash)
	}
}

// blur returns the letters and digits of a name, those that look alike as one, doubled ones
// once. The result is valid until the next call.
func (f *Featurizer) blur(name string) []byte {
	b, last := f.blurred[:0], rune(0)
	for i, r := range name {
		switch r = unicode.ToLower(r); {
		case r == 'r' && strings.HasPrefix(name[i+1:], "n"):
			r = 'm'
		case r == 'n' && i > 0 && (name[i-1] == 'r' || name[i-1] == 'R'):
			continue // it was one letter with the r
		case r == '1', r == 'l', r == '|':
			r = 'i'
		case r == '0':
			r = 'o'
		case r == '3':
			r = 'e'
		case r == '5':
			r = 's'
		}
		if r != last && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			b = utf8.AppendRune(b, r)
			last = r
		}
	}
	f.blurred = b
	return b
}

// dmarc returns whether a server wrote that the message is from the domain in From, and
// whether one wrote that it is not.
func (f *Featurizer) dmarc(m *Message) (passed, failed bool) {
	for _, fd := range f.fields {
		if equalFold(fd.name, fieldResults) {
			results := strings.ToLower(plainResults(string(fd.value)))
			passed, failed = passed || strings.Contains(results, "dmarc=pass"), failed || strings.Contains(results, "dmarc=fail")
		}
	}
	return passed && f.AuthServID == "" || m.Vouched, failed
}
