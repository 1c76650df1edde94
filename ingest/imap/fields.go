// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"net/mail"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"github.com/hinged/hinged/ingest"
)

// maxFieldBytes is how much is read of the fields of one name in one message.
const maxFieldBytes = 4 << 10

// Author is who wrote messages.
type Author struct {
	Address  string // bare, lower case
	Messages int
}

// Authors reads who wrote the messages of the open mailbox that arrived on the
// day of since or later, the newest limit of them: the most frequent author
// first. Nothing becomes \Seen. A field that can't be read counts for nobody.
func (p *Probe) Authors(since time.Time, limit int) ([]Author, error) {
	counts := map[string]int{}
	_, err := p.eachField(since, limit, []string{"From"}, func(field []byte) {
		for _, address := range authors(field) {
			counts[address]++
		}
	})
	if err != nil {
		return nil, err
	}
	var out []Author
	for address, n := range counts {
		out = append(out, Author{address, n})
	}
	slices.SortFunc(out, func(a, b Author) int {
		return cmp.Or(b.Messages-a.Messages, strings.Compare(a.Address, b.Address))
	})
	return out, nil
}

// eachField reads the header fields of these names, up to maxFieldBytes of them, of the
// newest limit messages of the open mailbox that arrived on the day of since or later.
// It returns how many messages it read. take is called once for each of them.
func (p *Probe) eachField(since time.Time, limit int, names []string, take func(fields []byte)) (messages int, err error) {
	found, err := p.since(since)
	if err != nil || len(found) == 0 {
		return 0, err
	}
	if n := int(found.len()); n > limit {
		_, found = found.cut(n - limit)
	}
	err = p.s.fetchListed(found, 2, askFields(maxFieldBytes, names...), p.s.readFields(maxFieldBytes), func(m fetched) error { // a line and a field for each
		if m.hasRaw {
			messages++
			take(m.raw)
		}
		return nil
	})
	if err != nil {
		return messages, fmt.Errorf("read the field %s of what is in %s: %w", strings.Join(names, ", "), p.name, err)
	}
	return messages, nil
}

// headerOf parses fields as they stand in a header; nil if it can't.
func headerOf(fields []byte) textproto.MIMEHeader {
	header, err := textproto.NewReader(bufio.NewReader(bytes.NewReader(append(fields, "\r\n\r\n"...)))).ReadMIMEHeader()
	if err != nil {
		return nil
	}
	return header
}

// authors returns the addresses of a From field, as it stands in a header.
func authors(field []byte) []string {
	list, err := mail.ParseAddressList(headerOf(field).Get("From"))
	if err != nil {
		return nil
	}
	var out []string
	for _, a := range list {
		out = append(out, strings.ToLower(ingest.OneLine(a.Address)))
	}
	return out
}

// Mailer is what a mail program calls itself in the messages that it writes.
type Mailer struct {
	Field    string // X-Mailer or User-Agent
	Name     string // the field's value, in one line
	Messages int    // with that value
}

// Mailers reads which programs wrote the messages of the open mailbox that arrived on
// the day of since or later, the newest limit of them: the most frequent first. Nothing
// becomes \Seen. Messages without such a field count for none.
func (p *Probe) Mailers(since time.Time, limit int) ([]Mailer, error) {
	counts := map[Mailer]int{}
	names := []string{"X-Mailer", "User-Agent"}
	_, err := p.eachField(since, limit, names, func(fields []byte) {
		header := headerOf(fields)
		for _, field := range names {
			if v := ingest.OneLine(strings.TrimSpace(header.Get(field))); v != "" {
				counts[Mailer{Field: field, Name: v}]++
			}
		}
	})
	if err != nil {
		return nil, err
	}
	var out []Mailer
	for mailer, n := range counts {
		mailer.Messages = n
		out = append(out, mailer)
	}
	slices.SortFunc(out, func(a, b Mailer) int {
		return cmp.Or(b.Messages-a.Messages, strings.Compare(a.Name, b.Name), strings.Compare(a.Field, b.Field))
	})
	return out, nil
}

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
