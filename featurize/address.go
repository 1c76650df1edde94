// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// readAddresses appends the addresses of a field to list and makes
// features of them.
func (f *Featurizer) readAddresses(list []string, value []byte, field string) []string {
	found := f.addresses(value)
	list = slices.Grow(list, min(len(found), maxAddresses-len(list)))
	for _, m := range found {
		address := m.address
		if len(list) == maxAddresses {
			f.defect("too many addresses")
			break
		}
		list = append(list, address)
		_, domain, whole := cutAddress(address)
		prefix := field
		switch field {
		case "from:":
			prefix = f.said(field, f.vouchedFrom)
		case "sender:", "reply-to:":
			prefix = f.said(field, f.vouchesFor(domain))
		}
		if f.owns(address) {
			f.terms.add(Social, prefix, "owner")
		}
		f.terms.add(Social, prefix, address)
		if field != "from:" {
			continue
		}
		if whole {
			f.terms.name = append(append(append(f.terms.name[:0], prefix...), '@'), domain...)
			f.terms.commit(Social)
		}
		name := truncate(strings.Trim(f.headerText(m.name), "\" "), 100)
		if len(list) == 1 {
			f.fromName = oneLine(name)
		}
		f.words.text(f, name, f.nameKind(domain))
	}
	return list
}

// nameKind says how the words of a sender's name count. Anybody can take any name, also
// under an address that is vouched for: where a server is believed, a name counts only
// together with the domain that the server vouches for.
func (f *Featurizer) nameKind(domain string) *kind {
	switch {
	case f.AuthServID == "":
		return &kindName
	case !f.vouchedFrom:
		return &kindClaimedName
	default:
		return &kind{prefix: "name@" + domain + ":", group: Social}
	}
}

// mailbox is one item of a list of addresses.
type mailbox struct {
	name    []byte // as written, without quotes; valid until the next call of addresses
	address string // as CanonicalAddress has it
}

// addresses returns the items of a list (RFC 5322, sections 3.4 and 4.4), until the next call,
// also of one that breaks the rules: names with a comma, with encoded words in quotes, addresses
// without brackets or in two pairs of them. One bad address does not cost the others. It takes
// a fifth of the time of net/mail (docs/results.md); a test and a fuzz target hold it against
// net/mail.
func (f *Featurizer) addresses(value []byte) []mailbox {
	if bytes.IndexByte(value, 0x1b) >= 0 { // ISO-2022-JP may hold any delimiter
		value = f.decode(value, "", f.messageCharset)
	}
	r := addressReader{f: f, rest: value, text: f.names[:0], list: f.mailboxes[:0]}
	for len(r.rest) > 0 && len(r.list) <= maxAddresses {
		n := 0
		for n < len(r.rest) && atomic[r.rest[n]] {
			n++
		}
		r.text = append(r.text, r.rest[:n]...)
		if r.rest = r.rest[n:]; len(r.rest) > 0 {
			r.special(r.rest[0])
		}
	}
	r.finish()
	f.names, f.mailboxes = r.text, r.list
	return r.list
}

// atomic has the characters that stand for themselves wherever they are. The equals sign is
// not among them: it begins an encoded word (RFC 2047).
var atomic = func() (set [256]bool) {
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-+'/@" {
		set[c] = true
	}
	return set
}()

// addressReader reads a list of addresses one item after another.
type addressReader struct {
	f       *Featurizer
	rest    []byte
	list    []mailbox
	text    []byte    // of all items, without what stands in angle brackets
	start   int       // of the item's text
	named   int       // where it ends before the angle brackets
	before  int       // where the text begins of a name that a comma cut
	angle   string    // the address in angle brackets
	comment []byte    // the last
	open    [128]bool // an opening character whose closing one is missing
}

// special reads what begins with a character that is not atomic.
func (r *addressReader) special(c byte) {
	n, rest := 1, r.rest
	switch c {
	case '"':
		if n = r.span(rest, '"'); n > 1 && bytes.HasPrefix(rest[n:], []byte{'@'}) {
			n = r.quotedLocal(0, n)
		} else if n > 1 {
			r.text = appendUnescaped(r.text, rest[1:n-1])
		}
	case '(':
		if n = r.span(rest, ')'); n > 1 {
			r.comment = rest[1 : n-1]
		}
	case '<':
		n = r.angled()
	case ',', ';':
		r.finish()
	case ':': // behind the name of a group, or mailto
		if bytes.IndexByte(r.text[r.start:], '@') < 0 {
			r.text = r.text[:r.start]
		}
	case '=':
		if bytes.HasPrefix(rest, []byte("=?")) {
			n = max(1, encodedWord(rest).size)
		}
		if end := bytes.IndexAny(rest[:n], "<\""); end >= 0 { // a word without an end
			n = end
		}
		r.text = append(r.text, rest[:n]...)
	case ' ', '\t', '>':
		if len(r.text) > r.start && r.text[len(r.text)-1] != ' ' {
			r.text = append(r.text, ' ')
		}
	default:
		r.text = append(r.text, c)
	}
	r.rest = rest[n:]
}

// angled reads an address in angle brackets and returns how long it is.
func (r *addressReader) angled() (n int) {
	rest := r.rest
	if bytes.HasPrefix(rest, []byte(`<"`)) {
		if q := 1 + r.span(rest[1:], '"'); q > 2 && bytes.HasPrefix(rest[q:], []byte{'@'}) {
			return r.quotedLocal(1, q)
		}
	}
	if n = r.span(rest, '>'); n == 1 {
		n = len(rest)
	}
	if comma := bytes.IndexByte(rest[:n], ','); comma > 0 && rest[1] != '@' { // not closed before it
		n = comma
	}
	inner := bytes.TrimSuffix(rest[1:n], []byte{'>'})
	if address := bareAddress(inner); address != "" {
		r.setAngle(address)
	} else {
		r.text = append(r.text, inner...)
	}
	return n
}

// setAngle notes the address in angle brackets. Before a second one, the comma between two
// items is missing.
func (r *addressReader) setAngle(address string) {
	if r.angle != "" {
		end := len(r.text)
		r.text = r.text[:r.named]
		r.finish()
		r.text = r.text[:end]
	}
	r.angle, r.named = address, len(r.text)
}

// quotedLocal reads the address that begins at from and whose local part, in quotes, ends at
// to; it may hold anything, and must not pass for another's address. It returns where it ends.
func (r *addressReader) quotedLocal(from, to int) (n int) {
	rest := bytes.TrimLeft(r.rest[to+1:], " ")
	domain := rest
	if end := bytes.IndexAny(rest, " \t,;<>()\""); end >= 0 {
		domain = rest[:end]
	}
	r.setAngle(CanonicalAddress(string(appendUnescaped(nil, r.rest[from:to])) + "@" + string(domain)))
	return len(r.rest) - len(rest) + len(domain)
}

// span returns the length of what s begins with, up to its closing character; 1 if that is
// missing. Comments nest.
func (r *addressReader) span(s []byte, closing byte) int {
	depth := 0
	for i := 0; i < len(s) && !r.open[s[0]]; i++ {
		switch c := s[i]; {
		case c == '\\' && closing != '>':
			i++
		case c == closing && i > 0:
			if depth--; depth == 0 || closing != ')' {
				return i + 1
			}
		case c == s[0]:
			depth++
		}
	}
	r.open[s[0]] = true
	return 1
}

// finish ends an item. Without an address it may be the first part of a name with a comma.
func (r *addressReader) finish() {
	name, address := bytes.TrimSpace(r.text[r.start:]), r.angle
	switch {
	case address != "":
		if r.before < r.start { // a name before
			name = bytes.TrimSpace(r.text[r.before:])
		}
	case len(name) > 0:
		if address = bareAddress(name); address == "" {
			r.f.defect("address")
			r.text = append(r.text, ", "...)
			r.start = len(r.text)
			return
		}
		before, _, _ := bytes.Cut(name, []byte{'@'})
		name = bytes.TrimSpace(before[:max(0, bytes.LastIndexByte(bytes.TrimSpace(before), ' '))])
	}
	if len(name) == 0 {
		name = r.comment
	}
	if strings.Contains(address, " | ") { // that would separate facts
		address = strings.ReplaceAll(address, "|", "_")
	}
	if address != "" && len(address) <= 200 {
		r.list = append(r.list, mailbox{name, address})
	}
	r.start, r.before, r.angle, r.comment = len(r.text), len(r.text), "", nil
}

// appendUnescaped appends s without quotes and the backslashes of quoted pairs.
func appendUnescaped(out, s []byte) []byte {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
		case s[i] == '"':
			continue
		}
		out = append(out, s[i])
	}
	return out
}

// bareAddress finds the one address in an item of a list, as CanonicalAddress has it; ""
// when there is none.
func bareAddress(item []byte) string {
	n := 0
	for n < len(item) && atomic[item[n]] && item[n] != '\'' {
		n++
	}
	if at := bytes.IndexByte(item, '@'); n == len(item) && at > 0 && at < n-1 && n <= 200 { // as nearly all are
		return CanonicalAddress(string(item))
	}
	if i := bytes.LastIndexByte(item, '<'); i >= 0 {
		inner, _, _ := bytes.Cut(item[i+1:], []byte{'>'})
		if inner = bytes.TrimSpace(inner); bytes.IndexByte(inner, '@') > 0 {
			item = inner
		}
	}
	for open := bytes.IndexByte(item, '('); open > 0 && len(item) < 1000; open = bytes.IndexByte(item, '(') { // a comment
		end := bytes.IndexByte(item[open:], ')')
		if end < 0 {
			break
		}
		item = append(item[:open:open], item[open+end+1:]...)
	}
	if bytes.Contains(item, []byte(" @")) || bytes.Contains(item, []byte("@ ")) { // RFC 5322, section 4.4
		item = bytes.ReplaceAll(bytes.ReplaceAll(item, []byte(" @"), []byte("@")), []byte("@ "), []byte("@"))
	}
	for word := range bytes.FieldsSeq(item) {
		if i := bytes.LastIndexByte(word, '@'); i > 0 { // mailto:, or a route
			word = word[1+bytes.LastIndexByte(word[:i], ':'):]
		}
		if word = bytes.Trim(word, `<>()",;:`); len(word) > 2 && word[0] == '\'' && word[len(word)-1] == '\'' {
			word = word[1 : len(word)-1]
		}
		if !bytes.Contains(word, []byte("@[")) {
			word = bytes.Trim(word, "[]")
		}
		if i := bytes.IndexByte(word, '@'); i > 0 && i+1 < len(word) && len(word) <= 200 {
			return CanonicalAddress(string(word))
		}
	}
	return ""
}

// CanonicalAddress returns an address in the one form in which addresses are compared: in
// lower case, the local part in NFC (RFC 6532, section 3.1), a domain outside ASCII as
// A-labels (RFC 5891), without blanks around it and dots behind it, in valid UTF-8.
func CanonicalAddress(address string) string {
	address = strings.ToLower(strings.TrimRight(strings.TrimSpace(address), ". "))
	n := 0
	for n < len(address) && address[n] < utf8.RuneSelf {
		n++
	}
	if n == len(address) {
		return address
	}
	address = strings.ToValidUTF8(address, "\uFFFD")
	local, domain, found := cutAddress(address)
	if !found {
		return norm.NFC.String(address)
	}
	return norm.NFC.String(strings.ToLower(norm.NFC.String(local))) + "@" + canonicalDomain(domain)
}

// canonicalDomain returns a domain in lower case as A-labels, as far as it has them.
func canonicalDomain(domain string) string {
	if !isASCII([]byte(domain)) {
		if ascii, err := idna.Lookup.ToASCII(domain); err == nil {
			return ascii
		}
	}
	return norm.NFC.String(domain)
}

// owns reports whether an address, as CanonicalAddress has it, is the owner's.
func (f *Featurizer) owns(address string) bool {
	return f.owner[address] || f.owner[f.mainAddress(address)]
}

// mainAddress returns an address without its subaddress (RFC 5233), where those are known.
func (o *Options) mainAddress(address string) string {
	if i := strings.Index(address, o.Subaddress); i > 0 && o.Subaddress != "" {
		if at := strings.LastIndexByte(address, '@'); i < at {
			return address[:i] + address[at:]
		}
	}
	return address
}

// cutAddress cuts s at the last "@".
func cutAddress(s string) (local, domain string, found bool) {
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}
