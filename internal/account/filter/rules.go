// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// MaxRules is how many rules an account may have.
const MaxRules = 1000

// Rule is the owner's word about all messages of a kind: always important, or always ordinary. It
// decides a message that it matches, in place of the threshold; and the weights are kept such that
// the rule's own feature, were it all that is known of a message, would decide the same.
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

// Constraints are the rules in force as the weights are kept to them, none with a
// kernel learner, and after how many lessons that began.
func (f *Explainer) Constraints() (rules *model.Rules, since uint64) {
	if !f.opts.Kernel.Linear() {
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

// predicate is a question about a message that a single feature answers.
type predicate struct {
	text  string // as parsePredicate takes it, in its one final form
	index model.Index
	group featurize.Group
	// sender: it asks for what From says, which anybody can write.
	sender bool
	// claimed is the index of the feature that stands for it where a server is believed
	// and does not vouch for what the message says; 0: there is none, or it must vouch.
	claimed model.Index
}

// errPredicate is wrapped by every error of parsePredicate.
var errPredicate = errors.New("not a predicate")

const wantPredicate = `"from:", "to:" or "cc:" and an address, "from:@" and a domain, "list:" and a List-Id, or "subject:" and one word`

// parsePredicate reads a predicate: a field, a colon and what stands in it.
//
//	from:ann@example.org   From has this address
//	from:@example.org      From has an address at this very domain
//	to:list@example.org    To has this address
//	cc:list@example.org    Cc or Bcc has it
//	list:dev.example.org   List-Id is this
//	subject:invoice        the subject has this word
//
// Case does not matter. Words are what a subject is taken apart into, so that one
// with a hyphen is two and is refused.
func parsePredicate(text string) (predicate, error) {
	field, value, found := strings.Cut(strings.TrimSpace(text), ":")
	field, value = strings.ToLower(field), strings.ToLower(strings.TrimSpace(value))
	bad := func(why string) (predicate, error) {
		return predicate{}, fmt.Errorf("%w: %q %s; it is %s", errPredicate, text, why, wantPredicate)
	}
	switch {
	case !found:
		return bad("names no field")
	case !utf8.ValidString(text) || strings.ContainsFunc(value, unfitValue):
		return bad("has spaces or other characters that are not allowed")
	}
	p := predicate{text: field + ":" + value, group: featurize.Social}
	at := strings.LastIndexByte(value, '@')
	isAddress := at >= 0 && at < len(value)-1 && len(value) <= 200
	switch field {
	case "from":
		value = featurize.CanonicalAddress(value)
		p.text, p.sender = field+":"+value, true
		if !isAddress {
			return bad("has neither an address nor a domain")
		}
	case "to", "cc":
		value = featurize.CanonicalAddress(value)
		p.text = field + ":" + value
		if !isAddress || at == 0 {
			return bad("has no address")
		}
	case "list":
		if value == "" || len(value) > featurize.MaxListID {
			return bad("has no List-Id of at most 80 bytes")
		}
	case "subject":
		word, ok := subjectWord(value)
		if !ok {
			return bad("has not just one word")
		}
		p.text, p.group = "subject:"+word, featurize.Subject
	default:
		return bad("names another field")
	}
	p.index = featurize.IndexOf(p.text)
	if field == "list" {
		p.claimed = featurize.IndexOf("list?:" + value)
	}
	return p, nil
}

// unfitValue reports whether a predicate's value cannot have r.
func unfitValue(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(`<>,"`, r)
}

// subjectWord returns the one word of a text as it is in the name of a feature.
func subjectWord(text string) (string, bool) {
	names := featurize.WordNames("subject:", text)
	if len(names) != 1 || len(text) > featurize.MaxToken {
		return "", false
	}
	return strings.CutPrefix(names[0], "subject:")
}

// Primed gives an account weights to begin with, its prior: those that lessons of other owners led
// to, for features that name nobody. An account that has learnt something keeps what it has. The
// prior counts as no lesson: the least numbers of labels, the shadow and the threshold wait for the
// owner's own. Only a linear learner makes use of it.
type Primed struct {
	At store.Moment `cbor:"1,keyasint,omitempty"`
	// Weights are the prior; empty: none.
	Weights store.PackedVector `cbor:"2,keyasint,omitempty"`
}

// maxPrior bounds how many weights a prior may have.
const maxPrior = 1 << 16

// Primed reports whether an account needs no Primed event with these weights: they are
// its prior, or it has learnt something.
func (f *Filter) Primed(weights store.PackedVector) bool {
	return HasLearnt(f.st) || bytes.Equal(weights, f.Prior())
}

// Prior returns the weights that learning began with; empty where there were none. The
// caller must not change it.
func (f *Filter) Prior() store.PackedVector { return PriorOf(f.st) }

// PriorOf is Prior of a state.
func PriorOf(st *store.State) store.PackedVector {
	row, _ := st.Prior.Get(store.PriorKey)
	return row.Weights
}

// HasLearnt reports whether anything that a learner knows comes from a lesson.
func HasLearnt(st *store.State) bool { return st.Account.Important+st.Account.Ordinary > 0 }

func (e *Primed) apply(f *Filter, r *Result) error {
	if f.Primed(e.Weights) {
		return nil
	}
	x, err := e.Weights.Unpack()
	if err != nil {
		return fmt.Errorf("%w: the prior: %w", ErrBadEvent, err)
	}
	if len(x) > maxPrior {
		return fmt.Errorf("%w: the prior has %d weights; at most %d can be", ErrBadEvent, len(x), maxPrior)
	}
	if err := Prime(f.st, *f.opts, e.Weights); err != nil {
		return err
	}
	f.learning.Project()
	for _, t := range f.followers {
		t.Primed(e.Weights)
	}
	return f.Teacher.advance(e.At, r)
}

// Prime makes st one that has learnt nothing and begins with a prior.
func Prime(st *store.State, o Options, prior store.PackedVector) error {
	dropModel(st)
	if len(prior) == 0 {
		empty(st.Prior)
		return nil
	}
	st.Prior.Put(store.PriorKey, store.Prior{Weights: prior})
	return begin(st, o)
}

// begin sets the weights of a state that has none to its prior, the strongest of it
// where the account may not have as many.
func begin(st *store.State, o Options) error {
	if !o.Kernel.Linear() {
		return nil
	}
	x, err := PriorOf(st).Unpack()
	if err != nil {
		return fmt.Errorf("reading the prior: %w", err)
	}
	st.SetWeights(x)
	if n, limit := st.Weights.Len(), o.Limits.Weights; n > limit {
		st.DropSmallest(n - limit*9/10) // as linear.cap does
	}
	return nil
}

// BeginWith brings base, the state before the first lesson that is kept, to where
// learning began: a store knows an account that has learnt nothing as one that has seen
// nothing, without the prior that it was given since.
func BeginWith(base *store.State, o Options, prior store.PackedVector) error {
	if HasLearnt(base) || bytes.Equal(PriorOf(base), prior) {
		return nil
	}
	return Prime(base, o, prior)
}
