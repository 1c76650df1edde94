// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"

	goimap "github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"github.com/hinged/hinged/ingest"
)

// Whether a message is a copy of another one: its header tells cheaply which ones may be,
// and its text whether they are.

// described is what is looked at of a message.
type described struct {
	there     bool
	flags     []string // canonical
	modseq    uint64   // 0: the mailbox has none
	size      int64
	messageID string // "" when there is none that can be searched for
	sum       string
}

// original opens the mailbox of the request's message and looks at that.
func (c *copying) original(mailbox string) (described, error) {
	if c.req.Place.UID == 0 {
		return described{}, c.end(ingest.MarkGone, "")
	}
	d, err := c.open(mailbox, true)
	if err != nil {
		return described{}, c.refused(err, ingest.MarkGone)
	}
	if d.UIDValidity != c.req.Place.UIDValidity {
		return described{}, c.end(ingest.MarkGone, "")
	}
	m, err := c.describe(c.req.Place.UID)
	if err == nil && !m.there {
		err = c.end(ingest.MarkGone, "")
	}
	return m, err
}

func (c *copying) open(mailbox string, readOnly bool) (*goimap.SelectData, error) {
	c.sess.begin()
	d, err := c.sess.client.Select(mailbox, &goimap.SelectOptions{ReadOnly: readOnly, CondStore: c.sess.has(goimap.CapCondStore)}).Wait()
	c.sess.guard.end()
	if err != nil {
		return nil, c.sess.fail(selecting(readOnly)+" "+mailbox, err)
	}
	c.cond = c.sess.has(goimap.CapCondStore) && d.HighestModSeq != 0
	return d, nil
}

// describe looks at one message of the open mailbox.
func (c *copying) describe(uid uint32) (got described, err error) {
	err = c.each(goimap.UIDSetNum(goimap.UID(uid)), 1, func(n uint32, m described) {
		if n == uid {
			got = m
		}
	})
	return got, err
}

// maxCopies is how many messages with one Message-ID are looked at, the newest.
const maxCopies = 20

// copies opens a mailbox and returns the UIDs of the messages in it that are the
// original once more, byte by byte, ascending, and its UIDVALIDITY. Another mailbox may be
// open afterwards.
func (c *copying) copies(mailbox string, original described) (uids []uint32, validity uint32, err error) {
	d, err := c.open(mailbox, true)
	if err != nil {
		return nil, 0, c.refused(err, ingest.MarkImpossible)
	}
	if d.NumMessages == 0 {
		return nil, d.UIDValidity, nil
	}
	criteria := &goimap.SearchCriteria{Larger: original.size - 1, Smaller: original.size + 1}
	if original.messageID != "" {
		criteria = &goimap.SearchCriteria{Header: []goimap.SearchCriteriaHeaderField{{Key: "Message-ID", Value: original.messageID}}}
	}
	found, err := c.sess.search(criteria, ^uint32(0)-1, d.NumMessages)
	if err != nil {
		return nil, 0, c.refused(err, ingest.MarkImpossible)
	}
	if len(found) == 0 {
		return nil, d.UIDValidity, nil
	}
	if n := int(found.len()); n > maxCopies {
		_, found = found.cut(n - maxCopies)
	}
	var alike []uint32
	err = c.each(found.set(), int(found.len()), func(n uint32, m described) {
		if m.there && m.sum == original.sum && m.size == original.size {
			alike = append(alike, n)
		}
	})
	if err != nil || len(alike) == 0 {
		return nil, d.UIDValidity, err
	}
	uids, err = c.sameText(alike, original)
	slices.Sort(uids)
	return uids, d.UIDValidity, err
}

// sameText returns those of some messages in the open mailbox whose text is the original's,
// byte by byte: anybody can write a header again. It leaves the original's mailbox open.
func (c *copying) sameText(alike []uint32, original described) ([]uint32, error) {
	texts := make([]string, len(alike))
	for i, uid := range alike {
		var err error
		if texts[i], err = c.text(uid, original.size); err != nil {
			return nil, err
		}
	}
	if _, err := c.original(mailboxName(c.req.Place.Mailbox)); err != nil {
		return nil, err
	}
	text, err := c.text(c.req.Place.UID, original.size)
	if err != nil {
		return nil, err
	}
	var same []uint32
	for i, uid := range alike {
		if texts[i] == text {
			same = append(same, uid)
		}
	}
	return same, nil
}

// text returns a hash of the whole text of a message in the open mailbox. size is what the
// server says of it. The error ends the request if the text does not come.
func (c *copying) text(uid uint32, size int64) (sum string, err error) {
	for try := 0; sum == "" && err == nil && try < bareTries; try++ {
		c.sess.beginFor(1)
		err = c.sess.fetch(goimap.UIDSetNum(goimap.UID(uid)), &goimap.FetchOptions{
			UID: true, BodySection: []*goimap.FetchItemBodySection{text(false, 0)},
		}, func(line *imapclient.FetchMessageData) error {
			n, of, err := c.readSum(line, size)
			if n == uid && of != "" {
				sum = of
			}
			return err
		})
	}
	if err == nil && sum == "" {
		err = c.end(ingest.MarkImpossible, "the server does not give the text of a message to compare")
	}
	return sum, err
}

// readSum takes a FETCH line apart that holds a text of about this size.
func (c *copying) readSum(line *imapclient.FetchMessageData, size int64) (uid uint32, sum string, err error) {
	for {
		switch item := line.Next().(type) {
		case nil:
			return uid, sum, nil
		case imapclient.FetchItemDataUID:
			uid = uint32(item.UID)
		case imapclient.FetchItemDataBodySection:
			if item.Literal == nil {
				continue
			}
			// QUIRK: what Exchange says of a message's size is a guess.
			if n := item.Literal.Size(); n > 2*size+lineBudget {
				return 0, "", c.sess.broken("a text of %d bytes came where about %d were asked for", n, size)
			}
			c.sess.guard.extend(item.Literal.Size(), c.sess.patience())
			h := sha256.New()
			if _, err := io.CopyN(h, item.Literal, item.Literal.Size()); err != nil {
				return 0, "", textError{c.sess.fail("read a message", err)}
			}
			sum = hex.EncodeToString(h.Sum(nil))
		}
	}
}

// each looks at messages of the open mailbox, n at most.
func (c *copying) each(set goimap.UIDSet, n int, take func(uid uint32, m described)) error {
	c.sess.beginFor(2 * n) // a line and a header for each
	return c.sess.fetch(set, &goimap.FetchOptions{
		UID: true, Flags: true, RFC822Size: true, ModSeq: c.cond,
		BodySection: []*goimap.FetchItemBodySection{{
			Specifier: goimap.PartSpecifierHeader, HeaderFields: []string{"Message-ID", "Date", "From", "Subject"}, Peek: true,
			Partial: &goimap.SectionPartial{Size: maxFieldBytes},
		}},
	}, func(line *imapclient.FetchMessageData) error {
		var uid uint32
		var m described
		for {
			switch item := line.Next().(type) {
			case nil:
				if uid != 0 {
					take(uid, m)
				}
				return nil
			case imapclient.FetchItemDataUID:
				uid = uint32(item.UID)
			case imapclient.FetchItemDataModSeq:
				m.modseq = item.ModSeq
			case imapclient.FetchItemDataRFC822Size:
				m.size = item.Size
			case imapclient.FetchItemDataFlags:
				words := make([]string, len(item.Flags))
				for i, f := range item.Flags {
					words[i] = string(f)
				}
				m.flags, m.there = ingest.CanonicalFlags(words), true
			case imapclient.FetchItemDataBodySection:
				if item.Literal == nil {
					continue
				}
				header, err := io.ReadAll(io.LimitReader(item.Literal, maxFieldBytes))
				if err != nil {
					return textError{c.sess.fail("read a message's header", err)}
				}
				sum := sha256.Sum256(header)
				m.sum, m.messageID = hex.EncodeToString(sum[:16]), searchable(headerOf(header).Get("Message-Id"))
			}
		}
	})
}
