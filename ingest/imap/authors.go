package imap

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/mail"
	"net/textproto"
	"slices"
	"strings"
	"time"

	goimap "github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"github.com/hinged/hinged/ingest"
)

// maxAuthorBytes is how much of a From field is read.
const maxAuthorBytes = 4 << 10

// Author is who wrote messages.
type Author struct {
	Address  string // bare, lower case
	Messages int
}

// Authors reads who wrote the messages of the open mailbox that arrived on the
// day of since or later, the newest limit of them: the most frequent author
// first. Nothing becomes \Seen. A field that can't be read counts for nobody.
func (p *Probe) Authors(since time.Time, limit int) ([]Author, error) {
	found, err := p.search(&goimap.SearchCriteria{Since: since})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	if n := int(found.len()); n > limit {
		_, found = found.cut(n - limit)
	}
	counts := map[string]int{}
	p.s.beginFor(int(found.len()) * 2) // a line and a field for each
	err = p.s.fetch(found.set(), &goimap.FetchOptions{UID: true, BodySection: []*goimap.FetchItemBodySection{{
		Specifier: goimap.PartSpecifierHeader, HeaderFields: []string{"From"}, Peek: true,
		Partial: &goimap.SectionPartial{Size: maxAuthorBytes},
	}}}, func(m *imapclient.FetchMessageData) error {
		for {
			switch item := m.Next().(type) {
			case nil:
				return nil
			case imapclient.FetchItemDataBodySection:
				if item.Literal == nil {
					continue
				}
				field, err := io.ReadAll(io.LimitReader(item.Literal, maxAuthorBytes))
				if err != nil {
					return textError{p.s.fail("read a message's From", err)}
				}
				for _, address := range authors(field) {
					counts[address]++
				}
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read who wrote what is in %s: %w", p.name, err)
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

// authors returns the addresses of a From field, as it stands in a header.
func authors(field []byte) []string {
	header, err := textproto.NewReader(bufio.NewReader(bytes.NewReader(append(field, "\r\n\r\n"...)))).ReadMIMEHeader()
	if err != nil {
		return nil
	}
	list, err := mail.ParseAddressList(header.Get("From"))
	if err != nil {
		return nil
	}
	var out []string
	for _, a := range list {
		out = append(out, strings.ToLower(ingest.OneLine(a.Address)))
	}
	return out
}
