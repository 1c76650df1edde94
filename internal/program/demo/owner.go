// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
)

type deed uint8

const (
	leaves   deed = iota
	reads         // opens it, nothing more
	marks         // sets the mark that was missing
	unmarks       // takes a wrong mark away
	stars         // sets \Flagged
	answers       // replies, the reply in Sent
	junks         // moves it to Junk
	discards      // moves it to Trash, unread
)

func (m *Message) deed(marked bool) deed {
	switch {
	case m.Spam && m.Junks:
		return junks
	case m.Spam:
		return leaves
	case m.Important && m.Reply != nil:
		return answers
	case m.Important && marked && !m.Stars:
		return reads
	case m.Important && !marked && m.Overlooks:
		return leaves
	case m.Important && m.Stars:
		return stars
	case m.Important:
		return marks
	case marked && m.Overlooks:
		return leaves
	case marked:
		return unmarks
	case m.Discards:
		return discards
	case m.Reads:
		return reads
	}
	return leaves
}

// moves reports whether a deed takes the message out of INBOX.
func (d deed) moves() bool { return d == junks || d == discards }

// teaches returns the label that the daemon should draw from a deed, "" for
// none.
func (d deed) teaches() string {
	switch d {
	case marks, stars, answers:
		return "important"
	case unmarks, junks, discards:
		return "ordinary"
	}
	return ""
}

// story tells a deed; "" when it is not worth a line. marked says whether the
// daemon had marked the message.
func (d deed) story(marked bool) string {
	switch d {
	case marks:
		return "missed: Nora marks it"
	case stars:
		if marked {
			return "Nora stars it"
		}
		return "missed: Nora stars it"
	case unmarks:
		return "wrong: Nora takes the mark off"
	case answers:
		if marked {
			return "Nora answers"
		}
		return "missed: Nora answers all the same"
	case junks:
		if marked {
			return "wrong: Nora moves it to Junk"
		}
		return "Nora moves it to Junk"
	case discards:
		return "Nora throws it away unread"
	}
	return ""
}

// corrects reports whether a deed tells the daemon that it was wrong.
func (d deed) corrects(marked bool) bool {
	switch d {
	case marks, unmarks:
		return true
	case stars, answers:
		return !marked
	case junks:
		return marked
	}
	return false
}

// flag carries out the part of a deed that happens in INBOX. A message is read
// before it is marked: marks that appear on unread mail within seconds of its
// arrival, time and again, would be taken for another program's. Spam is read, too: on the embedded
// server a message is \Deleted for a moment when it moves, which says something, and
// something weaker than its arrival in Junk, of unread mail only.
func (h *hand) flag(d deed, uid imap.UID, mark string) error {
	switch d {
	case reads, junks:
		return h.set(imap.StoreFlagsAdd, uid, imap.FlagSeen)
	case marks:
		return h.set(imap.StoreFlagsAdd, uid, imap.FlagSeen, imap.Flag(mark))
	case stars:
		return h.set(imap.StoreFlagsAdd, uid, imap.FlagSeen, imap.FlagFlagged)
	case answers:
		return h.set(imap.StoreFlagsAdd, uid, imap.FlagSeen, imap.FlagAnswered)
	case unmarks:
		if err := h.set(imap.StoreFlagsAdd, uid, imap.FlagSeen); err != nil {
			return err
		}
		return h.set(imap.StoreFlagsDel, uid, imap.Flag(mark))
	}
	return nil
}

func (h *hand) follow(d deed, m *Message, uid imap.UID) error {
	switch d {
	case answers:
		_, err := h.put("Sent", m.Reply.Raw, m.Reply.Date, imap.FlagSeen)
		return err
	case junks:
		return h.move(uid, "Junk")
	case discards:
		return h.move(uid, "Trash")
	}
	return nil
}

const inbox = "INBOX"

// hand is a mail client's connection to the account with INBOX open: the
// postman's, or the owner's. Not safe for concurrent use.
type hand struct {
	c      *imapclient.Client
	unhook func() bool
}

// reach connects, logs in and opens INBOX. When ctx ends the connection breaks,
// and whatever waits on it returns.
func reach(ctx context.Context, h Host) (*hand, error) {
	c, err := imapclient.DialInsecure(h.Addr, nil)
	if err != nil {
		return nil, fmt.Errorf("mail client: %w", err)
	}
	out := &hand{c: c, unhook: context.AfterFunc(ctx, func() { _ = c.Close() })}
	if err := c.Login(h.User, h.Password).Wait(); err != nil {
		out.close()
		return nil, fmt.Errorf("mail client: log in: %w", err)
	}
	if _, err := c.Select(inbox, nil).Wait(); err != nil {
		out.close()
		return nil, fmt.Errorf("mail client: open INBOX: %w", err)
	}
	return out, nil
}

func (h *hand) close() {
	h.unhook()
	_ = h.c.Close() // the server has hung up if this fails
}

func (h *hand) put(mailbox string, raw []byte, at time.Time, flags ...imap.Flag) (imap.UID, error) {
	cmd := h.c.Append(mailbox, int64(len(raw)), &imap.AppendOptions{Time: at, Flags: flags})
	if _, err := cmd.Write(raw); err != nil {
		return 0, fmt.Errorf("deliver to %s: %w", mailbox, err)
	}
	if err := cmd.Close(); err != nil {
		return 0, fmt.Errorf("deliver to %s: %w", mailbox, err)
	}
	data, err := cmd.Wait()
	if err != nil {
		return 0, fmt.Errorf("deliver to %s: %w", mailbox, err)
	}
	return data.UID, nil
}

// flags returns the flags that a message in INBOX has now, and whether it is
// there.
func (h *hand) flags(uid imap.UID) (flags []imap.Flag, there bool, err error) {
	if err := h.c.Noop().Wait(); err != nil { // so that what others did is seen
		return nil, false, fmt.Errorf("look at INBOX: %w", err)
	}
	found, err := h.c.Fetch(imap.UIDSetNum(uid), &imap.FetchOptions{UID: true, Flags: true}).Collect()
	if err != nil {
		return nil, false, fmt.Errorf("look at a message: %w", err)
	}
	if len(found) == 0 {
		return nil, false, nil
	}
	return found[0].Flags, true, nil
}

func (h *hand) set(op imap.StoreFlagsOp, uid imap.UID, flags ...imap.Flag) error {
	err := h.c.Store(imap.UIDSetNum(uid), &imap.StoreFlags{Op: op, Silent: true, Flags: flags}, nil).Close()
	if err != nil {
		return fmt.Errorf("change the flags of UID %d: %w", uid, err)
	}
	return nil
}

func (h *hand) move(uid imap.UID, to string) error {
	if _, err := h.c.Move(imap.UIDSetNum(uid), to).Wait(); err != nil {
		return fmt.Errorf("move UID %d to %s: %w", uid, to, err)
	}
	return nil
}

func has(flags []imap.Flag, flag string) bool {
	return slices.ContainsFunc(flags, func(f imap.Flag) bool { return strings.EqualFold(string(f), flag) })
}
