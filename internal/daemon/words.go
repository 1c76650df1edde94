package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/stream"
	"github.com/hinged/hinged/internal/writer"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// WordsQuery says which weights to show: those of all features that the words
// could be behind or, without words, the strongest.
type WordsQuery struct {
	Words []string `json:"words,omitempty"`
	Most  int      `json:"most"` // so many of each word, or each way
}

// Words is what `hinged words` shows.
type Words struct {
	// Account whose weights they are.
	Account string `json:"account"`
	// Weights is how many features have one.
	Weights int `json:"weights"`
	// Supports is how many examples a kernel learner has. It gives a feature another
	// weight in each message; those here are what each weighs by itself.
	Supports int `json:"supports,omitempty"`
	// Rules are the owner's, with what their own features weigh; only when no words
	// were asked for.
	Rules []RuleStatus `json:"rules,omitempty"`
	// Words are those that were asked for.
	Words []WordWeights `json:"words,omitempty"`
	// Important are the features that pull the most towards important, the strongest
	// first; only when no words were asked for.
	Important []WordWeight `json:"important,omitempty"`
	// Ordinary are those that pull the most towards ordinary.
	Ordinary []WordWeight `json:"ordinary,omitempty"`
}

// WordWeights are the weights of all features that one word is behind.
type WordWeights struct {
	// Word as it was asked for.
	Word string `json:"word"`
	// Features are the strongest first; none has a weight when there are none.
	Features []WordWeight `json:"features"`
	// More counts those that are not shown.
	More int `json:"more"`
}

// WordWeight is the weight of one feature.
type WordWeight struct {
	// Feature is its name; "" when it is not known.
	Feature string `json:"feature"`
	// Text is the same in plain words.
	Text string `json:"text"`
	// Weight is positive towards important. Times its value in a message it is the
	// feature's part of the score.
	Weight float64 `json:"weight"`
	// Rule is important or ordinary where a rule of the owner's keeps the weight from
	// saying otherwise.
	Rule string `json:"rule,omitempty"`
}

// nameAfter is in how many learnt messages a feature must have been met before it
// is named to somebody who did not name it: what only one message had is that
// message's own.
const nameAfter = 3

const unnamed = "unknown: met in fewer than 3 learnt messages, or its words are not kept"

// lookup weighs each word in every field.
func lookup(account string, f *filter.Filter, q WordsQuery) Words {
	w := f.Alone()
	out := Words{Account: account, Weights: w.Len(), Supports: f.Size().Supports}
	rules, _ := rulesOf(f)
	most := max(q.Most, 0)
	for _, word := range q.Words {
		found := WordWeights{Word: word, Features: []WordWeight{}}
		for _, name := range featurize.Lookup(word) {
			if weight := w.Get(featurize.IndexOf(name)); weight != 0 {
				found.Features = append(found.Features, WordWeight{Feature: name, Text: featurize.Describe(name), Weight: weight, Rule: ruleOn(rules, name)})
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
	return out
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

// namedVectors gives back the features of messages with their names: an error that
// wraps store.ErrNotFound where those are no longer kept.
type namedVectors interface {
	Named(key store.MessageKey) (*featurize.Features, error)
}

// naming finds the names of features in the messages that were learnt from.
type naming struct {
	vectors namedVectors
	names   map[model.Index]string
	met     map[model.Index]int
	left    int // features still to be named
}

func newNaming(v namedVectors, features ...model.Vector) *naming {
	n := &naming{vectors: v, names: map[model.Index]string{}, met: map[model.Index]int{}}
	for _, x := range features {
		for _, f := range x {
			// What names nobody needs no message to be named, and with a prior none had it.
			if name, ok := featurize.ImpersonalName(f.Index); ok {
				n.names[f.Index] = name
				continue
			}
			n.met[f.Index] = 0
		}
	}
	n.left = len(n.met)
	return n
}

// read takes notice of one learnt message.
func (n *naming) read(k store.MessageKey) error {
	x, err := n.vectors.Named(k)
	if errors.Is(err, store.ErrNotFound) {
		return nil // its words are gone
	}
	if err != nil {
		return err
	}
	for f := range x.All() {
		met, wanted := n.met[f.Index]
		if !wanted || f.Name == "" || met == nameAfter {
			continue
		}
		n.met[f.Index] = met + 1
		if met+1 < nameAfter {
			continue
		}
		n.left--
		if featurize.Telling(f.Name) {
			n.names[f.Index] = f.Name
		}
	}
	return nil
}

// all reads learnt messages, each once, until every feature is named.
func (n *naming) all(ctx context.Context, s *store.Store, account string) error {
	seen := map[store.MessageKey]bool{}
	for lesson, err := range s.Lessons(account, 0) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("looking for the names of features: %w", err)
		}
		if seen[lesson.Message] || !lesson.Taught() {
			continue
		}
		seen[lesson.Message] = true
		if err := n.read(lesson.Message); err != nil {
			return fmt.Errorf("looking for the names of features: %w", err)
		}
		if n.left == 0 {
			break
		}
	}
	return nil
}

func (n *naming) weigh(x model.Vector) []WordWeight {
	out := make([]WordWeight, 0, len(x))
	for _, f := range x {
		w := WordWeight{Feature: n.names[f.Index], Text: unnamed, Weight: f.Value}
		if w.Feature != "" {
			w.Text = featurize.Describe(w.Feature)
		}
		out = append(out, w)
	}
	return out
}

// strongest completes out by the strongest weights each way; above and below are from
// Weights.Strongest. It reads learnt messages and is not for the writer goroutine.
func strongest(ctx context.Context, s *store.Store, out Words, above, below model.Vector) (Words, error) {
	names := newNaming(writer.NewVectors(s, out.Account), above, below)
	err := names.all(ctx, s, out.Account)
	for _, r := range out.Rules { // the owner has named these
		names.names[featurize.IndexOf(r.Match)] = r.Match
	}
	out.Important, out.Ordinary = names.weigh(above), names.weigh(below)
	for _, list := range [][]WordWeight{out.Important, out.Ordinary} {
		for i := range list {
			list[i].Rule = ruleOn(out.Rules, list[i].Feature)
		}
	}
	return out, err
}

// Words implements Backend.
func (d *Daemon) Words(ctx context.Context, name string, q WordsQuery) (out Words, err error) {
	if stream.IsAccount(name) {
		return look(ctx, d, name, withLogs, func(o *Offline) (Words, error) { return o.Words(ctx, name, q) })
	}
	a, err := d.account(name)
	if err != nil {
		return out, err
	}
	var above, below model.Vector
	err = a.do(ctx, func() error {
		if len(q.Words) > 0 {
			out = lookup(a.opts.Name, a.filter, q)
			return nil
		}
		w := a.filter.Alone()
		out = Words{Account: a.opts.Name, Weights: w.Len(), Supports: a.filter.Size().Supports}
		out.Rules, _ = rulesOf(a.filter)
		above, below = w.Strongest(max(q.Most, 0))
		return nil
	})
	if err != nil || len(q.Words) > 0 {
		return out, err
	}
	return strongest(ctx, d.store, out, above, below)
}

// Words implements Backend.
func (c *Client) Words(ctx context.Context, name string, q WordsQuery) (Words, error) {
	return post[Words](ctx, c, "/v1/words", name, q)
}

// Words implements Backend.
func (o *Offline) Words(ctx context.Context, name string, q WordsQuery) (Words, error) {
	name, f, err := o.named(name)
	if err != nil {
		return Words{}, err
	}
	if len(q.Words) > 0 {
		return lookup(name, f, q), nil
	}
	w := f.Alone()
	above, below := w.Strongest(max(q.Most, 0))
	rules, _ := rulesOf(f)
	return strongest(ctx, o.store, Words{Account: name, Weights: w.Len(), Supports: f.Size().Supports, Rules: rules}, above, below)
}
