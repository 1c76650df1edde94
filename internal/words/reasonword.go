// SPDX-License-Identifier: Apache-2.0

package words

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hinged/hinged/featurize"
)

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
