// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/andybalholm/cascadia"
	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/css"
	"golang.org/x/net/html"
)

// Limits on what is read of the style sheets of one document. Mail programs have such, too:
// Gmail reads 16 KB of a sheet.
const (
	maxSheet     = 256 << 10
	maxRules     = 4096    // selectors of one sheet
	maxCompounds = 8       // of one selector
	maxMatches   = 1 << 20 // compounds that are held against elements, over one document
	maxCSSDepth  = 16      // of blocks
)

// The window that @media is asked about, in pixels, as wide as mail is shown on a desk.
const (
	windowWidth  = 1000
	windowHeight = 800
)

// sheet holds the rules of one <style> that can make a difference to what is visible, by
// what the element itself must have: an id, else a class, else a tag, else nothing ("").
type sheet struct {
	text                 string
	byID, byClass, byTag map[string][]*rule
	rules                int
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
	combinator byte // to the compound on the left: ' ', '>', '+' or '~'; 0 for the last
}

// parseSheet reads a style sheet (CSS Syntax Level 3). Any bytes will do.
func parseSheet(text string) *sheet {
	s := &sheet{text, map[string][]*rule{}, map[string][]*rule{}, map[string][]*rule{}, 0}
	text = text[:min(len(text), maxSheet)]
	s.read(css.NewLexer(parse.NewInputString(text)), 0)
	return s
}

// read reads rules to the end of the block at hand.
func (s *sheet) read(l *css.Lexer, depth int) {
	var prelude []css.Token
	for {
		tt, data := l.Next()
		switch tt {
		case css.ErrorToken:
			return
		case css.CommentToken, css.CDOToken, css.CDCToken:
			continue
		case css.WhitespaceToken:
			if len(prelude) == 0 {
				continue
			}
		case css.RightBraceToken:
			if depth > 0 {
				return
			}
		case css.SemicolonToken:
			if len(prelude) > 0 && prelude[0].TokenType == css.AtKeywordToken {
				prelude = prelude[:0]
				continue
			}
		case css.LeftBraceToken:
			switch {
			case depth < maxCSSDepth && groupApplies(prelude):
				s.read(l, depth+1)
			case len(prelude) > 0 && prelude[0].TokenType == css.AtKeywordToken:
				skipBlock(l)
			default:
				s.add(prelude, readDeclarations(l, true))
			}
			prelude = prelude[:0]
			continue
		}
		prelude = append(prelude, css.Token{TokenType: tt, Data: data})
	}
}

func skipBlock(l *css.Lexer) {
	for depth := 1; depth > 0; {
		switch tt, _ := l.Next(); tt {
		case css.ErrorToken:
			return
		case css.LeftBraceToken:
			depth++
		case css.RightBraceToken:
			depth--
		}
	}
}

// groupApplies reports whether an at-rule groups rules that apply here.
func groupApplies(prelude []css.Token) bool {
	if len(prelude) == 0 || prelude[0].TokenType != css.AtKeywordToken {
		return false
	}
	switch string(bytes.ToLower(prelude[0].Data)) {
	case "@media":
		return mediaApplies(prelude[1:])
	case "@supports", "@layer":
		return !slices.ContainsFunc(prelude, func(t css.Token) bool { return ident(t) == "not" })
	}
	return false
}

// ident returns an identifier in lower case and without escapes, "" for what is none.
func ident(t css.Token) string {
	if t.TokenType != css.IdentToken {
		return ""
	}
	return strings.ToLower(unescape(t.Data))
}

// nesting returns by how much a token opens or closes parentheses.
func nesting(tt css.TokenType) int {
	switch tt {
	case css.LeftParenthesisToken, css.LeftBracketToken, css.FunctionToken:
		return 1
	case css.RightParenthesisToken, css.RightBracketToken:
		return -1
	}
	return 0
}

// lex returns the tokens of a text.
func lex(text string) (tokens []css.Token) {
	for l := css.NewLexer(parse.NewInputString(text)); ; {
		tt, data := l.Next()
		if tt == css.ErrorToken {
			return tokens
		}
		tokens = append(tokens, css.Token{TokenType: tt, Data: data})
	}
}

// mediaApplies evaluates a list of media queries (Media Queries Level 4) for a screen.
func mediaApplies(tokens []css.Token) bool {
	applies, all, not, feature := false, true, false, ""
	for i := 0; i <= len(tokens); i++ {
		if i == len(tokens) || tokens[i].TokenType == css.CommaToken {
			applies = applies || all != not
			all, not, feature = true, false, ""
			continue
		}
		t := tokens[i]
		word := string(bytes.ToLower(t.Data))
		switch t.TokenType {
		case css.LeftParenthesisToken:
			feature = "?"
		case css.RightParenthesisToken:
			all, feature = all && (feature == "" || feature == "hover" || feature == "color"), ""
		case css.IdentToken:
			switch {
			case feature == "?":
				feature = word
			case feature != "":
				all, feature = all && strings.Contains(" light landscape screen hover fine no-preference ", " "+word+" "), ""
			case word == "not":
				not = true
			case word != "only" && word != "and" && word != "screen" && word != "all":
				all = false
			}
		case css.NumberToken, css.DimensionToken:
			if n, _, ok := number(t); ok && feature != "" {
				all, feature = all && featureApplies(feature, n), ""
			}
		}
	}
	return applies || len(tokens) == 0
}

// featureApplies answers a media feature that has a number.
func featureApplies(feature string, n float64) bool {
	value := 1.0 // -webkit-min-device-pixel-ratio, grid …
	name := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(feature, "-webkit-"), "min-"), "max-")
	switch strings.TrimPrefix(name, "device-") {
	case "width":
		value = windowWidth
	case "height":
		value = windowHeight
	}
	switch {
	case strings.Contains(feature, "min-"):
		return value >= n
	case strings.Contains(feature, "max-"):
		return value <= n
	}
	return value == n
}

// add adds the rules of a list of selectors. One selector that is none spoils the list.
func (s *sheet) add(prelude []css.Token, declarations []declaration) {
	if len(declarations) == 0 {
		return
	}
	var rules []*rule
	var maps []map[string][]*rule
	var keys []string
	for start, i, depth := 0, 0, 0; i <= len(prelude); i++ {
		if i < len(prelude) {
			if depth += nesting(prelude[i].TokenType); depth != 0 || prelude[i].TokenType != css.CommaToken {
				continue
			}
		}
		r, m, key, ok := s.selector(prelude[start:i])
		if !ok {
			return
		}
		start = i + 1
		if r != nil {
			rules, maps, keys = append(rules, r), append(maps, m), append(keys, key)
		}
	}
	for i, r := range rules {
		if s.rules++; s.rules > maxRules {
			return
		}
		r.weight += s.rules
		r.declarations = declarations
		maps[i][keys[i]] = append(maps[i][keys[i]], r)
	}
}

// selector reads one selector; r is nil if it is one that never matches, or that would cost
// too much.
func (s *sheet) selector(tokens []css.Token) (r *rule, m map[string][]*rule, key string, ok bool) {
	r, m, tokens = new(rule), s.byTag, trimSpace(tokens)
	var text []byte
	depth, combinator, costly := 0, byte(0), false
	flush := func() bool {
		sel, err := cascadia.Parse(string(text))
		if err != nil || len(r.compounds) > maxCompounds {
			return false
		}
		for i, n := range sel.Specificity() {
			r.weight += min(n, 255) << (40 - 8*i)
		}
		r.compounds = append(r.compounds, compound{sel, combinator})
		text, combinator = text[:0], 0
		return true
	}
	for i, t := range tokens {
		tie := byte(0)
		if depth == 0 && t.TokenType == css.WhitespaceToken {
			tie = ' '
		} else if depth == 0 && t.TokenType == css.DelimToken && strings.IndexByte(">+~", t.Data[0]) >= 0 {
			tie = t.Data[0]
		}
		if tie != 0 {
			if len(text) > 0 && !flush() {
				return nil, nil, "", false
			}
			if m, key = s.byTag, ""; tie != ' ' || combinator == 0 {
				combinator = tie
			}
			if len(r.compounds) == 0 {
				return nil, nil, "", false
			}
			continue
		}
		if depth += nesting(t.TokenType); depth == 0 {
			switch name := unescape(t.Data); {
			case t.TokenType == css.HashToken:
				m, key = s.byID, name[1:]
			case t.TokenType == css.IdentToken && i > 0 && string(tokens[i-1].Data) == ".":
				m, key = s.byClass, name
			case t.TokenType == css.IdentToken && len(text) == 0:
				m, key = s.byTag, strings.ToLower(name)
			}
		}
		costly = costly || i > 0 && string(tokens[i-1].Data) == ":" && !cheapPseudo(t.Data)
		text = append(text, t.Data...)
	}
	if len(text) == 0 || !flush() {
		return nil, nil, "", false
	}
	slices.Reverse(r.compounds)
	if costly {
		return nil, nil, "", true
	}
	return r, m, key, true
}

func trimSpace(tokens []css.Token) []css.Token {
	for len(tokens) > 0 && tokens[0].TokenType == css.WhitespaceToken {
		tokens = tokens[1:]
	}
	for len(tokens) > 0 && tokens[len(tokens)-1].TokenType == css.WhitespaceToken {
		tokens = tokens[:len(tokens)-1]
	}
	return tokens
}

// cheapPseudo reports whether a pseudo-class is one that is answered at once. The others,
// :nth-child(2n+1) or :has(), look at any number of nodes for each element.
func cheapPseudo(name []byte) bool {
	switch string(bytes.ToLower(name)) {
	case "first-child", "last-child", "first-of-type", "root", "link", "any-link", "not(", "empty":
		return true
	}
	return false
}

// unescape returns a name without its escapes, in which it may hide: "d\69splay".
func unescape(name []byte) string {
	if bytes.IndexByte(name, '\\') < 0 {
		return string(name)
	}
	var out []byte
	for i := 0; i < len(name); i++ {
		if name[i] != '\\' {
			out = append(out, name[i])
			continue
		}
		end := i + 1
		for end < len(name) && end <= i+6 && isHex(name[end]) {
			end++
		}
		if code, err := strconv.ParseInt(string(name[i+1:end]), 16, 32); err == nil {
			out = append(out, string(rune(code))...)
			if end < len(name) && name[end] == ' ' {
				end++
			}
			i = end - 1
		}
	}
	return string(out)
}

// matches holds a rule against an element. budget is how many compounds may still be held
// against elements.
func (r *rule) matches(n *html.Node, at int, budget *int) bool {
	if *budget--; *budget < 0 || n.Type != html.ElementNode || !r.compounds[at].selector.Match(n) {
		return false
	}
	combinator := r.compounds[at].combinator
	at++
	if at == len(r.compounds) {
		return true
	}
	switch combinator {
	case '>':
		return n.Parent != nil && r.matches(n.Parent, at, budget)
	case ' ':
		for p := n.Parent; p != nil; p = p.Parent {
			if r.matches(p, at, budget) {
				return true
			}
		}
	case '+', '~':
		for p := n.PrevSibling; p != nil && *budget >= 0; p = p.PrevSibling {
			if *budget--; p.Type != html.ElementNode {
				continue
			}
			if r.matches(p, at, budget) {
				return true
			}
			if combinator == '+' {
				return false
			}
		}
	}
	return false
}
