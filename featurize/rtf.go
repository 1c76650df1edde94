// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"encoding/binary"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// rtfWords is what the window of compressed RTF begins with (MS-OXRTFCP, section 2.1.2.1).
const rtfWords = `{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor ` +
	`MS Sans SerifSymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0` + "\r\n" + `\par \pard\plain\f0\fs20\b\i\u\tab\tx`

// decompressRTF undoes MS-OXRTFCP, as far as the text is whole and up to limit bytes.
func decompressRTF(data []byte, limit int) []byte {
	const header, window = 16, 1 << 12
	if len(data) < header {
		return nil
	}
	packed := data[header:]
	if binary.LittleEndian.Uint32(data[8:]) == 0x414c454d { // "MELA": not compressed
		return packed[:min(len(packed), limit)]
	}
	out := []byte(rtfWords)
	for len(packed) > 0 {
		flags := packed[0]
		packed = packed[1:]
		for bit := 0; bit < 8 && len(packed) > 0; bit++ {
			if len(out) > limit {
				return out[len(rtfWords):]
			}
			if flags>>bit&1 == 0 {
				out, packed = append(out, packed[0]), packed[1:]
				continue
			}
			if len(packed) < 2 {
				return out[len(rtfWords):]
			}
			ref := int(binary.BigEndian.Uint16(packed))
			packed = packed[2:]
			// The place is one in the window, which the text runs through again and again.
			back := (len(out) - ref>>4) & (window - 1)
			if back == 0 || back > len(out) {
				return out[len(rtfWords):]
			}
			for range ref&15 + 2 {
				out = append(out, out[len(out)-back])
			}
		}
	}
	return out[len(rtfWords):]
}

// rtfState is what holds in a group of RTF.
type rtfState struct {
	skip   bool // it is no text of the letter
	hidden bool // it stands for markup of the HTML that was made RTF (MS-OXRTFEX)
	after  int  // how many characters follow that stand for a \u
}

// rtfReader turns RTF into lines.
type rtfReader struct {
	f      *Featurizer
	out    []byte
	raw    []byte // bytes in the code page, not decoded yet
	label  string
	state  rtfState
	groups []rtfState
	pass   int    // characters to come that stand for a \u before
	half   uint16 // of a surrogate pair
}

// maxGroups bounds the groups of RTF that are open at once; those within hold no states of
// their own.
const maxGroups = 1000

// rtfText returns the text of an RTF document in lines.
func (f *Featurizer) rtfText(text []byte) []byte {
	r := rtfReader{f: f, label: "windows-1252", state: rtfState{after: 1}}
	for i := 0; i < len(text); {
		switch c := text[i]; c {
		case '{':
			if len(r.groups) < maxGroups {
				r.groups = append(r.groups, r.state)
			}
		case '}':
			if n := len(r.groups); n > 0 {
				r.state, r.groups = r.groups[n-1], r.groups[:n-1]
			}
		case '\\':
			i += 1 + r.control(text[i+1:])
			continue
		case '\r', '\n':
		default:
			r.char(c)
		}
		i++
	}
	r.flush()
	return r.out
}

// char takes one byte of text.
func (r *rtfReader) char(c byte) {
	switch {
	case r.pass > 0:
		r.pass--
	case !r.state.skip && !r.state.hidden:
		r.raw = append(r.raw, c)
	}
}

func (r *rtfReader) flush() {
	if len(r.raw) > 0 {
		r.out = append(r.out, r.f.decodeCharset(r.raw, r.label, false)...)
		r.raw = r.raw[:0]
	}
}

// control takes what follows a backslash and returns its length.
func (r *rtfReader) control(text []byte) int {
	n := 0
	for n < len(text) && n < 32 && asciiClass[text[n]]&letter != 0 {
		n++
	}
	if n == 0 {
		return r.symbol(text)
	}
	word, start := string(text[:n]), n
	for n < len(text) && n < start+11 && (asciiClass[text[n]]&digit != 0 || n == start && text[n] == '-') {
		n++
	}
	value, err := strconv.Atoi(string(text[start:n]))
	if err != nil {
		value = 1
	}
	if n < len(text) && text[n] == ' ' {
		n++
	}
	switch word {
	case "par", "line", "row", "sect", "page":
		if !r.state.skip {
			r.raw = append(r.raw, '\n')
		}
	case "tab", "cell", "emdash", "endash":
		r.char(' ')
	case "rquote", "lquote":
		r.char('\'')
	case "fonttbl", "colortbl", "stylesheet", "info", "pict", "object", "header", "footer":
		r.state.skip = true
	case "htmlrtf":
		r.state.hidden = value != 0
	case "ansicpg":
		r.label = codePage(value)
	case "uc":
		r.state.after = max(0, min(value, 8))
	case "u":
		r.char16(uint16(value))
	case "bin":
		n += min(max(value, 0), len(text)-n)
	}
	return n
}

// symbol takes a control that is no word.
func (r *rtfReader) symbol(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	switch text[0] {
	case '\'':
		if len(text) >= 3 && isHex(text[1]) && isHex(text[2]) {
			c, _ := strconv.ParseUint(string(text[1:3]), 16, 8)
			r.char(byte(c))
			return 3
		}
	case '*':
		r.state.skip = true
	case '~':
		r.char(' ')
	case '\r', '\n':
		r.char('\n')
	case '\\', '{', '}':
		r.char(text[0])
	}
	return 1
}

// char16 takes a unit of UTF-16.
func (r *rtfReader) char16(unit uint16) {
	r.pass = r.state.after
	if r.state.skip || r.state.hidden {
		return
	}
	c := rune(unit)
	if utf16.IsSurrogate(c) {
		if r.half == 0 {
			r.half = unit
			return
		}
		c = utf16.DecodeRune(rune(r.half), c)
	}
	r.half = 0
	r.flush()
	r.out = utf8.AppendRune(r.out, c)
}
