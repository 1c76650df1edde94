// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// maxSyntaxMistakes bounds how often reading goes on after a syntax error.
const maxSyntaxMistakes = 10

// node is one key, table or array element of the file: where it is.
type node struct {
	line  int
	kids  map[string]*node // of a table
	elems []*node          // of an array
}

func (n *node) kid(key string) *node {
	if n == nil {
		return nil
	}
	return n.kids[key]
}

func (n *node) elem(i int) *node {
	if n == nil || i >= len(n.elems) {
		return nil
	}
	return n.elems[i]
}

// document is a file that TOML can read: its values and their lines.
type document struct {
	values map[string]any
	root   *node
	// broken: parts of the file were left out because of syntax errors, so that
	// a key that is missing here may well be in the file.
	broken bool
}

// parseDocument reads data. Where TOML can't read it, it says why and goes on
// behind the expression, so that one mistake doesn't hide the others.
func parseDocument(data []byte, m *mistakes) *document {
	d := &document{}
	data = bytes.Clone(data)
	for range maxSyntaxMistakes {
		d.values = nil
		err := toml.Unmarshal(data, &d.values)
		if err == nil {
			break
		}
		d.broken = true
		d.values = nil
		line := 1
		problem := strings.TrimPrefix(err.Error(), "toml: ")
		var decodeErr *toml.DecodeError
		if errors.As(err, &decodeErr) {
			line, _ = decodeErr.Position()
		}
		m.add(line, "", "not valid TOML: "+problem, "", "")
		if !blank(data, line) {
			break
		}
	}
	d.root = positions(data)
	return d
}

// expression is the lines of one top-level expression, from 1, both included.
type expression struct{ first, last int }

// blank overwrites with spaces the expression that holds line, so that what
// follows can be read. It reports false when there is no telling what the rest
// would mean: the heading of a table is broken, or nothing was found to blank.
func blank(data []byte, line int) bool {
	var p unstable.Parser
	lines := newLines(data)
	p.Reset(data)
	bad := expression{1, line}
	for p.NextExpression() {
		e := extent(p.Expression(), lines)
		if e.first <= line && line <= e.last {
			bad = e
			break
		}
		if e.last < line {
			bad.first = e.last + 1
		}
	}
	blanked := false
	start, end := lines.start(bad.first), lines.start(bad.last+1)
	if trimmed := bytes.TrimLeft(data[start:end], " \t\r\n"); bytes.HasPrefix(trimmed, []byte("[")) {
		return false
	}
	for i := start; i < end; i++ {
		if data[i] != '\n' && data[i] != ' ' {
			data[i] = ' '
			blanked = true
		}
	}
	return blanked
}

// extent returns the lines that an expression certainly reaches over.
func extent(n *unstable.Node, lines lineIndex) expression {
	e := expression{first: 1 << 30}
	var walk func(n *unstable.Node)
	walk = func(n *unstable.Node) {
		if n.Raw.Length > 0 {
			e.first = min(e.first, lines.of(int(n.Raw.Offset)))
			e.last = max(e.last, lines.of(int(n.Raw.Offset+n.Raw.Length)-1))
		}
		for it := n.Children(); it.Next(); {
			walk(it.Node())
		}
	}
	walk(n)
	return e
}

func positions(data []byte) *node {
	root := &node{line: 1}
	var p unstable.Parser
	lines := newLines(data)
	p.Reset(data)
	table := root
	for p.NextExpression() {
		n := p.Expression()
		switch n.Kind {
		case unstable.Table:
			table = descend(root, n.Key(), lines, false)
		case unstable.ArrayTable:
			table = descend(root, n.Key(), lines, true)
		case unstable.KeyValue:
			placeKey(table, n, lines)
		}
	}
	return root
}

// descend walks from n along key, making what is not there yet, and returns the
// last node. In an array of tables it follows the last element, or appends one
// at the end of the key when asked to.
func descend(n *node, key unstable.Iterator, lines lineIndex, appendLast bool) *node {
	for key.Next() {
		part := key.Node()
		line := lines.of(int(part.Raw.Offset))
		name := string(part.Data)
		if n.kids == nil {
			n.kids = map[string]*node{}
		}
		kid := n.kids[name]
		if kid == nil {
			kid = &node{line: line}
			n.kids[name] = kid
		}
		if appendLast && key.IsLast() {
			kid.elems = append(kid.elems, &node{line: line})
		}
		if len(kid.elems) > 0 {
			kid = kid.elems[len(kid.elems)-1]
		}
		n = kid
	}
	return n
}

func placeKey(table *node, n *unstable.Node, lines lineIndex) {
	placeValue(descend(table, n.Key(), lines, false), n.Value(), lines)
}

func placeValue(at *node, value *unstable.Node, lines lineIndex) {
	switch value.Kind {
	case unstable.InlineTable:
		for it := value.Children(); it.Next(); {
			placeKey(at, it.Node(), lines)
		}
	case unstable.Array:
		for it := value.Children(); it.Next(); {
			if it.Node().Kind == unstable.Comment {
				continue
			}
			elem := &node{line: at.line}
			if raw := it.Node().Raw; raw.Length > 0 {
				elem.line = lines.of(int(raw.Offset))
			}
			at.elems = append(at.elems, elem)
			placeValue(elem, it.Node(), lines)
		}
	}
}

// lineIndex holds the offset at which each line starts, and the length of all.
type lineIndex struct {
	starts []int
	size   int
}

func newLines(data []byte) lineIndex {
	l := lineIndex{starts: []int{0}, size: len(data)}
	for i, b := range data {
		if b == '\n' {
			l.starts = append(l.starts, i+1)
		}
	}
	return l
}

func (l lineIndex) of(offset int) int {
	at, found := slices.BinarySearch(l.starts, offset)
	if found {
		return at + 1
	}
	return at
}

// start returns the offset of a line's first byte; past the last line, the end.
func (l lineIndex) start(line int) int {
	if line < 1 {
		return 0
	}
	if line > len(l.starts) {
		return l.size
	}
	return l.starts[line-1]
}
