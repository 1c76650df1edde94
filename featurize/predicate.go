// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hinged/hinged/model"
)

// Predicate is a question about a message that a single feature answers.
type Predicate struct {
	Text  string // as ParsePredicate takes it, in its one final form
	Index model.Index
	Group Group
	// Sender: it asks for what From says, which anybody can write.
	Sender bool
	// Claimed is the index of the feature that stands for it where a server is believed
	// and does not vouch for what the message says; 0: there is none, or it must vouch.
	Claimed model.Index
}

// ErrPredicate is wrapped by every error of ParsePredicate.
var ErrPredicate = errors.New("not a predicate")

const wantPredicate = `"from:", "to:" or "cc:" and an address, "from:@" and a domain, "list:" and a List-Id, or "subject:" and one word`

// ParsePredicate reads a predicate: a field, a colon and what stands in it.
//
//	from:ann@example.org   From has this address
//	from:@example.org      From has an address at this very domain
//	to:list@example.org    To has this address
//	cc:list@example.org    Cc or Bcc has it
//	list:dev.example.org   List-Id is this
//	subject:invoice        the subject has this word
//
// Case does not matter. Words are what a subject is taken apart into, so that one
// with a hyphen is two and is refused.
func ParsePredicate(text string) (Predicate, error) {
	field, value, found := strings.Cut(strings.TrimSpace(text), ":")
	field, value = strings.ToLower(field), strings.ToLower(strings.TrimSpace(value))
	bad := func(why string) (Predicate, error) {
		return Predicate{}, fmt.Errorf("%w: %q %s; it is %s", ErrPredicate, text, why, wantPredicate)
	}
	switch {
	case !found:
		return bad("names no field")
	case !utf8.ValidString(text) || strings.ContainsFunc(value, unfitValue):
		return bad("has spaces or other characters that are not allowed")
	}
	p := Predicate{Text: field + ":" + value, Group: Social}
	local, domain, isAddress := cutAddress(value)
	isAddress = isAddress && domain != "" && len(value) <= 200
	switch field {
	case "from":
		value = CanonicalAddress(value)
		p.Text, p.Sender = field+":"+value, true
		if !isAddress {
			return bad("has neither an address nor a domain")
		}
	case "to", "cc":
		value = CanonicalAddress(value)
		p.Text = field + ":" + value
		if !isAddress || local == "" {
			return bad("has no address")
		}
	case "list":
		if value == "" || len(value) > maxListID {
			return bad("has no List-Id of at most 80 bytes")
		}
	case "subject":
		word, ok := subjectWord(value)
		if !ok {
			return bad("has not just one word")
		}
		p.Text, p.Group = "subject:"+word, Subject
	default:
		return bad("names another field")
	}
	p.Index = IndexOf(p.Text)
	if field == "list" {
		p.Claimed = IndexOf("list?:" + value)
	}
	return p, nil
}

// unfitValue reports whether a predicate's value cannot have r.
func unfitValue(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(`<>,"`, r)
}

// cutAddress cuts s at the last "@".
func cutAddress(s string) (local, domain string, found bool) {
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// subjectWord returns the one word of a text as it is in the name of a feature.
func subjectWord(text string) (string, bool) {
	o := DefaultOptions()
	f, err := New(o)
	if err != nil || len(text) > o.MaxToken {
		return "", false
	}
	f.reset()
	f.words.text(f, text, &kindSubject)
	c := f.terms.content()
	if len(c.terms) != 1 {
		return "", false
	}
	return strings.CutPrefix(c.names, kindSubject.prefix)
}

// Prototype returns the values that the predicate's feature and the affine coordinate
// have in a message with nothing else. It returns 0 if the shares leave the feature's
// group out.
func (p Predicate) Prototype(o Options) (value, affine float64) {
	x := Features{entries: []entry{{index: p.Index, value: 1, group: p.Group}}}
	x.scale(o.Shares, o.Affine)
	return x.at(x.entries[0]), x.affine
}

// Has reports whether the message has the feature, whatever its value is. O(log n).
func (x *Features) Has(index model.Index) bool {
	_, found := slices.BinarySearchFunc(x.entries, index, func(e entry, i model.Index) int { return cmp.Compare(e.index, i) })
	return found
}
