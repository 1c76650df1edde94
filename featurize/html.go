// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"errors"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxToken bounds the memory of the HTML tokenizer for one tag or one run of
// text.
const maxHTMLToken = 256 << 10

// blockTags break words: the text before and after stands in different places
// of the page.
var blockTags = map[atom.Atom]bool{
	atom.Address: true, atom.Article: true, atom.Aside: true, atom.Blockquote: true, atom.Body: true, atom.Br: true,
	atom.Button: true, atom.Caption: true, atom.Center: true, atom.Dd: true, atom.Details: true, atom.Dialog: true,
	atom.Dir: true, atom.Div: true, atom.Dl: true, atom.Dt: true, atom.Fieldset: true, atom.Figcaption: true,
	atom.Figure: true, atom.Footer: true, atom.Form: true, atom.Frame: true, atom.H1: true, atom.H2: true,
	atom.H3: true, atom.H4: true, atom.H5: true, atom.H6: true, atom.Head: true, atom.Header: true, atom.Hr: true,
	atom.Html: true, atom.Iframe: true, atom.Img: true, atom.Input: true, atom.Legend: true, atom.Li: true,
	atom.Main: true, atom.Menu: true, atom.Meta: true, atom.Nav: true, atom.Noscript: true, atom.Ol: true,
	atom.Optgroup: true, atom.Option: true, atom.P: true, atom.Pre: true, atom.Section: true, atom.Select: true,
	atom.Summary: true, atom.Table: true, atom.Tbody: true, atom.Td: true, atom.Textarea: true, atom.Tfoot: true,
	atom.Th: true, atom.Thead: true, atom.Title: true, atom.Tr: true, atom.Ul: true,
}

// voidTags have no end tag, so nothing can be hidden in them.
var voidTags = map[atom.Atom]bool{
	atom.Area: true, atom.Base: true, atom.Br: true, atom.Col: true, atom.Embed: true, atom.Hr: true, atom.Img: true,
	atom.Input: true, atom.Link: true, atom.Meta: true, atom.Source: true, atom.Track: true, atom.Wbr: true,
}

// htmlReader turns a document into lines of text.
type htmlReader struct {
	out    []byte
	skip   atom.Atom // within script, style …: until its end tag
	hidden atom.Atom // within an element that is not shown: its tag
	depth  int       // open elements of the tag hidden
	quotes int       // open blockquotes
}

// readHTML returns the text of a document: one line per block, script and style
// left out, blockquotes marked with ">" as in plain text. Hosts that it links to
// become features. The text is valid until the next message. Any bytes will do;
// time and memory are linear in them, with no limit on nesting.
func (f *Featurizer) readHTML(doc []byte) []byte {
	f.source.Reset(doc)
	z := html.NewTokenizer(&f.source)
	z.SetMaxBuf(maxHTMLToken)
	r := htmlReader{out: f.words.html[:0]}
	for {
		token := z.Next()
		if token == html.ErrorToken {
			if errors.Is(z.Err(), html.ErrBufferExceeded) {
				f.defect("HTML token too long")
			}
			break
		}
		switch token {
		case html.TextToken:
			if r.skip == 0 {
				r.text(z.Text())
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			tag := tagOf(z.Raw())
			r.open(tag)
			for n, more := 0, true; more && n < 100; n++ {
				var key, value []byte
				key, value, more = z.TagAttr()
				f.readAttribute(&r, tag, key, value)
			}
		case html.EndTagToken:
			r.close(tagOf(z.Raw()))
		}
	}
	if bytes.IndexByte(r.out, 0xa0) >= 0 {
		r.out = bytes.ReplaceAll(r.out, []byte("\u00a0"), []byte(" "))
	}
	f.words.html = r.out
	return r.out
}

// tagOf returns the tag of a start tag or an end tag from its source, 0 if HTML knows none of
// that name. Tokenizer.TagName would give the name, in memory of its own for each tag.
func tagOf(source []byte) atom.Atom {
	name := bytes.TrimPrefix(bytes.TrimPrefix(source, []byte("<")), []byte("/"))
	if end := bytes.IndexAny(name, " \n\r\t\f/>"); end >= 0 {
		name = name[:end]
	}
	var lower [longestTag]byte
	if len(name) > len(lower) {
		return 0
	}
	for i, c := range name {
		lower[i] = lowerASCII[c]
	}
	return atom.Lookup(lower[:len(name)])
}

// longestTag is longer than the name of any tag.
const longestTag = 32

func (r *htmlReader) text(text []byte) {
	if r.hidden != 0 {
		return
	}
	// Line ends in the source are spaces on the page.
	for _, c := range text {
		switch c {
		case '\n', '\r', '\t':
			c = ' '
		}
		if len(r.out) == 0 || r.out[len(r.out)-1] == '\n' {
			if c == ' ' {
				continue
			}
			for range min(r.quotes, 3) {
				r.out = append(r.out, '>')
			}
			if r.quotes > 0 {
				r.out = append(r.out, ' ')
			}
		}
		if c == ' ' && r.out[len(r.out)-1] == ' ' {
			continue
		}
		r.out = append(r.out, c)
	}
}

func (r *htmlReader) breakLine() {
	if n := len(r.out); n > 0 && r.out[n-1] != '\n' {
		r.out = append(r.out, '\n')
	}
}

func (r *htmlReader) open(tag atom.Atom) {
	if blockTags[tag] {
		r.breakLine()
	}
	switch tag {
	case atom.Script, atom.Style, atom.Template:
		if r.skip == 0 {
			r.skip = tag
		}
	case atom.Blockquote:
		r.quotes++
	}
	if tag != 0 && tag == r.hidden {
		r.depth++
	}
}

func (r *htmlReader) close(tag atom.Atom) {
	if blockTags[tag] {
		r.breakLine()
	}
	if tag == r.skip {
		r.skip = 0
	}
	if tag == atom.Blockquote && r.quotes > 0 {
		r.quotes--
	}
	if tag != 0 && tag == r.hidden {
		if r.depth--; r.depth == 0 {
			r.hidden = 0
		}
	}
}

// readAttribute notes where a document links to, and what it hides.
func (f *Featurizer) readAttribute(r *htmlReader, tag atom.Atom, key, value []byte) {
	switch string(key) {
	case "href", "src", "action", "background":
		f.readURL(value)
	case "alt", "title":
		if r.skip == 0 {
			r.breakLine()
			r.text(value)
			r.breakLine()
		}
	case "style":
		if hides(value) {
			f.terms.add(Misc, "html:", "hidden text")
			if r.hidden == 0 && tag != 0 && !voidTags[tag] {
				r.hidden, r.depth = tag, 1
			}
		}
	case "hidden":
		f.terms.add(Misc, "html:", "hidden text")
	}
}

// hides reports whether a style attribute takes its element out of sight.
func hides(style []byte) bool {
	if len(style) > 4096 {
		style = style[:4096]
	}
	for property := range strings.SplitSeq(strings.ToLower(string(style)), ";") {
		name, value, _ := strings.Cut(property, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(name) {
		case "display":
			if strings.HasPrefix(value, "none") {
				return true
			}
		case "visibility":
			if strings.HasPrefix(value, "hidden") {
				return true
			}
		case "font-size":
			if number := strings.TrimRight(value, "pxtem%r! oian"); number == "0" || number == "0.0" {
				return true
			}
		}
	}
	return false
}
