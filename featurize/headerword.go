// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"strconv"
	"strings"
)

// headerText decodes a header value as mail programs do: encoded words (RFC 2047), also
// such as break its rules, and bytes outside ASCII, which some programs leave there as
// they are. Those are in the charset of the message if they are not UTF-8.
func (f *Featurizer) headerText(value []byte) string {
	words := bytes.Contains(value, []byte("=?"))
	if !words && bytes.IndexByte(value, 0x1b) < 0 && isASCII(value) {
		return string(value)
	}
	var out, word []byte // word is the bytes of words side by side, which may share a character
	var label string     // of word
	start, open := 0, false
	flush := func(to int) {
		out, word = append(out, f.decode(word, label, f.messageCharset)...), word[:0]
		out, open = append(out, f.decode(value[start:to], "", f.messageCharset)...), false
	}
	for at := 0; words; {
		next := bytes.Index(value[at:], []byte("=?"))
		if next < 0 {
			break
		}
		at += next
		w := encodedWord(value[at:])
		if w.size == 0 {
			at++
			continue
		}
		switch {
		case !open || len(bytes.TrimSpace(value[start:at])) > 0:
			flush(at)
		case !strings.EqualFold(label, w.label):
			start = at
			flush(at)
		}
		label, word, open = w.label, append(word, w.text...), true
		at += w.size
		start = at
	}
	flush(len(value))
	return strings.ToValidUTF8(string(out), "\uFFFD")
}

// messageCharset returns the charset that the message's own Content-Type names.
func (f *Featurizer) messageCharset([]byte) string {
	_, params := f.contentType(f.fields, "text/plain")
	return params["charset"]
}

// codedWord is an encoded word: the bytes that it holds, and how long it is; 0: it is none.
type codedWord struct {
	label string
	text  []byte
	size  int
}

// encodedWord reads the encoded word that s begins with. What is not encoded as it should
// be stands for itself. A word without an end reaches to the next one or to the end of s.
func encodedWord(s []byte) (w codedWord) {
	start := wordStart.FindSubmatch(s[:min(len(s), 90)])
	if start == nil {
		return w
	}
	charset, _, _ := bytes.Cut(start[1], []byte{'*'}) // a language may follow (RFC 2231, section 5)
	inBase64, head := start[2][0]|0x20 == 'b', len(start[0])
	body := s[head:]
	end, size := len(body), len(body)
	for i := range body {
		if bytes.HasPrefix(body[i:], []byte("=?")) && wordStart.Match(body[i:min(len(body), i+90)]) {
			end, size = i, i
			break
		}
		// QUIRK: "?" as it is before an escape. An escape is no end.
		if body[i] == '?' && i+1 < len(body) && body[i+1] == '=' && (inBase64 || !escapeWithin(body[i+1:])) {
			end, size = i, i+2
			break
		}
	}
	w = codedWord{label: string(charset), size: head + size}
	if body = body[:end]; size == end {
		body = bytes.TrimRight(body, " ?")
	}
	if inBase64 {
		w.text = looseBase64(body)
	} else {
		w.text = wordBytes(body)
	}
	return w
}

// wordStart is how an encoded word begins.
var wordStart = regexp.MustCompile(`^=\?([^? =<>,]{0,76})\?([bBqQ])\?`)

// escapeWithin reports whether s begins with an escape of the Q encoding and the word goes
// on behind it.
func escapeWithin(s []byte) bool {
	if len(s) < 3 || !isHex(s[1]) || !isHex(s[2]) {
		return false
	}
	head := s[3:min(len(s), 200)]
	end := bytes.Index(head, []byte("?="))
	next := bytes.Index(head, []byte("=?"))
	return end >= 0 && (next < 0 || end <= next)
}

// wordBytes undoes the Q encoding (RFC 2047, section 4.2).
func wordBytes(s []byte) []byte {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '_' {
			c = ' '
		} else if c == '=' && i+2 < len(s) {
			if n, err := strconv.ParseUint(string(s[i+1:i+3]), 16, 8); err == nil {
				c = byte(n)
				i += 2
			}
		}
		out = append(out, c)
	}
	return out
}

// looseBase64 decodes what of s is base64, with padding or without.
func looseBase64(s []byte) []byte {
	out := make([]byte, 0, len(s))
	for _, c := range s {
		if c == '+' || c == '/' || asciiClass[c]&(letter|digit) != 0 {
			out = append(out, c)
		}
	}
	n, _ := base64.RawStdEncoding.Decode(out, out) // an error is a letter too many at the end
	return out[:n]
}
