// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"math/bits"
	"regexp"
	"unicode"
	"unicode/utf8"
)

// What is looked at to decide about one line is limited, so that time is linear in the text.
const (
	attributionLines, attributionBytes = 6, 400
	headerBlockLines, blankLines       = 20, 10
	signatureLines                     = 40 // below "-- " with a space (RFC 3676, section 4.3)
	looseLines                         = 15 // below "--"
	mostDashes                         = 30
)

// quoteReader decides whose words the lines of a text are.
type quoteReader struct {
	lines   []textLine
	rest    lineMark // of the lines that follow, unless something else begins
	patch   bool     // within a patch
	series  bool     // the message is a patch
	rules   bool     // "--" stands between the sections of the text
	dashed  int      // lines of "--" looked at
	plain   [2]int   // lines that begin no block of header lines
	forward bool     // another's words are passed on
	low     []byte   // scratch
}

// read marks each line; series: the message is a patch.
func (q *quoteReader) read(lines []textLine, series bool) {
	*q = quoteReader{lines: lines, series: series, low: q.low}
	for i := 0; i < len(lines); {
		i = q.next(i)
	}
	q.lines = nil
}

// at returns line i without white space around it.
func (q *quoteReader) at(i int) []byte { return bytes.TrimSpace(q.lines[i].text) }

// mark marks lines and returns the one behind.
func (q *quoteReader) mark(from, end int, mark lineMark) int {
	for i := from; i < end; i++ {
		q.lines[i].mark = mark
	}
	return end
}

// next marks line i, those that go with it, and returns the line behind.
func (q *quoteReader) next(i int) int {
	text, mark := q.at(i), q.lines[i].mark
	if mark == markQuoted && q.rest == markSignature {
		q.rest = markNone
	}
	if mark != markNone || len(text) == 0 {
		return i + 1
	}
	if q.patch = q.patch && inPatch(q.lines[i].text); q.patch || q.rest != markQuoted && q.startsPatch(i) {
		q.patch, q.rest = true, markNone
		return q.mark(i, i+1, markPatch)
	}
	if end := q.armour(i, text); end > i {
		return q.mark(i, end, markNothing)
	}
	if q.rest == markQuoted {
		if _, forward, ends := q.separator(text); forward && ends {
			q.rest = markNone
		}
		return q.mark(i, i+1, markQuoted)
	}
	quoted := isQuote(text)
	if !quoted || len(text) < 12 && text[len(text)-1] == ':' { // "> wrote:" can end what wrapped
		if from, end := q.quotation(i, text); end > i {
			q.mark(from, end, markQuoted)
			q.rest = q.unmarked(end)
			return end
		}
	}
	if quoted || q.wrapped(i, text) {
		if q.rest == markSignature {
			q.rest = markNone
		}
		return q.mark(i, i+1, markQuoted)
	}
	return q.below(i, text)
}

// below marks line i, which is no quotation, and tells whether a signature begins there.
func (q *quoteReader) below(i int, text []byte) int {
	switch {
	case string(text) == "--", isRule(text):
		if q.rest != markSignature && (text[0] == '-' && len(text) == 2 && q.dashes(i) || q.footer(i+1)) {
			q.rest = markSignature
		}
		return q.mark(i, i+1, markNothing)
	case q.rest == markSignature:
	case q.isDevice(text):
		// Phones put their line below what was written and above what is quoted.
		if k := q.filled(i + 1); k < len(q.lines) && !q.follows(k) && !isRule(q.at(k)) && !q.boilerplate(k) && !q.starts(k) && hasWord(q.lower(text), "name") {
			q.rest = markQuoted
		}
		return q.mark(i, i+1, markSignature)
	case q.boilerplate(i):
		end := i + 1
		for n := len(text); n >= 45 && n <= 120 && end < len(q.lines) && len(q.at(end)) > 0 && !q.follows(end); end++ {
			n = len(q.at(end)) // a paragraph goes on below a line that is full
		}
		return q.mark(i, end, markSignature)
	}
	return q.mark(i, i+1, q.rest)
}

// lower returns text with ASCII in lower case. It holds until the next call.
func (q *quoteReader) lower(text []byte) []byte {
	q.low = appendLower(q.low[:0], text[:min(len(text), 1000)])
	return q.low
}

// filled returns the first line at or behind i that is not blank.
func (q *quoteReader) filled(i int) int {
	for end := min(i+blankLines, len(q.lines)); i < end && len(q.at(i)) == 0; i++ {
	}
	return i
}

// follows reports whether the first line at or behind i that is not blank is marked as quoted.
func (q *quoteReader) follows(i int) bool {
	i = q.filled(i)
	if i == len(q.lines) || q.lines[i].mark != markNone {
		return i < len(q.lines) && q.lines[i].mark == markQuoted
	}
	return len(q.at(i)) > 0 && isQuote(q.at(i))
}

// unmarked is the mark of the lines below an attribution: quoted, unless quote marks tell.
func (q *quoteReader) unmarked(i int) (mark lineMark) {
	var last byte
	for k, n := q.filled(i), 0; k < len(q.lines) && len(q.at(k)) > 0 && n < signatureLines; k, n = q.filled(k+1), n+1 {
		if q.follows(k) && last != ':' {
			return markNone
		} else if q.follows(k) {
			break
		}
		last, mark = q.at(k)[len(q.at(k))-1], markQuoted
	}
	return mark
}

// isQuote reports whether a line, without the white space around it, is quoted:
// ">" as everywhere, "|" as some, "ab>" as a few do. A table has more than one "|".
func isQuote(line []byte) bool {
	switch line[0] {
	case '>':
		return len(line) < 12 || !bytes.Contains(line, []byte("<<<"))
	case '|':
		rest := bytes.TrimLeft(line, "|> -+")
		return len(rest) > 0 && bytes.IndexByte(rest, '|') < 0
	}
	for i, c := range line {
		if c == '>' || i == 4 || asciiClass[c]&letter == 0 {
			return c == '>' && i > 0
		}
	}
	return false
}

// wrapped reports whether line i is the end of a quoted line.
func (q *quoteReader) wrapped(i int, text []byte) bool {
	if i == 0 || i+1 == len(q.lines) || !bytes.HasPrefix(q.at(i-1), []byte(">")) || len(q.at(i+1)) == 0 || !q.follows(i+1) {
		return false
	}
	before := q.at(i - 1)
	first, _ := utf8.DecodeRune(text)
	return len(before) >= 60 && unicode.IsLower(first) || bytes.HasPrefix(text, []byte("(http")) || bytes.IndexByte(text, ' ') < 0 &&
		(bytes.Contains(text, []byte("://")) || bytes.LastIndexAny(before, "(<") > bytes.LastIndexAny(before, ")>"))
}

// starts reports whether lines that say who is quoted begin with line i.
func (q *quoteReader) starts(i int) bool {
	for k := i; k < min(i+4, len(q.lines)) && len(q.at(k)) > 0; k++ {
		if from, end := q.quotation(k, q.at(k)); end > k && from <= i {
			return true
		}
	}
	return false
}

// quotation returns the lines that say who is quoted: an attribution that ends with line i, or a
// separator or header lines that begin there.
func (q *quoteReader) quotation(i int, text []byte) (from, end int) {
	original, forward, ends := q.separator(text)
	if text[len(text)-1] >= 0x80 {
		if text = bytes.TrimRight(text, labelCutset); len(text) == 0 {
			return i, i
		}
	}
	last := text[len(text)-1]
	if last == ':' && len(text) < 80 {
		forward = q.headers(q.filled(i+1)) > 0 && hasWord(q.lower(text), "forward")
	}
	dashed := len(text) > 8 && text[0] == last && (last == '-' || last == '=')
	if (original || forward) && !ends || dashed || isRule(text) {
		end = q.headers(q.filled(i + 1))
		if q.forward = q.forward || forward; end > 0 || original || forward {
			return i, max(i+1, end)
		}
	}
	if last == ':' || bytes.HasSuffix(text, []byte("：")) || dashed || last == 'e' && bytes.HasSuffix(text, []byte(" wrote")) ||
		last == '>' && asciiClass[text[0]]&digit != 0 && q.follows(i+1) {
		if from = q.attribution(i, !dashed && last != 'e'); from >= 0 {
			return from, i + 1
		}
	}
	return i, q.headers(i)
}

// separator reads a line between dashes: "-----Original Message-----", "--- Forwarded message ---",
// "--- End forwarded message ---".
func (q *quoteReader) separator(text []byte) (original, forward, ends bool) {
	if c := text[0]; c != '-' && c != '_' && c != '=' && c != '*' && c != 0xe2 || len(text) > 150 {
		return false, false, false
	}
	middle := bytes.Trim(text, "-_=*—–― ")
	if len(middle) == 0 || len(text)-len(middle) < 4 {
		return false, false, false
	}
	low := q.lower(middle)
	for _, word := range lists["end"] {
		ends = ends || bytes.HasPrefix(low, []byte(word))
	}
	return hasWord(low, "original"), hasWord(low, "forward"), ends
}

// headers returns the end of the header lines that begin with line i, as Outlook puts them above a
// quotation: who, when, to whom, about what; 0: none.
func (q *quoteReader) headers(i int) (end int) {
	var seen byte
	var address, patch bool
	if i >= q.plain[0] && i < q.plain[1] {
		return 0
	}
	for k := i; k < min(len(q.lines), i+headerBlockLines, max(end, i)+3) && (k == i || end > 0); k++ {
		text := q.lines[k].text
		if classes := q.labelled(text); classes != 0 {
			seen, end = seen|classes, k+1
			address, patch = address || bytes.IndexByte(text, '@') >= 0, patch || bytes.Contains(text, []byte("[PATCH"))
		}
	}
	for end > 0 && end < len(q.lines) && end < i+headerBlockLines && !bytes.HasPrefix(q.at(end), []byte(">")) && bytes.IndexByte(q.at(end), '@') >= 0 {
		end++ // more addresses
	}
	n := bits.OnesCount8(seen & (labelFrom | labelTo | labelSubject))
	if seen&(labelSent|labelDate) != 0 {
		n++
	}
	if seen&(labelFrom|labelTo) == 0 || n < 2 || n == 2 && (!address || seen&(labelSent|labelDate) == 0) ||
		seen&labelSent == 0 && !address || // a timetable, a memorandum
		// git am reads such lines above a patch, and an mbox has them
		seen&labelTo == 0 && (q.series || patch) || i > 0 && bytes.HasPrefix(bytes.TrimPrefix(q.lines[i-1].text, []byte(">")), []byte("From ")) {
		q.plain = [2]int{i, end}
		return 0
	}
	return end
}

// labelCutset is what markup and mail programs put around a label, marks of direction among them.
const labelCutset = " \t*_;\u00a0\u200e\u200f\u202a\u202b\u202c"

// labelled returns the classes of the labels in a line that begins with one.
func (q *quoteReader) labelled(line []byte) (classes byte) {
	for size := 48; len(line) < 2000; size = len(line) {
		head := line[:min(len(line), size)]
		at := bytes.IndexByte(head, ':')
		if at < 0 && !isASCII(head) {
			at = bytes.Index(head, []byte("："))
		}
		if at < 0 {
			break
		}
		name := bytes.Trim(head[:at], labelCutset)
		if classes != 0 {
			name = name[1+bytes.LastIndexAny(name, " *;"):]
		}
		if classes |= headerLabels[string(q.lower(name))]; classes == 0 {
			break
		}
		line = line[at+1:]
	}
	return classes
}

// What an attribution has.
var (
	dateIn    = regexp.MustCompile(`(^|\D)((1[3-9]|20|25)\d\d(\D|$)|\d{1,2}[./-]\d{1,2}[./-]\d\d)`)
	addressIn = regexp.MustCompile(`[^ ]@[^ ]`)
	timeIn    = regexp.MustCompile(`(^|\D)\d{1,2}[:.h]\d\d(\D|$)`)
)

// clues are what the lines of an attribution have. bracket: the last one has ">".
type clues struct{ wrote, address, date, clock, bracket bool }

// complete adds the clues of one more line above, in lower case; dates: it is the first with a date.
func (c *clues) complete(low []byte, opening, colon bool) (complete, dates bool) {
	dates = !c.date && dateIn.Match(low)
	c.date, c.clock = c.date || dates, c.clock || timeIn.Match(low)
	if !colon {
		return c.wrote && (c.clock || c.address) && (c.date || opening), dates
	}
	return c.wrote && (c.address || c.date && (opening || c.clock) || opening && c.clock) || c.address && c.bracket && c.date && c.clock, dates
}

// attribution returns where the attribution begins that ends with line i, -1: nowhere. It is "On …
// wrote:" in many languages, or a date, a time and an address before a colon. If a quotation
// follows, less will do.
func (q *quoteReader) attribution(i int, colon bool) (best int) {
	has := clues{bracket: bytes.IndexByte(q.at(i), '>') >= 0}
	best, weak, size := -1, -1, 0
	for from := i; from > max(-1, i-attributionLines); from-- {
		text := q.at(from)
		if len(text) == 0 && from > 0 && bytes.HasPrefix(q.at(from+1), []byte("<")) {
			continue // some write "<", the address and ">" on lines of their own
		}
		if size += len(text); len(text) == 0 || size > attributionBytes || from < i && (q.lines[from].mark == markQuoted || text[len(text)-1] == ':' || bytes.HasSuffix(text, []byte(" wrote"))) {
			break
		}
		low := q.lower(text)
		has.wrote = has.wrote || hasWord(low, "wrote")
		if has.address = has.address || addressIn.Match(low); !has.wrote && !has.address && text[0] != '>' {
			return -1
		}
		opening := attributionOpenings.begin(bytes.TrimLeft(text, "-=* ")) && bytes.ContainsAny(text, "0123456789")
		switch complete, dates := has.complete(low, opening, colon); {
		case complete && opening:
			return from
		case complete && (best < 0 || dates):
			best = from
		}
		if weak < 0 && text[0] != '<' {
			weak = from
		}
	}
	if best < 0 && q.follows(i+1) {
		return weak
	}
	return best
}

// isRule recognises a line drawn across the text.
func isRule(text []byte) bool {
	c := text[0]
	return (len(text) >= 5 && (c == '-' || c == '=' || c == '*') || len(text) >= 2 && c == '_') && len(bytes.Trim(text, string(c)+" ")) == 0
}

// dashes reports whether a signature begins below line i, "--", which also parts newsletters.
func (q *quoteReader) dashes(i int) bool {
	loose, limit, n := !bytes.HasSuffix(q.lines[i].text, []byte{' '}), signatureLines, 0
	if loose {
		limit = looseLines
	}
	if q.dashed++; q.dashed > mostDashes {
		return false
	}
	for k := q.filled(i + 1); k < len(q.lines) && n <= limit; k = q.filled(k + 1) {
		if q.follows(k) || q.starts(k) {
			return n > 0
		}
		if loose && string(q.at(k)) == "--" && !q.footer(k+1) {
			q.rules = true
			return false
		}
		n++
	}
	return n <= limit && (!loose || !q.rules || q.footer(i+1))
}

// footer reports whether what a list puts below begins at line i.
func (q *quoteReader) footer(i int) bool {
	for k, n := q.filled(i), 0; k < len(q.lines) && !q.follows(k); k, n = q.filled(k+1), n+1 {
		if n == looseLines {
			return false
		}
	}
	for n := 0; n < 4 && q.filled(i) < len(q.lines); n++ {
		if i = q.filled(i) + 1; hasWord(q.lower(q.at(i-1)), "list") || q.boilerplate(i-1) {
			return true
		}
	}
	return false
}

// isDevice recognises "Sent from my iPhone" and the like.
func (q *quoteReader) isDevice(text []byte) bool {
	if len(text) > 120 || !deviceOpenings.begin(text) {
		return false
	}
	text, _, _ = bytes.Cut(text, []byte{'<'}) // where to get the program
	return !bytes.ContainsAny(text, ",?") && bytes.Count(text, []byte{' '}) <= 8 &&
		(!bytes.ContainsAny(text, ".!;") || hasWord(q.lower(text), "name"))
}

// boilerplate recognises the first line of what lists, programs and lawyers put below.
func (q *quoteReader) boilerplate(i int) bool {
	text := bytes.TrimLeft(q.at(i), "*_ ")
	if len(text) < 40 || !disclaimerOpenings.begin(text) || len(text) < 100 && i > 0 && len(q.at(i-1)) > 0 {
		return footerOpenings.begin(text)
	}
	within := func(list string) bool {
		for k := i; k < min(i+4, len(q.lines)) && len(q.at(k)) > 0; k++ {
			if hasWord(q.lower(q.at(k)), list) {
				return true
			}
		}
		return false
	}
	return footerOpenings.begin(text) || within("secret") && within("recipient")
}

// armour returns the end of the block at line i that is no text: OpenPGP and PEM (RFC 9580,
// section 6), uuencoded files, base64; i: none.
func (q *quoteReader) armour(i int, text []byte) int {
	k := i + 1
	switch {
	case text[0] == '-' && bytes.HasPrefix(text, []byte("-----BEGIN ")):
		for k < min(i+6, len(q.lines)) && bytes.Contains(q.at(k), []byte(": ")) { // "Hash: SHA256"
			k++
		}
		if !bytes.HasPrefix(text, []byte("-----BEGIN PGP SIGNED")) {
			k = q.run(k, 0, base64Letters)
		}
		if k < len(q.lines) && bytes.HasPrefix(q.at(k), []byte("-----END ")) {
			k++
		}
		return k
	case text[0] == 'b' && len(text) > 10 && bytes.HasPrefix(text, []byte("begin ")) && text[9] == ' ' && len(bytes.Trim(text[6:9], "01234567")) == 0:
		if k = q.run(k, 1, uuLetters); k < len(q.lines) && string(q.at(k)) == "end" {
			return k + 1
		}
	case len(text) >= 60 && bytes.IndexByte(text, ' ') < 0:
		if k = q.run(i, len(text), base64Letters); k >= i+3 {
			return k
		}
	}
	return i
}

const (
	base64Letters = base64Alphabet + "="
	uuLetters     = " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`"
)

// run returns the first line at or behind k that is shorter, or has other letters.
func (q *quoteReader) run(k, least int, letters string) int {
	for k < len(q.lines) && len(q.at(k)) >= least && len(bytes.Trim(q.at(k), letters)) == 0 {
		k++
	}
	return k
}
