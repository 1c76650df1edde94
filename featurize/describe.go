// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Describe puts the name of a feature into plain words, in lower case and on one line:
// "from:ann@example.org | to alone" becomes "from ann@example.org, to you alone". It
// claims no more than the feature says. A name that no message can have comes back in
// quotes. Control characters become spaces or are left out.
func Describe(name string) string { return Printable(inWords(name)) }

// Printable leaves out of s what a terminal would obey: control characters, and those
// that turn the direction of the text.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Cf, r): // not shown, or turns the direction of the text
			return -1
		case unicode.IsControl(r):
			return ' '
		default:
			return r
		}
	}, s)
}

func inWords(name string) string {
	if name == Constant.String() {
		return "what every message starts with"
	}
	if n, ok := strings.CutPrefix(name, "patch version "); ok {
		return "version " + n + " of a patch"
	}
	prefix, rest, ok := strings.Cut(name, ":")
	if !ok || rest == "" {
		return quote(name)
	}
	if claimed, is := strings.CutSuffix(prefix, "?"); is {
		if !slices.Contains(claims, claimed) {
			return quote(name)
		}
		if claimed == "history" {
			return "of a sender not vouched for: " + inWords(claimed+":"+rest)
		}
		return "not vouched for: " + inWords(claimed+":"+rest)
	}
	if domain, is := strings.CutPrefix(prefix, "name@"); is {
		return quote(rest) + " in the name of a sender at " + domain
	}
	if where, ok := wordPlaces[prefix]; ok {
		return quote(rest) + where
	}
	if what, ok := wholes[prefix]; ok {
		return what + rest
	}
	facts := factsOf(prefix, rest)
	what := describeHead(prefix, facts[0])
	if what == "" {
		return quote(name)
	}
	for _, fact := range facts[1:] {
		what += ", " + describeFact(fact)
	}
	return what
}

// claims are the prefixes of what a sender says of itself. With a question mark they
// stand for what the server that is believed does not vouch for.
var claims = []string{"from", "name", "sender", "reply-to", "list", "dkim", "history", "invitation"}

func quote(s string) string { return `"` + s + `"` }

// wordPlaces says where a word was found.
var wordPlaces = map[string]string{
	"subject":   " in the subject",
	"opening":   " among the first words",
	"body":      " in the text",
	"quoted":    " in quoted text",
	"patch":     " in a patch",
	"signature": " in the signature",
	"name":      " in the sender's name",
	"mailer":    " in the name of the mail program",
}

// wholes says what stands behind prefixes after which a value follows, and never
// other facts.
var wholes = map[string]string{
	"list":     "through the mailing list ",
	"type":     "contains ",
	"charset":  "written in the charset ",
	"encoding": "encoded as ",
	"html":     "has ",
	"defect":   "malformed: ",
	"host":     "a link to ",
	"received": "came by way of ",
	"dkim":     "signed for ",
	"auth":     "your mail server says ",

	"invitation": "its calendar entry says ",
}

// describeHead describes the first fact of a feature; "" when no feature has such
// a prefix.
func describeHead(prefix, fact string) string {
	switch prefix {
	case "from":
		return "from " + who(fact)
	case "to":
		return "to " + who(fact)
	case "cc":
		return "copy to " + who(fact)
	case "reply-to":
		return "answers go to " + who(fact)
	case "sender":
		return "sent by " + who(fact)
	case "header":
		if name, value, ok := strings.Cut(fact, "="); ok {
			return "header " + name + " is " + quote(value)
		}
		return "has a header " + fact
	case "attachment":
		return "has an attachment of type " + quote(strings.TrimPrefix(fact, "."))
	case "path":
		return "touches " + fact
	case "trailer":
		kind, address, ok := strings.Cut(fact, " ")
		if ok {
			return "line " + quote(kind) + " with " + who(address)
		}
		return "has a line " + quote(kind)
	case "addressed":
		return describeFact(fact)
	case "place":
		if fact == placeStart.String() {
			return "starts a thread"
		}
		return "is " + describeFact(fact)
	case "depth":
		return "refers to " + amount(fact, "earlier message", "earlier messages")
	case "kind":
		return senderWords[fact]
	case "shape":
		return describeShape(fact)
	case "history":
		return describeHistory(fact)
	default:
		return ""
	}
}

// who names an address, the owner's or somebody else's.
func who(address string) string {
	switch {
	case address == "owner":
		return "you"
	case address == "" || address == "nobody" || address == "@":
		return "nobody by name"
	case address[0] == '@':
		return "someone at " + address[1:]
	default:
		return address
	}
}

// describeFact describes a fact that is crossed with others, or stands for itself.
func describeFact(fact string) string {
	switch fact {
	case addressedElsewhere.String():
		return "not addressed to you"
	case addressedCc.String():
		return "with a copy to you"
	case addressedTo.String():
		return "to you and others"
	case addressedToAlone.String():
		return "to you alone"
	case placeStart.String():
		return "starting a thread"
	case placeReply.String():
		return "a reply"
	case placePatch.String():
		return "a patch"
	case placeCover.String():
		return "the cover letter of patches"
	case placeSeries.String():
		return "a patch of a series"
	case placePatchReply.String():
		return "an answer to a patch"
	}
	if n, ok := strings.CutPrefix(fact, "depth "); ok {
		return "after " + amount(n, "earlier message", "earlier messages")
	}
	if n, ok := strings.CutPrefix(fact, "quoted "); ok {
		return "with " + amount(n, "quoted line", "quoted lines")
	}
	if n, ok := strings.CutPrefix(fact, "questions "); ok {
		return "with " + amount(n, "question mark", "question marks")
	}
	for _, words := range []map[string]string{answeredWords, senderWords, fileWords} {
		if s, ok := words[fact]; ok {
			return s
		}
	}
	return fact
}

// senderWords say what the header tells of the kind of sender.
var senderWords = map[string]string{
	"a person":  "written by a person, as it seems",
	"a machine": "from an address where nobody reads answers",
	"bulk":      "sent to many at once",
	"a list":    "sent through a mailing list",
	"a program": "written by a program",
}

// fileWords are the words for kinds of attachments.
var fileWords = map[string]string{
	"with pdf": "with a PDF file", "with calendar": "with a calendar entry", "with image": "with a picture", "with office": "with a document",
}

// amount puts a count, binned by bin, before what is counted.
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

func describeShape(fact string) string {
	i := strings.LastIndexByte(fact, ' ')
	words, ok := shapes[fact[:max(i, 0)]]
	if !ok {
		return ""
	}
	return amount(fact[i+1:], words[0], words[1])
}

// answeredWords says of each bin of answeredShare what is true of every message
// in it. The share is that of answered/(received+4), so that of answered/received
// is at least as great.
var answeredWords = map[string]string{
	"new":         "the first message of this sender",
	"0 of few":    "you answered none of this sender's few messages",
	"0 of many":   "you answered none of this sender's messages",
	"under 3%":    "you answered few of this sender's many messages",
	"under 6%":    "you answered at least 3 in 100 messages of this sender",
	"under 10%":   "you answered at least 6 in 100 messages of this sender",
	"under 15%":   "you answered at least 1 in 10 messages of this sender",
	"under 20%":   "you answered at least 15 in 100 messages of this sender",
	"under 30%":   "you answered at least 2 in 10 messages of this sender",
	"under 40%":   "you answered at least 3 in 10 messages of this sender",
	"under 50%":   "you answered at least 4 in 10 messages of this sender",
	"under 70%":   "you answered at least half of this sender's messages",
	"70% or more": "you answered at least 7 in 10 messages of this sender",
}

// keptWords says of each bin of keptShare what the owner did with the sender's messages.
var keptWords = map[string]string{
	"none":             "you kept none of this sender's messages",
	"none of few":      "you kept none of this sender's few messages",
	"under 25%":        "you kept few of this sender's messages",
	"under 50%":        "you kept fewer than half of this sender's messages",
	"under 50% of few": "you kept fewer than half of this sender's few messages",
	"under 75%":        "you kept at least half of this sender's messages",
	"under 75% of few": "you kept at least half of this sender's few messages",
	"75% or more":      "you kept most of this sender's messages",
	"all":              "you kept all of this sender's messages",
	"all of few":       "you kept all of this sender's few messages",
}

func describeHistory(fact string) string {
	if bin, ok := strings.CutPrefix(fact, "sender answered "); ok {
		return answeredWords[bin]
	}
	if bin, ok := strings.CutPrefix(fact, "sender kept "); ok {
		return keptWords[bin]
	}
	if bin, ok := strings.CutPrefix(fact, "thread by owner "); ok {
		return "you wrote " + amount(bin, "message", "messages") + " in this thread"
	}
	if bin, ok := strings.CutPrefix(fact, "thread since owner "); ok {
		return amount(bin, "message", "messages") + " in this thread since your last"
	}
	switch fact {
	case "correspondent":
		return "you have written to this sender"
	case "stranger":
		return "you never wrote to this sender"
	case "answers the owner":
		return "answers a message of yours"
	case "answers what the owner answered":
		return "answers a message that you answered, too"
	case "answers itself":
		return "its sender goes on after an own message"
	case "answers another":
		return "answers somebody else's message"
	case "answers something unknown":
		return "answers a message that was never seen here"
	default:
		return ""
	}
}
