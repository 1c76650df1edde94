// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"context"
	"fmt"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/model"
)

// RulesResult says what the rules decided and how they changed the decisions on examples
// that no rule matched. To compare, those examples were played a second time without
// rules.
type RulesResult struct {
	Rules   int `json:"rules"`   // number of rules
	Matched int `json:"matched"` // number of examples that a rule decided
	Right   int `json:"right"`   // number of matched examples whose label is the rule's label
	// Unmatched is the number of the other examples.
	Unmatched int `json:"unmatched"`
	// UnmatchedImportant is the number of unmatched examples that were important.
	UnmatchedImportant int `json:"unmatched_important"`
	// AveragePrecision is the average precision of the scores of the unmatched examples.
	AveragePrecision float64 `json:"average_precision_unmatched"`
	// AveragePrecisionWithout is the same figure from a play without rules.
	AveragePrecisionWithout float64 `json:"average_precision_unmatched_without_rules"`
}

// String is the line of the table.
func (r *RulesResult) String() string {
	return fmt.Sprintf("%d: %d examples decided, %d of them rightly; on the other %d (%d important) average precision %.4f, without rules %.4f",
		r.Rules, r.Matched, r.Right, r.Unmatched, r.UnmatchedImportant, r.AveragePrecision, r.AveragePrecisionWithout)
}

// ruled sorts examples by whether a rule matches them.
type ruled struct {
	watch          *filter.RuleSet // of a play without rules; nil: the decision tells
	matched, right int
	unmatched      []Judged
}

// sort notes one example.
func (j *judge) sort(d *filter.Decision, x *featurize.Features, vouched bool, label model.Label) {
	r := &j.ruled
	rule, matched := d.Rule, d.Rule != nil
	if r.watch != nil {
		var found filter.Rule
		found, matched = r.watch.Match(x, vouched)
		rule = &found
	}
	if !matched {
		r.unmatched = append(r.unmatched, Judged{Score: d.Score, Label: label})
		return
	}
	r.matched++
	if rule.Label == label {
		r.right++
	}
}

// compare plays without rules what j played with them.
func (p *Play) compare(ctx context.Context, s *stream, known truth, j *judge) (*RulesResult, error) {
	o := p.options()
	watch, err := filter.NewRuleSet(o.Rules, o.Featurize)
	if err != nil {
		return nil, err
	}
	o.Rules = nil
	other, err := p.newJudge(o, known)
	if err != nil {
		return nil, err
	}
	other.ruled.watch = watch
	if j.live != nil {
		if err := other.enter(j.live.afresh()); err != nil {
			return nil, err
		}
	}
	if err := p.play(ctx, s, other); err != nil {
		return nil, err
	}
	with, without := &j.ruled, &other.ruled
	if with.matched != without.matched || len(with.unmatched) != len(without.unmatched) {
		return nil, fmt.Errorf("with rules %d examples matched and %d did not, without %d and %d", with.matched, len(with.unmatched), without.matched, len(without.unmatched))
	}
	r := &RulesResult{
		Rules: len(p.Options.Rules), Matched: with.matched, Right: with.right, Unmatched: len(with.unmatched),
		AveragePrecision: AveragePrecision(with.unmatched), AveragePrecisionWithout: AveragePrecision(without.unmatched),
	}
	for _, e := range with.unmatched {
		if e.Label == model.Important {
			r.UnmatchedImportant++
		}
	}
	return r, nil
}
