// SPDX-License-Identifier: Apache-2.0

package words

import (
	"slices"
	"strconv"
	"strings"
)

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
	{"answers the owner", "answers a message of yours"},
	{"answers what the owner answered", "answers a message that you answered, too"},
	{"answers itself", "its sender goes on after an own message"},
	{"answers another", "answers somebody else's message"},
	{"answers something unknown", "answers a message that was never seen here"},
}

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
