// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// MaxRules is how many rules an account may have.
const MaxRules = 1000

// Rule is the owner's word about all messages of a kind: always important, or
// always ordinary. A message that it matches is decided by it and not by the
// threshold; and the weights are kept such that the rule's own feature, were it
// all that is known of a message, would decide the same.
type Rule struct {
	// Match is what parsePredicate reads, such as "from:ann@example.org".
	Match string      `cbor:"1,keyasint"`
	Label model.Label `cbor:"2,keyasint"`
}

func (r Rule) outcome() store.Outcome {
	if r.Label == model.Important {
		return store.DecidedImportant
	}
	return store.DecidedOrdinary
}

// index is that of the feature that a valid rule asks for.
func (r Rule) index() model.Index {
	p, _ := parsePredicate(r.Match)
	return p.index
}

// String says it in words.
func (r Rule) String() string { return "always " + r.Label.String() + ": " + r.Match }

// Ruled replaces the rules, those of the options as well, from then on: none at
// all is also a choice.
type Ruled struct {
	At    store.Moment `cbor:"1,keyasint,omitempty"`
	Rules []Rule       `cbor:"2,keyasint,omitempty"`
}

// ValidateRules reports the first reason why rules cannot be used: a predicate
// that is none, a label that is none, two rules on one predicate, or too many.
// Apply refuses what it refuses.
func ValidateRules(rules []Rule) error {
	_, err := NewRuleSet(rules, featurize.DefaultOptions())
	return err
}

// RuleSet finds the rule that decides a message. Safe for concurrent use.
type RuleSet struct {
	list    []Rule // Match in its final form
	asks    []predicate
	weights *model.Rules
	vouched bool // a rule on From needs somebody to vouch for it
}

// NewRuleSet prepares rules for messages that are featurised with o. Its errors
// are those of ValidateRules.
func NewRuleSet(rules []Rule, o featurize.Options) (*RuleSet, error) {
	s := &RuleSet{vouched: o.AuthServID != ""}
	if len(rules) > MaxRules {
		return nil, fmt.Errorf("there are %d rules; at most %d can be", len(rules), MaxRules)
	}
	first := map[model.Index]int{}
	var weights []model.Rule
	for i, rule := range rules {
		p, err := parsePredicate(rule.Match)
		if err != nil {
			return nil, fmt.Errorf("rule %d: %w", i+1, err)
		}
		if rule.Label != model.Important && rule.Label != model.Ordinary {
			return nil, fmt.Errorf("rule %d, %q, has the label %d; it is +1 or -1", i+1, rule.Match, rule.Label)
		}
		if j, taken := first[p.index]; taken {
			if rules[j].Label != rule.Label {
				return nil, fmt.Errorf("rules %d and %d contradict each other: %q cannot be both important and ordinary", j+1, i+1, p.text)
			}
			return nil, fmt.Errorf("rules %d and %d are the same: %q", j+1, i+1, p.text)
		}
		first[p.index] = i
		s.list, s.asks = append(s.list, Rule{p.text, rule.Label}), append(s.asks, p)
		if value, affine := o.Lone(p.group); value > 0 {
			weights = append(weights, model.Rule{Index: p.index, Value: value, Affine: affine, Label: rule.Label})
		}
	}
	var err error
	s.weights, err = model.NewRules(weights)
	return s, err
}

// Match returns the first rule that matches a message, by its features and whether
// From is vouched for. O(n log of the features) time.
func (s *RuleSet) Match(x *featurize.Features, vouched bool) (Rule, bool) {
	for i, p := range s.asks {
		has := x.Has(p.index) || p.claimed != 0 && x.Has(p.claimed)
		if has && (!p.sender || !s.vouched || vouched) {
			return s.list[i], true
		}
	}
	return Rule{}, false
}

// Weights are the rules as constraints on the weights.
func (s *RuleSet) Weights() *model.Rules {
	if s == nil {
		return nil
	}
	return s.weights
}

func (s *RuleSet) byIndex(index model.Index) *Rule {
	for i, p := range s.asks {
		if p.index == index {
			return &s.list[i]
		}
	}
	return nil
}

// Forgeable says in words, of rules on From that nobody vouches for, that they can
// be met by forgery; "" where there is none.
func Forgeable(rules []Rule, authServID string) string {
	if authServID != "" {
		return ""
	}
	n, one := 0, ""
	for _, r := range rules {
		if strings.HasPrefix(strings.ToLower(strings.TrimSpace(r.Match)), "from:") {
			n, one = n+1, r.Match
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		one = fmt.Sprintf("the rule on %q believes", one)
	default:
		one = fmt.Sprintf("%d rules on senders believe", n)
	}
	return one + ` what From says, and anybody can write that; if you set authserv_id, hinged believes only senders that your own mail server vouches for`
}

// rulesInForce are those that came as an event, else those of the options.
func rulesInForce(st *store.State, o Options) (*RuleSet, error) {
	rules := o.Rules
	if set, _ := st.Settings.Get(store.SettingsKey); set.Ruled {
		rules = nil
		if err := decMode.Unmarshal(set.Rules, &rules); err != nil {
			return nil, fmt.Errorf("reading the account's rules: %w", err)
		}
	}
	return NewRuleSet(rules, o.Featurize)
}

// Rules returns the rules in force, each in its final form, in their order. Ruled:
// they came as an event.
func (f *Explainer) Rules() (rules []Rule, ruled bool) {
	set, _ := f.st.Settings.Get(store.SettingsKey)
	return slices.Clone(f.learning.rules.list), set.Ruled
}

// RuleSet returns the rules in force.
func (f *Explainer) RuleSet() *RuleSet { return f.learning.rules }

// Constraints are the rules in force as the weights are kept to them, none with a
// kernel learner, and after how many lessons that began.
func (f *Explainer) Constraints() (rules *model.Rules, since uint64) {
	if !f.opts.Kernel.linear() {
		return nil, 0
	}
	return f.learning.rules.weights, f.st.Account.RuledSince
}

func (e *Ruled) apply(f *Filter, r *Result) error {
	if err := ValidateRules(e.Rules); err != nil {
		return fmt.Errorf("%w: %w", ErrBadEvent, err)
	}
	enc, err := encMode.Marshal(e.Rules)
	if err != nil {
		return fmt.Errorf("encoding rules: %w", err)
	}
	if err := f.Teacher.advance(e.At, r); err != nil {
		return err
	}
	set, _ := f.st.Settings.Get(store.SettingsKey)
	if set.Ruled && string(set.Rules) == string(enc) {
		return nil
	}
	set.Ruled, set.Rules = true, enc
	f.st.Settings.Put(store.SettingsKey, set)
	former := f.learning.rules
	if err := f.configure(*f.opts); err != nil {
		return err
	}
	f.follow(former)
	return nil
}

// follow brings the weights in line with rules that have just come. What those
// that went had made of the weights stays.
func (f *Filter) follow(former *RuleSet) {
	if !former.weights.Equal(f.learning.rules.weights) {
		a := &f.st.Account
		// A projection onto the former rules since that lesson would be one too many.
		since := a.Important + a.Ordinary
		if since == a.RuledSince && former.weights.Len() > 0 {
			since++
		}
		a.RuledSince = max(a.RuledSince, since)
	}
	f.learning.Project()
	for _, t := range f.followers {
		t.Ruled(f.learning.rules)
	}
}
