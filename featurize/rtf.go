// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"encoding/binary"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// rtfWords is what the window of compressed RTF begins with (MS-OXRTFCP, section 2.1.2.1).
const rtfWords = `{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor ` +
	`MS Sans SerifSymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0` + "\r\n" + `\par \pard\plain\f0\fs20\b\i\u\tab\tx`

// decompressRTF undoes MS-OXRTFCP, as far as the text is whole and up to limit bytes.
func decompressRTF(data []byte, limit int) []byte {
	if len(data) < 16 {
		return nil
	}
	packed := data[16:]
	if string(data[8:12]) == "MELA" { // not compressed
		return packed[:min(len(packed), limit)]
	}
	out := []byte(rtfWords)
	for n, flags := 0, 0; len(packed) > 0 && len(out) < limit; n, flags = n+1, flags>>1 {
		switch {
		case n%9 == 0:
			flags, packed = int(packed[0])<<1, packed[1:] // of the next eight
		case flags&1 == 0:
			out, packed = append(out, packed[0]), packed[1:]
		case len(packed) < 2:
			return out[len(rtfWords):]
		default:
			// A place in the window of 4 KiB, which the text runs through again and again.
			ref := int(binary.BigEndian.Uint16(packed))
			back := (len(out) - ref>>4) & 0xfff
			if packed = packed[2:]; back == 0 || back > len(out) {
				return out[len(rtfWords):]
			}
			for range ref&15 + 2 {
				out = append(out, out[len(out)-back])
			}
		}
	}
	return out[len(rtfWords):]
}

// rtfControl is a byte in the code page, a control word with its number, or another control.
// rtfSkipped are the words that begin a group without text of the letter.
var (
	rtfControl = regexp.MustCompile(`(?s)^\\(?:'([0-9A-Fa-f]{2})|([A-Za-z]+)(-?[0-9]{1,9})? ?|(.))`)
	rtfSkipped = map[string]bool{"*": true, "fonttbl": true, "colortbl": true, "stylesheet": true, "info": true, "pict": true, "object": true}
)

// rtfText returns the text of an RTF document in lines, without the markup of the HTML that
// it may have been made from (MS-OXRTFEX). Groups within 1,000 others end with these.
func (f *Featurizer) rtfText(rtf []byte) []byte {
	type state struct {
		skip, markup bool
		after        int // how many characters follow that stand for a \u
	}
	now, label, pass := state{after: 1}, "windows-1252", 0
	var groups []state
	var out, raw []byte // raw is in the code page
	put := func(c byte) {
		if pass > 0 {
			pass--
		} else if !now.skip && !now.markup {
			raw = append(raw, c)
		}
	}
	flush := func() {
		out = append(out, f.decodeCharset(raw, label, false)...)
		raw = raw[:0]
	}
	for len(rtf) > 0 {
		c := rtf[0]
		if c != '\\' {
			rtf = rtf[1:]
			switch {
			case c == '{' && len(groups) < 1000:
				groups = append(groups, now)
			case c == '}' && len(groups) > 0:
				now, groups = groups[len(groups)-1], groups[:len(groups)-1]
			case strings.IndexByte("{}\r\n", c) < 0:
				put(c)
			}
			continue
		}
		m := rtfControl.FindSubmatch(rtf)
		if m == nil {
			break // a backslash at the end
		}
		rtf = rtf[len(m[0]):]
		number, err := strconv.Atoi(string(m[3]))
		switch word := string(m[2]) + string(m[4]); {
		case m[1] != nil:
			c, _ := strconv.ParseUint(string(m[1]), 16, 8)
			put(byte(c))
		case rtfSkipped[word]:
			now.skip = true
		case word == "par", word == "line", word == "row", word == "\n", word == "\r":
			if !now.skip {
				raw = append(raw, '\n') // also in the place of markup
			}
		case word == "tab", word == "cell", word == "~":
			put(' ')
		case word == "htmlrtf":
			now.markup = err != nil || number != 0
		case word == "ansicpg":
			label = codePage(number)
		case word == "uc":
			now.after = min(max(number, 0), 8)
		case word == "u":
			if flush(); !now.skip && !now.markup {
				out = utf8.AppendRune(out, rune(uint16(number)))
			}
			pass = now.after
		case word == "\\", word == "{", word == "}":
			put(word[0])
		}
	}
	flush()
	return out
}
