// SPDX-License-Identifier: Apache-2.0

package words

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hinged/hinged/featurize"
)

// Gist is what the names of a message's features reveal of it, so that its owner can
// recognise it. All of it is empty if names are not kept.
type Gist struct {
	From string // address of the sender, whether or not anybody vouches for it
	// Name has the words of the sender's name in order of the alphabet, whether or not
	// anybody vouches for it: for finding a message, not for saying whose it is.
	Name []string
	// Facts say in words how the message was addressed, what it is in its thread and
	// through which mailing list it came, as far as that is known; in that order.
	Facts []string
	// Subject has the words of the subject in an order that they may have had there;
	// words that are mostly digits are left out.
	Subject []string
}

// GistOf returns what the names of the features reveal of their message, for people.
func GistOf(x *featurize.Features) Gist {
	var g Gist
	var subject []string
	var facts [3]string
	for n := range x.All() {
		prefix, rest, ok := strings.Cut(n.Name, ":")
		if !ok || strings.Contains(rest, " | ") {
			continue
		}
		switch strings.TrimSuffix(prefix, "?") {
		case "from":
			if !strings.HasPrefix(rest, "@") {
				g.From = printable(who(rest))
			}
		case "addressed":
			facts[0] = Describe(n.Name)
		case "place":
			facts[1] = Describe(n.Name)
		case "list":
			facts[2] = Describe(n.Name)
		case "subject":
			subject = append(subject, rest)
		case "name":
			g.Name = append(g.Name, printable(rest))
		default:
			if strings.HasPrefix(prefix, vouchedName) {
				g.Name = append(g.Name, printable(rest))
			}
		}
	}
	slices.Sort(g.Name)
	for _, fact := range facts {
		if fact != "" {
			g.Facts = append(g.Facts, fact)
		}
	}
	for _, word := range inLine(subject) {
		if !featurize.DigitHeavy(word) {
			g.Subject = append(g.Subject, printable(word))
		}
	}
	return g
}

// inLine puts words into an order in which they may have stood, given the words and
// pairs of neighbours in any order: it follows the pairs, each once, from a word that
// stands behind no other. Where a word stood twice there may be several such orders.
func inLine(terms []string) []string {
	terms = slices.Sorted(slices.Values(terms))
	next, behind := map[string][]string{}, map[string]int{}
	var words []string
	for _, t := range terms {
		if a, b, pair := strings.Cut(t, " "); pair {
			next[a] = append(next[a], b)
			behind[b]++
		} else {
			words = append(words, t)
		}
	}
	// First those that can only begin a line, then what is left, as in a circle.
	slices.SortStableFunc(words, func(a, b string) int { return min(behind[a], 1) - min(behind[b], 1) })
	var line []string
	said := map[string]bool{}
	for _, w := range words {
		for !said[w] || len(next[w]) > 0 {
			line = append(line, follow(w, next)...)
			for _, w := range line {
				said[w] = true
			}
		}
	}
	return line
}

// follow returns the longest way on from a word, in pairs that were not used yet. A
// way that comes to its end early is put off for one that comes back.
func follow(w string, next map[string][]string) []string {
	var line []string
	stack := []string{w}
	for len(stack) > 0 {
		top := stack[len(stack)-1]
		if all := next[top]; len(all) > 0 {
			next[top] = all[1:]
			stack = append(stack, all[0])
			continue
		}
		line = append(line, top)
		stack = stack[:len(stack)-1]
	}
	slices.Reverse(line)
	return line
}

// deeds are what taught a label, from store.Source's name: for important and for ordinary.
// "it" stands for the message.
var deeds = map[string][2]string{
	"provisional": {"you have done nothing with it so far", "you have done nothing with it so far"},
	"silence":     {"you left it alone", "you left it alone"},
	"answered":    {"you answered it", "you answered it"},
	"forwarded":   {"you forwarded it", "you forwarded it"},
	"moved":       {"you moved it", "you threw it away unread"},
	"junk":        {"you said that it is no junk", "you called it junk"},
	"muted":       {"you muted it", "you muted it"},
	"flagged":     {"you starred it", "you starred it"},
	"mark":        {"you marked it", "you took the mark off it"},
	"read":        {"you read it and kept it", "you read it"},
	"found":       {"it was starred, answered or marked when it was first seen", "it was called junk or deleted when it was first seen"},
	"letter":      {"you answered a letter about it", "you answered a letter about it"},
	"explicit":    {"you called it important", "you called it ordinary"},
}

// Deed says what the owner did to give a label, important or ordinary, from what it and
// store.Source are called: you answered it.
func Deed(label, source string) string {
	deed, known := deeds[source]
	if !known {
		deed = deeds["explicit"]
	}
	if label == "ordinary" {
		return deed[1]
	}
	return deed[0]
}

// DeedAround is Deed in two parts, between which the name of the message stands.
func DeedAround(label, source string) (before, after string) {
	before, after, _ = strings.Cut(Deed(label, source), " it")
	return before, after
}

// InTen says how many messages like one mattered, from the probability that it matters, 0 to
// 1; "" for 0, which says that too little is known.
func InTen(p float64) string {
	switch n := math.Round(10 * p); {
	case p <= 0:
		return ""
	case n < 1:
		return "hardly any such message mattered"
	case n > 9:
		return "nearly all such messages mattered"
	default:
		return fmt.Sprintf("%.0f in 10 such messages mattered", n)
	}
}
