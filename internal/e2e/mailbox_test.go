// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
)

// mailbox is a server with the mail of a few owners, as years of use leave it.
type mailbox struct {
	t           *testing.T
	imap        *testkit.Dovecot
	certificate []byte   // of the server, PEM
	before      []string // the mail of all owners, as it was in the beginning
}

// newMailbox starts a server with TLS and fills the mailbox of each user: mail
// of the last months, answers in Sent, stars, and junk moved to Junk.
func newMailbox(t *testing.T, o testkit.DovecotOptions) *mailbox {
	t.Helper()
	o.TLS = true
	m := &mailbox{t: t, imap: testkit.StartDovecot(t, o)}
	m.certificate = m.imap.Certificate
	for _, user := range m.imap.Users {
		m.fill(user)
	}
	m.before = m.look()
	return m
}

// fill writes the mail of one user, the newest of it an hour ago. The message
// abc123@example.org is among it, which the pages ask for.
func (m *mailbox) fill(user string) {
	m.t.Helper()
	mail := testkit.NewMail(1)
	mail.Owner = user
	type kept struct {
		testkit.Message
		mailbox string
		flags   []string
	}
	var all []kept
	for i := range 260 {
		msg := mail.Next()
		if i == 202 {
			msg.Raw = []byte(strings.Replace(string(msg.Raw), msg.MessageID, "abc123@example.org", 1))
		}
		k := kept{msg, "INBOX", []string{`\Seen`}}
		switch {
		case msg.Important && i%3 == 0:
			k.flags = append(k.flags, `\Answered`)
			all = append(all, k, kept{mail.Reply(msg), "Sent", []string{`\Seen`}})
			continue
		case msg.Important && i%3 == 1:
			k.flags = append(k.flags, `\Flagged`)
		case !msg.Important && i%4 == 0:
			k.mailbox = "Junk"
		case i > 250:
			k.flags = nil
		}
		all = append(all, k)
	}
	shift := time.Now().Add(-time.Hour).Sub(all[len(all)-1].Date)
	owner := m.imap.OwnerOf(m.t, user)
	for _, k := range all {
		owner.Append(k.mailbox, k.Raw, k.Date.Add(shift), k.flags...)
	}
	owner.Close()
}

// look lists every message of every owner with its flags.
func (m *mailbox) look() []string {
	m.t.Helper()
	var out []string
	for _, user := range m.imap.Users {
		owner := m.imap.OwnerOf(m.t, user)
		for _, box := range []string{"INBOX", "Sent", "Junk", "Trash", "Drafts", "Archive"} {
			for _, s := range owner.All(box) {
				out = append(out, fmt.Sprintf("%s %s %d %v", user, box, s.UID, s.Flags))
			}
		}
		owner.Close()
	}
	if len(out) < 200 {
		m.t.Fatalf("only %d messages in the mailboxes", len(out))
	}
	return out
}

// unharmed fails the test unless every message is where it was, with the flags
// that it had.
func (m *mailbox) unharmed() {
	m.t.Helper()
	if now := m.look(); !slices.Equal(now, m.before) {
		for _, line := range now {
			if !slices.Contains(m.before, line) {
				m.t.Errorf("now: %s", line)
			}
		}
		for _, line := range m.before {
			if !slices.Contains(now, line) {
				m.t.Errorf("was: %s", line)
			}
		}
	}
}
