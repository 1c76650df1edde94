// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/emersion/go-message/charset"
)

// decodeCharset returns text in UTF-8, though not always valid. The label is
// believed last, since it lies more often than a text is valid UTF-8 by chance:
//
//  1. charsets that look like ASCII or hold NULs by nature, as labelled;
//  2. valid UTF-8, as it is;
//  3. the label;
//  4. the label within HTML;
//  5. windows-1252, the most common of the unlabelled.
func (f *Featurizer) decodeCharset(text []byte, label string, html bool) []byte {
	label = strings.ToLower(strings.TrimSpace(label))
	switch {
	case bytes.HasPrefix(text, []byte{0xff, 0xfe}), bytes.HasPrefix(text, []byte{0xfe, 0xff}):
		label = "utf-16"
	case label == "utf-7": // not decoded, and ASCII where it matters
		f.defect("unknown charset")
		label = ""
	}
	if stateful(label) {
		if out, ok := f.convert(text, label); ok {
			return out
		}
		f.defect("unknown charset")
		label = ""
	}
	if utf8.Valid(text) {
		return text
	}
	switch label {
	case "utf-8", "utf8":
		f.defect("invalid UTF-8")
		return text
	case "", "us-ascii", "ascii", "ansi_x3.4-1968":
		f.defect("8-bit text without charset")
	default:
		if out, ok := f.convert(text, label); ok {
			return out
		}
		f.defect("unknown charset")
	}
	if html {
		if meta := metaCharset(text); meta != "" && !stateful(meta) {
			if out, ok := f.convert(text, meta); ok {
				return out
			}
		}
	}
	out, _ := f.convert(text, "windows-1252")
	return out
}

// stateful names the charsets whose text may pass for ASCII or UTF-8.
func stateful(label string) bool {
	return strings.HasPrefix(label, "iso-2022-") || strings.HasPrefix(label, "csiso2022") ||
		strings.HasPrefix(label, "hz") || strings.HasPrefix(label, "utf-16") || strings.HasPrefix(label, "utf-32")
}

// convert decodes text from the charset; ok is false when it is not known.
func (f *Featurizer) convert(text []byte, label string) (_ []byte, ok bool) {
	f.source.Reset(text)
	r, err := charset.Reader(label, &f.source)
	if err != nil {
		return text, false
	}
	// What can't be decoded comes out as U+FFFD; an error is the end of what can
	// be read.
	out, _ := io.ReadAll(r)
	return out, true
}

// metaCharset finds the label in the first KiB of an HTML document (WHATWG HTML,
// "prescan a byte stream to determine its encoding", in short).
func metaCharset(text []byte) string {
	head := bytes.ToLower(text[:min(len(text), 1024)])
	_, after, found := bytes.Cut(head, []byte("charset="))
	if !found {
		return ""
	}
	after = bytes.TrimLeft(after, `"' `)
	end := bytes.IndexAny(after, `"'> ;/`)
	if end < 0 {
		return ""
	}
	return string(after[:end])
}

// headerCharset decodes encoded words (RFC 2047); a charset that is not known is
// guessed rather than refused.
func (f *Featurizer) headerCharset(label string, input io.Reader) (io.Reader, error) {
	text, err := io.ReadAll(input)
	if err != nil {
		return nil, err
	}
	return bytes.NewReader(f.decodeCharset(text, label, false)), nil
}

// headerText decodes a header value: bytes outside ASCII, which some programs
// leave there as they are, and encoded words.
func (f *Featurizer) headerText(value []byte) string {
	if !utf8.Valid(value) {
		value = f.decodeCharset(value, "", false)
	}
	text := string(value)
	if strings.Contains(text, "=?") {
		decoded, err := f.decoder.DecodeHeader(text)
		if err != nil {
			f.defect("encoded word")
		} else {
			text = decoded
		}
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
