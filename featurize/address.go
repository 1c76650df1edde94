// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"slices"
	"strings"

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
		name := truncate(strings.ToValidUTF8(m.name, "\uFFFD"), 100)
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
		return vouchedName(domain)
	}
}

// addresses returns the name and the address, as CanonicalAddress has it, of each item of a
// field, until the next call.
func (f *Featurizer) addresses(value []byte) []mailbox {
	var ok bool
	if f.mailboxes, ok = plainAddresses(f.mailboxes[:0], string(value)); !ok {
		f.mailboxes = f.looseAddresses(f.mailboxes[:0], value)
	}
	kept := f.mailboxes[:0]
	for _, m := range f.mailboxes {
		m.address = CanonicalAddress(m.address)
		if strings.Contains(m.address, " | ") { // that would separate facts
			m.address = strings.ReplaceAll(m.address, "|", "_")
		}
		if len(m.address) <= 200 {
			kept = append(kept, m)
		}
	}
	return kept
}

// looseAddresses appends the items of a list (RFC 5322, sections 3.4 and 4.4), also of one
// that breaks the rules, to list: encoded words in quotes, names with a comma, addresses
// without brackets or in two pairs of them. A test and a fuzz target hold it against net/mail.
func (f *Featurizer) looseAddresses(list []mailbox, value []byte) []mailbox {
	if bytes.IndexByte(value, 0x1b) >= 0 { // ISO-2022-JP may hold any delimiter
		value = f.decode(value, "", true, false)
	}
	var it looseItem
	var open [256]bool // an opening character whose closing one is missing
	before := ""       // a name that a comma cut off
	for len(value) > 0 && len(list) <= maxAddresses {
		c, n := value[0], 1
		if closing := closingOf(c); closing != 0 && !open[c] {
			if n = spanOf(value, c, closing); n == 0 {
				open[c], n = true, 1
			}
		}
		quoted := 0 // a local part in quotes, which may hold anything, behind value[:quoted]
		switch {
		case c == '"' && n > 1 && bytes.HasPrefix(value[n:], []byte{'@'}):
			quoted = n
		case bytes.HasPrefix(value, []byte(`<"`)) && !open['"']:
			if q := spanOf(value[1:], '"', '"'); q == 0 {
				open['"'] = true
			} else if bytes.HasPrefix(value[1+q:], []byte{'@'}) {
				quoted = 1 + q
			}
		}
		switch inner := value[1:max(n-1, 1)]; {
		case quoted > 0:
			n = len(value)
			if end := bytes.IndexAny(value[quoted:], " \t,;<>()\""); end >= 0 {
				n = quoted + end
			}
			it.angle = string(unescape(bytes.TrimPrefix(value[:n], []byte{'<'})))
		case c == ',' || c == ';':
			before = f.finish(&it, before, &list)
		case c == '<':
			if n == 1 {
				n = len(value)
			}
			if comma := bytes.IndexByte(value[:n], ','); comma > 0 && value[1] != '@' { // not closed before it
				n = comma
			}
			inner = bytes.TrimSuffix(value[1:n], []byte{'>'})
			if it.angle = bareAddress(inner); it.angle == "" {
				it.text = append(it.text, inner...)
			}
		case c == '"' && n > 1:
			it.text = append(it.text, unescape(inner)...)
		case c == '(' && n > 1:
			it.comment = append(it.comment[:0], inner...)
			it.text = append(it.text, ' ')
		case c == ':' && bytes.IndexByte(it.text, '@') < 0: // the name of a group, or mailto:
			it.text = it.text[:0]
		case c == '=':
			n = max(1, encodedWord(value).size)
			if end := bytes.IndexAny(value[:n], "<\""); end >= 0 { // a word without an end
				n = end
			}
			it.text = append(it.text, value[:n]...)
		case c != '>' && (c > ' ' || len(it.text) > 0 && it.text[len(it.text)-1] != ' '):
			it.text = append(it.text, max(c, ' '))
		}
		value = value[n:]
	}
	f.finish(&it, before, &list)
	return list
}

// looseItem is what was read of an item of a list of addresses.
type looseItem struct {
	text    []byte // without what stands in brackets
	angle   string // the address in angle brackets
	comment []byte // the last
}

// finish appends the item to list. Without an address it may be the first part of a name
// with a comma, which finish returns.
func (f *Featurizer) finish(it *looseItem, before string, list *[]mailbox) (part string) {
	defer func() { it.text, it.comment, it.angle = it.text[:0], it.comment[:0], "" }()
	name := bytes.TrimSpace(it.text)
	address := it.angle
	if address == "" {
		if address = bareAddress(name); address == "" {
			if len(name) > 0 {
				f.defect("address")
			}
			return string(name)
		}
		name, _, _ = bytes.Cut(name, []byte{'@'})
		name = bytes.TrimSpace(name[:max(0, bytes.LastIndexByte(bytes.TrimSpace(name), ' '))])
	} else if before != "" {
		name = append([]byte(before+", "), name...)
	}
	if len(name) == 0 {
		name = it.comment
	}
	*list = append(*list, mailbox{strings.Trim(f.headerText(name), "\" "), address})
	return ""
}

// closingOf returns what closes a quoted string, a comment or an address; 0 for what opens
// none of them.
func closingOf(c byte) byte {
	switch c {
	case '"':
		return '"'
	case '(':
		return ')'
	case '<':
		return '>'
	}
	return 0
}

// spanOf returns the length of what begins with open and ends with its closing character; 0
// if that is missing. Comments nest.
func spanOf(s []byte, open, closing byte) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && open != '<':
			i++
		case c == closing && (depth == 1 || i > 0 && open != '('):
			return i + 1
		case c == closing:
			depth--
		case c == open:
			depth++
		}
	}
	return 0
}

// unescape takes quotes and the backslashes of quoted pairs out.
func unescape(s []byte) []byte {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		} else if s[i] == '"' {
			continue
		}
		out = append(out, s[i])
	}
	return out
}

// bareAddress finds the one address in an item of a list, as CanonicalAddress has it; ""
// when there is none.
func bareAddress(item []byte) string {
	if i := bytes.LastIndexByte(item, '<'); i >= 0 {
		inner, _, _ := bytes.Cut(item[i+1:], []byte{'>'})
		if inner = bytes.TrimSpace(inner); bytes.IndexByte(inner, '@') > 0 {
			item = inner
		}
	}
	if bytes.Contains(item, []byte(" @")) || bytes.Contains(item, []byte("@ ")) { // RFC 5322, section 4.4
		item = bytes.ReplaceAll(bytes.ReplaceAll(item, []byte(" @"), []byte("@")), []byte("@ "), []byte("@"))
	}
	for word := range bytes.FieldsSeq(item) {
		if i := bytes.LastIndexByte(word, '@'); i > 0 { // mailto:, or a route
			word = word[1+bytes.LastIndexByte(word[:i], ':'):]
		}
		if word = bytes.Trim(word, `<>()"',;:`); !bytes.Contains(word, []byte("@[")) {
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
	if isASCII([]byte(address)) {
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
