// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/internal/face/naming"
	"github.com/hinged/hinged/model"
)

// GetWords shows weights.
var GetWords = offer(Verb[WordsRequest, Words]{
	Name: "words", Text: printWords, do: ofAccount(getWords),
	API: &API{Summary: "The strongest weights, or those of given words", Reads: true},
})

// WordsRequest says which weights to show: those of all features that the words
// could be behind or, without words, the strongest.
type WordsRequest struct {
	Words []string `json:"words,omitempty" jsonschema:"maxItems=100"`             // the words; none: the strongest
	Most  int      `json:"most" jsonschema:"default=20,minimum=1,maximum=100000"` // so many of each word, or each way
}

// Words is what `hinged explain --word` prints.
type Words struct {
	Account string `json:"account"` // Account is the account that the weights belong to.
	Weights int    `json:"weights"` // Weights is the number of features with a weight.
	// Supports is the number of examples that a kernel learner has. With a kernel, the
	// weight of a feature depends on the message. The weights shown here are those of
	// each feature by itself.
	Supports int           `json:"supports,omitempty"`
	Rules    []RuleStatus  `json:"rules,omitempty"` // Rules are the owner's rules with the weights of their features; only without words on the command line.
	Words    []WordWeights `json:"words,omitempty"` // Words are those given on the command line.
	// Important are the features that speak most for important, strongest first; only
	// without words on the command line.
	Important []WordWeight `json:"important,omitempty"`
	Ordinary  []WordWeight `json:"ordinary,omitempty"` // Ordinary are the features that speak most for ordinary, strongest first; only without words on the command line.
}

// WordWeights are the weights of all features made from one word.
type WordWeights struct {
	Word     string       `json:"word"`     // Word is the word as it was given.
	Features []WordWeight `json:"features"` // Features are listed strongest first; empty if none has a weight.
	More     int          `json:"more"`     // More counts features that are not shown.
}

// WordWeight is the weight of one feature.
type WordWeight struct {
	Feature string `json:"feature"` // Feature is the name of the feature; "" if the name is not known.
	Text    string `json:"text"`    // Text is the feature in plain words.
	// Weight is the weight of the feature. A positive weight speaks for important. In a
	// message, the feature adds its value times this weight to the score.
	Weight float64 `json:"weight"`
	Rule   string  `json:"rule,omitempty"` // Rule is the label of the owner's rule that limits the weight: important or ordinary.
}

const unnamed = "unknown: in fewer than 3 learnt messages, or its words are not kept"

// getWords names the strongest weights outside of Look: that reads learnt messages.
func getWords(ctx context.Context, a Account, q WordsRequest) (out Words, err error) {
	var above, below model.Vector
	var past Past
	domains, err := nameDomains(ctx, a, q)
	if err != nil {
		return out, err
	}
	err = a.Look(ctx, func(d *Desk) error {
		w := d.Filter.Explainer.Alone()
		past, out = d.Past, Words{Account: d.Account, Weights: w.Len(), Supports: d.Filter.State().Supports.Len()}
		out.Rules, _ = rulesOf(d.Filter)
		if len(q.Words) == 0 {
			above, below = w.Strongest(max(q.Most, 0))
			return nil
		}
		out.weigh(w, q, domains)
		return nil
	})
	if err != nil || len(q.Words) > 0 {
		return out, err
	}
	names, err := naming.Find(ctx, past.Store, past.Account, above, below)
	for _, r := range out.Rules { // the owner has named these
		names[featurize.IndexOf(r.Match)] = r.Match
	}
	out.Important, out.Ordinary = named(above, names), named(below, names)
	for _, list := range [][]WordWeight{out.Important, out.Ordinary} {
		for i := range list {
			list[i].Rule = ruleOn(out.Rules, list[i].Feature)
		}
	}
	return out, err
}

// nameDomains returns the domains with which the words of senders' names count, if words
// were asked for. It reads learnt messages, outside of Look.
func nameDomains(ctx context.Context, a Account, q WordsRequest) ([]string, error) {
	if len(q.Words) == 0 {
		return nil, nil
	}
	var past Past
	if err := a.Look(ctx, func(d *Desk) error { past = d.Past; return nil }); err != nil {
		return nil, err
	}
	return naming.Domains(ctx, past.Store, past.Account)
}

// weigh weighs each word in every field.
func (out *Words) weigh(w *model.Weights, q WordsRequest, domains []string) {
	rules, most := out.Rules, max(q.Most, 0)
	out.Rules = nil
	for _, word := range q.Words {
		found := WordWeights{Word: word, Features: []WordWeight{}}
		names := append(words.Lookup(word), words.LookupNames(word, domains)...)
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			if weight := w.Get(featurize.IndexOf(name)); weight != 0 {
				found.Features = append(found.Features, WordWeight{Feature: name, Text: words.Describe(name), Weight: weight, Rule: ruleOn(rules, name)})
			}
		}
		slices.SortStableFunc(found.Features, func(a, b WordWeight) int {
			return cmp.Compare(math.Abs(b.Weight), math.Abs(a.Weight))
		})
		if more := len(found.Features) - most; more > 0 {
			found.Features, found.More = found.Features[:most], more
		}
		out.Words = append(out.Words, found)
	}
}

// ruleOn returns the label of the rule that asks for a feature, "" without one.
func ruleOn(rules []RuleStatus, feature string) string {
	for _, r := range rules {
		if r.Match == feature {
			return r.Label
		}
	}
	return ""
}

func named(x model.Vector, names map[model.Index]string) []WordWeight {
	out := make([]WordWeight, 0, len(x))
	for _, f := range x {
		w := WordWeight{Feature: names[f.Index], Text: unnamed, Weight: f.Value}
		if w.Feature != "" {
			w.Text = words.Describe(w.Feature)
		}
		out = append(out, w)
	}
	return out
}

func printWords(w io.Writer, all Words) error {
	var b strings.Builder
	list := func(features []WordWeight) {
		for _, f := range features {
			pinned := ""
			if f.Rule != "" {
				pinned = " (your rule: always " + f.Rule + ")"
			}
			fmt.Fprintf(&b, "  %+.3f  %s%s\n", f.Weight, f.Text, pinned)
		}
	}
	for _, word := range all.Words {
		fmt.Fprintln(&b, word.Word)
		list(word.Features)
		switch {
		case len(word.Features) == 0:
			fmt.Fprintln(&b, "  no weight: nothing that was learnt had it")
		case word.More > 0:
			fmt.Fprintf(&b, "  and %d weaker\n", word.More)
		}
	}
	if len(all.Words) == 0 {
		switch all.Supports {
		case 0:
			fmt.Fprintf(&b, "Of %d weights the strongest, towards important:\n", all.Weights)
		default:
			fmt.Fprintf(&b, "Of %d features of %d examples, what weighs most by itself towards important:\n", all.Weights, all.Supports)
		}
		list(all.Important)
		fmt.Fprintln(&b, "Towards ordinary:")
		list(all.Ordinary)
		if len(all.Rules) > 0 {
			fmt.Fprintln(&b, "Your rules, with what they weigh:")
			for _, r := range all.Rules {
				fmt.Fprintf(&b, "  %+.3f  always %s: %s\n", r.Weight, r.Label, r.Match)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
