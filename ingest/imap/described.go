// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"

	goimap "github.com/emersion/go-imap/v2"

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
func (c *copying) describe(uid uint32) (described, error) {
	line, there, err := c.sess.fetchOne(uid, c.describing(), c.sess.readFields(maxFieldBytes))
	if err != nil || !there {
		return described{}, err
	}
	return describedBy(line), nil
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
	criteria := goimap.SearchCriteria{Larger: original.size - 1, Smaller: original.size + 1}
	if original.messageID != "" {
		criteria = goimap.SearchCriteria{Header: []goimap.SearchCriteriaHeaderField{{Key: "Message-ID", Value: original.messageID}}}
	}
	found, err := c.sess.searchAll(criteria, d.NumMessages)
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
	// A line and a header for each.
	err = c.sess.fetchListed(found, 2, c.describing(), c.sess.readFields(maxFieldBytes), func(line fetched) error {
		if m := describedBy(line); m.there && m.sum == original.sum && m.size == original.size {
			alike = append(alike, line.uid)
		}
		return nil
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
	for range bareTries {
		line, _, err := c.sess.fetchOne(uid, goimap.FetchOptions{BodySection: []*goimap.FetchItemBodySection{text(false, 0)}}, c.readSum(size))
		if err != nil || line.hasRaw {
			return string(line.raw), err
		}
	}
	return "", c.end(ingest.MarkImpossible, "the server does not give the text of a message to compare")
}

// readSum reads a text of about this size and returns its hash.
func (c *copying) readSum(size int64) textReader {
	return func(literal goimap.LiteralReader) ([]byte, error) {
		// QUIRK: what Exchange says of a message's size is a guess.
		n := literal.Size()
		if n > 2*size+lineBudget {
			return nil, c.sess.broken("a text of %d bytes came where about %d were asked for", n, size)
		}
		c.sess.guard.extend(n, c.sess.patience())
		h := sha256.New()
		if _, err := io.CopyN(h, literal, n); err != nil {
			return nil, textError{c.sess.fail("read a message", err)}
		}
		return h.Sum(nil), nil
	}
}

// describing asks for what describedBy needs.
func (c *copying) describing() goimap.FetchOptions {
	o := askFields(maxFieldBytes, "Message-ID", "Date", "From", "Subject")
	o.Flags, o.RFC822Size, o.ModSeq = true, true, c.cond
	return o
}

func describedBy(line fetched) described {
	m := described{there: line.hasFlags, flags: line.flags, modseq: line.modseq, size: line.size}
	if line.hasRaw {
		sum := sha256.Sum256(line.raw)
		m.sum, m.messageID = hex.EncodeToString(sum[:16]), searchable(headerOf(line.raw).Get("Message-Id"))
	}
	return m
}
