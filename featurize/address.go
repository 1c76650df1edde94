// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"net/mail"
	"slices"
	"strings"
)

// readAddresses appends the addresses of a field to list, in lower case, and makes
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
		if f.owner[address] {
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

// addresses returns the name and the address, in lower case, of each item of a field, until
// the next call. One bad address does not cost the others: where the list does not parse as
// a whole, each item is read by itself.
func (f *Featurizer) addresses(value []byte) []mailbox {
	text := string(value)
	var ok bool
	if f.mailboxes, ok = plainAddresses(f.mailboxes[:0], text); !ok {
		parser := mail.AddressParser{WordDecoder: &f.decoder}
		parsed, err := parser.ParseList(text)
		if err != nil {
			parsed = f.looseAddresses(value)
		}
		f.mailboxes = f.mailboxes[:0]
		for _, a := range parsed {
			f.mailboxes = append(f.mailboxes, mailbox{a.Name, strings.ToValidUTF8(a.Address, "\uFFFD")})
		}
	}
	kept := f.mailboxes[:0]
	for _, m := range f.mailboxes {
		m.address = strings.ToLower(m.address)
		if strings.Contains(m.address, " | ") { // that would separate facts
			m.address = strings.ReplaceAll(m.address, "|", "_")
		}
		if len(m.address) <= 200 {
			kept = append(kept, m)
		}
	}
	return kept
}

// looseAddresses reads a list that breaks the rules: it is cut at the commas
// outside quotes, and of each item counts what stands in angle brackets or has
// an "@".
func (f *Featurizer) looseAddresses(value []byte) []*mail.Address {
	var out []*mail.Address
	bad := false
	for len(value) > 0 && len(out) < maxAddresses {
		quoted := false
		end := bytes.IndexFunc(value, func(r rune) bool {
			if r == '"' {
				quoted = !quoted
			}
			return (r == ',' || r == ';') && !quoted
		})
		item := value
		if end >= 0 {
			item, value = value[:end], value[end+1:]
		} else {
			value = nil
		}
		if len(bytes.TrimSpace(item)) == 0 {
			continue
		}
		address := bareAddress(item)
		if address == "" {
			bad = true
			continue
		}
		name, _, _ := bytes.Cut(item, []byte{'<'})
		out = append(out, &mail.Address{Name: strings.Trim(f.headerText(name), `" `), Address: address})
	}
	if bad {
		f.defect("address")
	}
	return out
}

// bareAddress finds the one address in an item of a list, in lower case; "" when
// there is none.
func bareAddress(item []byte) string {
	if i := bytes.LastIndexByte(item, '<'); i >= 0 {
		inner, _, _ := bytes.Cut(item[i+1:], []byte{'>'})
		if inner = bytes.TrimSpace(inner); bytes.IndexByte(inner, '@') > 0 {
			item = inner
		}
	}
	for word := range bytes.FieldsSeq(item) {
		word = bytes.Trim(word, `<>()[]"',;:`)
		if i := bytes.IndexByte(word, '@'); i > 0 && i+1 < len(word) && len(word) <= 200 {
			return strings.ToLower(strings.ToValidUTF8(string(word), "\uFFFD"))
		}
	}
	return ""
}
