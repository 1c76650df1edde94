// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"encoding/base64"
	"mime/quotedprintable"
	"strings"
)

// encodingOf returns the name of the transfer encoding; "" if there is none. It forgives
// quotes, a comment, a parameter, and other ways to spell the names (RFC 2045, section 6).
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

// looseEncoding takes out what stands in the name of an encoding or around it.
var looseEncoding = strings.NewReplacer("-", "", "_", "", " ", "", "\t", "", `"`, "", "'", "", ".", "")

// decodeTransfer undoes the transfer encoding. What is not readable is skipped,
// as RFC 2045 sections 6.7 and 6.8 advise, by repairing the text and decoding
// once more. The result is valid until the next call.
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
	if limit := 12 * f.MaxText; len(body) > limit {
		body = body[:limit]
		f.defect("text too long")
	}
	for repaired := false; ; repaired = true {
		sound := true
		switch f.body.decoded.Reset(); encoding {
		case "uuencode":
			f.decodeUU(body)
		case "base64":
			sound = f.decodeBase64(body)
		default:
			f.source.Reset(body)
			_, err := f.body.decoded.ReadFrom(quotedprintable.NewReader(&f.source))
			sound = err == nil
		}
		if sound || repaired {
			return f.body.decoded.Bytes() // an error is the end of what can be read
		}
		if f.defect(encoding); encoding == "base64" {
			body = repairBase64(body)
		} else {
			body = repairQuotedPrintable(body)
		}
	}
}

// decodeBase64 bears line ends, blanks and tabs.
func (f *Featurizer) decodeBase64(body []byte) bool {
	packed, d := f.body.packed[:0], &f.body.decoded
	for _, c := range body {
		if c != '\n' && c != '\r' && c != ' ' && c != '\t' {
			packed = append(packed, c)
		}
	}
	f.body.packed = packed
	d.Grow(base64.StdEncoding.DecodedLen(len(packed)))
	n, err := base64.StdEncoding.Decode(d.AvailableBuffer()[:d.Available()], packed)
	d.Write(d.AvailableBuffer()[:n])
	return err == nil
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

// repairBase64 keeps the base64 alphabet alone, up to the padding, and pads.
func repairBase64(body []byte) []byte {
	out := make([]byte, 0, len(body)+3)
	for _, c := range body {
		switch {
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '+', c == '/':
			out = append(out, c)
		case c == '=' && len(out)%4 >= 2:
			for len(out)%4 != 0 {
				out = append(out, '=')
			}
			return out
		}
	}
	switch len(out) % 4 {
	case 1:
		out = out[:len(out)-1]
	case 2:
		out = append(out, "=="...)
	case 3:
		out = append(out, '=')
	}
	return out
}

// repairQuotedPrintable turns every "=" that begins no escape into an escaped
// one, and control characters, at which the decoder stops, into spaces.
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
