// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Limits are how a large provider answers for a part of a mailbox. Its fields may be changed
// under the lock of the Fake that keeps them.
type Limits struct {
	// PerCommand is for how many messages a command is answered, 0: for any number. They
	// are the newest of those asked for (RFC 9738), or the oldest if Oldest is set.
	PerCommand int
	Oldest     bool
	// Refuse ends a command with NO that was answered in part, rather than with OK.
	Announce, Refuse bool
	// Window is how many messages, the newest, a mailbox is opened with; after ENABLE UIDONLY
	// (RFC 9586), which is offered if UIDOnly is set, all. STATUS tells of all.
	Window  int
	UIDOnly bool
	// Hidden is how many messages, the oldest, are in no answer but are counted.
	Hidden int
	// Commands counts the commands by their names.
	Commands map[string]int
}

// Limited has the Fake keep limits. It takes the place of Handle.
func (f *Fake) Limited(l *Limits) {
	f.Lock()
	defer f.Unlock()
	l.Commands = map[string]int{}
	if l.Announce {
		f.Caps += fmt.Sprintf(" MESSAGELIMIT=%d", l.PerCommand)
	}
	if l.UIDOnly {
		f.Caps += " UIDONLY"
	}
	f.Handle = func(c *FakeConn, cmd FakeCommand) bool {
		f.Lock()
		defer f.Unlock()
		l.Commands[cmd.Name]++
		all := f.Messages
		defer func() { f.Messages = all }()
		if l.Window > 0 && !c.uidOnly {
			f.Messages = all[max(0, len(all)-l.Window):]
		}
		switch cmd.Name {
		case "ENABLE":
			c.uidOnly = strings.Contains(cmd.Args, "UIDONLY")
			c.Line("* ENABLED %s", cmd.Args)
			c.OK(cmd)
		case "STATUS":
			name, _, _ := strings.Cut(cmd.Args, " ")
			c.Line("* STATUS %s (MESSAGES %d UIDNEXT %d UIDVALIDITY %d HIGHESTMODSEQ %d)", name, len(all), f.UIDNext, f.UIDValidity, f.top())
			c.OK(cmd)
		case "SELECT", "EXAMINE":
			c.answer(cmd)
		case "FETCH", "STORE", "SEARCH", "COPY":
			c.Line("%s BAD [UIDREQUIRED] no sequence numbers here", cmd.Tag)
		case "UID SEARCH", "UID FETCH":
			c.Line("%s %s", cmd.Tag, l.part(c, cmd, len(all)-l.Hidden))
		default:
			return false
		}
		return true
	}
}

// part answers a search or a fetch for some of the messages, of which the newest are shown, and
// returns how the command ends.
func (l *Limits) part(c *FakeConn, cmd FakeCommand, shown int) (end string) {
	set, since := cmd.Args, uint64(0)
	if _, after, ok := strings.Cut(set, "UID "); ok && cmd.Name == "UID SEARCH" {
		set = after
	} else if cmd.Name == "UID SEARCH" {
		set = "1:*"
	}
	if _, after, ok := strings.Cut(cmd.Args, "CHANGEDSINCE "); ok {
		since, _ = strconv.ParseUint(strings.TrimRight(after, ")"), 10, 64)
	}
	m := c.fake.Messages
	m = slices.DeleteFunc(slices.Clone(m[max(0, len(m)-shown):]), func(m FakeMessage) bool { return !InSet(set, m.UID) || m.ModSeq <= since })
	end = "OK done"
	if n := l.PerCommand; n > 0 && len(m) > n {
		if l.Oldest {
			m = m[:n]
		} else {
			m = m[len(m)-n:]
		}
		if l.Refuse {
			end = "NO done"
		}
		if l.Announce {
			end = strings.Replace(end, "done", fmt.Sprintf("[MESSAGELIMIT %d %d] done", n, m[0].UID), 1)
		}
	}
	if c.fake.Messages = m; cmd.Name == "UID SEARCH" {
		c.search(cmd)
	} else {
		c.fetch(cmd)
	}
	return end
}
