// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"
	"strings"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/ingest/imap"
)

// vouch compares authserv_id with what recent mail in the open mailbox has.
func (c *Checker) vouch(a *config.Account, p *imap.Probe) {
	v, err := p.Verifiers(c.Now().AddDate(-1, 0, 0), maxRead)
	id := a.Featurize.AuthservID
	switch {
	case err != nil:
		c.add(Fail, a.Name, "vouch", mendWire(err), "%v", err)
	case v.Messages < minVerified:
		// Too little to tell.
	case id == "" && ownVerifier(v):
		c.add(Warn, a.Name, "vouch", fmt.Sprintf("in [account.featurize], authserv_id = %q, if that is your provider's server", v.Server),
			"anybody can write a known From; %s vouches for senders in %d of the newest %d messages, and is not believed", v.Server, v.Named, v.Messages)
	case id == "":
	case strings.EqualFold(id, v.Server) && v.Named*2 >= v.Messages:
		c.add(OK, a.Name, "vouch", "", "%s vouches for senders in %d of the newest %d messages", v.Server, v.Named, v.Messages)
	default:
		found := "no other server vouches for most of it"
		if v.Server != "" && !strings.EqualFold(id, v.Server) {
			found = fmt.Sprintf("in %d of them it is %s", v.Named, v.Server)
		}
		c.add(Warn, a.Name, "vouch", "correct authserv_id, the first word of the topmost Authentication-Results, or leave it out",
			"most of the newest %d messages have no results of %s, so their senders count as unknown; %s", v.Messages, id, found)
	}
}
