// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"slices"
	"strings"
)

// Facet is what a feature is about, as a person would sort it.
type Facet uint8

// The facets.
const (
	FacetForm      Facet = iota // header fields, layout, encodings: what few people look at
	FacetSender                 // who it is from, and how often the owner answered them
	FacetAddressed              // to whom it went
	FacetThread                 // its place in a thread, and the owner's part in that
	FacetQuestion               // how many question marks it has
	FacetList                   // the mailing list that it came through
	FacetSubject                // words of the subject
	FacetText                   // words of the writer's own text
	FacetQuoted                 // words of quoted text and signatures
	FacetAttachment
	FacetLinks
	FacetPatch  // patches, the files that they touch, and who signed them off
	FacetAbsent // what it has none of
	FacetConstant
	facets
)

// String names the facet as the parts of it are named in --json.
func (f Facet) String() string {
	return [facets]string{
		"form", "sender", "addressed", "thread", "question", "list", "subject", "text",
		"quoted", "attachment", "links", "patch", "absent", "constant",
	}[f]
}

// facetOf is the facet of all features with a prefix.
var facetOf = map[string]Facet{
	"from": FacetSender, "name": FacetSender, "sender": FacetSender, "reply-to": FacetSender, "kind": FacetSender,
	"to": FacetAddressed, "cc": FacetAddressed, "addressed": FacetAddressed,
	"place": FacetThread, "depth": FacetThread,
	"list":    FacetList,
	"subject": FacetSubject,
	"opening": FacetText, "body": FacetText,
	"quoted": FacetQuoted, "signature": FacetQuoted,
	"attachment": FacetAttachment, "invitation": FacetAttachment,
	"host":  FacetLinks,
	"patch": FacetPatch, "path": FacetPatch, "trailer": FacetPatch,
}

// facetOfShape is the facet of what a count of the shape counts, unless it is 0.
var facetOfShape = map[string]Facet{
	"recipients": FacetAddressed, "to": FacetAddressed, "cc": FacetAddressed,
	"references":  FacetThread,
	"questions":   FacetQuestion,
	"attachments": FacetAttachment,
	"links":       FacetLinks,
	"patch lines": FacetPatch, "diffstat lines": FacetPatch, "trailers": FacetPatch,
}

// FacetOf says what the feature with a name is about. A name that is not kept, or that no
// message can have, is one of form.
func FacetOf(name string) Facet {
	if name == Constant.String() {
		return FacetConstant
	}
	if strings.HasPrefix(name, "patch version ") {
		return FacetPatch
	}
	n, ok := ParseName(name)
	if !ok {
		return FacetForm
	}
	switch {
	case strings.HasPrefix(n.Prefix, "name@"):
		return FacetSender
	case n.Prefix == "history" && (strings.HasPrefix(n.Fact, "sender ") || n.Fact == "correspondent" || n.Fact == "stranger"):
		return FacetSender
	case n.Prefix == "history":
		return FacetThread
	case n.Prefix == "place" && patchPlaces[n.Fact]:
		return FacetPatch
	case n.Prefix == "header" && listHeaders[n.Fact]:
		return FacetList
	case n.Prefix != "shape":
		return facetOf[n.Prefix]
	}
	what, count := n.Count()
	if count == "0" {
		return FacetAbsent
	}
	return facetOfShape[what]
}

var patchPlaces = map[string]bool{
	placePatch.String(): true, placeCover.String(): true, placeSeries.String(): true, placePatchReply.String(): true,
}

// listHeaders are header fields that mailing lists and newsletters write.
var listHeaders = map[string]bool{
	"list-id": true, "list-unsubscribe": true, "list-post": true, "list-archive": true, "list-help": true, "list-subscribe": true,
	"precedence": true, "precedence=bulk": true, "precedence=list": true,
}

// Name is the name of a feature in its parts.
type Name struct {
	Prefix string // such as from, without the mark of a claim
	// Claim: it is what a sender says of itself, and no server that is believed vouches
	// for that.
	Claim bool
	Fact  string   // behind the prefix
	With  []string // the facts that it is crossed with
}

// ParseName takes the name of a feature apart. ok is false for one without a prefix.
func ParseName(name string) (n Name, ok bool) {
	prefix, rest, ok := strings.Cut(name, ":")
	if !ok || rest == "" {
		return n, false
	}
	n.Prefix, n.Fact = prefix, rest
	if claimed, is := strings.CutSuffix(prefix, "?"); is && slices.Contains(claims, claimed) {
		n.Prefix, n.Claim = claimed, true
	}
	_, word := wordPlaces[n.Prefix]
	if _, whole := wholes[n.Prefix]; !word && !whole && !strings.HasPrefix(n.Prefix, namePrefix) {
		facts := factsOf(n.Prefix, rest)
		n.Fact, n.With = facts[0], facts[1:]
	}
	return n, true
}

// factsOf splits what stands behind a prefix. Values of header fields and the ends of file
// names are never crossed with other facts, but may read as if they were.
func factsOf(prefix, rest string) []string {
	if prefix == "header" || prefix == "attachment" {
		return []string{rest}
	}
	return strings.Split(rest, " | ")
}

// Count takes the fact of a shape apart: what is counted, and the bin of its count: 0, 1,
// 2, 3, or "4+" for 4 to 7, "8+" for 8 to 15 and so on.
func (n Name) Count() (what, count string) {
	i := strings.LastIndexByte(n.Fact, ' ')
	if i < 0 {
		return n.Fact, ""
	}
	return n.Fact[:i], n.Fact[i+1:]
}

// InWords puts a bin of Count before what is counted.
func InWords(count, one, many string) string { return amount(count, one, many) }

// DigitHeavy reports whether a word is mostly digits, as numbers and codes are.
func DigitHeavy(word string) bool { return digitHeavy(word) }
