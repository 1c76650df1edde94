// SPDX-License-Identifier: Apache-2.0

package words

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/filter"
)

// plainFacts are what the features of a message say of it plainly.
type plainFacts struct {
	sender   string // the address; "" where that is not kept
	claimed  bool   // the sender is what the message claims, and not vouched for
	first    bool   // it is the sender's first message
	to       string // how it is addressed, in words
	alone    bool   // the owner is the only one in To
	people   string // how many it went to, as a bin; "" where that is not known
	place    string // in its thread
	part     string // what part the owner has in the thread; "" for none
	question string // how many question marks it has, as a bin
	links    string // how many links, as a bin
	list     string // the mailing list, in words
	onList   bool   // it came through one
}

// readFacts reads the names of x that are not crossed with others.
func readFacts(x *featurize.Features) plainFacts {
	var f plainFacts
	if x == nil {
		return f
	}
	f.onList = OnList(x)
	for named := range x.All() {
		n, ok := parse(named.Name)
		if !ok {
			continue
		}
		if n.prefix == "shape" {
			f.count(n)
		}
		if len(n.with) > 0 {
			continue
		}
		switch n.prefix {
		case "from":
			if strings.HasPrefix(n.fact, "@") {
				continue
			}
			f.sender, f.claimed = printable(who(n.fact)), n.claim
		case "addressed":
			f.to, f.alone = Describe(named.Name), n.fact == "to alone"
		case "place":
			f.place = n.fact
		case "list":
			f.list = Describe(named.Name)
		case "history":
			f.history(n.fact)
		}
	}
	return f
}

func (f *plainFacts) count(n parsed) {
	switch what, count := n.count(); what {
	case "recipients":
		f.people = count
	case "questions":
		f.question = count
	case "links":
		f.links = count
	}
}

// history reads what the account remembered when the message came.
func (f *plainFacts) history(fact string) {
	switch fact {
	case "sender answered new":
		f.first = true
	case "answers the owner":
		f.part = "answers you"
	case "answers what the owner answered":
		if f.part == "" {
			f.part = "answers what you answered, too"
		}
	default:
		if count, is := strings.CutPrefix(fact, "thread by owner "); is && count != "0" && f.part != "answers you" {
			f.part = "you wrote in this thread"
		}
	}
}

// words puts what all parts about one facet say into words; "" where a person would not
// understand it.
func (f *plainFacts) words(about Facet, r Reason, parts []filter.Contribution, from filter.Correspondence, sender bool) string {
	if about == FacetPatch && !f.onList {
		return ""
	}
	switch about {
	case FacetSender:
		return f.ofSender(r.Amount > 0, from, sender)
	case FacetAddressed:
		return f.addressed()
	case FacetThread:
		return f.thread()
	case FacetQuestion:
		switch {
		case f.question == "" || f.question == "0":
			return ""
		case f.links != "0":
			return "has a question mark" // which may be one of a link
		default:
			return "asks a question"
		}
	case FacetList:
		if f.list != "" {
			return f.list
		}
		return firstWords(r, parts, func(n parsed) string {
			if n.fact == "list-unsubscribe" {
				return "can be unsubscribed from"
			}
			return ""
		})
	case FacetAttachment, FacetLinks, FacetPatch:
		return firstWords(r, parts, func(n parsed) string {
			if len(n.with) > 0 {
				return ""
			}
			if n.prefix == "shape" && about != FacetPatch {
				what, count := n.count()
				return amount(count, strings.TrimSuffix(what, "s"), what)
			}
			return Describe(n.prefix + ":" + n.fact)
		})
	default:
		return ""
	}
}

// firstWords returns the words for the strongest of a reason's parts that pulls its way
// and has any.
func firstWords(r Reason, parts []filter.Contribution, say func(parsed) string) string {
	for _, i := range r.Parts {
		n, ok := parse(parts[i].Name)
		if !ok || !(parts[i].Amount*r.Amount > 0) {
			continue
		}
		if words := say(n); words != "" {
			return words
		}
	}
	return ""
}

// rarely is the share of answered messages below which that is a reason against.
const rarely = 1.0 / 3

// ofSender says who wrote and what the owner did with that, if that points the same way as
// what was learnt of the sender.
func (f *plainFacts) ofSender(speaksFor bool, c filter.Correspondence, sender bool) string {
	who, their := "", "their "
	if sender && f.sender != "" {
		who, their = " from "+f.sender, ""
	}
	share := float64(c.Answered) / float64(max(1, c.Received))
	switch {
	case f.claimed && sender && f.sender != "":
		return "claims to be from " + f.sender + ", not vouched for"
	case f.claimed:
		return "a sender that is not vouched for"
	case f.first:
		return strings.TrimSpace("the first message" + cmp.Or(who, " from this sender"))
	case speaksFor && c.Answered > 0:
		return fmt.Sprintf("you answered %s%s", ofMany(c.Answered, c.Received, their), who)
	case speaksFor && c.Kept > max(c.Left, 1):
		return fmt.Sprintf("you read and kept %s%s", ofMany(c.Kept, c.Kept+c.Left, their), who)
	case !speaksFor && c.Left > max(c.Kept, 1):
		return fmt.Sprintf("you left or threw away %s%s", ofMany(c.Left, c.Kept+c.Left, their), who)
	case !speaksFor && c.Received > 0 && c.Answered == 0:
		return fmt.Sprintf("you answered none of %d%s", c.Received, cmp.Or(who, " from this sender"))
	case !speaksFor && c.Received > 0 && share < rarely:
		return fmt.Sprintf("you answered only %s%s", ofMany(c.Answered, c.Received, their), who)
	case who != "":
		return who[1:]
	default:
		return "who it is from"
	}
}

func ofMany(n, of uint32, their string) string {
	if n == of {
		if of == 1 {
			return "the one message"
		}
		return fmt.Sprintf("all %s%d messages", their, of)
	}
	return fmt.Sprintf("%d of %s%d messages", n, their, of)
}

// addressed says to whom it went.
func (f *plainFacts) addressed() string {
	switch {
	case f.alone && f.people == "1":
		return "only to you"
	case f.alone:
		return "to you, with copies to others"
	case f.to == "to you and others" && f.people != "" && len(f.people) > 2:
		return "to you and many others" // 16 or more
	default:
		return f.to
	}
}

// thread says what it is in its thread, and what part its owner has in that.
func (f *plainFacts) thread() string {
	switch {
	case f.part != "":
		return f.part
	case f.place == "start":
		return "starts a conversation"
	case f.place == "reply":
		return "is a reply"
	default:
		return ""
	}
}
