// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"strings"
)

const fieldResults = "authentication-results"

// authenticate reads what the server that is believed found out about the message, and
// whether it vouches for From. A server writes its results above all that came with the
// message (RFC 8601, section 5), so only the topmost field under its name counts.
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

// readAuthentication makes features of the results of the one server that is believed
// (RFC 8601, section 5), and reports whether they are its; anybody can write the rest.
func (f *Featurizer) readAuthentication(value []byte) bool {
	server, results, _ := strings.Cut(string(value), ";")
	server, _, _ = strings.Cut(strings.TrimSpace(server), " ") // a version may follow
	if !strings.EqualFold(server, f.AuthServID) {
		return false
	}
	f.readVouchers(results)
	for _, result := range strings.Split(results, ";") {
		result, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(result)), " ")
		if method, verdict, ok := strings.Cut(result, "="); ok && len(result) < 40 && isASCII([]byte(result)) {
			f.terms.add(Misc, "auth:", method+"="+verdict)
		}
	}
	return true
}

// said returns the prefix of features about what the sender says of itself: another one
// if a server is believed and does not vouch for it. So who merely claims to be somebody
// gets none of what was learnt of them.
func (f *Featurizer) said(prefix string, vouched bool) string {
	if f.AuthServID == "" || vouched {
		return prefix
	}
	return strings.TrimSuffix(prefix, ":") + "?:"
}

// voucher is a domain for which the believed server found that a message comes
// from it: by DMARC, for that From alone, or by DKIM.
type voucher struct {
	domain string
	dkim   bool
}

// maxVouchers bounds what is kept of one message.
const maxVouchers = 50

// readVouchers notes what the results of the believed server (RFC 8601, section
// 2.2) vouch for, behind its authserv-id: DMARC that passed for the domain in
// From (header.from), and valid signatures by a domain (header.d, or header.i,
// whose domain lies at or below that of header.d: RFC 6376, section 3.5).
func (f *Featurizer) readVouchers(results string) {
	for result := range strings.SplitSeq(withoutComments(results), ";") {
		tokens := strings.Fields(strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(result), " =", "="), "= ", "="))
		if len(tokens) == 0 {
			continue
		}
		method, verdict, _ := strings.Cut(tokens[0], "=")
		method, _, _ = strings.Cut(method, "/") // a version may follow
		if verdict != "pass" || method != "dmarc" && method != "dkim" {
			continue
		}
		for _, token := range tokens[1:] {
			property, value, _ := strings.Cut(token, "=")
			value = strings.Trim(value, `"`)
			v := voucher{domain: strings.TrimSuffix(value, "."), dkim: true}
			switch {
			case method == "dmarc" && property == "header.from":
				v.dkim = false
				if _, domain, found := cutAddress(v.domain); found {
					v.domain = domain
				}
			case method == "dkim" && property == "header.d":
			case method == "dkim" && property == "header.i":
				_, v.domain, _ = cutAddress(v.domain)
			default:
				continue
			}
			if v.domain != "" && len(f.vouchers) < maxVouchers {
				f.vouchers = append(f.vouchers, v)
			}
		}
	}
}

// vouched reports whether the one address in From is vouched for. A signature
// counts for its own domain and those below it. DMARC's relaxed alignment goes
// further, but only with a list of which domains belong to whom; the server that
// has one says so as dmarc=pass.
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

// withoutComments blanks what stands in parentheses (RFC 5322, section 3.2.2),
// and the semicolons in quoted strings. What is not closed reaches to the end.
func withoutComments(s string) string {
	out := []byte(s)
	depth, quoted := 0, false
	for i := 0; i < len(out); i++ {
		c := out[i]
		switch {
		case c == '\\' && (quoted || depth > 0):
			out[i] = ' '
			if i++; i < len(out) {
				out[i] = ' '
			}
			continue
		case quoted:
			if quoted = c != '"'; c == ';' {
				out[i] = ' '
			}
			continue
		case c == '"' && depth == 0:
			quoted = true
			continue
		case c == '(':
			depth++
		}
		if depth > 0 {
			out[i] = ' '
		}
		if c == ')' && depth > 0 {
			depth--
		}
	}
	return string(out)
}
