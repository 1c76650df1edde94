// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// readContainer reads a part that holds a letter in another format than MIME; false if it
// is none. What is encrypted is no file, either.
func (f *Featurizer) readContainer(p *part) bool {
	switch {
	case !strings.HasPrefix(p.kind, "application/") || p.depth >= f.MaxDepth:
		return false
	case p.kind == "application/ms-tnef", p.kind == "application/vnd.ms-tnef", strings.EqualFold(p.name, "winmail.dat"):
		return f.readTNEF(f.unpack(p))
	case p.kind != "application/pkcs7-mime" && p.kind != "application/x-pkcs7-mime" && f.extensionOf(p.name) != ".p7m":
		return false
	}
	if content := signedContent(f.unpack(p)); len(content) > 0 {
		inner, body, debris := f.split(content, nil, false)
		f.readPart(f.addPart(inner, body, debris, "text/plain", p.depth+1))
	}
	return true
}

// The object identifiers in front of a signed message and of what it says.
var (
	idSignedData = []byte("\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02")
	idData       = []byte("\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01")
)

// signedContent returns the content of a SignedData in BER (RFC 5652, sections 3 and 5.1),
// as much of it as is there: an entity. The signature is not looked at. It never goes back,
// so that neither depth nor false lengths cost anything.
func signedContent(data []byte) (content []byte) {
	head, data, found := bytes.Cut(data, idSignedData)
	if !found || len(head) > 20 {
		return nil
	}
	_, data, _ = bytes.Cut(data, idData)
	for len(data) >= 2 {
		tag, length, header := data[0], int64(data[1]), 2
		if n := int(length) - 0x80; n > 0 {
			if n > 4 || len(data) < header+n {
				break
			}
			length, header = 0, header+n
			for _, c := range data[2:header] {
				length = length<<8 | int64(c)
			}
		}
		data = data[header:]
		switch tag {
		case 0xa0, 0x24, 0: // [0], a string in pieces, the end of one
		case 0x04: // the string or a piece of it
			length = min(length, int64(len(data)))
			content, data = append(content, data[:length]...), data[length:]
		default:
			return content
		}
	}
	return content
}

// Attributes of a TNEF stream (MS-OXTNEF, section 2.1.3.2), and MAPI properties and their
// types within some of them.
const (
	tnefSignature      = 0x223e9f78
	tnefBody           = 0x0002800c
	tnefCodePage       = 0x00069007
	tnefProperties     = 0x00069003
	tnefAttachment     = 0x00069002 // begins one
	tnefTitle          = 0x00018010
	tnefAttachmentMAPI = 0x00069005

	mapiBody, mapiRTF, mapiHTML, mapiFileName = 0x1000, 0x1009, 0x1013, 0x3707
	mapiString8, mapiUnicode, mapiBinary      = 0x1e, 0x1f, 0x102
)

// readTNEF reads winmail.dat: the names of the files in it, and the letter where no other
// part shows one. It reports whether it is one.
func (f *Featurizer) readTNEF(data []byte) bool {
	if len(data) < 6 || binary.LittleEndian.Uint32(data) != tnefSignature {
		f.defect("winmail.dat")
		return false
	}
	label := "windows-1252"
	var plain, list []byte
	var files []string
	// A level, an attribute, its length, the value, a checksum.
	for data = data[6:]; len(data) >= 9; {
		id, length := binary.LittleEndian.Uint32(data[1:]), int64(binary.LittleEndian.Uint32(data[5:]))
		data = data[9:]
		value := data[:min(length, int64(len(data)))]
		data = data[min(length+2, int64(len(data))):]
		switch {
		case id == tnefCodePage && len(value) >= 4:
			label = codePage(int(binary.LittleEndian.Uint32(value)))
		case id == tnefBody:
			plain = value
		case id == tnefProperties:
			list = value
		case id == tnefAttachment && len(files) < f.MaxParts:
			files = append(files, "")
		case id == tnefTitle && len(files) > 0:
			files[len(files)-1] = string(value)
		case id == tnefAttachmentMAPI && len(files) > 0:
			if name := f.property(value, mapiFileName, label); len(name) > 0 {
				files[len(files)-1] = string(name)
			}
		}
	}
	for _, name := range files {
		f.attach(&part{name: name})
	}
	if f.body.shown > 0 {
		return true
	}
	if page := f.property(list, mapiHTML, label); len(page) > 0 {
		f.showDecoded(page, "text/html")
	} else if text := f.property(list, mapiBody, label); len(text) > 0 {
		f.showDecoded(text, "text/plain")
	} else if len(plain) > 0 {
		f.showDecoded(f.decode(plain, label, nil), "text/plain")
	} else {
		f.showDecoded(decompressRTF(f.property(list, mapiRTF, ""), 4*f.MaxText), "text/rtf")
	}
	return true
}

// property returns the value of a MAPI property in a list (MS-OXTNEF, section 2.1.3.4), a
// string in UTF-8. The place is found by the tag and the number of values, 1, so that no
// damage before it matters.
func (f *Featurizer) property(list []byte, id uint16, label string) []byte {
	for _, kind := range [...]uint16{mapiUnicode, mapiString8, mapiBinary} {
		tag := [8]byte{byte(kind), byte(kind >> 8), byte(id), byte(id >> 8), 1}
		_, value, found := bytes.Cut(list, tag[:])
		if !found || len(value) < 4 {
			continue
		}
		length := int64(binary.LittleEndian.Uint32(value))
		value = value[4:min(4+length, int64(len(value)), int64(4*f.MaxText))]
		if kind == mapiUnicode {
			label = "utf-16le"
		}
		if label == "" {
			return value // bytes
		}
		return bytes.TrimRight(f.decode(value, label, nil), "\x00")
	}
	return nil
}

// codePage names the charset of a Windows code page.
func codePage(number int) string {
	if name, ok := map[int]string{932: "shift_jis", 936: "gbk", 949: "euc-kr", 950: "big5", 65001: "utf-8"}[number]; ok {
		return name
	}
	return "windows-" + strconv.Itoa(number)
}

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
		out = append(out, f.decode(raw, label, nil)...)
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
