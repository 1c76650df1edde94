// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"strings"
)

// bodyReader counts what has been read of a message's body against the limits.
type bodyReader struct {
	parts    int
	text     int // bytes of text that may still be read
	scanned  int // bytes searched for boundaries, over all levels
	unpacked int // bytes taken out of containers
	decoded  bytes.Buffer
	packed   []byte // base64 without white space
	tree     []part // all parts; those of a container follow it
	others   int    // open messages of others: what is read is quoted
	shown    int    // lines of text with words
	matches  int    // compounds of style rules that may still be held against elements
	spare    int    // a text of an unknown type, to be read if there is no other text; its place in tree
	calendar bool   // an invitation was read
	seen     *wordSet
	told     wordSet // room for seen
}

func (b *bodyReader) reset(text int) {
	b.parts, b.text, b.scanned, b.unpacked = 0, text, 0, 0
	b.others, b.shown, b.matches, b.spare, b.calendar, b.seen = 0, 0, maxMatches, 0, false, nil
	clear(b.tree)
	b.tree = b.tree[:0]
	if b.decoded.Cap() > 4<<20 {
		b.decoded = bytes.Buffer{}
	}
	if cap(b.packed) > 4<<20 {
		b.packed = nil
	}
}

// readBody reads the words of a message's body, and of the debris of its header.
func (f *Featurizer) readBody(fields []field, body, debris []byte) {
	f.readPart(f.addPart(fields, body, debris, "text/plain", 0))
	if spare := f.body.spare; spare > 0 && f.body.shown == 0 {
		f.showText(&f.body.tree[spare-1])
	}
}

// mediaType is a Content-Type field that was read; most parts have one of a few.
type mediaType struct {
	name   string
	params map[string]string // not to be changed
}

// contentType reads Content-Type. A part without one is of the usual type, one whose type is
// not readable text/plain (RFC 2045, section 5.2).
func (f *Featurizer) contentType(fields []field, usual string) (name string, params map[string]string) {
	value := get(fields, "content-type")
	if len(value) == 0 {
		return usual, nil
	}
	if t, ok := f.types[string(value)]; ok {
		return t.name, t.params
	}
	name, params, sound := readParameters(string(value))
	if !strings.Contains(name, "/") {
		name, sound = "text/plain", false
	}
	if !sound {
		f.defect("Content-Type")
	} else if len(value) <= 100 { // one with a boundary is longer, and hardly comes again
		if len(f.types) == 64 {
			clear(f.types)
		}
		f.types[string(value)] = mediaType{name, params}
	}
	return name, params
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

// part is one entity of a message, in a tree: first is the place of the first part within, next
// that of the next beside it; 0: none.
type part struct {
	kind     string // media type
	charset  string
	encoding string
	name     string // of a file
	attached bool   // not shown, says its Content-Disposition
	inline   bool   // shown, says its Content-Disposition
	referred bool   // others can refer to it by a Content-ID
	body     []byte
	debris   []byte // of its header
	depth    int
	first    int
	next     int
	rank     rank
}

// addPart adds an entity, and those within, to the tree. usual is its type if it names none.
func (f *Featurizer) addPart(fields []field, body, debris []byte, usual string, depth int) int {
	f.body.parts++
	kind, params := f.contentType(fields, usual)
	f.terms.add(Misc, "type:", truncate(kind, 60))
	p := part{
		kind: kind, charset: params["charset"], name: params["name"], encoding: encodingOf(fields),
		referred: get(fields, "content-id") != nil, body: body, debris: debris, depth: depth,
	}
	f.readDisposition(&p, fields)
	p.rank = rankOf(&p)
	at, boundary := len(f.body.tree), params["boundary"]
	f.body.tree = append(f.body.tree, p)
	if !strings.HasPrefix(kind, "multipart/") {
		return at
	}
	found := false
	switch {
	case depth >= maxDepth:
		f.defect("nested too deep")
	case boundary == "":
		f.defect("multipart without boundary")
		found = f.addParts(at, f.guessBoundary(body))
	default:
		if found = f.addParts(at, boundary); !found {
			f.defect("multipart without parts")
			found = f.addParts(at, f.guessBoundary(body))
		}
	}
	if found {
		return at
	}
	t := &f.body.tree[at]
	t.kind, t.rank, t.charset, t.encoding, t.attached = "text/plain", rankPlain, "", "", false
	return at
}

// readDisposition reads what Content-Disposition says of a part (RFC 2183).
func (f *Featurizer) readDisposition(p *part, fields []field) {
	value := get(fields, "content-disposition")
	switch {
	case len(value) == 0:
	case equalFold(value, "inline"):
		p.inline = true
	case equalFold(value, "attachment"):
		p.attached = true
	default:
		kind, params, _ := readParameters(string(value))
		p.attached, p.inline = kind == "attachment", kind == "inline"
		if name := params["filename"]; f.extensionOf(name) != "" || p.name == "" {
			p.name = name
		}
	}
	if p.depth == 0 && p.name == "" {
		p.attached = false // there is nothing else to show
	}
}

// addParts cuts a multipart body at its boundaries (RFC 2046, section 5.1.1) and adds
// the parts; false if there are none. A broken header costs one part's header and not the parts
// behind it, as it would with go-message; nesting costs one search per level.
func (f *Featurizer) addParts(at int, boundary string) bool {
	body, depth, usual := f.body.tree[at].body, f.body.tree[at].depth, "text/plain"
	if f.body.tree[at].kind == "multipart/digest" {
		usual = "message/rfc822" // RFC 2046, section 5.1.5
	}
	if boundary == "" {
		return false
	}
	mark := append([]byte("--"), boundary...)
	start, last := -1, -1 // of the current part: -1 in the preamble; the part before
	var fields []field
	flush := func(end int) {
		if start < 0 {
			return
		}
		var inner, debris []byte
		fields, inner, debris = f.split(body[start:end], fields, false)
		n := f.addPart(fields, inner, debris, usual, depth+1)
		if last < 0 {
			f.body.tree[at].first = n
		} else {
			f.body.tree[last].next = n
		}
		last = n
		f.body.tree[at].rank = max(f.body.tree[at].rank, f.body.tree[n].rank)
	}
	var d delimiter
	for {
		if d = f.nextDelimiter(body, mark, d.to); !d.found {
			break
		}
		flush(max(endBefore(body, d.from), start))
		if start = d.to; d.closes {
			return true
		}
	}
	if start >= 0 {
		if !d.closes {
			f.defect("multipart without end")
		}
		flush(len(body))
	}
	return start >= 0 || d.closes
}

// guessBoundary returns what the first line that begins with dashes says, if a header follows.
func (f *Featurizer) guessBoundary(body []byte) string {
	if f.body.scanned += len(body); f.body.scanned > 4*f.MaxBytes {
		return ""
	}
	for rest := body; len(rest) > 0; {
		var line []byte
		line, rest = cutLine(rest)
		const field = "content-"
		if len(line) > 2 && len(line) <= 200 && string(line[:2]) == "--" && len(rest) > len(field) && equalFold(rest[:len(field)], field) {
			return string(bytes.TrimRight(line[2:], " \t"))
		}
	}
	return ""
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
		if f.body.scanned > 4*f.MaxBytes || f.body.parts >= maxParts {
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

// endBefore returns where the part before a delimiter ends: its line end belongs to that.
func endBefore(body []byte, at int) int {
	if at > 0 {
		at--
		if at > 0 && body[at-1] == '\r' {
			at--
		}
	}
	return at
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
