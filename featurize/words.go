// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/segment"
	"golang.org/x/text/unicode/norm"
)

// kind says what features the words of a text become.
type kind struct {
	prefix string
	group  Group
	pairs  bool // each word with the one before, too
}

// The kinds of text.
var (
	kindSubject   = kind{"subject:", Subject, true}
	kindOpening   = kind{"opening:", Body, false}
	kindOwn       = kind{"body:", Body, false}
	kindQuoted    = kind{"quoted:", Misc, false}
	kindPatch     = kind{"patch:", Body, false}
	kindSignature = kind{"signature:", Misc, false}
	kindMailer    = kind{"mailer:", Misc, false}
	kindName      = kind{"name:", Social, false}
	// kindClaimedName is of a sender for whom nobody vouches.
	kindClaimedName = kind{"name?:", Social, false}
)

// WordNames returns the names of the features that the words of a text become behind a prefix,
// such as "subject:", which has pairs of neighbours, too.
func WordNames(prefix, text string) []string {
	f, err := New(DefaultOptions())
	if err != nil {
		return nil // the defaults are good, as a test has it
	}
	f.reset()
	f.words.text(f, text, &kind{prefix: prefix, pairs: prefix == kindSubject.prefix})
	names := make([]string, 0, len(f.terms.terms))
	for _, t := range f.terms.terms {
		names = append(names, string(f.terms.names[t.start:t.start+uint32(t.size)]))
	}
	return names
}

// DigitHeavy reports whether text is a number or a code rather than a word.
func DigitHeavy[T string | []byte](text T) bool {
	digits := 0
	for i := range len(text) {
		if asciiClass[text[i]]&digit != 0 {
			digits++
		}
	}
	return digits > 4 || len(text) > 2 && 2*digits > len(text)
}

// wordReader holds the scratch memory of the way from text to words.
type wordReader struct {
	html   htmlReader
	lines  []textLine // of the plain text at hand
	shown  []textLine // of the HTML at hand
	clean  []byte
	normal []byte
	lower  []byte
	pair   []byte
	last   []byte // the word before, for pairs
	glyphs []rune // the current run of characters that are no words by themselves
	tokens [][]byte
	types  []int
	word   []byte
	seen   int // words since the caller set it to 0
	limit  int // where seen reaches it, the rest of the line is not read
}

// text makes features of the words of a short text, which may hold any bytes.
func (w *wordReader) text(f *Featurizer, s string, k *kind) {
	w.last = w.last[:0]
	w.clean = append(w.clean[:0], s...)
	text := w.clean
	if isASCII(text) {
		w.ascii(f, text, k)
		return
	}
	w.unicode(f, append([]byte(nil), text...), k)
}

// line makes features of the words of one line.
func (w *wordReader) line(f *Featurizer, line []byte, k *kind) {
	if isASCII(line) {
		w.ascii(f, line, k)
	} else {
		w.unicode(f, line, k)
	}
}

func isASCII(text []byte) bool {
	for len(text) >= 8 {
		if binary.LittleEndian.Uint64(text)&0x8080808080808080 != 0 {
			return false
		}
		text = text[8:]
	}
	for _, c := range text {
		if c&0x80 != 0 {
			return false
		}
	}
	return true
}

// Classes of ASCII characters, after the Word_Break property of Unicode 8.0 as
// blevesearch/segment has it.
const (
	letter byte = 1 << iota
	digit
	connector // ExtendNumLet
	midLetter // between two letters it joins them
	midDigit  // between two digits it joins them
	wordy     = letter | digit | connector
)

var (
	asciiClass [256]byte
	lowerASCII [256]byte
	// wordASCII has the characters that are part of a word wherever they stand, in lower case;
	// 0 for the others.
	wordASCII [256]byte
)

func init() {
	for c := range 256 {
		lowerASCII[c] = byte(c)
		switch {
		case c >= 'a' && c <= 'z':
			asciiClass[c] = letter
		case c >= 'A' && c <= 'Z':
			asciiClass[c] = letter
			lowerASCII[c] = byte(c) + 'a' - 'A'
		case c >= '0' && c <= '9':
			asciiClass[c] = digit
		}
	}
	asciiClass['_'] = connector
	asciiClass['.'] = midLetter | midDigit
	asciiClass['\''] = midLetter | midDigit
	asciiClass[':'] = midLetter
	asciiClass[','] = midDigit
	asciiClass[';'] = midDigit
	for c, class := range asciiClass {
		if class&wordy != 0 {
			wordASCII[c] = lowerASCII[c]
		}
	}
}

// nextASCII returns the first word of ASCII text at or after from, and copies it in lower case to
// word, as far as there is room; start == len(text): none. It is four times as fast as segment,
// against which a fuzz target holds it.
func nextASCII(text []byte, from int, word []byte) (start, end int) {
	for from < len(text) && wordASCII[text[from]] == 0 {
		from++
	}
	for end = from; end < len(text); end++ {
		c := wordASCII[text[end]]
		if c == 0 {
			if c = text[end]; !joinsASCII(text, end) {
				break
			}
		}
		if n := end - from; n < len(word) {
			word[n] = c
		}
	}
	return from, end
}

// joinsASCII reports whether the character at that place, which is not the first, joins two
// letters or two digits, between which it stands.
func joinsASCII(text []byte, at int) bool {
	class := asciiClass[text[at]]
	if class == 0 || at+1 == len(text) {
		return false
	}
	both := asciiClass[text[at-1]] & asciiClass[text[at+1]]
	return class&midLetter != 0 && both&letter != 0 || class&midDigit != 0 && both&digit != 0
}

// appendLower appends text, which is ASCII, in lower case.
func appendLower(to, text []byte) []byte {
	for _, c := range text {
		to = append(to, lowerASCII[c])
	}
	return to
}

func (w *wordReader) ascii(f *Featurizer, line []byte, k *kind) {
	// The name of the feature is put together while the word is looked for.
	size := len(k.prefix)
	name := slices.Grow(append(f.terms.name[:0], k.prefix...), MaxToken)
	word := name[size : size+MaxToken]
	for at := 0; ; {
		start, end := nextASCII(line, at, word)
		if start == len(line) || w.seen >= w.limit {
			return
		}
		at = end
		if end-start > MaxToken {
			f.structure.long++
			w.last = w.last[:0]
			continue
		}
		f.terms.name = name[:size+end-start] // what noting pairs puts there begins with the prefix, too
		w.commit(f, k)
	}
}

// commit notes the word whose feature name is ready in f.terms.name.
func (w *wordReader) commit(f *Featurizer, k *kind) {
	w.seen++
	if !k.pairs {
		f.terms.commit(k.group)
		return
	}
	w.word = append(w.word[:0], f.terms.name[len(k.prefix):]...)
	f.terms.commit(k.group)
	if len(w.last) > 0 {
		w.pair = append(append(append(w.pair[:0], w.last...), ' '), w.word...)
		f.terms.addBytes(k.group, k.prefix, w.pair)
	}
	w.last = append(w.last[:0], w.word...)
}

// unicode makes features of the words that segment finds in a line, in NFKC and without characters
// that are not shown. Scripts without breaks (Han, Hiragana, Thai …) give pairs of neighbouring
// characters; symbols and emoji stand for themselves.
func (w *wordReader) unicode(f *Featurizer, line []byte, k *kind) {
	w.normal = norm.NFKC.Append(w.normal[:0], w.visible(line)...)
	w.lower = w.lower[:0]
	for _, r := range string(w.normal) {
		w.lower = utf8.AppendRune(w.lower, unicode.ToLower(r))
	}
	w.glyphs = w.glyphs[:0]
	for rest := w.lower; len(rest) > 0; {
		tokens, types, consumed, err := segment.SegmentWordsDirect(rest, w.tokens[:0], w.types[:0])
		w.tokens, w.types = tokens, types
		for i, token := range tokens {
			if w.seen < w.limit {
				w.token(f, token, types[i], k)
			}
		}
		if err == nil && consumed >= len(rest) || w.seen >= w.limit {
			break
		}
		// segment stops without an error where it can't go on; step over.
		_, size := utf8.DecodeRune(rest[consumed:])
		rest = rest[min(len(rest), consumed+max(size, 1)):]
	}
	w.flush(f, k)
}

// visible returns line in valid UTF-8 without characters of no width, which break up words unseen.
func (w *wordReader) visible(line []byte) []byte {
	w.clean = w.clean[:0]
	for len(line) > 0 {
		r, size := utf8.DecodeRune(line)
		switch {
		case r == utf8.RuneError && size == 1:
			w.clean = append(w.clean, "\uFFFD"...)
		case r == 0xad, r == 0x034f, r == 0x061c, r == 0x180e, r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e,
			r >= 0x2060 && r <= 0x206f, r >= 0xfe00 && r <= 0xfe0f, r == 0xfeff, r >= 0xe0000 && r <= 0xe0fff:
		default:
			w.clean = append(w.clean, line[:size]...)
		}
		line = line[size:]
	}
	return w.clean
}

// token makes features of one token of segment.
func (w *wordReader) token(f *Featurizer, token []byte, class int, k *kind) {
	first, size := utf8.DecodeRune(token)
	single := size == len(token)
	switch {
	case class == segment.Letter || class == segment.Number || class == segment.Kana || class == segment.Ideo && !single:
		w.flush(f, k)
		if len(token) > 2*MaxToken {
			f.structure.long++
			w.last = w.last[:0]
			return
		}
		f.terms.name = append(append(f.terms.name[:0], k.prefix...), token...)
		w.commit(f, k)
	case class == segment.Ideo || unicode.IsLetter(first):
		for _, r := range string(token) {
			w.glyphs = append(w.glyphs, r)
		}
	case unicode.IsMark(first) && len(w.glyphs) > 0: // a vowel sign of the letter before
		for _, r := range string(token) {
			w.glyphs = append(w.glyphs, r)
		}
	case first >= 0x80 && first != utf8.RuneError && unicode.IsSymbol(first):
		w.flush(f, k)
		f.terms.name = append(append(f.terms.name[:0], k.prefix...), token[:size]...)
		w.commit(f, k)
	default:
		w.flush(f, k)
	}
}

// flush makes features of the characters gathered: each with its neighbour, or one alone.
func (w *wordReader) flush(f *Featurizer, k *kind) {
	run := w.glyphs
	w.glyphs = w.glyphs[:0]
	for i := range run {
		if i+1 == len(run) && i > 0 {
			break
		}
		name := utf8.AppendRune(append(f.terms.name[:0], k.prefix...), run[i])
		if i+1 < len(run) {
			name = utf8.AppendRune(name, run[i+1])
		}
		f.terms.name = name
		f.terms.commit(k.group)
		if w.seen++; w.seen >= w.limit {
			return
		}
	}
}

// readURL makes features of the host that a link leads to.
func (f *Featurizer) readURL(url []byte) {
	_, rest, found := bytes.Cut(url, []byte("://"))
	if !found {
		return
	}
	f.readHost(rest)
}

// readHost makes features of the host at the start of text: whole, and its last two labels.
func (f *Featurizer) readHost(text []byte) {
	end := 0
	for end < len(text) && end < 100 {
		c := text[end]
		if asciiClass[c]&(letter|digit) == 0 && c != '.' && c != '-' && c != '_' && c < 0x80 {
			break
		}
		end++
	}
	host := bytes.Trim(text[:end], ".-")
	if len(host) == 0 {
		return
	}
	f.structure.links++
	if !utf8.Valid(host) {
		host = bytes.ToValidUTF8(host, []byte("\uFFFD"))
	}
	host = bytes.ToLower(host)
	f.terms.addBytes(Body, "host:", host)
	if i := bytes.LastIndexByte(host, '.'); i > 0 {
		if j := bytes.LastIndexByte(host[:i], '.'); j >= 0 {
			f.terms.addBytes(Body, "host:", host[j+1:])
		}
	}
}
