// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
	"golang.org/x/term"
)

// Widths of text, in columns.
const (
	usualColumns = 80  // where there is no terminal that says
	mostColumns  = 100 // longer lines are hard to read
	leastColumns = 20  // a narrower terminal breaks the lines itself
)

// Columns is how wide text for w should be, and whether w is a terminal.
func Columns(w io.Writer) (columns int, terminal bool) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return usualColumns, false
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil || columns <= 0 {
		return usualColumns, true
	}
	return max(min(columns, mostColumns), leastColumns), true
}

// Wrapping returns a writer that breaks long lines at words where w is a terminal; else w
// itself, so that programs find the lines as they were. What does not end in a line end
// is held back until it does.
func Wrapping(w io.Writer) io.Writer {
	columns, terminal := Columns(w)
	if !terminal {
		return w
	}
	return &wrapper{w: w, columns: columns}
}

// wrapper is Wrapping for a terminal. Not safe for concurrent use.
type wrapper struct {
	w       io.Writer
	columns int
	held    []byte // the beginning of a line
}

func (w *wrapper) Write(p []byte) (int, error) {
	end := bytes.LastIndexByte(p, '\n') + 1
	if end == 0 {
		w.held = append(w.held, p...)
		return len(p), nil
	}
	text := Wrap(string(w.held)+string(p[:end]), w.columns)
	w.held = append(w.held[:0], p[end:]...)
	if _, err := io.WriteString(w.w, text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Wrap breaks the lines of text that are wider than so many columns at spaces. What goes
// on is indented as the line, or as its second column: what stands after two spaces or
// more. A word that is wider than a line is broken where Unicode allows it (UAX 14), as
// in Chinese, and else anywhere between two characters; but one of ASCII alone, such as a
// path, stays whole, so that it can be copied.
func Wrap(text string, columns int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		body := strings.TrimSuffix(line, "\n")
		if uniseg.StringWidth(body) <= columns {
			b.WriteString(line)
			continue
		}
		wrapLine(&b, strings.TrimRight(body, " "), columns)
		b.WriteString(line[len(body):])
	}
	return b.String()
}

// Reflow is Wrap for prose: the lines of a paragraph are joined first. Lines that are
// indented stay on their own.
func Reflow(text string, columns int) string {
	var b strings.Builder
	joinable := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		own := line == "" || strings.HasPrefix(line, " ")
		switch {
		case joinable && !own:
			b.WriteByte(' ')
		case b.Len() > 0:
			b.WriteByte('\n')
		}
		b.WriteString(line)
		joinable = !own
	}
	return Wrap(b.String(), columns)
}

func wrapLine(b *strings.Builder, line string, columns int) {
	indent := strings.Repeat(" ", hanging(line, columns))
	at := 0 // the column
	for first := true; line != ""; first = false {
		rest := strings.TrimLeft(line, " ")
		gap := line[:len(line)-len(rest)]
		word, _, _ := strings.Cut(rest, " ")
		line = rest[len(word):]
		width := uniseg.StringWidth(word)
		if !first && at+len(gap)+width > columns {
			gap, at = "\n"+indent, 0
		}
		b.WriteString(gap)
		at += len(strings.TrimPrefix(gap, "\n"))
		if at+width > columns {
			at = wrapWord(b, word, indent, at, columns)
			continue
		}
		b.WriteString(word)
		at += width
	}
}

// wrapWord writes a word that is wider than what is left of a line at column at, and
// returns the column after it.
func wrapWord(b *strings.Builder, word, indent string, at, columns int) int {
	if !strings.ContainsFunc(word, func(r rune) bool { return r > unicode.MaxASCII }) {
		if at > len(indent) {
			b.WriteString("\n" + indent)
			at = len(indent)
		}
		b.WriteString(word)
		return at + uniseg.StringWidth(word)
	}
	put := func(part string) {
		width := uniseg.StringWidth(part)
		if at+width > columns && at > len(indent) {
			b.WriteString("\n" + indent)
			at = len(indent)
		}
		b.WriteString(part)
		at += width
	}
	for state := -1; word != ""; {
		var part string
		part, word, _, state = uniseg.FirstLineSegmentInString(word, state)
		if len(indent)+uniseg.StringWidth(part) <= columns {
			put(part)
			continue
		}
		for characters := -1; part != ""; {
			var character string
			character, part, _, characters = uniseg.FirstGraphemeClusterInString(part, characters)
			put(character)
		}
	}
	return at
}

// hanging returns how far the lines that continue a line are indented: as far as what
// stands after two spaces or more in it, if that leaves a third of the width, or as the
// line itself.
func hanging(line string, columns int) int {
	words := strings.TrimLeft(line, " ")
	own := len(line) - len(words)
	if gap := strings.Index(words, "  "); gap >= 0 {
		second := strings.TrimLeft(words[gap:], " ")
		if at := uniseg.StringWidth(line[:len(line)-len(second)]); at <= columns*2/3 {
			return at
		}
	}
	return min(own, columns/2)
}
