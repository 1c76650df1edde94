// SPDX-License-Identifier: Apache-2.0

package words

import (
	"slices"
	"strconv"
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
	case n.prefix == "history" && (strings.HasPrefix(n.fact, "sender ") || slices.Contains(knownSender, n.fact)):
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

// saying is a fact as featurize writes it into the name of a feature, and in words.
type saying struct{ fact, words string }

// How a message is addressed, what it is in its thread, what kind of sender it has, and what
// files.
var (
	addressed = []saying{
		{"elsewhere", "not addressed to you"}, {"cc", "with a copy to you"},
		{"to", "to you and others"}, {"to alone", "to you alone"},
	}
	places = []saying{
		{"start", "starting a thread"}, {"reply", "a reply"}, {"patch", "a patch"}, {"cover", "the cover letter of patches"},
		{"series", "a patch of a series"}, {"patch reply", "an answer to a patch"},
	}
	senders = []saying{
		{"a person", "written by a person, as it seems"}, {"a machine", "from an address where nobody reads answers"},
		{"bulk", "sent to many at once"}, {"a list", "sent through a mailing list"}, {"a program", "written by a program"},
	}
	files = []saying{
		{"with pdf", "with a PDF file"}, {"with calendar", "with a calendar entry"},
		{"with image", "with a picture"}, {"with office", "with a document"},
	}
)

// answered says of each bin of answered messages what is true of every message in it. The
// share is that of answered/(received+4), so that of answered/received is at least as great.
var answered = []saying{
	{"new", "the first message of this sender"},
	{"0 of few", "you answered none of this sender's few messages"},
	{"0 of many", "you answered none of this sender's messages"},
	{"under 3%", "you answered few of this sender's many messages"},
	{"under 6%", "you answered at least 3 in 100 messages of this sender"},
	{"under 10%", "you answered at least 6 in 100 messages of this sender"},
	{"under 15%", "you answered at least 1 in 10 messages of this sender"},
	{"under 20%", "you answered at least 15 in 100 messages of this sender"},
	{"under 30%", "you answered at least 2 in 10 messages of this sender"},
	{"under 40%", "you answered at least 3 in 10 messages of this sender"},
	{"under 50%", "you answered at least 4 in 10 messages of this sender"},
	{"under 70%", "you answered at least half of this sender's messages"},
	{"70% or more", "you answered at least 7 in 10 messages of this sender"},
}

// kept says of each bin of kept messages what the owner did with the sender's messages.
var kept = []saying{
	{"none", "you kept none of this sender's messages"},
	{"none of few", "you kept none of this sender's few messages"},
	{"under 25%", "you kept few of this sender's messages"},
	{"under 50%", "you kept fewer than half of this sender's messages"},
	{"under 50% of few", "you kept fewer than half of this sender's few messages"},
	{"under 75%", "you kept at least half of this sender's messages"},
	{"under 75% of few", "you kept at least half of this sender's few messages"},
	{"75% or more", "you kept most of this sender's messages"},
	{"all", "you kept all of this sender's messages"},
	{"all of few", "you kept all of this sender's few messages"},
}

// remembered is what else the account remembers of the sender, and of the message that is
// answered.
var remembered = []saying{
	{"correspondent", "you have written to this sender"},
	{"stranger", "you never wrote to this sender"},
	{"in the address book", "the sender is in your address book"},
	{"answers the owner", "answers a message of yours"},
	{"answers what the owner answered", "answers a message that you answered, too"},
	{"answers itself", "its sender goes on after an own message"},
	{"answers another", "answers somebody else's message"},
	{"answers something unknown", "answers a message that was never seen here"},
}

// knownSender are those of remembered that are about the sender.
var knownSender = []string{"correspondent", "stranger", "in the address book"}

// shapes are the words for what the shape of a message counts, one and many.
var shapes = map[string][2]string{
	"received":        {"server on its way", "servers on its way"},
	"attachments":     {"attachment", "attachments"},
	"links":           {"link", "links"},
	"long words":      {"overlong word", "overlong words"},
	"own lines":       {"line of its own", "lines of its own"},
	"quoted lines":    {"quoted line", "quoted lines"},
	"signature lines": {"line of signature", "lines of signature"},
	"diffstat lines":  {"line of patch summary", "lines of patch summary"},
	"patch lines":     {"changed line", "changed lines"},
	"trailers":        {"line such as Acked-by:", "lines such as Acked-by:"},
	"questions":       {"question mark", "question marks"},
	"to":              {"address in To", "addresses in To"},
	"cc":              {"address in Cc", "addresses in Cc"},
	"references":      {"earlier message referred to", "earlier messages referred to"},
	"recipients":      {"recipient", "recipients"},
	"own words":       {"word of its own at its start", "words of its own at its start"},
}

// isPatch reports whether a fact is the place of a patch in a thread.
func isPatch(fact string) bool { return find(fact, places[2:]) != "" }

// find returns the words for a fact; "" where no list has it.
func find(fact string, lists ...[]saying) string {
	for _, list := range lists {
		if i := slices.IndexFunc(list, func(s saying) bool { return s.fact == fact }); i >= 0 {
			return list[i].words
		}
	}
	return ""
}

// facts are those of a list, each with every fact of the next lists.
func facts(list []saying, next ...[]saying) (all []string) {
	for _, s := range list {
		if len(next) == 0 {
			all = append(all, s.fact)
			continue
		}
		for _, more := range facts(next[0], next[1:]...) {
			all = append(all, s.fact+" | "+more)
		}
	}
	return all
}

// bins are the names of all counts.
func bins() (all []string) {
	const most = 1 << 26 // more than there is of anything in a message or a thread
	for n := range 4 {
		all = append(all, strconv.Itoa(n))
	}
	for n := 4; n <= most; n *= 2 {
		all = append(all, strconv.Itoa(n)+"+")
	}
	return all
}

// amount puts a bin of counts before what is counted.
func amount(bin, one, many string) string {
	low, ok := strings.CutSuffix(bin, "+")
	n, err := strconv.Atoi(low)
	switch {
	case err != nil:
		return bin + " " + many
	case ok:
		return low + " to " + strconv.Itoa(2*n-1) + " " + many
	case n == 0:
		return "no " + many
	case n == 1:
		return "1 " + one
	default:
		return low + " " + many
	}
}
