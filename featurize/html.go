// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Limits on one document.
const (
	maxHTMLTags  = 1 << 17
	maxHTMLToken = 256 << 10
	maxSheets    = 64
	maxCached    = 1 << 20 // bytes of CSS
)

// htmlReader turns a document into the lines of text that a person sees (HTML 15, CSS 2.2):
// mail programs run no scripts and load no pictures unasked.
type htmlReader struct {
	f       *Featurizer
	out     []byte
	lines   []textSpan
	start   int      // of the line at hand in out
	mark    lineMark // of the line at hand
	behind  lineMark // of all that follows
	shown   int      // words
	hidden  int      // words that rules hide
	limit   int      // bytes of text
	budget  int      // of rule.matches
	sheets  []*sheet
	matched []match
	box     box
	url     []byte
}

type textSpan struct {
	from, to int
	mark     lineMark
}

// readHTML returns the lines of a document that a person sees. Hosts that it links to become
// features, and that it hides much. f.words.html has how many words it shows and hides. The lines hold
// until the next call. Any bytes will do. Time and memory are linear in them, within the limits
// above and those of css.go; what is beyond is left out, and a nesting of more than some hundred
// elements is flattened.
func (f *Featurizer) readHTML(doc []byte) []textLine {
	r := &f.words.html
	*r = htmlReader{f: f, out: r.out[:0], lines: r.lines[:0], sheets: r.sheets[:0], matched: r.matched, url: r.url, limit: f.body.text, budget: maxMatches}
	doc, flat, styled := f.survey(doc)
	root := f.tree(doc, flat)
	if styled {
		r.findSheets(root)
	}
	first := firstStyle
	r.children(root, &first, markNone, false)
	r.breakLine()
	if r.hidden > 0 {
		f.terms.add(Misc, "html:", "hidden text")
	}
	for _, most := range [...]int{128, 32, 8} {
		if r.hidden >= most {
			f.terms.add(Misc, "html:", "hidden words "+bin(most))
			break
		}
	}
	lines := f.words.shown[:0]
	for _, s := range r.lines {
		lines = append(lines, textLine{r.out[s.from:s.to], s.mark})
	}
	f.words.shown = lines
	return lines
}

// survey returns as much of a document as is read; whether it has to be flattened at any rate,
// since html.Parse takes square time for many <body> or <html>; and whether it has style sheets.
func (f *Featurizer) survey(doc []byte) (part []byte, flat, styled bool) {
	bodies, tables, cell := 0, 0, false
	defer func() {
		if cell && tables == 0 {
			part = append([]byte("<table>"), part...) // a cut from a table: cells stay cells
		}
	}()
	for at, tags := 0, 0; ; at, tags = at+1, tags+1 {
		next := bytes.IndexByte(doc[at:], '<')
		if next < 0 || at+next+5 > len(doc) {
			return doc, bodies > 8, styled
		}
		if at += next; tags == maxHTMLTags {
			f.defect("HTML too long")
			return doc[:at], bodies > 8, styled
		}
		switch doc[at+1] | 0x20 {
		case 'b', 'h':
			if name := doc[at+1 : at+5]; equalFold(name, "body") || equalFold(name, "html") {
				bodies++
			}
		case 't':
			if cell = cell || doc[at+2]|0x20 == 'd'; equalFold(doc[at+1:at+5], "tabl") {
				tables++
			}
		case 's':
			styled = styled || equalFold(doc[at+1:at+5], "styl")
		}
	}
}

// withoutScripts makes html.Parse read what is in noscript.
var withoutScripts = html.ParseOptionEnableScripting(false)

// tree returns the tree of a document. html.Parse refuses more than 512 open elements; then
// the deeper ones lose their tags.
func (f *Featurizer) tree(doc []byte, flat bool) *html.Node {
	for _, depth := range [...]int{512, 100, 20, 0} {
		text := doc
		if depth < 512 {
			text = flatten(doc, depth)
		} else if flat {
			continue
		}
		f.source.Reset(text)
		if root, err := html.ParseWithOptions(&f.source, withoutScripts); err == nil {
			return root
		}
		f.defect("HTML nested too deep")
	}
	return &html.Node{}
}

// flatten leaves out tags that are more than depth deep, and many bodies. Elements whose end tags may be left out don't count: html.Parse
// closes them.
func flatten(doc []byte, depth int) (out []byte) {
	z := html.NewTokenizer(bytes.NewReader(doc))
	z.SetMaxBuf(maxHTMLToken)
	open, bodies := 0, 0
	for {
		token := z.Next()
		raw := z.Raw()
		switch token {
		case html.ErrorToken:
			return out
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			out = append(out, ' ')
			name, _ := z.TagName()
			counts := true
			switch tag := atom.Lookup(name); tag {
			case atom.Body, atom.Html:
				if bodies++; bodies > 8 {
					continue
				}
			case atom.P, atom.Li, atom.Td, atom.Th, atom.Tr, atom.Tbody, atom.Dd, atom.Dt, atom.Option, atom.Br, atom.Hr, atom.Img,
				atom.Input, atom.Meta, atom.Link, atom.Script, atom.Style, atom.Title, atom.Textarea:
				counts = false
			}
			deep := open > depth || depth == 0
			if counts && token == html.StartTagToken {
				open++
			} else if counts && token == html.EndTagToken && open > 0 {
				open--
			}
			if deep && counts {
				continue
			}
		}
		out = append(out, raw...)
	}
}

// findSheets reads the style sheets below n.
func (r *htmlReader) findSheets(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom != atom.Style {
			r.findSheets(c)
			continue
		}
		media, _ := attribute(c, "media")
		if c.FirstChild != nil && len(r.sheets) < maxSheets && mediaApplies(media) {
			r.sheets = append(r.sheets, r.f.parsedCSS(c.FirstChild.Data, false))
		}
	}
}

// cssCache keeps what was parsed: mail of one sender has the same again and again.
type cssCache struct {
	parsed map[string]*sheet
	size   int // bytes of their texts
}

func (f *Featurizer) parsedCSS(text string, attribute bool) *sheet {
	key := text
	if !attribute {
		key = "{" + text
	}
	if s, ok := f.css.parsed[key]; ok {
		return s
	}
	if f.css.size += len(text) + 64; f.css.parsed == nil || f.css.size > maxCached {
		f.css.parsed, f.css.size = map[string]*sheet{}, len(text)
	}
	s := parseCSS(text, attribute)
	f.css.parsed[key] = s
	return s
}

func attribute(n *html.Node, key string) (value string, ok bool) {
	for i := range n.Attr {
		if n.Attr[i].Key == key {
			return n.Attr[i].Val, true
		}
	}
	return "", false
}

// children reads what is in an element; mute: only its links.
func (r *htmlReader) children(n *html.Node, s *style, mark lineMark, mute bool) {
	_, open := attribute(n, "open")
	closed, summary := n.DataAtom == atom.Details && !open, false
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode && !mute && !closed:
			r.text(c.Data, s, mark)
		case c.Type == html.ElementNode:
			shut := closed && (summary || c.DataAtom != atom.Summary)
			summary = summary || c.DataAtom == atom.Summary
			r.element(c, *s, mark, mute || shut)
		}
	}
}

func (r *htmlReader) element(n *html.Node, s style, mark lineMark, mute bool) {
	var inline, class, id string
	for i := range n.Attr {
		switch a := &n.Attr[i]; a.Key {
		case "href", "src", "action", "background":
			r.url = append(r.url[:0], a.Val...)
			r.f.readURL(r.url)
		case "style":
			inline = a.Val
		case "class":
			class = a.Val
		case "id":
			id = a.Val
		}
	}
	switch n.DataAtom {
	case atom.Head, atom.Title, atom.Script, atom.Style, atom.Template, atom.Textarea, atom.Noembed, atom.Noframes, atom.Iframe,
		atom.Object, atom.Video, atom.Audio, atom.Canvas, atom.Datalist, atom.Meter, atom.Progress, atom.Rp, atom.Desc:
		mute = true
	case atom.Dialog:
		_, open := attribute(n, "open")
		mute = mute || !open
	}
	if mute {
		r.children(n, &s, mark, true)
		return
	}
	own, following := markOf(n)
	mark = mark.with(own)
	if following {
		r.behind = r.behind.with(own)
	}
	display := r.restyle(n, &s, inline, class, id)
	r.edge(display, s.gone)
	r.children(n, &s, mark, false)
	r.edge(display, s.gone)
}

// with returns what two marks make: a quoted signature is quoted.
func (m lineMark) with(other lineMark) lineMark {
	if m == markQuoted || other == markNone {
		return m
	}
	return other
}

// edge ends what the edge of a box ends.
func (r *htmlReader) edge(display int, gone bool) {
	switch {
	case gone || display == displayInline:
	case display < displayBlock:
		r.space()
	default:
		r.breakLine()
	}
}

// space appends a space, but not at the start of a line or behind another.
func (r *htmlReader) space() {
	if n := len(r.out); n > r.start && r.out[n-1] != ' ' {
		r.out = append(r.out, ' ')
	}
}

func (r *htmlReader) breakLine() {
	r.out = r.out[:r.start+len(bytes.TrimRight(r.out[r.start:], " "))]
	if len(r.out) > r.start {
		r.lines = append(r.lines, textSpan{r.start, len(r.out), r.mark})
	}
	r.start = len(r.out)
}

// text appends what is seen of a text. No-break spaces become spaces.
func (r *htmlReader) text(text string, s *style, mark lineMark) {
	seen := s.shown() && len(r.out)+len(text) < r.limit
	mark = mark.with(r.behind)
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case s.gone && isSpace(c):
			i++
		case c == '\n' && s.n[propSpace] > 0 && seen:
			r.breakLine()
			i++
		case c == ' ' && s.n[propSpace] == spaceKept && seen:
			r.out = append(r.out, c)
			i++
		case isSpace(c):
			r.space()
			i++
		case c == 0xc2 && i+1 < len(text) && text[i+1] == 0xa0:
			r.space()
			i += 2
		default:
			end := i + 1
			for end < len(text) && !isSpace(text[end]) && (text[end] != 0xc2 || end+1 == len(text) || text[end+1] != 0xa0) {
				end++
			}
			r.word(text[i:end], seen, mark)
			i = end
		}
	}
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// word appends a run without white space, or counts it if it is hidden.
func (r *htmlReader) word(run string, seen bool, mark lineMark) {
	switch {
	case !seen && strings.ContainsFunc(run, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }):
		r.hidden++
	case seen:
		if mark != r.mark {
			r.breakLine()
			r.mark = mark
		}
		r.shown++
		r.out = append(r.out, run...)
	}
}
