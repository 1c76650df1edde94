// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"strings"
	"time"
)

// Verifiers says which server writes Authentication-Results into the mail of a mailbox.
type Verifiers struct {
	Messages int // that were read
	// Server is the authserv-id that stands topmost in most of them; "" if none has any.
	Server string
	// Named counts the messages with that server topmost, Vouching those of them with
	// a result of DKIM or DMARC, whatever it is.
	Named, Vouching int
}

// Verifiers reads the topmost Authentication-Results field of the newest limit messages
// of the open mailbox that arrived on the day of since or later (RFC 8601, section 2.2).
// A server writes its results above all that came with the message, so only the topmost
// field can be its own. Nothing becomes \Seen.
func (p *Probe) Verifiers(since time.Time, limit int) (v Verifiers, err error) {
	type tally struct{ named, vouching int }
	all := map[string]tally{}
	v.Messages, err = p.eachField(since, limit, []string{"Authentication-Results"}, func(fields []byte) {
		if server, vouches := verifier(headerOf(fields).Get("Authentication-Results")); server != "" {
			t := all[server]
			if t.named++; vouches {
				t.vouching++
			}
			all[server] = t
		}
	})
	for server, t := range all {
		if t.named > v.Named || t.named == v.Named && server < v.Server {
			v.Server, v.Named, v.Vouching = server, t.named, t.vouching
		}
	}
	return v, err
}

// verifier returns the authserv-id of a field, in lower case, and whether the field has
// a result of DKIM or DMARC. "" is for a field that can't be read.
func verifier(field string) (server string, vouches bool) {
	server, results, found := strings.Cut(field, ";")
	words := strings.Fields(server)
	if !found || len(words) == 0 || strings.ContainsAny(words[0], `()<>@,"`) {
		return "", false
	}
	results = strings.ToLower(results)
	return strings.ToLower(words[0]), strings.Contains(results, "dkim=") || strings.Contains(results, "dmarc=")
}
