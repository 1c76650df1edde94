// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"slices"
	"strings"
)

// rank says how good a part is to be read as the letter: of alternatives the best is read.
type rank uint8

const (
	rankNone  rank = iota // no text, or none that a person reads
	rankOther             // text of a type that mail programs don't show: read if there is no other
	rankPlain
	rankHTML
)

// textRanks are the ranks of types; other types of text are rankOther.
var textRanks = map[string]rank{
	"text/plain": rankPlain, "text/html": rankHTML, "application/xhtml+xml": rankHTML,
	"text/x-patch": rankPlain, "text/x-diff": rankPlain, "text/patch": rankPlain, "text/diff": rankPlain,
	"text/calendar": rankNone, "text/rfc822-headers": rankNone, "application/rtf": rankOther,
}

// markup are the types of text that are read as HTML where they are read.
var markup = map[string]bool{
	"text/html": true, "application/xhtml+xml": true, "text/x-amp-html": true, "text/watch-html": true,
	"text/enriched": true, "text/richtext": true,
}

// rankOf returns the rank of a part that holds no others.
func rankOf(p *part) rank {
	r, known := textRanks[p.kind]
	if !known && strings.HasPrefix(p.kind, "text/") {
		r = rankOther
	}
	if p.attached {
		r = rankNone
	}
	return r
}

// readPart reads the part at that place of the tree, and those within.
func (f *Featurizer) readPart(at int) {
	p := f.body.tree[at] // a copy: the tree may grow
	switch {
	case p.first == 0:
		f.readLeaf(at, &p)
	case p.kind == "multipart/alternative":
		f.readAlternative(&p)
	default:
		for i := p.first; i != 0; i = f.body.tree[i].next {
			if !belongs(&p, &f.body.tree[i]) {
				f.readPart(i)
			}
		}
	}
	if len(p.debris) > 0 {
		f.show(f.plainLines(f.decode(p.debris[:max(0, min(len(p.debris), f.body.text))], "", nil)))
	}
}

// belongs reports whether a part is nothing by itself: a picture in a page, what an
// encrypted message consists of, the second half of a file from a Macintosh.
func belongs(whole, p *part) bool {
	switch whole.kind {
	case "multipart/related":
		return p.referred && strings.HasPrefix(p.kind, "image/")
	case "multipart/encrypted":
		return strings.HasPrefix(p.kind, "application/")
	default:
		return p.kind == "application/applefile" && whole.kind == "multipart/appledouble"
	}
}

// readAlternative reads of several parts the one that a mail program shows (RFC 2046,
// section 5.1.4): the HTML that shows text, else the plain text. Both of the same rank, it
// is the last.
func (f *Featurizer) readAlternative(p *part) {
	best, plain := 0, 0
	for i := p.first; i != 0; i = f.body.tree[i].next {
		r := f.body.tree[i].rank
		if best == 0 || r >= f.body.tree[best].rank {
			best = i
		}
		if r == rankPlain {
			plain = i
		}
	}
	shown, compared := f.body.shown, best != plain && plain != 0 && f.body.seen == nil && f.body.others == 0
	if compared {
		f.body.told = wordSet{}
		f.body.seen = &f.body.told
	}
	f.readPart(best)
	if compared {
		f.body.seen = nil
	}
	switch {
	case f.body.shown == shown && best != plain && plain != 0:
		f.readPart(plain)
	case compared:
		f.compare(plain)
	}
	for i := p.first; i != 0; i = f.body.tree[i].next {
		if i != best && f.body.tree[i].rank <= rankOther {
			f.readPart(i)
		}
	}
}

// compare notes that a text says something else than what was shown in its place.
func (f *Featurizer) compare(at int) {
	for f.body.tree[at].first != 0 {
		at = f.body.tree[at].first
	}
	if p := &f.body.tree[at]; p.rank == rankPlain && f.body.told.lacks(f.textOf(p)) {
		f.terms.add(Misc, "html:", "other words in plain text")
	}
}

// readLeaf reads a part that holds no others: a copy of the one at that place.
func (f *Featurizer) readLeaf(at int, p *part) {
	switch p.kind {
	case "message/rfc822", "message/global", "message/news", "message/partial":
		f.attach(p)
		f.readMessage(p)
		return
	case "application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature", "message/external-body":
		return // mail programs don't list it
	case "text/calendar", "application/ics":
		f.readInvitation(p)
		return
	}
	switch {
	case strings.HasPrefix(p.kind, "multipart/"):
	case strings.HasPrefix(p.kind, "message/"), p.kind == "text/rfc822-headers":
		shown := f.body.shown
		f.body.others++
		f.showText(p)
		f.body.others--
		f.body.shown = shown
	case f.readContainer(p):
	case p.attached || p.rank == rankNone || p.name != "" && !p.inline && f.body.shown > 0:
		f.attach(p)
		if f.isPatchFile(p) && f.body.others == 0 {
			f.showText(p)
		}
	case p.rank == rankOther:
		if p.name != "" {
			f.attach(p)
		}
		if f.body.spare == 0 && f.body.others == 0 {
			f.body.spare = at + 1
		}
	default:
		f.showText(p)
	}
}

// isPatchFile reports whether a file is a patch in plain text, which says what the message
// is about.
func (f *Featurizer) isPatchFile(p *part) bool {
	ext := f.extensionOf(p.name)
	return textRanks[p.kind] == rankPlain && (p.kind != "text/plain" || ext == ".patch" || ext == ".diff")
}

// attach counts a file, unless it came with somebody else's message.
func (f *Featurizer) attach(p *part) {
	if f.body.others > 0 {
		return
	}
	f.structure.attachments++
	if ext := f.extensionOf(p.name); ext != "" {
		f.terms.add(Misc, "attachment:", ext)
		if file := fileKinds[ext]; file != "" && !slices.Contains(f.structure.files, file) {
			f.structure.files = append(f.structure.files, file)
		}
	}
}

// fileKinds are the kinds of attachments that mean the same in any mailbox, by extension.
var fileKinds = map[string]string{
	".pdf": "pdf", ".ics": "calendar",
	".jpg": "image", ".jpeg": "image", ".png": "image", ".heic": "image", ".gif": "image",
	".doc": "office", ".docx": "office", ".odt": "office", ".xls": "office", ".xlsx": "office", ".ods": "office", ".ppt": "office", ".pptx": "office",
}

// readMessage reads a message within the message: somebody else's words.
func (f *Featurizer) readMessage(p *part) {
	if p.depth >= f.MaxDepth {
		f.defect("nested too deep")
		return
	}
	raw := p.body
	if name, _ := cutField(firstLine(raw)); name == 0 {
		raw = f.unpack(p)
	}
	inner, body, debris := f.split(stripEnvelope(raw), nil, true)
	shown := f.body.shown
	f.body.others++
	f.words.text(f, f.headerText(get(inner, "subject")), &kindQuoted)
	f.readPart(f.addPart(inner, body, debris, "text/plain", p.depth+1))
	f.body.others--
	f.body.shown = shown
}

// readInvitation reads a calendar's file, the first that there is.
func (f *Featurizer) readInvitation(p *part) {
	if p.attached || p.kind == "application/ics" {
		f.attach(p)
	}
	if f.body.calendar || f.body.others > 0 || f.body.text <= 0 {
		return
	}
	f.body.calendar = true
	text := f.decode(f.decodeTransfer(p.body, p.encoding), p.charset, nil)
	f.readCalendar(text[:min(len(text), f.body.text)])
}

// unpack undoes the transfer encoding of a part that has others within. The result is
// valid until the next message; nil if too much was unpacked already.
func (f *Featurizer) unpack(p *part) []byte {
	if p.encoding != "base64" && p.encoding != "quoted-printable" && p.encoding != "uuencode" {
		return p.body
	}
	data := f.decodeTransfer(p.body, p.encoding)
	if f.body.unpacked += len(data); f.body.unpacked > 12*f.MaxText {
		f.defect("text too long")
		return nil
	}
	return bytes.Clone(data)
}

// textOf decodes a text, as far as it may still be read. The result is valid until the next
// call.
func (f *Featurizer) textOf(p *part) []byte {
	if f.body.text <= 0 {
		f.defect("text too long")
		return nil
	}
	text := f.decodeTransfer(p.body, p.encoding)
	if p.charset != "" {
		f.terms.add(Misc, "charset:", truncate(strings.ToLower(p.charset), 30))
	}
	if p.encoding == "uuencode" && bytes.IndexByte(text, 0) >= 0 {
		return nil // a file of another kind
	}
	limit := f.body.text
	if markup[p.kind] {
		limit *= 4 // markup is not text
	}
	if len(text) > limit {
		f.defect("text too long")
		text = text[:limit]
		for n := 0; n < 4 && len(text) > 0 && text[len(text)-1] >= 0x80; n++ {
			text = text[:len(text)-1] // not in the middle of a character
		}
	}
	if markup[p.kind] {
		return f.decode(text, p.charset, metaCharset)
	}
	return f.decode(text, p.charset, nil)
}

// showText reads the words of a text part.
func (f *Featurizer) showText(p *part) { f.showDecoded(f.textOf(p), p.kind) }

// showDecoded reads the words of a text in UTF-8 of some media type.
func (f *Featurizer) showDecoded(text []byte, kind string) {
	switch {
	case kind == "text/rtf" || kind == "application/rtf":
		text = f.rtfText(text)
	case markup[kind] || startsDocument(text):
		f.show(f.readHTML(text))
		return
	}
	f.show(f.plainLines(text[:max(0, min(len(text), f.body.text))]))
}

// startsDocument reports whether a text is an HTML document, whatever its part is called.
func startsDocument(text []byte) bool {
	text = bytes.TrimLeft(text[:min(len(text), 200)], " \t\r\n\ufeff")
	for _, start := range [...]string{"<!doctype html", "<html"} {
		if len(text) > len(start) && equalFold(text[:len(start)], start) {
			return true
		}
	}
	return false
}

// show makes features of the lines of a text.
func (f *Featurizer) show(lines []textLine) {
	shown := f.body.shown
	for i := range lines {
		if f.body.others > 0 {
			lines[i].mark = markQuoted
		}
		if (f.body.seen != nil || f.body.shown == shown) && f.body.seen.add(lines[i].text) {
			f.body.shown++
		}
	}
	f.readText(lines)
}
