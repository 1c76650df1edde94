// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/andybalholm/cascadia"
	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/css"
	"golang.org/x/net/html"
)

// Limits on the style sheets of one document. Gmail reads 16 KB of a sheet.
const (
	maxSheet     = 256 << 10 // bytes
	maxRules     = 4096      // selectors of one sheet
	maxCompounds = 8         // of one selector
	maxMatches   = 1 << 17   // compounds that are held against elements, over one message
)

// The window that @media is asked about, in pixels, as wide as mail is shown on a desk.
const windowWidth, windowHeight = 1000, 800

// sheet holds the rules of a <style> that change what is visible, by what an element must have:
// "#id", ".class", "tag" or "*". Of a style attribute it holds the declarations.
type sheet struct {
	rules        map[string][]*rule
	count, kept  int // of lists of selectors, and of rules
	declarations []declaration
}

// rule is one selector with its declarations.
type rule struct {
	compounds    []compound // from the right to the left
	weight       int        // specificity, then order
	declarations []declaration
}

// compound is a part of a selector between combinators, such as "td.small".
type compound struct {
	selector   cascadia.Sel
	combinator string // to the compound on the left
	cost       int
	tag        string // if it asks for a tag alone
	keyed      bool   // if it asks for no more than its key
}

const attributeCost = 4 // and more for long ones

// parseCSS reads a style sheet, or a style attribute (CSS Syntax Level 3). Any bytes will do.
func parseCSS(text string, attribute bool) *sheet {
	s := &sheet{rules: map[string][]*rule{}}
	p := css.NewParser(parse.NewInputString(text[:min(len(text), maxSheet)]), attribute)
	var selectors string
	groups, rules, off := 0, 0, 0 // open at-rules; open rules; the at-rule that doesn't apply
	for {
		grammar, _, data := p.Next()
		switch grammar {
		case css.ErrorGrammar:
			if !p.HasParseError() {
				return s
			}
		case css.BeginAtRuleGrammar:
			if groups++; off == 0 && !groupApplies(string(data), textOf(p.Values())) {
				off = groups
			}
		case css.EndAtRuleGrammar:
			if off == groups {
				off = 0
			}
			groups--
		case css.BeginRulesetGrammar:
			if rules++; rules == 1 {
				selectors, s.declarations = textOf(p.Values()), nil
			}
		case css.DeclarationGrammar:
			if off == 0 && rules <= 1 {
				s.declarations = declare(s.declarations, unescape(data), p.Values())
			}
		case css.EndRulesetGrammar:
			if rules--; rules == 0 {
				s.add(selectors, s.declarations)
			}
		}
	}
}

func textOf(tokens []css.Token) string {
	var text []byte
	for _, t := range tokens {
		text = append(text, t.Data...)
	}
	return string(text)
}

// groupApplies reports whether an at-rule groups rules that apply here.
func groupApplies(name, condition string) bool {
	switch name {
	case "@media":
		return mediaApplies(condition)
	case "@supports", "@layer":
		return !strings.Contains(condition, "not")
	}
	return false
}

var (
	mediaFeature = regexp.MustCompile(`\(\s*([a-z-]+)\s*(?::\s*([a-z-]+|[0-9.]+)[a-z]*\s*)?\)`)
	mediaValues  = map[string]string{
		"prefers-color-scheme": "light", "orientation": "landscape", "hover": "hover", "pointer": "fine", "prefers-reduced-motion": "no-preference",
	}
)

// mediaApplies evaluates a list of media queries (Media Queries Level 4) for a screen.
func mediaApplies(list string) bool {
	for query := range strings.SplitSeq(strings.ToLower(list), ",") {
		kind, _, _ := strings.Cut(strings.TrimSpace(query), "(")
		kind, not := strings.CutPrefix(strings.TrimPrefix(kind, "only "), "not ")
		kind = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(kind), " and"))
		all := kind == "" || kind == "screen" || kind == "all"
		features := mediaFeature.FindAllStringSubmatch(query, -1)
		for _, f := range features {
			n, err := strconv.ParseFloat(f[2], 64)
			all = all && (err == nil && featureApplies(f[1], n) || err != nil && (f[2] == mediaValues[f[1]] || f[2] == "" && f[1] == "hover"))
		}
		if all = all && len(features) == strings.Count(query, "("); all != not {
			return true
		}
	}
	return false
}

// featureApplies answers a media feature that has a number.
func featureApplies(feature string, n float64) bool {
	value := 1.0 // device-pixel-ratio, color …
	if strings.HasSuffix(feature, "width") {
		value = windowWidth
	} else if strings.HasSuffix(feature, "height") {
		value = windowHeight
	}
	if strings.Contains(feature, "max-") {
		return value <= n
	}
	return value == n || value > n && strings.Contains(feature, "min-")
}

// spaced puts spaces around combinators.
var spaced = strings.NewReplacer("~=", "~=", ">", " > ", "+", " + ", "~", " ~ ")

// costly finds pseudo-classes that look at any number of nodes for one element.
var costly = regexp.MustCompile(`:(nth|only|has|contains|matches|haschild|in-range|lang|empty|enabled|disabled|checked|input)|#=`)

// add adds the rules of a list of selectors. One that is none spoils the list.
func (s *sheet) add(list string, declarations []declaration) {
	if len(declarations) == 0 {
		return
	}
	var rules []*rule
	var keys []string
	for text := range strings.SplitSeq(list, ",") {
		r, key := parseSelector(text)
		if r == nil {
			return
		}
		if len(r.compounds) <= maxCompounds && !costly.MatchString(text) {
			r.declarations = declarations
			rules, keys = append(rules, r), append(keys, key)
		}
	}
	if len(rules) > 0 {
		s.count++ // the order of all of them
	}
	for i, r := range rules {
		if s.kept++; s.kept > maxRules {
			return
		}
		r.weight += s.count
		s.rules[keys[i]] = append(s.rules[keys[i]], r)
	}
}

// parseSelector returns the rule of a selector and its key in the index; nil if it is none.
func parseSelector(text string) (r *rule, key string) {
	r = &rule{}
	combinator := ""
	for part := range strings.FieldsSeq(spaced.Replace(text)) {
		if len(part) == 1 && strings.Contains(">+~", part) {
			combinator = part
			continue
		}
		selector, err := cascadia.Parse(part)
		if err != nil || len(r.compounds) == 0 && combinator != "" {
			return nil, ""
		}
		for i, n := range selector.Specificity() {
			r.weight += min(n, 255) << (40 - 8*i)
		}
		key = keyOf(part)
		c := compound{selector: selector, combinator: combinator, cost: 1, keyed: key == strings.ToLower(part) || key == part}
		if strings.Contains(part, ":") {
			c.cost = 64 // it may look at what stands beside
		} else if strings.Contains(part, "[") {
			c.cost = attributeCost
		}
		if c.keyed && key != "*" && !strings.ContainsAny(key, ".#") {
			c.tag = key
		}
		r.compounds, combinator = append(r.compounds, c), ""
	}
	if len(r.compounds) == 0 {
		return nil, ""
	}
	slices.Reverse(r.compounds)
	return r, key
}

// keyOf returns what an element must have that a compound selects.
func keyOf(part string) string {
	if i := strings.IndexAny(part, "[:"); i >= 0 {
		part = part[:i]
	}
	if i := max(strings.LastIndexByte(part, '#'), strings.LastIndexByte(part, '.')); i >= 0 {
		if strings.Contains(part, "\\") {
			return "*"
		}
		return part[i:]
	}
	if part == "" {
		return "*"
	}
	return strings.ToLower(part)
}

// matches holds a compound against an element. indexed: it was found by its key.
func (c *compound) matches(n *html.Node, indexed bool, budget *int) bool {
	if c.cost == attributeCost {
		for i := range n.Attr {
			*budget -= len(n.Attr[i].Val) >> 8
		}
	}
	if *budget -= c.cost; *budget < 0 || n.Type != html.ElementNode {
		return false
	}
	switch {
	case indexed && c.keyed:
		return true // no need to ask
	case c.tag != "":
		return n.Data == c.tag
	}
	return c.selector.Match(n)
}

// matches holds a rule against an element, from the compound at on.
func (r *rule) matches(n *html.Node, at int, budget *int) bool {
	c := &r.compounds[at]
	if !c.matches(n, at == 0, budget) {
		return false
	}
	if at++; at == len(r.compounds) {
		return true
	}
	switch c.combinator {
	case ">":
		return n.Parent != nil && r.matches(n.Parent, at, budget)
	case "":
		for p := n.Parent; p != nil; p = p.Parent {
			if r.matches(p, at, budget) {
				return true
			}
		}
	default:
		for p := n.PrevSibling; p != nil && *budget >= 0; p = p.PrevSibling {
			if *budget--; p.Type != html.ElementNode {
				continue
			}
			if r.matches(p, at, budget) {
				return true
			}
			if c.combinator == "+" {
				return false
			}
		}
	}
	return false
}

// unescape returns a name in lower case without its escapes, in which it may hide: "d\69splay".
func unescape(name []byte) string {
	if bytes.IndexByte(name, '\\') < 0 {
		return string(bytes.ToLower(name))
	}
	out := cssEscape.ReplaceAllFunc(name, func(escape []byte) []byte {
		if code, err := strconv.ParseInt(strings.TrimSpace(string(escape[1:])), 16, 32); err == nil {
			return []byte(string(rune(code)))
		}
		return escape[1:]
	})
	return string(bytes.ToLower(out))
}

var cssEscape = regexp.MustCompile(`\\(?:[0-9a-fA-F]{1,6} ?|[^0-9a-fA-F])`)
