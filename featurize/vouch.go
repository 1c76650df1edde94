// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"slices"
	"strings"
)

const fieldResults = "authentication-results"

// authenticate reads what the believed server found out, and whether it vouches for From. It writes
// above all that came with the message (RFC 8601, section 5): only its topmost field counts.
func (f *Featurizer) authenticate() {
	f.vouchedFrom = false
	if f.AuthServID == "" {
		return
	}
	for _, fd := range f.fields {
		if bytes.EqualFold(fd.name, []byte(fieldResults)) && f.readAuthentication(fd.value) {
			break
		}
	}
	if len(f.vouchers) == 0 {
		return
	}
	var from []string
	for _, fd := range f.fields {
		if bytes.EqualFold(fd.name, []byte("from")) {
			for _, m := range f.addresses(fd.value) {
				from = append(from, m.address)
			}
		}
	}
	f.vouchedFrom = f.vouched(from)
}

// readAuthentication makes features of results, and reports whether the believed server wrote them.
func (f *Featurizer) readAuthentication(value []byte) bool {
	// A token or a quoted string, perhaps after a comment; a version may follow (section 2.2).
	head, results, _ := strings.Cut(plainResults(string(value)), ";")
	server := strings.Trim(first(strings.Fields(head)), `"`)
	// The length, as some letters outside ASCII are the same as k and s but for case.
	if len(server) != len(f.AuthServID) || !strings.EqualFold(server, f.AuthServID) {
		return false
	}
	for result := range strings.SplitSeq(results, ";") {
		result = strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(result), " =", "="), "= ", "=")
		if tokens := strings.Fields(result); len(tokens) > 0 {
			f.readResult(tokens)
		}
	}
	return true
}

// readResult makes a feature of a result, and notes for whom it vouches.
func (f *Featurizer) readResult(tokens []string) {
	method, verdict, ok := strings.Cut(tokens[0], "=")
	if ok && len(tokens[0]) < 40 && isASCII([]byte(tokens[0])) {
		f.terms.add(Misc, "auth:", tokens[0])
	}
	method, _, _ = strings.Cut(method, "/") // a version may follow
	if verdict == "pass" && (method == "dmarc" || method == "dkim") {
		f.readVouchers(method, tokens[1:])
	}
}

// said returns the prefix of features about what the sender says of itself: another one if the
// believed server does not vouch for it, so that a claim gets nothing of what was learnt.
func (f *Featurizer) said(prefix string, vouched bool) string {
	if f.AuthServID == "" || vouched {
		return prefix
	}
	return strings.TrimSuffix(prefix, ":") + "?:"
}

// voucher is a domain from which a message comes: by DMARC, for that From alone, or by DKIM.
type voucher struct {
	domain string
	dkim   bool
}

// maxVouchers bounds what is kept of one message.
const maxVouchers = 50

// readVouchers notes what a result vouches for (RFC 8601, section 2.2): DMARC that passed for the
// domain in header.from, valid signatures by header.d, or by header.i alone, whose domain lies
// at or below that of header.d (RFC 6376, section 3.5).
func (f *Featurizer) readVouchers(method string, properties []string) {
	signer := slices.ContainsFunc(properties, func(p string) bool { return strings.HasPrefix(p, "header.d=") })
	for _, p := range properties {
		property, value, _ := strings.Cut(p, "=")
		value = strings.Trim(value, `"`)
		v := voucher{domain: strings.TrimSuffix(value, "."), dkim: true}
		switch {
		case method == "dmarc" && property == "header.from":
			v.dkim = false
			if _, domain, found := cutAddress(v.domain); found {
				v.domain = domain
			}
		case method == "dkim" && property == "header.d":
		case method == "dkim" && property == "header.i" && !signer:
			_, v.domain, _ = cutAddress(v.domain)
		default:
			continue
		}
		if v.domain = canonicalDomain(v.domain); v.domain != "" && len(f.vouchers) < maxVouchers {
			f.vouchers = append(f.vouchers, v)
		}
	}
}

// vouched reports whether the one address in From is vouched for. A signature counts for its domain
// and those below. DMARC's relaxed alignment needs a list of domains; a server that has one says
// dmarc=pass.
func (f *Featurizer) vouched(from []string) bool {
	if len(from) != 1 {
		return false
	}
	_, domain, _ := cutAddress(from[0])
	return f.vouchesFor(domain)
}

// vouchesFor reports whether something in the message is vouched for under a domain.
func (f *Featurizer) vouchesFor(domain string) bool {
	for _, v := range f.vouchers {
		if v.domain == domain && domain != "" ||
			v.dkim && strings.Contains(v.domain, ".") && strings.HasSuffix(domain, "."+v.domain) {
			return true
		}
	}
	return false
}

// plainResults blanks comments (RFC 5322, section 3.2.2), takes quoted pairs apart, and puts "_" in
// quoted strings for what would end a value or a result. What is not closed reaches to the end.
func plainResults(s string) string {
	out := make([]byte, 0, len(s))
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		c := s[i]
		escaped := c == '\\' && (quoted || depth > 0) && i+1 < len(s)
		if escaped {
			i++
			c = s[i]
		}
		switch {
		case quoted && (escaped || c != '"'):
			if c <= ' ' || c == ';' || c == '=' || c == '"' {
				c = '_'
			}
		case depth == 0 && c == '"':
			quoted = !quoted
		case depth > 0 || c == '(':
			switch {
			case c == '(' && !escaped:
				depth++
			case c == ')' && !escaped:
				depth--
			}
			c = ' '
		}
		out = append(out, c)
	}
	return string(out)
}
