// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"encoding/base64"
	"mime/quotedprintable"
	"strings"
)

// encodingOf returns the name of the transfer encoding (RFC 2045, section 6); "" if there is none.
// It forgives quotes, a comment, a parameter, and other spellings.
func encodingOf(fields []field) string {
	value := bytes.TrimSpace(get(fields, "content-transfer-encoding"))
	for _, usual := range [...]string{"7bit", "8bit", "quoted-printable", "base64", "binary"} {
		if equalFold(value, usual) {
			return usual
		}
	}
	if end := bytes.IndexAny(value, ";,("); end >= 0 {
		value = value[:end]
	}
	name := looseEncoding.Replace(string(bytes.ToLower(value)))
	switch strings.TrimPrefix(name, "x") {
	case "", "7bit", "7bits", "8bit", "8bits", "binary", "none":
		return ""
	case "quotedprintable", "qp":
		return "quoted-printable"
	case "base64", "b64":
		return "base64"
	case "uuencode", "uuencoded", "uue", "uu":
		return "uuencode"
	}
	return name
}

var looseEncoding = strings.NewReplacer("-", "", "_", "", " ", "", "\t", "", `"`, "", "'", "", ".", "")

// decodeTransfer undoes the transfer encoding, until the next call. What is not readable is
// skipped, as RFC 2045, sections 6.7 and 6.8, advise.
func (f *Featurizer) decodeTransfer(body []byte, encoding string) []byte {
	switch encoding {
	case "", "7bit", "8bit", "binary":
		return body
	case "base64", "quoted-printable", "uuencode":
	default:
		f.defect("unknown transfer encoding")
		return body
	}
	f.terms.add(Misc, "encoding:", encoding)
	// Enough raw bytes for all the text that will be read, HTML included.
	if limit := 12 * maxText; len(body) > limit {
		body = body[:limit]
		f.defect("text too long")
	}
	sound := true
	switch f.body.decoded.Reset(); encoding {
	case "uuencode":
		f.decodeUU(body)
	case "base64":
		sound = f.decodeBase64(body)
	default:
		if sound = f.decodeQuotedPrintable(body); !sound {
			f.body.decoded.Reset()
			f.decodeQuotedPrintable(repairQuotedPrintable(body)) // an error is the end of what can be read
		}
	}
	if !sound {
		f.defect(encoding)
	}
	return f.body.decoded.Bytes()
}

func (f *Featurizer) decodeQuotedPrintable(body []byte) (sound bool) {
	f.source.Reset(body)
	_, err := f.body.decoded.ReadFrom(quotedprintable.NewReader(&f.source))
	return err == nil
}

// decodeBase64 decodes the letters of the base64 alphabet alone, up to the padding.
func (f *Featurizer) decodeBase64(body []byte) (sound bool) {
	packed, d, pads := f.body.packed[:0], &f.body.decoded, 0
	sound = true
	for _, c := range body {
		switch {
		case (asciiClass[c]&(letter|digit) != 0 || c == '+' || c == '/') && pads == 0:
			packed = append(packed, c)
		case c == '=' && len(packed)%4 >= 2:
			pads++
		case c != '\n' && c != '\r' && c != ' ' && c != '\t':
			sound = false
		}
	}
	sound = sound && (len(packed)+pads)%4 == 0
	if len(packed)%4 == 1 {
		packed = packed[:len(packed)-1]
	}
	f.body.packed = packed
	d.Grow(base64.RawStdEncoding.DecodedLen(len(packed)))
	n, _ := base64.RawStdEncoding.Decode(d.AvailableBuffer()[:d.Available()], packed)
	d.Write(d.AvailableBuffer()[:n])
	return sound
}

// decodeUU reads what stands between "begin" and "end" of a uuencoded text (POSIX,
// uuencode), which is no text where it holds NULs.
func (f *Featurizer) decodeUU(body []byte) {
	d := &f.body.decoded
	for begun := false; len(body) > 0; {
		var line []byte
		line, body = cutLine(body)
		if !begun || len(line) == 0 {
			begun = begun || bytes.HasPrefix(line, []byte("begin "))
			continue
		}
		if string(line) == "end" {
			return
		}
		end := d.Len() + int(line[0]-' ')&63
		for line = line[1:]; len(line) > 0 && d.Len() < end; line = line[min(4, len(line)):] {
			var four [4]byte
			copy(four[:], "    ")
			copy(four[:], line)
			for i := range four {
				four[i] = (four[i] - ' ') & 63
			}
			d.Write([]byte{four[0]<<2 | four[1]>>4, four[1]<<4 | four[2]>>2, four[2]<<6 | four[3]})
		}
		d.Truncate(min(d.Len(), end))
	}
}

// repairQuotedPrintable escapes every "=" that begins no escape, and blanks control characters,
// at which the decoder stops.
func repairQuotedPrintable(body []byte) []byte {
	out := make([]byte, 0, len(body)+len(body)/16)
	for i, c := range body {
		rest := body[i+1:]
		switch {
		case c < ' ' && c != '\t' && c != '\n' && c != '\r', c == 0x7f:
			out = append(out, ' ')
		case c != '=', len(rest) >= 2 && isHex(rest[0]) && isHex(rest[1]),
			len(bytes.TrimRight(firstLine(rest[:min(len(rest), 80)]), " \t")) == 0: // a soft line break
			out = append(out, c)
		default:
			out = append(out, "=3D"...)
		}
	}
	return out
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
