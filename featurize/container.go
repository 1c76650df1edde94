// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"strings"
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
