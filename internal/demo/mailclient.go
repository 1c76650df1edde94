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

// put adds a message to a mailbox and returns its UID.
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

// has reports whether flags hold flag, in any case.
func has(flags []imap.Flag, flag string) bool {
	return slices.ContainsFunc(flags, func(f imap.Flag) bool { return strings.EqualFold(string(f), flag) })
}
