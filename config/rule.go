// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxRules = 1000

const wantMatch = `"from:", "to:" or "cc:" with an address, "from:@" with a domain, "list:" with a List-Id or "subject:" with one word, such as "from:boss@example.org"`

// rules checks the rules of one account, and brings them into their final form. Two
// on one predicate are a mistake, whatever they say: the second would never be
// asked.
func (t table) rules(rules []Rule) {
	t.check(len(rules) <= maxRules, "match", fmt.Sprintf("there are %d rules", len(rules)), nil, fmt.Sprintf("%d at most", maxRules))
	type seen struct {
		line  int
		label string
	}
	before := map[string]seen{}
	for i := range rules {
		r, at := &rules[i], t.at.elem(i)
		rule := table{t.validator, at, lineOf(at, t.at), t.path}
		switch {
		case r.Label != "":
			rule.choice("label", r.Label, labels)
		case rule.has("label"):
			rule.check(false, "label", "is empty", nil, oneOf(labels))
		default:
			rule.required("label", oneOf(labels))
		}
		if r.Match == "" && !rule.has("match") {
			rule.required("match", wantMatch)
			continue
		}
		match, problem := cleanMatch(r.Match)
		if !rule.check(problem == "", "match", problem, r.Match, wantMatch) {
			continue
		}
		r.Match = match
		first, taken := before[match]
		switch {
		case !taken:
			before[match] = seen{rule.lineOf("match"), r.Label}
		case first.label == r.Label:
			rule.check(false, "match", fmt.Sprintf("is there twice, first on line %d", first.line), r.Match, "each once")
		case slices.Contains(labels, r.Label) && slices.Contains(labels, first.label):
			rule.check(false, "match", fmt.Sprintf("is %s by the rule on line %d, so it can't be %s, too", first.label, first.line, r.Label), r.Match, "one of the two")
		}
	}
}

// cleanMatch returns the final form of a predicate, or what is wrong with it. What
// a word of a subject is, only the featurizer knows: it has the last word when
// the rules are used.
func cleanMatch(match string) (clean, problem string) {
	field, value, found := strings.Cut(strings.TrimSpace(match), ":")
	field, value = strings.ToLower(field), strings.ToLower(strings.TrimSpace(value))
	if !found {
		return "", "names no field"
	}
	if !utf8.ValidString(match) || value == "" || len(value) > 200 || strings.ContainsFunc(value, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(`<>,"`, r)
	}) {
		return "", "has no value, or one with spaces or other characters that are not allowed"
	}
	at := strings.LastIndexByte(value, '@')
	switch field {
	case "from":
		if at < 0 || at == len(value)-1 {
			return "", "has neither an address nor a domain"
		}
	case "to", "cc":
		if at < 1 || at == len(value)-1 {
			return "", "has no address"
		}
	case "list":
		if len(value) > 80 {
			return "", "has a List-Id of more than 80 bytes"
		}
	case "subject":
		if len(value) > 40 || !strings.ContainsFunc(value, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) || strings.ContainsAny(value, "-/+&@!?#=()[]{}*|\\~^%$") {
			return "", "has not just one word"
		}
	default:
		return "", "names a field that rules cannot ask for"
	}
	return field + ":" + value, ""
}
