// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"slices"
	"strings"

	goimap "github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"github.com/hinged/hinged/ingest"
)

// Errors of choosing a message to show marks on.
var (
	ErrNoCandidate = errors.New("there is no such message")
	ErrMarked      = errors.New("the message has such a mark already")
	ErrChanged     = errors.New("the message changed meanwhile")
)

// Candidate is a message that marks can be shown on.
type Candidate struct {
	Place         ingest.Place
	From, Subject string // decoded as far as possible, each one line
	// Flags it has, as the server spells them.
	Flags []string

	modseq uint64
}

// Candidate finds a message to show marks on, in a mailbox that it opens: the one with a
// Message-ID, or for "" the newest that was read and has none of the marks. The error
// wraps ErrNoCandidate, or ErrMarked where the named one has a mark.
func (p *Probe) Candidate(mailbox, messageID string, marks []string) (Candidate, error) {
	if _, err := p.Open(mailbox, false); err != nil {
		return Candidate{}, err
	}
	criteria := &goimap.SearchCriteria{NotFlag: []goimap.Flag{goimap.FlagDeleted}}
	if messageID != "" {
		criteria.Header = []goimap.SearchCriteriaHeaderField{{Key: "Message-ID", Value: messageID}}
	} else {
		criteria.Flag = []goimap.Flag{goimap.FlagSeen}
		for _, m := range marks {
			criteria.NotFlag = append(criteria.NotFlag, goimap.Flag(m))
		}
	}
	found, err := p.search(criteria)
	if err != nil {
		return Candidate{}, err
	}
	if len(found) == 0 {
		return Candidate{}, fmt.Errorf("%w in %s", ErrNoCandidate, mailbox)
	}
	c := Candidate{Place: ingest.Place{Mailbox: mailbox, UIDValidity: p.open.UIDValidity, UID: found[len(found)-1].last}}
	if err := p.head(&c); err != nil {
		return c, err
	}
	var there bool
	if c.Flags, c.modseq, there, err = p.flags(c.Place.UID); err != nil {
		return c, err
	}
	switch {
	case !there:
		return c, fmt.Errorf("%w in %s", ErrNoCandidate, mailbox)
	case holdsAny(c.Flags, marks):
		return c, ErrMarked
	}
	return c, nil
}

// head reads who wrote a message about what. Nothing becomes \Seen.
func (p *Probe) head(c *Candidate) error {
	p.s.beginFor(2)
	return p.s.fetch(goimap.UIDSetNum(goimap.UID(c.Place.UID)), &goimap.FetchOptions{UID: true, BodySection: []*goimap.FetchItemBodySection{{
		Specifier: goimap.PartSpecifierHeader, HeaderFields: []string{"From", "Subject"}, Peek: true,
		Partial: &goimap.SectionPartial{Size: maxFieldBytes},
	}}}, func(m *imapclient.FetchMessageData) error {
		for item := m.Next(); item != nil; item = m.Next() {
			section, ok := item.(imapclient.FetchItemDataBodySection)
			if !ok || section.Literal == nil {
				continue
			}
			fields, err := io.ReadAll(io.LimitReader(section.Literal, maxFieldBytes))
			if err != nil {
				return textError{p.s.fail("read a message's From and Subject", err)}
			}
			header := headerOf(fields)
			c.From, c.Subject = decoded(header.Get("From")), decoded(header.Get("Subject"))
		}
		return nil
	})
}

// decoded is a header field for people: encoded words (RFC 2047) are decoded where the
// standard library knows their charset.
func decoded(field string) string {
	if text, err := new(mime.WordDecoder).DecodeHeader(field); err == nil {
		field = text
	}
	return ingest.OneLine(field)
}

// PutOn sets flags on a message, only if it is as it was when it was found, and looks
// whether they are there. The error wraps ErrChanged when it is not; nothing was set then.
// After any other error they may be there. refused says in the server's words why it set
// none.
func (p *Probe) PutOn(c Candidate, flags []string) (refused string, err error) {
	if p.name != c.Place.Mailbox || p.open == nil {
		return "", errors.New("the message's mailbox is not open")
	}
	if p.open.UIDValidity != c.Place.UIDValidity {
		return "", fmt.Errorf("%w: %s %w", ErrChanged, p.name, ErrRenumbered)
	}
	modseq := c.modseq
	if !p.cond || modseq == 0 {
		modseq = 0
		words, _, there, err := p.flags(c.Place.UID)
		if err != nil {
			return "", err
		}
		if !there || !slices.Equal(words, c.Flags) {
			return "", ErrChanged
		}
	}
	var list []goimap.Flag
	for _, f := range flags {
		list = append(list, goimap.Flag(f))
	}
	late, err := p.s.store(c.Place.UID, goimap.StoreFlagsAdd, list, modseq)
	if status, no := isStatus(err); no {
		return status.Error(), nil
	}
	if err != nil {
		return "", err
	}
	if late {
		return "", ErrChanged
	}
	words, _, _, err := p.flags(c.Place.UID)
	if err != nil {
		return "", err
	}
	for _, f := range flags {
		if !holds(words, f) {
			return fmt.Sprintf("it has only %s afterwards", strings.Join(words, " ")), nil
		}
	}
	return "", nil
}
