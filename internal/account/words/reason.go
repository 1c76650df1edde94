// SPDX-License-Identifier: Apache-2.0

package words

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/filter"
)

// Reason is one thing that speaks for a message or against it.
type Reason struct {
	Text string
	// Amount is what all its parts add to the score: more than 0 for a reason for.
	Amount float64
	// Parts are the positions of its parts in the list that it was found in.
	Parts []int

	words  bool // it is of words, which come last
	record bool // it says what the owner did with earlier mail of the sender
}

// Reasons are the strongest on both sides: first facts, then words, each by descending
// |Amount|.
type Reasons struct{ For, Against []Reason }

// A side has so many reasons at most, and none that is weaker than this share of the
// strongest of both, but for what the owner did with earlier mail of the sender.
const (
	mostReasons = 3
	leastReason = 0.1
)

// ReasonsOf finds the reasons for the score of the message with features x. parts are those of
// the score, by descending |Amount|. from is what is known of the sender. sender says
// whether a reason names the sender's address; without it stands beside the reasons.
func ReasonsOf(x *featurize.Features, parts []filter.Contribution, from filter.Correspondence, sender bool) Reasons {
	f := readFacts(x)
	var all []Reason
	about := map[Facet]*Reason{}
	words := map[string]*word{}
	var said []*word
	for i, p := range parts {
		if p.Name == "" {
			continue
		}
		facet := FacetOf(p.Name)
		switch facet {
		case FacetForm, FacetQuoted, FacetAbsent, FacetConstant:
			continue
		case FacetSubject, FacetText:
			w := wordOf(words, p.Name)
			if w == nil {
				continue
			}
			if len(w.parts) == 0 {
				said = append(said, w)
			}
			w.amount += p.Amount
			w.parts = append(w.parts, i)
			continue
		}
		r := about[facet]
		if r == nil {
			r = new(Reason)
			about[facet] = r
		}
		r.Amount += p.Amount
		r.Parts = append(r.Parts, i)
	}
	for facet, r := range about {
		if r.Text = f.words(facet, *r, parts, from, sender); r.Text != "" {
			r.record = facet == FacetSender && from.Received > 1
			all = append(all, *r)
		}
	}
	all = append(all, wordReasons(said)...)
	slices.SortFunc(all, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Amount), math.Abs(a.Amount)), cmp.Compare(a.Text, b.Text))
	})
	out := strongest(all)
	for _, side := range [][]Reason{out.For, out.Against} {
		slices.SortStableFunc(side, func(a, b Reason) int { return cmp.Compare(last(a), last(b)) })
	}
	return out
}

// strongest are the first of all, by descending |Amount|, on either side.
func strongest(all []Reason) (out Reasons) {
	for _, r := range all {
		if math.Abs(r.Amount) < leastReason*math.Abs(all[0].Amount) && !r.record {
			continue
		}
		side := &out.For
		if r.Amount < 0 {
			side = &out.Against
		}
		switch {
		case r.Amount == 0:
		case len(*side) < mostReasons:
			*side = append(*side, r)
		case r.record:
			(*side)[mostReasons-1] = r
		}
	}
	return out
}

func last(r Reason) int {
	if r.words {
		return 1
	}
	return 0
}

// Texts are the words of a list of reasons.
func Texts(list []Reason) []string {
	texts := make([]string, 0, len(list))
	for _, r := range list {
		texts = append(texts, r.Text)
	}
	return texts
}

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

// word is a word of the subject or of the text, with all parts of it.
type word struct {
	text   string
	amount float64
	parts  []int
}

// A word of fewer letters tells a person nothing; one reason has so many words at most.
const (
	leastLetters = 5
	mostWords    = 3
)

// wordOf returns the word that the feature with a name is about; nil for one that would
// tell a person nothing: short words and numbers. Two words that stand side by side in the
// subject are one.
func wordOf(words map[string]*word, name string) *word {
	n, ok := parse(name)
	if !ok || featurize.DigitHeavy(n.fact) {
		return nil
	}
	long := func(w string) bool {
		return utf8.RuneCountInString(w) >= leastLetters || w != "" && w[0] >= utf8.RuneSelf
	}
	if !slices.ContainsFunc(strings.Fields(n.fact), long) {
		return nil
	}
	w := words[n.fact]
	if w == nil {
		w = &word{text: n.fact}
		words[n.fact] = w
	}
	return w
}

// wordReasons makes one reason of the words that speak most clearly for the message, and
// one of those against it.
func wordReasons(words []*word) []Reason {
	slices.SortFunc(words, func(a, b *word) int {
		return cmp.Or(cmp.Compare(math.Abs(b.amount), math.Abs(a.amount)), cmp.Compare(a.text, b.text))
	})
	var out []Reason
	for _, sign := range []float64{1, -1} {
		r := Reason{words: true}
		var texts []string
		for _, w := range words {
			if w.amount*sign <= 0 || len(texts) == mostWords || contained(texts, w.text) {
				continue
			}
			texts = append(texts, w.text)
			r.Amount += w.amount
			r.Parts = append(r.Parts, w.parts...)
		}
		if len(texts) > 0 {
			r.Text = "the words "
			if len(texts) == 1 && !strings.Contains(texts[0], " ") {
				r.Text = "the word "
			}
			for i, text := range texts {
				if i > 0 {
					r.Text += ", "
				}
				r.Text += `"` + printable(text) + `"`
			}
			slices.Sort(r.Parts)
			out = append(out, r)
		}
	}
	return out
}

// contained reports whether a word is said already, as one of two side by side or the
// other way round.
func contained(texts []string, text string) bool {
	inside := func(inner, outer string) bool { return strings.Contains(" "+outer+" ", " "+inner+" ") }
	return slices.ContainsFunc(texts, func(t string) bool { return inside(text, t) || inside(t, text) })
}
