// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"io"
	"mime"
	"mime/quotedprintable"
	"path"
	"strings"

	"github.com/emersion/go-message"
)

// bodyReader counts what has been read of a message's body against the limits.
type bodyReader struct {
	parts   int
	text    int // bytes of text that may still be read
	scanned int // bytes searched for boundaries, over all levels
	decoded bytes.Buffer
}

func (b *bodyReader) reset(text int) {
	b.parts, b.text, b.scanned = 0, text, 0
	if b.decoded.Cap() > 4<<20 {
		b.decoded = bytes.Buffer{}
	}
}

// readBody reads the words of a message's body, and of the debris of its header.
func (f *Featurizer) readBody(fields []field, body, debris []byte) {
	f.readPart(fields, body, 0)
	if len(debris) > 0 {
		f.readText(f.plainLines(f.decodeCharset(debris[:min(len(debris), f.body.text)], "", false)))
	}
}

// mediaType is a Content-Type field that was read.
type mediaType struct {
	name   string
	params map[string]string // not to be changed
}

// Most parts have one of a few types, so those that were read last are kept.
const (
	mostTypes    = 64
	longestTyped = 100 // bytes of a field; one with a boundary is longer, and hardly comes again
)

// contentType reads a Content-Type field as far as it can be read. Without one,
// and with one that is not readable, a part is text/plain (RFC 2045, section
// 5.2). params are not to be changed.
func (f *Featurizer) contentType(fields []field) (name string, params map[string]string) {
	value := get(fields, "content-type")
	if len(value) == 0 {
		return "text/plain", nil
	}
	if t, ok := f.types[string(value)]; ok {
		return t.name, t.params
	}
	name, params, sound := f.parseType(string(value))
	if sound && len(value) <= longestTyped {
		if f.types == nil || len(f.types) == mostTypes {
			f.types = make(map[string]mediaType, mostTypes)
		}
		f.types[string(value)] = mediaType{name, params}
	}
	return name, params
}

// parseType reads the value of a Content-Type field. It is sound if nothing is wrong
// with it.
func (f *Featurizer) parseType(value string) (mediaType string, params map[string]string, sound bool) {
	mediaType, params, err := mime.ParseMediaType(value)
	if err != nil {
		f.defect("Content-Type")
		mediaType, params = looseType(value)
	}
	sound = err == nil
	if !strings.Contains(mediaType, "/") {
		f.defect("Content-Type")
		mediaType, sound = "text/plain", false
	}
	return mediaType, params, sound
}

// looseType reads the value of a Content-Type or Content-Disposition field that breaks the
// rules.
//
// QUIRK: "text/html; charset=a; charset=b", "multipart/mixed; boundary=----=_Part_1" and the
// like: the type, a boundary and a charset may be right where another parameter is not, or
// where quotes are missing.
func looseType(value string) (mediaType string, params map[string]string) {
	head, rest, _ := strings.Cut(value, ";")
	params = map[string]string{}
	for p := range strings.SplitSeq(rest, ";") {
		k, v, ok := strings.Cut(p, "=")
		if !ok {
			continue
		}
		v, _, _ = strings.Cut(strings.TrimSpace(v), " (") // a comment may follow
		params[strings.ToLower(strings.TrimSpace(k))] = strings.Trim(strings.TrimSpace(v), `"`)
	}
	return strings.ToLower(strings.TrimSpace(head)), params
}

// get returns the value of the first field called name, which is in lower case.
func get(fields []field, name string) []byte {
	for _, fd := range fields {
		if equalFold(fd.name, name) {
			return fd.value
		}
	}
	return nil
}

// equalFold compares ASCII without regard to case; lower is in lower case.
func equalFold(name []byte, lower string) bool {
	if len(name) != len(lower) {
		return false
	}
	for i, c := range name {
		if lowerASCII[c] != lower[i] {
			return false
		}
	}
	return true
}

// readPart reads one entity, and those within.
func (f *Featurizer) readPart(fields []field, body []byte, depth int) {
	f.body.parts++
	mediaType, params := f.contentType(fields)
	kind, _, _ := strings.Cut(mediaType, "/")
	f.terms.add(Misc, "type:", truncate(mediaType, 60))
	switch {
	case kind == "multipart" && params["boundary"] != "":
		if depth < f.MaxDepth {
			f.readMultipart(body, params["boundary"], depth)
			return
		}
		f.defect("nested too deep")
		f.readLeaf(nil, body, "text/plain", nil)
	case kind == "multipart":
		f.defect("multipart without boundary")
		f.readLeaf(nil, body, "text/plain", nil)
	case mediaType == "message/rfc822" || mediaType == "message/global":
		if depth >= f.MaxDepth {
			f.defect("nested too deep")
			return
		}
		inner, rest, debris := f.split(stripEnvelope(body), nil, true)
		f.words.text(f, f.headerText(get(inner, "subject")), &kindQuoted)
		f.readPart(inner, rest, depth+1)
		f.words.text(f, string(debris[:min(len(debris), 4096)]), &kindQuoted)
	case kind == "text" || kind == "message":
		f.readLeaf(fields, body, mediaType, params)
	default:
		f.structure.attachments++
		name := params["name"]
		value := string(get(fields, "content-disposition"))
		_, disposition, err := mime.ParseMediaType(value)
		if err != nil {
			_, disposition = looseType(value)
		}
		if disposition["filename"] != "" {
			name = disposition["filename"]
		}
		if ext := path.Ext(name); ext != "" {
			f.terms.add(Misc, "attachment:", truncate(strings.ToLower(ext), 16))
		}
	}
}

// truncate cuts s to at most n bytes, at the start of a character.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n]
}

// readMultipart cuts a multipart body at its boundaries (RFC 2046, section
// 5.1.1). It works on bytes that are all in memory, so that a broken header in
// one part costs that part's header and not the parts behind it, and so that
// nesting costs a search per level and not a reader per level.
func (f *Featurizer) readMultipart(body []byte, boundary string, depth int) {
	mark := append([]byte("--"), boundary...)
	start := -1 // of the current part; -1 in the preamble
	var fields []field
	flush := func(end int) {
		if start < 0 {
			return
		}
		var inner, debris []byte
		fields, inner, debris = f.split(body[start:end], fields, false)
		f.readPart(fields, inner, depth+1)
		if len(debris) > 0 {
			f.readText(f.plainLines(f.decodeCharset(debris[:min(len(debris), f.body.text)], "", false)))
		}
	}
	var d delimiter
	for {
		if d = f.nextDelimiter(body, mark, d.to); !d.found {
			break
		}
		flush(max(endBefore(body, d.from), start))
		if start = d.to; d.closes {
			return
		}
	}
	switch {
	case start < 0 && !d.closes:
		f.defect("multipart without parts")
		f.readLeaf(nil, body, "text/plain", nil)
	case start >= 0:
		if !d.closes {
			f.defect("multipart without end")
		}
		flush(len(body))
	}
}

// delimiter is a line of a multipart body that stands between parts.
type delimiter struct {
	from, to int  // to is where the next part begins
	found    bool // there is one
	closes   bool // the parts end here: it says so, or no more of them are read
}

// nextDelimiter finds the first delimiter line of body at or behind at; mark is how
// such a line begins.
func (f *Featurizer) nextDelimiter(body, mark []byte, at int) delimiter {
	for {
		i := bytes.Index(body[at:], mark)
		if i < 0 {
			f.body.scanned += len(body) - at
			return delimiter{}
		}
		f.body.scanned += i + len(mark)
		// Hostile nesting can make every level search the whole body again.
		if f.body.scanned > 4*f.MaxBytes || f.body.parts >= f.MaxParts {
			f.defect("too many parts")
			return delimiter{closes: true}
		}
		at += i
		if at > 0 && body[at-1] != '\n' { // looked at first: the rest of its line may be long
			at += len(mark)
			continue
		}
		line, rest := cutLine(body[at:])
		tail := bytes.TrimRight(line[len(mark):], " \t")
		if closes := string(tail) == "--"; closes || len(tail) == 0 {
			return delimiter{at, len(body) - len(rest), true, closes}
		}
		at += len(line)
	}
}

// endBefore returns where the part before a delimiter at that place ends: the line
// end before it is part of the delimiter.
func endBefore(body []byte, at int) int {
	if at > 0 {
		at--
		if at > 0 && body[at-1] == '\r' {
			at--
		}
	}
	return at
}

// readLeaf reads the words of a text part.
func (f *Featurizer) readLeaf(fields []field, body []byte, mediaType string, params map[string]string) {
	if f.body.text <= 0 {
		f.defect("text too long")
		return
	}
	text := f.decodeTransfer(body, encodingOf(fields))
	if label := params["charset"]; label != "" {
		f.terms.add(Misc, "charset:", truncate(strings.ToLower(label), 30))
	}
	html := mediaType == "text/html" || mediaType == "application/xhtml+xml"
	limit := f.body.text
	if html {
		limit *= 4 // markup is not text
	}
	if len(text) > limit {
		f.defect("text too long")
		text = text[:limit]
		for n := 0; n < 4 && len(text) > 0 && text[len(text)-1] >= 0x80; n++ {
			text = text[:len(text)-1] // not in the middle of a character
		}
	}
	text = f.decodeCharset(text, params["charset"], html)
	if mediaType == "text/calendar" {
		f.readCalendar(text[:min(len(text), f.body.text)])
		return
	}
	if html {
		text = f.readHTML(text)
	}
	f.readText(f.plainLines(text[:min(len(text), f.body.text)]))
}

// encodingOf returns the name of the transfer encoding in lower case; "" if there is none.
func encodingOf(fields []field) string {
	value := bytes.TrimSpace(get(fields, "content-transfer-encoding"))
	for _, usual := range [...]string{"7bit", "8bit", "quoted-printable", "base64", "binary"} {
		if equalFold(value, usual) {
			return usual
		}
	}
	return strings.TrimSpace(string(bytes.ToLower(value)))
}

// decodeTransfer undoes the transfer encoding. What is not readable is skipped,
// as RFC 2045 sections 6.7 and 6.8 advise, by repairing the text and decoding
// once more. The result is valid until the next call.
func (f *Featurizer) decodeTransfer(body []byte, encoding string) []byte {
	switch encoding {
	case "", "7bit", "8bit", "binary":
		return body
	case "base64", "quoted-printable":
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
	if text, err := f.decodeWith(body, encoding); err == nil {
		return text
	}
	f.defect(encoding)
	if encoding == "base64" {
		body = repairBase64(body)
	} else {
		body = repairQuotedPrintable(body)
	}
	text, _ := f.decodeWith(body, encoding) // an error is the end of what can be read
	return text
}

func (f *Featurizer) decodeWith(body []byte, encoding string) ([]byte, error) {
	f.source.Reset(body)
	var decoder io.Reader
	if encoding == "quoted-printable" {
		decoder = quotedprintable.NewReader(&f.source) // as message.New does, which allocates a header for it
	} else {
		var h message.Header
		h.Set("Content-Transfer-Encoding", encoding)
		e, err := message.New(h, &f.source)
		if err != nil {
			return nil, err
		}
		decoder = e.Body
	}
	f.body.decoded.Reset()
	_, err := io.Copy(&f.body.decoded, decoder)
	return f.body.decoded.Bytes(), err
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
