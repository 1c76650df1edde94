// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/model"
)

// predicate is a question about a message that a single feature answers.
type predicate struct {
	text  string // as parsePredicate takes it, in its one final form
	index model.Index
	group featurize.Group
	// sender: it asks for what From says, which anybody can write.
	sender bool
	// claimed is the index of the feature that stands for it where a server is believed
	// and does not vouch for what the message says; 0: there is none, or it must vouch.
	claimed model.Index
}

// errPredicate is wrapped by every error of parsePredicate.
var errPredicate = errors.New("not a predicate")

const wantPredicate = `"from:", "to:" or "cc:" and an address, "from:@" and a domain, "list:" and a List-Id, or "subject:" and one word`

// parsePredicate reads a predicate: a field, a colon and what stands in it.
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
func parsePredicate(text string) (predicate, error) {
	field, value, found := strings.Cut(strings.TrimSpace(text), ":")
	field, value = strings.ToLower(field), strings.ToLower(strings.TrimSpace(value))
	bad := func(why string) (predicate, error) {
		return predicate{}, fmt.Errorf("%w: %q %s; it is %s", errPredicate, text, why, wantPredicate)
	}
	switch {
	case !found:
		return bad("names no field")
	case !utf8.ValidString(text) || strings.ContainsFunc(value, unfitValue):
		return bad("has spaces or other characters that are not allowed")
	}
	p := predicate{text: field + ":" + value, group: featurize.Social}
	at := strings.LastIndexByte(value, '@')
	isAddress := at >= 0 && at < len(value)-1 && len(value) <= 200
	switch field {
	case "from":
		value = featurize.CanonicalAddress(value)
		p.text, p.sender = field+":"+value, true
		if !isAddress {
			return bad("has neither an address nor a domain")
		}
	case "to", "cc":
		value = featurize.CanonicalAddress(value)
		p.text = field + ":" + value
		if !isAddress || at == 0 {
			return bad("has no address")
		}
	case "list":
		if value == "" || len(value) > featurize.MaxListID {
			return bad("has no List-Id of at most 80 bytes")
		}
	case "subject":
		word, ok := subjectWord(value)
		if !ok {
			return bad("has not just one word")
		}
		p.text, p.group = "subject:"+word, featurize.Subject
	default:
		return bad("names another field")
	}
	p.index = featurize.IndexOf(p.text)
	if field == "list" {
		p.claimed = featurize.IndexOf("list?:" + value)
	}
	return p, nil
}

// unfitValue reports whether a predicate's value cannot have r.
func unfitValue(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(`<>,"`, r)
}

// subjectWord returns the one word of a text as it is in the name of a feature.
func subjectWord(text string) (string, bool) {
	names := featurize.WordNames("subject:", text)
	if len(names) != 1 || len(text) > featurize.MaxToken {
		return "", false
	}
	return strings.CutPrefix(names[0], "subject:")
}
