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
	p.s.beginFor(int(found.len()) * 2) // a line and a field for each
	err = p.s.fetch(found.set(), askFields(maxFieldBytes, names...), p.s.readFields(maxFieldBytes), func(m fetched) error {
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
