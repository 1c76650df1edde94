// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"errors"
	"slices"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Limits on one document.
const (
	maxHTMLNodes = 1 << 17
	maxHTMLToken = 256 << 10
	maxHTMLDepth = 256 // deeper elements stand beside one another
	maxReopened  = 8   // elements that go on behind the end of another
	maxAttrs     = 100
)

// What a tag means for the tree.
const (
	isVoid  = 1 << iota // it has no content
	closesP             // a paragraph ends before it
	isScope             // end tags within don't reach beyond it
	formats             // what it formats goes on behind the end of a block
	isList              // items within don't end those without
	isTable             // rows and cells within don't end those without
	isPart              // of a table
	implies             // that others end
)

var tagTraits = func() map[atom.Atom]int {
	traits := tagsOf("trait-", map[string]int{
		"void": isVoid, "closes-p": closesP, "scope": isScope, "formats": formats, "table": isTable, "part": isPart, "list": isList,
	})
	for tag := range implied {
		traits[tag] |= implies
	}
	return traits
}()

// implied has the tags that a tag ends if they are open: end tags may be left out (HTML 13.1.2.4).
var implied = map[atom.Atom][]atom.Atom{
	atom.Li: {atom.Li}, atom.Dd: {atom.Dd, atom.Dt}, atom.Dt: {atom.Dd, atom.Dt}, atom.Option: {atom.Option}, atom.Optgroup: {atom.Option, atom.Optgroup},
	atom.Td: {atom.Td, atom.Th}, atom.Th: {atom.Td, atom.Th}, atom.Tr: {atom.Tr}, atom.Tbody: {atom.Tbody, atom.Thead, atom.Tfoot, atom.Tr},
	atom.Tfoot: {atom.Tbody, atom.Thead, atom.Tr}, atom.A: {atom.A},
}

// htmlTree builds the tree of a document as browsers do, where it makes a difference to what is
// seen. html.Parse is not for hostile mail: 20 KB of paragraphs within 400 open <font> take it
// 300 MB and 2.6 s (2 MB: 30 GB), and it refuses what is nested deeper than 512. It also takes
// twice as long. The memory of nodes is used again for the next document.
type htmlTree struct {
	chunks [][]html.Node
	used   int // nodes
	attrs  []html.Attribute
	text   []byte // all that strings are of
	fixes  []stringFix
	open   []openElement
	styled bool // there are style sheets
	above  []openElement
}

type openElement struct {
	*html.Node
	traits int
}

// stringFix says which part of text a string is to be.
type stringFix struct {
	to         *string
	start, end int
}

const (
	nodesPerChunk = 256
	keptChunks    = 64
)

// parse returns the root of the tree of a document. Time and memory are linear in it.
func (t *htmlTree) parse(f *Featurizer, doc []byte) *html.Node {
	t.used, t.attrs, t.text, t.fixes, t.open, t.styled = 0, t.attrs[:0], t.text[:0], t.fixes[:0], t.open[:0], false
	t.chunks = slices.Delete(t.chunks, min(len(t.chunks), keptChunks), len(t.chunks))
	f.source.Reset(doc)
	z := html.NewTokenizer(&f.source)
	z.SetMaxBuf(maxHTMLToken)
	root := t.node(html.ElementNode, atom.Html)
	t.push(root, 0)
	t.push(t.node(html.ElementNode, atom.Body), 0)
	for {
		switch token := z.Next(); token {
		case html.ErrorToken:
			if errors.Is(z.Err(), html.ErrBufferExceeded) {
				f.defect("HTML token too long")
			}
			all := string(t.text)
			for _, fix := range t.fixes {
				*fix.to = all[fix.start:fix.end]
			}
			return root
		case html.TextToken:
			n := t.node(html.TextNode, 0)
			text := z.Raw()
			if bytes.IndexByte(text, '&') >= 0 || bytes.IndexByte(text, '\r') >= 0 || bytes.IndexByte(text, 0) >= 0 {
				text = z.Text() // which takes memory for each text
			}
			t.keep(&n.Data, text)
			t.append(n)
		case html.StartTagToken, html.SelfClosingTagToken:
			t.start(z, token == html.SelfClosingTagToken)
		case html.EndTagToken:
			name, _ := z.TagName()
			t.end(name)
		}
		if t.used > maxHTMLNodes {
			f.defect("HTML too long")
			z = html.NewTokenizer(bytes.NewReader(nil))
		}
	}
}

// node returns a new node.
func (t *htmlTree) node(kind html.NodeType, tag atom.Atom) *html.Node {
	if t.used/nodesPerChunk == len(t.chunks) {
		t.chunks = append(t.chunks, make([]html.Node, nodesPerChunk))
	}
	n := &t.chunks[t.used/nodesPerChunk][t.used%nodesPerChunk]
	t.used++
	*n = html.Node{Type: kind, DataAtom: tag, Data: tag.String()}
	return n
}

func (t *htmlTree) keep(to *string, text []byte) {
	t.fixes = append(t.fixes, stringFix{to, len(t.text), len(t.text) + len(text)})
	t.text = append(t.text, text...)
}

// append appends a node to the one that is open, if there is one.
func (t *htmlTree) append(n *html.Node) {
	if len(t.open) > 0 {
		t.open[len(t.open)-1].AppendChild(n)
	}
}

func (t *htmlTree) push(n *html.Node, traits int) {
	t.open = t.open[:min(len(t.open), maxHTMLDepth-1)]
	t.append(n)
	t.open = append(t.open, openElement{n, traits})
}

func (t *htmlTree) start(z *html.Tokenizer, selfClosing bool) {
	name, _ := z.TagName()
	tag := atom.Lookup(name) // 0 for a name that HTML doesn't know
	traits := tagTraits[tag]
	if traits&closesP != 0 {
		t.close(atom.P, closesP, "", isScope)
	}
	if traits&implies != 0 {
		for _, other := range implied[tag] {
			t.close(other, tagTraits[other], "", isScope|isList)
		}
	}
	n := t.open[0].Node
	switch tag {
	case atom.Head:
		return
	case atom.Html:
	case atom.Body:
		n = n.FirstChild
	default:
		n = t.node(html.ElementNode, tag)
		if tag == 0 {
			n.Data = string(name)
		}
	}
	if len(n.Attr) == 0 {
		t.attributes(z, n)
	}
	switch {
	case tag == atom.Html, tag == atom.Body:
	case traits&isVoid != 0, selfClosing && tag == 0 && t.find(atom.Svg, 0, "", 0) > 0:
		t.append(n)
	default:
		t.push(n, traits)
	}
	switch tag {
	case atom.Style:
		t.styled = true
	case atom.Noscript:
		z.NextIsNotRawText() // nobody runs scripts
	}
}

func (t *htmlTree) attributes(z *html.Tokenizer, n *html.Node) {
	if cap(t.attrs)-len(t.attrs) < maxAttrs {
		t.attrs = make([]html.Attribute, 0, 8*maxAttrs)
	}
	from := len(t.attrs)
	if source := z.Raw(); t.plainAttributes(source) {
		n.Attr = t.attrs[from:len(t.attrs):len(t.attrs)]
		return
	}
	t.attrs = t.attrs[:from]
	for more := true; more && len(t.attrs)-from < maxAttrs; {
		var key, value []byte
		if key, value, more = z.TagAttr(); len(key) == 0 {
			continue
		}
		t.attrs = append(t.attrs, html.Attribute{Key: atom.String(key)})
		t.keep(&t.attrs[len(t.attrs)-1].Val, value)
	}
	n.Attr = t.attrs[from:len(t.attrs):len(t.attrs)]
}

// plainAttributes appends the attributes of a tag if all have the usual form, name="value" without
// references. Others the Tokenizer reads, which takes memory for each name and value. A fuzz
// target holds it against the Tokenizer.
func (t *htmlTree) plainAttributes(source []byte) (ok bool) {
	if bytes.IndexByte(source, '&') >= 0 || bytes.IndexByte(source, '\r') >= 0 || bytes.IndexByte(source, 0) >= 0 {
		return false
	}
	from, fixes, text := len(t.attrs), len(t.fixes), len(t.text)
	at := 1
	for at < len(source) && (asciiClass[source[at]]&(letter|digit) != 0) {
		at++
	}
	for at < len(source) && isSpace(source[at]) {
		for at < len(source) && isSpace(source[at]) {
			at++
		}
		start := at
		for at < len(source) && (source[at] >= 'a' && source[at] <= 'z' || source[at] == '-') {
			at++
		}
		if at == start {
			break
		}
		if at+1 >= len(source) || source[at] != '=' || source[at+1] != '"' || len(t.attrs)-from == maxAttrs {
			at = len(source)
			break
		}
		key, value := atom.String(source[start:at]), source[at+2:]
		end := bytes.IndexByte(value, '"')
		if end < 0 || slices.ContainsFunc(t.attrs[from:], func(a html.Attribute) bool { return a.Key == key }) {
			at = len(source)
			break
		}
		at += end + 3
		t.attrs = append(t.attrs, html.Attribute{Key: key})
		t.keep(&t.attrs[len(t.attrs)-1].Val, value[:end])
	}
	if rest := string(source[min(at, len(source)):]); rest == ">" || rest == "/>" {
		return true
	}
	t.fixes, t.text = t.fixes[:fixes], t.text[:text]
	return false
}

func (t *htmlTree) end(name []byte) {
	switch tag := atom.Lookup(name); tag {
	case atom.Br:
		t.append(t.node(html.ElementNode, atom.Br))
	case atom.Html, atom.Body, atom.Head:
	case 0:
		t.close(0, 0, string(name), isScope)
	default:
		t.close(tag, tagTraits[tag], "", isScope)
	}
}

// find returns where the innermost open element of a tag is; -1: none within the barriers.
func (t *htmlTree) find(tag atom.Atom, traits int, name string, barriers int) int {
	if traits&isPart != 0 {
		barriers = isTable
	} else if traits&isScope != 0 {
		barriers = 0
	}
	for i := len(t.open) - 1; i > 1; i-- {
		n := &t.open[i]
		if n.DataAtom == tag && (tag != 0 || n.Data == name) {
			return i
		}
		if n.traits&barriers != 0 {
			return -1
		}
	}
	return -1
}

// close ends an element. What was open in it and formats text goes on behind it; all does if it
// formats text itself: <b><p></b>x is a paragraph, too.
func (t *htmlTree) close(tag atom.Atom, traits int, name string, barriers int) {
	i := t.find(tag, traits, name, barriers)
	if i < 0 {
		return
	}
	t.above = append(t.above[:0], t.open[i+1:]...)
	t.open = t.open[:i]
	if len(t.above) > maxReopened || traits&(isPart|isScope) != 0 {
		return
	}
	for _, n := range t.above {
		if (traits|n.traits)&formats != 0 {
			again := t.node(html.ElementNode, n.DataAtom)
			again.Data, again.Attr = n.Data, n.Attr
			t.push(again, n.traits)
		}
	}
}
