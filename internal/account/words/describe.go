// SPDX-License-Identifier: Apache-2.0

package words

import (
	"strings"
	"unicode"

	"github.com/hinged/hinged/featurize"
)

// Describe puts the name of a feature into plain words, in lower case and on one line:
// "from:ann@example.org | to alone" becomes "from ann@example.org, to you alone". It
// claims no more than the feature says. A name that no message can have comes back in
// quotes. Control characters become spaces or are left out.
func Describe(name string) string { return printable(inWords(name)) }

// printable leaves out of s what a terminal would obey: control characters, and those
// that turn the direction of the text.
func printable(s string) string {
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
	if name == featurize.Constant.String() {
		return "what every message starts with"
	}
	if n, ok := strings.CutPrefix(name, "patch version "); ok {
		return "version " + n + " of a patch"
	}
	n, ok := parse(name)
	switch {
	case !ok:
		return quote(name)
	case n.claim && n.prefix == "history":
		return "of a sender not vouched for: " + inWords(strings.Replace(name, "?", "", 1))
	case n.claim:
		return "not vouched for: " + inWords(strings.Replace(name, "?", "", 1))
	}
	if domain, is := strings.CutPrefix(n.prefix, vouchedName); is {
		return quote(n.fact) + " in the name of a sender at " + domain
	}
	if where, ok := wordPlaces[n.prefix]; ok {
		return quote(n.fact) + where
	}
	if what, ok := wholes[n.prefix]; ok {
		return what + n.fact
	}
	what := describeHead(n.prefix, n.fact)
	if what == "" {
		return quote(name)
	}
	for _, fact := range n.with {
		what += ", " + describeFact(fact)
	}
	return what
}

// claims are the prefixes of what a sender says of itself. With a question mark they
// stand for what the server that is believed does not vouch for.
var claims = []string{"from", "name", "sender", "reply-to", "list", "dkim", "history", "invitation"}

// vouchedName comes before the domain, in the prefix of a word in a sender's name at a domain
// that is vouched for.
const vouchedName = "name@"

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
		if fact == "start" {
			return "starts a thread"
		}
		return "is " + describeFact(fact)
	case "depth":
		return "refers to " + amount(fact, "earlier message", "earlier messages")
	case "kind":
		return find(fact, senders)
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
	if n, ok := strings.CutPrefix(fact, "depth "); ok {
		return "after " + amount(n, "earlier message", "earlier messages")
	}
	if n, ok := strings.CutPrefix(fact, "quoted "); ok {
		return "with " + amount(n, "quoted line", "quoted lines")
	}
	if n, ok := strings.CutPrefix(fact, "questions "); ok {
		return "with " + amount(n, "question mark", "question marks")
	}
	if s := find(fact, addressed, places, answered, senders, files); s != "" {
		return s
	}
	return fact
}

func describeShape(fact string) string {
	i := strings.LastIndexByte(fact, ' ')
	words, ok := shapes[fact[:max(i, 0)]]
	if !ok {
		return ""
	}
	return amount(fact[i+1:], words[0], words[1])
}

func describeHistory(fact string) string {
	if bin, ok := strings.CutPrefix(fact, "sender answered "); ok {
		return find(bin, answered)
	}
	if bin, ok := strings.CutPrefix(fact, "sender kept "); ok {
		return find(bin, kept)
	}
	if bin, ok := strings.CutPrefix(fact, "thread by owner "); ok {
		return "you wrote " + amount(bin, "message", "messages") + " in this thread"
	}
	if bin, ok := strings.CutPrefix(fact, "thread since owner "); ok {
		return amount(bin, "message", "messages") + " in this thread since your last"
	}
	return find(fact, remembered)
}
