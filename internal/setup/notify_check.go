// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"os/exec"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/ingest/imap"
)

// Telling is one of an account's ways to tell the owner of important mail.
type Telling struct {
	Way string // for people, without what must not be known
	// Test sends a notification that says that it is a test.
	Test func(ctx context.Context) error
}

// notify tests the ways to tell the owner of an account.
func (c *Checker) notify(ctx context.Context, a *config.Account) {
	for i, way := range c.Tellings(a) {
		n := &a.Notify[i]
		if n.Secret() {
			if _, err := n.ReadToken(ctx); err != nil {
				c.add(Fail, a.Name, "notify", "see that hinged can read the token", "%s: %v", way.Way, err)
				continue
			}
		}
		if len(n.Program) > 0 {
			if _, err := exec.LookPath(n.Program[0]); err != nil {
				c.add(Fail, a.Name, "notify", "correct the command, or install it", "%s: %v", way.Way, err)
				continue
			}
		}
		switch {
		case c.AgreeToTell == nil:
			c.add(OK, a.Name, "notify", "", "important mail is told by %s; --notify sends a test", way.Way)
		case !c.AgreeToTell(ctx, a.Name, way.Way):
			c.add(Warn, a.Name, "notify", "", "%s: not tried", way.Way)
		default:
			if err := way.Test(ctx); err != nil {
				c.add(Fail, a.Name, "notify", "correct [[account.notify]], or what receives it", "%s: %v", way.Way, err)
				continue
			}
			c.add(OK, a.Name, "notify", "", "%s took the test notification; see that it arrived", way.Way)
		}
	}
}

// digest tests that the mailbox for the digest mail is there.
func (c *Checker) digest(a *config.Account, p *imap.Probe) {
	if a.Digest == nil {
		return
	}
	if _, err := p.Open(a.Digest.Mailbox, true); err != nil {
		c.add(Fail, a.Name, "digest", "make that mailbox, or correct mailbox in [account.digest]", "%v", err)
		return
	}
	c.add(OK, a.Name, "digest", "", "each %s at %s, hinged puts a mail into %s", a.Digest.Every, a.Digest.At, a.Digest.Mailbox)
}
