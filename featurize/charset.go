// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gogs/chardet"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
)

// decode returns text in UTF-8, though not always valid. The label is
// believed last, since it lies more often than a text is valid UTF-8 by chance:
//
//  1. byte order marks, and charsets that look like ASCII or hold NULs by nature;
//  2. UTF-8, as it is, where most of what is not ASCII is valid;
//  3. the label, but for UTF-8 and ASCII, which the text is not, and if it fits;
//  4. the label that second finds; nil for none;
//  5. a guess.
func (f *Featurizer) decode(text []byte, label string, second func(text []byte) (label string)) []byte {
	label = charsetName(label)
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		label = "utf16"
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if out, ok := decodeStateful(text, label); ok {
		return out
	}
	if utf8.Valid(text) {
		return text
	}
	good, bad := sequences(text)
	likely := good >= 8*bad
	switch label {
	case "utf-8":
		f.defect("invalid UTF-8")
		likely = good >= bad
	case "":
		f.defect("8-bit text without charset")
		likely = good > bad
	}
	if likely {
		return text
	}
	if out, ok := convert(text, label); ok {
		return out
	}
	if label != "" && label != "utf-8" {
		f.defect("unknown charset")
	}
	var out []byte
	ok := false
	if second != nil {
		out, ok = convert(text, charsetName(second(text)))
	}
	if !ok {
		if f.guesses++; f.guesses <= maxGuesses {
			out, ok = convert(text, guess(text))
		}
		if !ok {
			out, _ = convert(text, "windows-1252")
		}
	}
	return out
}

// sequences counts the valid characters outside ASCII, and the bytes that belong to none.
func sequences(text []byte) (good, bad int) {
	for len(text) > 0 {
		r, n := rune(text[0]), 1
		if r >= utf8.RuneSelf {
			if r, n = utf8.DecodeRune(text); r == utf8.RuneError && n == 1 {
				bad++
			} else {
				good++
			}
		}
		text = text[n:]
	}
	return good, bad
}

// convert decodes text from a charset, if it is known and fits: a quarter of what is not ASCII
// may be unreadable.
func convert(text []byte, label string) (out []byte, ok bool) {
	if label == "" || label == "utf-8" {
		return nil, false
	}
	e, err := htmlindex.Get(label)
	if err != nil || e == encoding.Replacement {
		e, err = ianaindex.IANA.Encoding(label)
	}
	if err != nil || e == nil {
		return nil, false
	}
	// What can't be decoded comes out as U+FFFD; an error is the end of what can be read.
	out, _ = e.NewDecoder().Bytes(text)
	good, _ := sequences(out)
	return out, 4*bytes.Count(out, []byte("\uFFFD")) <= good
}

// decodeStateful decodes the charsets whose text may pass for ASCII or UTF-8. Escapes of ISO 2022
// count whatever the label says.
func decodeStateful(text []byte, label string) (out []byte, ok bool) {
	var e encoding.Encoding
	switch {
	case label == "utf-7":
		return fromUTF7(text), true
	case label == "hz" && bytes.Contains(text, []byte("~{")):
		e = simplifiedchinese.HZGB2312
	case strings.HasPrefix(label, "utf16") && (bytes.IndexByte(text, 0) >= 0 || !utf8.Valid(text)):
		end := unicode.LittleEndian
		if label == "utf16be" || label == "utf16" && len(text) > 0 && text[0] == 0 {
			end = unicode.BigEndian
		}
		e = unicode.UTF16(end, unicode.UseBOM)
	case bytes.Contains(text, []byte("\x1b$)C")):
		return from2022KR(text), true
	case bytes.Contains(text, []byte("\x1b$")), bytes.Contains(text, []byte("\x1b(J")), bytes.Contains(text, []byte("\x1b(I")):
		e, _ = htmlindex.Get("iso-2022-jp")
	default:
		return nil, false
	}
	out, _ = e.NewDecoder().Bytes(text)
	return out, true
}

// from2022KR decodes ISO-2022-KR (RFC 1557): between SO and SI stand the bytes of EUC-KR
// without their highest bit.
func from2022KR(text []byte) []byte {
	euc := make([]byte, 0, len(text))
	high := byte(0)
	for _, c := range bytes.ReplaceAll(text, []byte("\x1b$)C"), nil) {
		switch {
		case c == 0x0e:
			high = 0x80
		case c == 0x0f:
			high = 0
		case c > ' ' && c < 0x7f:
			euc = append(euc, c|high)
		default:
			euc = append(euc, c)
		}
	}
	out, _ := korean.EUCKR.NewDecoder().Bytes(euc)
	return out
}

// fromUTF7 decodes UTF-7 (RFC 2152): "+", UTF-16 in base64, and "-", which may be missing.
func fromUTF7(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for {
		plain, rest, found := bytes.Cut(text, []byte{'+'})
		if out = append(out, plain...); !found {
			return out
		}
		text = bytes.TrimLeft(rest, base64Alphabet)
		run := rest[:len(rest)-len(text)]
		text = bytes.TrimPrefix(text, []byte{'-'})
		units := make([]byte, base64.RawStdEncoding.DecodedLen(len(run)))
		n, _ := base64.RawStdEncoding.Decode(units, run)
		if n < 2 {
			out = append(append(out, '+'), run...)
		}
		chars, _ := unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewDecoder().Bytes(units[:n&^1])
		out = append(out, chars...)
	}
}

const base64Alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

const (
	guessed    = 4096 // bytes of a text that are looked at for a guess
	maxGuesses = 30   // of one message: each takes as long as a short message
)

// guess names the charset of 8-bit text without a label; "" if it can't be told.
func guess(text []byte) (label string) {
	at := bytes.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
	text = text[max(0, at-guessed/4):]
	text = text[:min(len(text), guessed)]
	results, _ := chardet.NewTextDetector().DetectAll(text) // with an error, none
	most := 0
	if good, bad := sequences(text); 2*(good+bad) < len(text) {
		most = 10 // as much as a few letters are to it, which are western in life
	}
	for _, r := range results { // equals come in any order
		name := charsetName(r.Charset)
		if strings.HasPrefix(name, "utf") || strings.HasPrefix(name, "ibm") || strings.HasPrefix(name, "iso-2022") {
			continue
		}
		if r.Confidence > most || r.Confidence == most && label != "" && !western(label) && (western(name) || name < label) {
			most, label = r.Confidence, name
		}
	}
	return label
}

func western(label string) bool { return label == "windows-1252" || label == "iso-8859-1" }

// metaCharset finds the label in the first KiB of an HTML document (WHATWG HTML,
// "prescan a byte stream to determine its encoding", in short).
func metaCharset(text []byte) string {
	head := bytes.ToLower(text[:min(len(text), 1024)])
	_, after, _ := bytes.Cut(head, []byte("charset="))
	after = bytes.TrimLeft(after, `"' `)
	end := bytes.IndexAny(after, `"'> ;/`)
	return string(after[:max(end, 0)])
}

// charsetName returns the name under which convert and decodeStateful know a charset; "" for
// ASCII, which says nothing of 8-bit text, and for "unknown".
func charsetName(label string) string {
	switch label {
	case "", "us-ascii", "US-ASCII", "ascii":
		return ""
	case "utf-8", "UTF-8":
		return "utf-8"
	}
	label = strings.ToLower(label)
	if i := strings.LastIndex(label, "charset="); i >= 0 {
		label = label[i+len("charset="):]
	}
	label = strings.TrimLeft(label, "\"'<= \t")
	if i := strings.IndexAny(label, "\"'<>=;,*?()[] \t"); i > 0 {
		label = label[:i]
	}
	// Without what stands between letters and digits, and without x- before them.
	short := strings.TrimPrefix(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, label), "x")
	if name, ok := charsetAliases[short]; ok {
		return name
	}
	digits := strings.TrimLeft(short, "abcdefghijklmnopqrstuvwxyz")
	if part, ok := strings.CutPrefix(digits, "8859"); ok && part != "" {
		return "iso-8859-" + strings.TrimSuffix(part, "1987")
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return label
	}
	switch short[:len(short)-len(digits)] {
	case "", "cp", "ms", "win", "windows", "ibm", "dos", "ansi", "codepage":
		if name, ok := charsetAliases[digits]; ok {
			return name
		}
		if n >= 1250 && n <= 1258 {
			return "windows-" + digits
		}
		return "ibm" + digits
	}
	return label
}

// charsetAliases has names, without punctuation, that x/text does not know or reads otherwise than
// mail programs do.
var charsetAliases = func() map[string]string {
	all := map[string]string{}
	for _, entry := range lists["charsets"] {
		name, aliases, _ := strings.Cut(entry, ": ")
		for alias := range strings.FieldsSeq(aliases) {
			all[alias] = name
		}
	}
	return all
}()
