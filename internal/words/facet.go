// SPDX-License-Identifier: Apache-2.0

package words

import (
	"slices"
	"strings"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/model"
)

// Facet is what a feature is about, as a person would sort it; so it is called in --json.
type Facet string

// The facets.
const (
	FacetForm       Facet = "form"      // header fields, layout, encodings: what few people look at
	FacetSender     Facet = "sender"    // who it is from, and how often the owner answered them
	FacetAddressed  Facet = "addressed" // to whom it went
	FacetThread     Facet = "thread"    // its place in a thread, and the owner's part in that
	FacetQuestion   Facet = "question"  // how many question marks it has
	FacetList       Facet = "list"      // the mailing list that it came through
	FacetSubject    Facet = "subject"   // words of the subject
	FacetText       Facet = "text"      // words of the writer's own text
	FacetQuoted     Facet = "quoted"    // words of quoted text and signatures
	FacetAttachment Facet = "attachment"
	FacetLinks      Facet = "links"
	FacetPatch      Facet = "patch"  // patches, the files that they touch, and who signed them off
	FacetAbsent     Facet = "absent" // what it has none of
	FacetConstant   Facet = "constant"
)

// facetOf is the facet of all features with a prefix, unless it is that of form.
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

// facetOfShape is the facet of what a count of the shape counts, unless it is 0 or that of form.
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
	if name == featurize.Constant.String() {
		return FacetConstant
	}
	if strings.HasPrefix(name, "patch version ") {
		return FacetPatch
	}
	n, _ := parse(name)
	facet := facetOf[n.prefix]
	switch {
	case strings.HasPrefix(n.prefix, vouchedName):
		facet = FacetSender
	case n.prefix == "history" && (strings.HasPrefix(n.fact, "sender ") || n.fact == "correspondent" || n.fact == "stranger"):
		facet = FacetSender
	case n.prefix == "history":
		facet = FacetThread
	case n.prefix == "place" && isPatch(n.fact):
		facet = FacetPatch
	case n.prefix == "header" && slices.Contains(listHeaders, n.fact):
		facet = FacetList
	case n.prefix == "shape":
		what, count := n.count()
		if facet = facetOfShape[what]; count == "0" {
			facet = FacetAbsent
		}
	}
	if facet == "" {
		return FacetForm
	}
	return facet
}

// listHeaders are header fields that mailing lists and newsletters write.
var listHeaders = []string{
	"list-id", "list-unsubscribe", "list-post", "list-archive", "list-help", "list-subscribe",
	"precedence", "precedence=bulk", "precedence=list",
}

// OnList reports whether a message came through a mailing list. Facts of lists, such as what
// is a patch, say nothing to a person elsewhere.
func OnList(x *featurize.Features) bool {
	for n := range x.All() {
		if FacetOf(n.Name) == FacetList && n.Name != "header:precedence=bulk" {
			return true
		}
	}
	return false
}

// Unspoken are the features of a message that are no reasons to a person: what the message
// has none of, and facts of lists where there is none.
func Unspoken(x *featurize.Features) map[model.Index]bool {
	out, onList := map[model.Index]bool{}, OnList(x)
	for n := range x.All() {
		facet := FacetOf(n.Name)
		if facet == FacetAbsent || facet == FacetPatch && !onList {
			out[n.Index] = true
		}
	}
	return out
}

// parsed is the name of a feature in its parts.
type parsed struct {
	prefix string // such as from, without the mark of a claim
	// claim: it is what a sender says of itself, and no server that is believed vouches
	// for that.
	claim bool
	fact  string   // behind the prefix
	with  []string // the facts that it is crossed with
}

// parse takes the name of a feature apart. ok is false for one without a prefix.
func parse(name string) (n parsed, ok bool) {
	prefix, rest, ok := strings.Cut(name, ":")
	if !ok || rest == "" {
		return n, false
	}
	n.prefix, n.fact = prefix, rest
	if claimed, is := strings.CutSuffix(prefix, "?"); is && slices.Contains(claims, claimed) {
		n.prefix, n.claim = claimed, true
	}
	// Words, values of header fields and the ends of file names are never crossed with other
	// facts, but may read as if they were.
	_, word := wordPlaces[n.prefix]
	_, whole := wholes[n.prefix]
	whole = whole || n.prefix == "header" || n.prefix == "attachment"
	if !word && !whole && !strings.HasPrefix(n.prefix, vouchedName) {
		facts := strings.Split(rest, " | ")
		n.fact, n.with = facts[0], facts[1:]
	}
	return n, true
}

// count takes the fact of a shape apart: what is counted, and the bin of its count: 0, 1,
// 2, 3, or "4+" for 4 to 7, "8+" for 8 to 15 and so on.
func (n parsed) count() (what, bin string) {
	i := strings.LastIndexByte(n.fact, ' ')
	if i < 0 {
		return n.fact, ""
	}
	return n.fact[:i], n.fact[i+1:]
}
