// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Limits on one document.
const (
	maxSheets = 64
	maxCached = 1 << 20 // bytes of CSS
)

// htmlReader turns a document into the lines that a person sees (HTML 15, CSS 2.2), without scripts
// and pictures.
type htmlReader struct {
	f       *Featurizer
	out     []byte
	lines   []textSpan
	start   int      // of the line at hand in out
	mark    lineMark // of the line at hand
	behind  lineMark // of all that follows
	cited   bool     // more than a plain blockquote says that somebody is quoted
	hidden  int      // words that rules hide
	limit   int      // bytes of text
	sheets  []*sheet
	matched []match
	box     box
	url     []byte
	tree    htmlTree
}

type textSpan struct {
	from, to int
	mark     lineMark
}

// readHTML returns the lines of a document that a person sees, until the next call. The hosts that
// it links to become features, and so does how much it hides. Time and memory are linear, within
// the limits of htmltree.go and css.go; what is beyond is left out.
func (f *Featurizer) readHTML(doc []byte) []textLine {
	r := &f.words.html
	*r = htmlReader{f: f, tree: r.tree, out: r.out[:0], lines: r.lines[:0], sheets: r.sheets[:0], matched: r.matched, url: r.url, limit: f.body.text}
	root := r.tree.parse(f, doc)
	if r.tree.styled {
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
	indented := f.structure.mark != answerMark && !r.cited && !slices.ContainsFunc(r.lines, func(s textSpan) bool { return s.mark == markNone })
	for _, s := range r.lines {
		if indented && s.mark == markQuoted { // a page within a blockquote as a whole quotes nobody
			s.mark = markNone
		}
		lines = append(lines, textLine{r.out[s.from:s.to], s.mark})
	}
	f.words.shown = lines
	return lines
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
	key = strings.Clone(key) // which lies in the text of a whole document
	s := parseCSS(strings.TrimPrefix(key, "{"), attribute)
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
	closed, summary := n.DataAtom == atom.Details, false
	if closed {
		_, open := attribute(n, "open")
		closed = !open
	}
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
	named := n.DataAtom == atom.Blockquote
	for i := range n.Attr {
		switch a := &n.Attr[i]; a.Key {
		case "href", "src", "action", "background":
			r.url = append(r.url[:0], a.Val...)
			links := r.f.structure.links
			if r.f.readURL(r.url); a.Key == "src" || a.Key == "background" || n.DataAtom == atom.Link {
				r.f.structure.pictures += r.f.structure.links - links
			}
		case "style":
			if inline == "" { // the first one counts
				inline = a.Val
			}
		case "class":
			class, named = a.Val, true
		case "id":
			id, named = a.Val, true
		case "name", "data-marker":
			named = true
		}
	}
	switch n.DataAtom {
	case atom.Head, atom.Title, atom.Script, atom.Style, atom.Template, atom.Textarea, atom.Noembed, atom.Noframes, atom.Iframe,
		atom.Object, atom.Video, atom.Audio, atom.Canvas, atom.Datalist, atom.Meter, atom.Progress, atom.Rp, atom.Desc:
		mute = true
	case atom.Br, atom.Hr, atom.Img, atom.Input: // no text is in them, so no style is asked for
		if !mute {
			r.edge(displays[n.DataAtom], s.gone)
		}
		return
	case atom.Dialog:
		_, open := attribute(n, "open")
		mute = mute || !open
	}
	if mute {
		r.children(n, &s, mark, true)
		return
	}
	if named {
		own, following := markOf(n)
		cites, _ := attribute(n, "type")
		r.cited = r.cited || own == markQuoted && (n.DataAtom != atom.Blockquote || class+id+cites != "")
		mark = mark.with(own)
		if following {
			r.behind = r.behind.with(own)
		}
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
		r.out = append(r.out, run...)
	}
}

// webPrefix is what web mail puts before ids and classes of mail that it shows.
var webPrefix = regexp.MustCompile(`^(x_|ecx|m_-?\d+|yiv\d+|ydp[0-9a-f]{7,8})+`)

// markOf says whether an element quotes or is a signature. following: so is all behind it. A
// gmail_quote by itself says nothing: people answer within.
func markOf(n *html.Node) (mark lineMark, following bool) {
	quote := n.DataAtom == atom.Blockquote
	for _, a := range n.Attr {
		switch a.Key {
		case "id", "class", "name", "data-marker":
			for name := range strings.FieldsSeq(a.Val) {
				if name = strings.ToLower(name[:min(len(name), 80)]); strings.IndexByte("xemy", name[0]) >= 0 {
					name = webPrefix.ReplaceAllLiteralString(name, "")
				}
				switch following = slices.Contains(lists["following"], name); {
				case following, slices.Contains(lists["quote"], name), name == "quote" && a.Key == "name":
					return markQuoted, following
				case strings.Contains(name, "signature") && !strings.Contains(name, "signatures"), name == "__sig_pre__":
					mark = markSignature
				}
			}
		case "style": // Gmail and newsletters indent with a blockquote that has no border
			quote = quote && !strings.Contains(strings.ReplaceAll(a.Val, " ", ""), "border:none")
		}
	}
	if quote {
		return markQuoted, false
	}
	return mark, false
}
