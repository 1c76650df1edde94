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

// sender says what kind of sender a message has, as far as its header tells.
type sender uint8

const (
	senderPerson    sender = iota // nothing says anything else
	senderMachine                 // a person reads no answers there: no-reply, notifications
	senderBulk                    // one text for many
	senderList                    // a person, through a mailing list
	senderAutomatic               // a program answers, reports, or tells of a change
)

func (s sender) String() string {
	return [...]string{"a person", "a machine", "bulk", "a list", "a program"}[s]
}

// senderOf reads the kind from the header. A list says how to write to it or to join it (RFC 2369);
// who sends in bulk has but a way out (RFC 8058), or names a campaign for complaints.
func (f *Featurizer) senderOf(m *Message) sender {
	var is [senderAutomatic + 1]bool
	for _, fd := range f.fields {
		switch name := fd.name; {
		case beginsWith(name, "list-post", "list-subscribe", "list-archive", "x-mailing-list", "mailing-list", "x-mailman"),
			equalFold(name, "precedence") && beginsWith(fd.value, "list"):
			is[senderList] = true
		case beginsWith(name, "list-", "feedback-id", "x-feedback-id", "x-csa-complaints", "x-campaign", "x-mailgun-", "x-sg-", "x-mc-", "x-ses-"),
			equalFold(name, "precedence") && beginsWith(fd.value, "bulk", "junk"):
			is[senderBulk] = true
		case beginsWith(name, programFields...):
			is[senderAutomatic] = true
		case equalFold(name, "return-path"):
			back := strings.ToLower(bracketed(fd.value))
			is[senderAutomatic] = is[senderAutomatic] || back == ""
			is[senderMachine] = machineAddress(back)
		}
	}
	m.crowd = is[senderBulk] || is[senderList]
	switch {
	case is[senderAutomatic] || f.automatic() && !is[senderList]:
		return senderAutomatic
	case is[senderList]:
		return senderList
	case is[senderBulk]:
		return senderBulk
	case is[senderMachine] || machineAddress(first(m.From)):
		return senderMachine
	default:
		return senderPerson
	}
}

// programFields are those that ticket systems, trackers and calendars write.
var programFields = lists["program-fields"]

// machineAddress reports whether an address says that nobody reads there or a program sends.
func machineAddress(address string) bool {
	local, _, _ := cutAddress(address)
	local = machineJoins.Replace(local)
	local = local[:min(len(local), 64)] // the longest that a local part may be (RFC 5321)
	return slices.ContainsFunc(machineWords, func(word string) bool { return strings.Contains(local, word) })
}

var machineJoins = strings.NewReplacer("-", "", "_", "", ".", "", "+", "")

// machineWords are parts of such addresses, without what parts words.
var machineWords = lists["machine-words"]

// personal is Message.Personal.
func (m *Message) personal() bool {
	return m.address >= addressedTo && len(m.From) > 0 && !m.FromOwner && !m.crowd
}

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

// blur returns the letters and digits of a name, those that look alike as one, doubled ones once,
// until the next call.
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

// dmarc returns whether servers wrote that the message is from the domain in From, and that not.
func (f *Featurizer) dmarc(m *Message) (passed, failed bool) {
	for _, fd := range f.fields {
		if equalFold(fd.name, fieldResults) {
			results := strings.ToLower(plainResults(string(fd.value)))
			passed, failed = passed || strings.Contains(results, "dmarc=pass"), failed || strings.Contains(results, "dmarc=fail")
		}
	}
	return passed && f.AuthServID == "" || m.Vouched, failed
}
