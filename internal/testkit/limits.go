// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Limits are how a large provider answers for a part of a mailbox. A Fake keeps them from
// the first command after Limited; its fields may be changed under the Fake's lock.
type Limits struct {
	// PerCommand is for how many messages a command is answered, 0: for any number. They
	// are the newest of those asked for (RFC 9738), or the oldest if Oldest is set.
	PerCommand int
	Oldest     bool
	// Refuse ends a command with NO that was answered in part, rather than with OK.
	Announce, Refuse bool
	// Window is how many messages, the newest, a mailbox is opened with. STATUS tells of
	// all. After ENABLE UIDONLY (RFC 9586) there is none.
	Window int
	// Hidden is how many messages, the oldest, are in no answer but are counted.
	Hidden int
	// Commands counts the commands by their names.
	Commands map[string]int

	uidOnly map[*FakeConn]bool
}

// Limited has the Fake keep limits. It takes the place of Handle.
func (f *Fake) Limited(l *Limits) {
	f.Lock()
	defer f.Unlock()
	l.Commands, l.uidOnly = map[string]int{}, map[*FakeConn]bool{}
	if l.Announce {
		f.Caps += fmt.Sprintf(" MESSAGELIMIT=%d", l.PerCommand)
	}
	f.Handle = func(c *FakeConn, cmd FakeCommand) bool {
		f.Lock()
		defer f.Unlock()
		l.Commands[cmd.Name]++
		return l.handle(f, c, cmd)
	}
}

// Count returns how many commands of a name came.
func (f *Fake) Count(l *Limits, name string) int {
	f.Lock()
	defer f.Unlock()
	return l.Commands[name]
}

// shown returns the messages that a connection is shown.
func (l *Limits) shown(f *Fake, c *FakeConn) []FakeMessage {
	m := f.Messages
	if l.Window > 0 && !l.uidOnly[c] {
		m = m[max(0, len(m)-l.Window):]
	}
	return m
}

func (l *Limits) handle(f *Fake, c *FakeConn, cmd FakeCommand) bool {
	all := f.Messages
	defer func() { f.Messages = all }()
	shown := l.shown(f, c)
	switch cmd.Name {
	case "ENABLE":
		l.uidOnly[c] = strings.Contains(cmd.Args, "UIDONLY")
		c.Line("* ENABLED %s", cmd.Args)
		c.OK(cmd)
	case "STATUS":
		name, _, _ := strings.Cut(cmd.Args, " ")
		c.Line("* STATUS %s (MESSAGES %d UIDNEXT %d UIDVALIDITY %d HIGHESTMODSEQ %d)", name, len(all), f.UIDNext, f.UIDValidity, f.top())
		c.OK(cmd)
	case "SELECT", "EXAMINE":
		f.Messages = shown
		f.Unlock()
		c.Answer(cmd)
		f.Lock()
	case "FETCH", "STORE", "SEARCH", "COPY":
		c.Line("%s BAD [UIDREQUIRED] no sequence numbers here", cmd.Tag)
	case "UID SEARCH", "UID FETCH":
		set := cmd.Args
		if cmd.Name == "UID SEARCH" {
			set = "1:*"
			if _, after, ok := strings.Cut(cmd.Args, "UID "); ok {
				set = after
			}
			for _, word := range strings.Fields(cmd.Args) {
				if strings.Trim(word, "0123456789,:*") == "" && !strings.Contains(cmd.Args, "UID "+word) {
					c.Line("%s BAD [UIDREQUIRED] no sequence numbers here", cmd.Tag)
					return true
				}
			}
		}
		l.answer(f, c, cmd, set, shown)
	default:
		return false
	}
	return true
}

// answer answers a search or a fetch for some of the shown messages.
func (l *Limits) answer(f *Fake, c *FakeConn, cmd FakeCommand, set string, shown []FakeMessage) {
	since := uint64(0)
	if _, after, ok := strings.Cut(cmd.Args, "CHANGEDSINCE "); ok {
		since, _ = strconv.ParseUint(strings.TrimRight(after, ")"), 10, 64)
	}
	hidden := len(f.Messages) - l.Hidden
	shown = shown[max(0, len(shown)-hidden):]
	asked := slices.DeleteFunc(slices.Clone(shown), func(m FakeMessage) bool { return !InSet(set, m.UID) || m.ModSeq <= since })
	end, code := "OK", ""
	if n := l.PerCommand; n > 0 && len(asked) > n {
		if l.Oldest {
			asked = asked[:n]
		} else {
			asked = asked[len(asked)-n:]
		}
		if l.Announce {
			code = fmt.Sprintf("[MESSAGELIMIT %d %d] ", n, asked[0].UID)
		}
		if l.Refuse {
			end = "NO"
		}
	}
	f.Messages = asked
	if cmd.Name == "UID SEARCH" {
		c.search(cmd)
	} else if len(asked) > 0 {
		uids := make([]string, len(asked))
		for i, m := range asked {
			uids[i] = strconv.Itoa(int(m.UID))
		}
		_, items, _ := strings.Cut(cmd.Args, " ")
		cmd.Args = strings.Join(uids, ",") + " " + items
		if l.uidOnly[c] {
			spell := f.Spell
			f.Spell = func(line string) string {
				_, rest, _ := strings.Cut(line, " FETCH (UID ")
				uid, rest, _ := strings.Cut(rest, " ")
				return uid + " UIDFETCH (" + rest
			}
			defer func() { f.Spell = spell }()
		}
		c.fetch(cmd)
	}
	c.Line("%s %s %sdone", cmd.Tag, end, code)
}
