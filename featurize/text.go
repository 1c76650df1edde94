// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"math"
)

// openingWords is how many words of the writer's own text count once more, as
// its opening: people say first what they want.
const openingWords = 40

// textLine is one line of a text as it is shown, without its end.
type textLine struct {
	text []byte
	mark lineMark
}

// lineMark is what the markup around a line says of it.
type lineMark uint8

const (
	markNone      lineMark = iota // nothing, as in plain text
	markQuoted                    // somebody else's words
	markSignature                 // the writer's signature
)

// readText makes features of decoded text, line by line. It distinguishes what the
// writer wrote, what is quoted, and patches.
func (f *Featurizer) readText(lines []textLine) {
	t := textReader{f: f}
	for _, line := range lines {
		f.body.text -= len(line.text) + 1
		switch line.mark {
		case markQuoted:
			f.structure.quoted++
			f.words.line(f, line.text, &kindQuoted)
		case markSignature:
			f.structure.signature++
			f.words.line(f, line.text, &kindSignature)
		default:
			t.line(line.text)
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

// textReader knows where in a text it is.
type textReader struct {
	f         *Featurizer
	patch     bool // within a patch
	signature bool // below the signature's dashes
}

func (t *textReader) line(line []byte) {
	f, s := t.f, &t.f.structure
	trimmed := bytes.TrimSpace(line)
	if len(trimmed) == 0 {
		return
	}
	if t.patch {
		if t.patchLine(line) {
			return
		}
		t.patch = false
	}
	switch {
	case t.startsPatch(line):
		t.patch, t.signature = true, false
		t.patchLine(line)
	case t.signature:
		s.signature++
		f.words.line(f, line, &kindSignature)
	case isQuote(trimmed):
		s.quoted++
		f.words.line(f, line, &kindQuoted)
	case string(bytes.TrimRight(line, " ")) == "--" || bytes.HasPrefix(line, []byte("__________")):
		t.signature = true
	case isDiffstat(trimmed):
		s.diffstat++
		path, _, _ := bytes.Cut(trimmed, []byte{' '})
		f.readPath(path)
	case t.trailer(trimmed):
	default:
		t.own(line)
	}
}

func (t *textReader) own(line []byte) {
	f, s := t.f, &t.f.structure
	s.own++
	s.questions += bytes.Count(line, []byte{'?'})
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

// isQuote reports whether a line, without the white space around it, is quoted:
// ">" as everywhere, "|" as some, "ab>" as a few do.
func isQuote(line []byte) bool {
	if line[0] == '>' || line[0] == '|' {
		return true
	}
	for i, c := range line {
		if c == '>' {
			return i > 0
		}
		if i == 4 || asciiClass[c]&letter == 0 {
			return false
		}
	}
	return false
}

// startsPatch reports whether a patch begins at line.
func (t *textReader) startsPatch(line []byte) bool {
	switch line[0] {
	case 'd', 'I', '-', '@': // as few lines begin
	default:
		return false
	}
	return bytes.HasPrefix(line, []byte("diff -")) || bytes.HasPrefix(line, []byte("Index: ")) ||
		bytes.HasPrefix(line, []byte("--- a/")) || bytes.HasPrefix(line, []byte("@@ -")) ||
		bytes.HasPrefix(line, []byte("--- ")) && bytes.ContainsRune(line, '/')
}

// patchLine reads a line if it belongs to a patch.
func (t *textReader) patchLine(line []byte) bool {
	f := t.f
	switch {
	case line[0] == ' ' || line[0] == '\t':
		f.words.line(f, line, &kindPatch)
	case string(bytes.TrimRight(line, " ")) == "--":
		return false
	case bytes.HasPrefix(line, []byte("+++ ")) || bytes.HasPrefix(line, []byte("--- ")):
		path, _, _ := bytes.Cut(line[4:], []byte{'\t'})
		path, _, _ = bytes.Cut(path, []byte{' '})
		if string(path) != "/dev/null" {
			_, path, _ = bytes.Cut(path, []byte{'/'})
			f.readPath(path)
		}
	case bytes.HasPrefix(line, []byte("@@ ")):
		if i := bytes.LastIndex(line, []byte("@@")); i > 2 {
			f.words.line(f, line[i+2:], &kindPatch)
		}
	case line[0] == '+' || line[0] == '-':
		f.structure.patch++
		f.words.line(f, line[1:], &kindPatch)
	case bytes.HasPrefix(line, []byte("diff ")), bytes.HasPrefix(line, []byte("index ")), bytes.HasPrefix(line, []byte("Index: ")),
		bytes.HasPrefix(line, []byte("new file mode ")), bytes.HasPrefix(line, []byte("deleted file mode ")),
		bytes.HasPrefix(line, []byte("old mode ")), bytes.HasPrefix(line, []byte("new mode ")),
		bytes.HasPrefix(line, []byte("rename ")), bytes.HasPrefix(line, []byte("similarity index ")),
		bytes.HasPrefix(line, []byte("======")), bytes.HasPrefix(line, []byte("\\ No newline")):
	default:
		return false
	}
	return true
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

// readPath makes features of the path of a file that a patch touches and of each
// folder above it, once more with the place of the message: a patch to a file,
// and talk about one, are different things.
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

// trailer reads "Signed-off-by: A <a@b>" and its like.
func (t *textReader) trailer(line []byte) bool {
	n := fieldName(line)
	if n < 2 || n > 20 || !equalFold(line[max(0, n-3):n], "-by") && !equalFold(line[:n], "cc") && !equalFold(line[:n], "fixes") {
		return false
	}
	f := t.f
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
