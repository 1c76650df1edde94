// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"encoding/json"
	"strings"
	"unicode"
)

// Rule decides every message that it matches.
type Rule struct {
	Match     string // what it matches, as in "from:boss@example.org"
	Important bool
}

// Rules replaces all rules of the account. The first that matches wins.
type Rules struct{ Rules []Rule }

// Type is TypeRules.
func (Rules) Type() string { return TypeRules }

// RuleValue is one rule in the value of a record of TypeRules.
type RuleValue struct {
	// Match is the condition, as in from:boss@example.org.
	Match string `json:"match"`
	// Label is the label of every message that matches.
	Label string `json:"label" jsonschema:"enum=important,enum=ordinary"`
}

// RulesValue is the value of a record of TypeRules.
type RulesValue struct {
	// Rules replace all rules of the account. The first rule that matches wins.
	Rules []RuleValue `json:"rules"`
}

func (r Rules) encode() ([]byte, string) {
	v := RulesValue{Rules: []RuleValue{}}
	for _, rule := range r.Rules {
		v.Rules = append(v.Rules, RuleValue{rule.Match, labelWord(rule.Important)})
	}
	return mustJSON(v), contentJSON
}

// The limits of a list of rules.
const (
	maxRules = 1000
	maxMatch = 1000 // bytes
)

// parseRules reads a list of rules. What a match may say is for the filter to
// judge; here it is only a field, a colon and something.
func parseRules(value []byte) (Event, *Refusal) {
	f, refusal := object(value, "rules", "rules")
	if refusal != nil {
		return nil, refusal
	}
	var all []json.RawMessage
	raw := f.raw["rules"]
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &all) != nil {
		return nil, refuse(BadJSON, "rules needs a list of rules")
	}
	if len(all) > maxRules {
		return nil, refuse(BadValue, "there are %d rules; at most %d are allowed", len(all), maxRules)
	}
	out := Rules{Rules: make([]Rule, 0, len(all))}
	for i, one := range all {
		g, refusal := object(one, "a rule", "match", "label")
		if refusal != nil {
			return nil, refusal
		}
		var rule Rule
		if rule.Match, refusal = g.text("match"); refusal != nil {
			return nil, refusal
		}
		field, what, colon := strings.Cut(rule.Match, ":")
		if !colon || field == "" || what == "" || len(rule.Match) > maxMatch || strings.ContainsFunc(rule.Match, unicode.IsControl) {
			return nil, refuse(BadValue, "rule %d matches nothing; a match is like from:boss@example.org", i+1)
		}
		if rule.Important, refusal = g.label(); refusal != nil {
			return nil, refusal
		}
		out.Rules = append(out.Rules, rule)
	}
	return out, nil
}
