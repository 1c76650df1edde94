// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"math"
	"slices"
)

// openingWords is how many words of the own text count once more: people say first what they want.
const openingWords = 40

// textLine is one line of a text as it is shown, without its end.
type textLine struct {
	text []byte
	mark lineMark
}

// lineMark says whose words a line holds. Markup may know; quoteReader decides.
type lineMark uint8

const (
	markNone      lineMark = iota // the writer's, as far as markup says
	markQuoted                    // somebody else's words
	markSignature                 // the writer's signature, and what lists and lawyers put below
	markPatch                     // within a patch
	markNothing                   // no words: armour, rules
)

// readText makes features of decoded text, line by line.
func (f *Featurizer) readText(lines []textLine) {
	f.quotes.read(lines, f.structure.isPatch)
	f.structure.forward = f.structure.forward || f.quotes.forward && f.structure.mark != answerMark
	for _, line := range lines {
		f.body.text -= len(line.text) + 1
		switch line.mark {
		case markQuoted:
			f.structure.quoted++
			f.words.line(f, line.text, &kindQuoted)
		case markSignature:
			f.structure.signature++
			f.words.line(f, line.text, &kindSignature)
		case markPatch:
			f.readPatchLine(line.text)
		case markNone:
			f.readLine(line.text)
		}
	}
}

// plainLines cuts plain text into its lines. They hold until the next call, and lie in text.
func (f *Featurizer) plainLines(text []byte) []textLine {
	lines := f.words.lines[:0]
	for len(text) > 0 {
		var line []byte
		line, text = cutLine(text)
		lines = append(lines, textLine{text: line})
	}
	f.words.lines = lines
	return lines
}

// readLine reads a line that the writer wrote, or a program for him.
func (f *Featurizer) readLine(line []byte) {
	trimmed := bytes.TrimSpace(line)
	switch {
	case len(trimmed) == 0:
	case isDiffstat(trimmed):
		f.structure.diffstat++
		path, _, _ := bytes.Cut(trimmed, []byte{' '})
		f.readPath(path)
	case f.readTrailer(trimmed):
	default:
		f.readOwn(line)
	}
}

func (f *Featurizer) readOwn(line []byte) {
	s := &f.structure
	s.own++
	s.questions += questions(line)
	if i := bytes.Index(line, []byte("://")); i >= 0 {
		for rest := line; ; {
			_, after, found := bytes.Cut(rest, []byte("://"))
			if !found {
				break
			}
			f.readHost(after)
			rest = after
		}
	}
	if s.words < openingWords {
		f.words.seen, f.words.limit = 0, openingWords-s.words
		f.words.line(f, line, &kindOpening)
		s.words += f.words.seen
		f.words.limit = math.MaxInt
	}
	f.words.line(f, line, &kindOwn)
}

// asks is Message.Asks.
func (f *Featurizer) asks(m *Message) bool {
	notOwner := func(address string) bool { return !f.owns(address) }
	return (f.structure.questions > 0 || m.Says == SaysNew && questions([]byte(m.Subject)) > 0) && m.Says <= SaysForward &&
		(slices.ContainsFunc(m.To, notOwner) || slices.ContainsFunc(m.Cc, notOwner))
}

// questions counts the question marks of any script. One before a letter is part of a link.
func questions(line []byte) (n int) {
	if bytes.IndexByte(line, '?') < 0 && isASCII(line) {
		return 0
	}
	for i, r := range string(line) {
		switch r {
		case '?':
			if i+1 == len(line) || asciiClass[line[i+1]]&wordy == 0 && line[i+1] != '=' && line[i+1] != '%' {
				n++
			}
		case '？', '؟', '\u037e', '՞', '፧', '⁇':
			n++
		}
	}
	return n
}

// startsPatch reports whether a patch begins at line i.
func (q *quoteReader) startsPatch(i int) bool {
	line := q.lines[i].text
	switch line[0] {
	case 'd', 'I', '-', '@': // as few lines begin
	default:
		return false
	}
	return bytes.HasPrefix(line, []byte("diff -")) || bytes.HasPrefix(line, []byte("Index: ")) ||
		bytes.HasPrefix(line, []byte("--- a/")) || bytes.HasPrefix(line, []byte("@@ -")) ||
		bytes.HasPrefix(line, []byte("--- ")) && bytes.IndexByte(line, '/') >= 0 &&
			i+1 < len(q.lines) && bytes.HasPrefix(q.lines[i+1].text, []byte("+++ "))
}

// inPatch reports whether a line may belong to a patch.
func inPatch(line []byte) bool {
	switch line[0] {
	case ' ', '\t', '+', '@':
		return line[0] != '@' || bytes.HasPrefix(line, []byte("@@ "))
	case '-':
		return string(bytes.TrimRight(line, " ")) != "--"
	}
	return patchOpenings.begin(line)
}

// readPatchLine reads a line that belongs to a patch.
func (f *Featurizer) readPatchLine(line []byte) {
	switch {
	case line[0] == ' ' || line[0] == '\t':
		f.words.line(f, line, &kindPatch)
	case bytes.HasPrefix(line, []byte("+++ ")) || bytes.HasPrefix(line, []byte("--- ")):
		path, _, _ := bytes.Cut(line[4:], []byte{'\t'})
		path, _, _ = bytes.Cut(path, []byte{' '})
		if string(path) != "/dev/null" {
			_, path, _ = bytes.Cut(path, []byte{'/'})
			f.readPath(path)
		}
	case line[0] == '@':
		if i := bytes.LastIndex(line, []byte("@@")); i > 2 {
			f.words.line(f, line[i+2:], &kindPatch)
		}
	case line[0] == '+' || line[0] == '-':
		f.structure.patch++
		f.words.line(f, line[1:], &kindPatch)
	}
}

// isDiffstat recognises " path/of/file | 12 ++--".
func isDiffstat(line []byte) bool {
	if bytes.IndexByte(line, '|') < 0 {
		return false
	}
	name, rest, found := bytes.Cut(line, []byte(" | "))
	if !found {
		name, rest, found = bytes.Cut(line, []byte("|"))
	}
	name, rest = bytes.TrimSpace(name), bytes.TrimSpace(rest)
	return found && len(name) > 0 && len(rest) > 0 && bytes.IndexByte(name, ' ') < 0 &&
		(asciiClass[rest[0]]&digit != 0 || bytes.HasPrefix(rest, []byte("Bin")))
}

// maxFolders bounds how many folders above a file count.
const maxFolders = 8

// readPath makes features of the path of a file that a patch touches and of the folders above it,
// once more with the place of the message: a patch to a file is no talk about it.
func (f *Featurizer) readPath(path []byte) {
	if len(path) == 0 || len(path) > 200 || !isASCII(path) {
		return
	}
	for n := 0; n <= maxFolders; n++ {
		f.terms.name = append(append(f.terms.name[:0], "path:"...), path...)
		f.terms.commit(Subject)
		f.terms.name = append(append(f.terms.name, " | "...), f.place...)
		f.terms.commit(Subject)
		i := bytes.LastIndexByte(path, '/')
		if i <= 0 {
			return
		}
		path = path[:i]
	}
}

// readTrailer reads "Signed-off-by: A <a@b>" and its like.
func (f *Featurizer) readTrailer(line []byte) bool {
	n := fieldName(line)
	if n < 2 || n > 20 || !equalFold(line[max(0, n-3):n], "-by") && !equalFold(line[:n], "cc") && !equalFold(line[:n], "fixes") {
		return false
	}
	f.structure.trailers++
	name := string(bytes.ToLower(line[:n]))
	f.terms.add(Social, "trailer:", name)
	if address := bareAddress(line[n+1:]); address != "" {
		if f.owns(address) {
			address = "owner"
		}
		f.terms.add(Social, "trailer:", name+" "+address)
	}
	return true
}
