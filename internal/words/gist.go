// SPDX-License-Identifier: Apache-2.0

package words

import (
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
