// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"slices"
	"strings"
	"unicode"

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
	// Own are hashes of the names that the sender may be known by, at most 2.
	Own []uint64
	// Seen are hashes of all names that the eye may read, Own included, at most maxGuises.
	Seen []uint64
	// Failed: a server wrote that the message is not from the domain in From (dmarc=fail,
	// RFC 8601, section 2.7). Anybody can write that, but nobody does so of their own mail.
	Failed bool
}

const (
	maxGuises = 12
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
	g.Home, g.Failed = xxhash.Sum64String(label), f.failed()
	see := func(blurred string) {
		if hash := xxhash.Sum64String(blurred); len(blurred) >= shortGuise && len(g.Seen) < maxGuises && !slices.Contains(g.Seen, hash) {
			g.Seen = append(g.Seen, hash)
		}
	}
	whole, full := blur(label), blur(name)
	see(whole)
	g.Own = slices.Clone(g.Seen)
	see(full)
	isPerson := m.sender == senderPerson && len(strings.Fields(name)) > 1
	isBrand := len(full) >= shortGuise && len(whole) >= shortGuise && (strings.Contains(full, whole) || strings.Contains(whole, full))
	if len(full) >= shortGuise && (isPerson || isBrand) {
		g.Own = append(g.Own, xxhash.Sum64String(full))
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(domain, registered)+label, ".") {
		see(blur(part))
		for piece := range strings.SplitSeq(part, "-") {
			see(blur(piece))
		}
	}
	if !isPerson {
		for _, word := range strings.Fields(name) {
			see(blur(word))
		}
	}
	return g
}

// blur returns the letters and digits of a name, those that look alike as one, doubled ones
// once.
func blur(name string) string {
	var b strings.Builder
	last := rune(0)
	for _, r := range strings.ToLower(strings.ReplaceAll(name, "rn", "m")) {
		switch r {
		case '1', 'l', '|':
			r = 'i'
		case '0':
			r = 'o'
		case '3':
			r = 'e'
		case '5':
			r = 's'
		}
		if r != last && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			b.WriteRune(r)
			last = r
		}
	}
	return b.String()
}

// failed reports whether a server wrote that the domain in From was not the sender's.
func (f *Featurizer) failed() bool {
	for _, fd := range f.fields {
		if equalFold(fd.name, fieldResults) && strings.Contains(strings.ToLower(plainResults(string(fd.value))), "dmarc=fail") {
			return true
		}
	}
	return false
}
