// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"context"
	"slices"
	"strings"

	goimap "github.com/emersion/go-imap/v2"
	"golang.org/x/text/unicode/norm"

	"github.com/hinged/hinged/ingest"
)

// SameMailbox reports whether a name of the configuration and one of the server mean the
// same mailbox. What people type is composed (NFC); Apple's programs make mailboxes whose
// names are decomposed (NFD) and look the same.
func SameMailbox(configured, name string) bool {
	return norm.NFC.String(mailboxName(configured)) == norm.NFC.String(mailboxName(name))
}

// watches reports whether a mailbox is to be watched.
func (s *Source) watches(name string, role ingest.Role) bool {
	named := func(list []string) bool {
		return slices.ContainsFunc(list, func(n string) bool { return SameMailbox(n, name) })
	}
	switch {
	case named(s.o.Exclude):
		return false
	case named(s.o.Mailboxes):
		return true
	case len(s.o.Mailboxes) > 0:
		return false
	}
	switch role {
	case ingest.RoleInbox, ingest.RoleSent, ingest.RoleJunk, ingest.RoleTrash, ingest.RoleArchive, ingest.RoleImportant:
		return true
	}
	return false
}

// listed is one mailbox that the server has.
type listed struct {
	name string
	role ingest.Role
	by   Means
}

// list returns the mailboxes that can be opened, sorted by name.
func (s *session) list(ctx context.Context) ([]listed, error) {
	prefix, err := s.namespace()
	if err != nil {
		return nil, err
	}
	var opts *goimap.ListOptions
	if s.has(goimap.CapSpecialUse) && s.has(goimap.CapListExtended) {
		opts = &goimap.ListOptions{ReturnSpecialUse: true}
	}
	s.beginFor(1000)
	cmd := s.client.List("", "*", opts)
	var list []found
	for {
		m := cmd.Next()
		if m == nil {
			break
		}
		if slices.Contains(m.Attrs, goimap.MailboxAttrNoSelect) || slices.Contains(m.Attrs, goimap.MailboxAttrNonExistent) {
			continue
		}
		f := found{name: mailboxName(m.Mailbox)}
		if m.Delim != 0 {
			f.delim = string(m.Delim)
		}
		for _, a := range m.Attrs {
			if role, ok := uses[a]; ok {
				f.special = append(f.special, role)
			}
		}
		list = append(list, f)
	}
	err = cmd.Close()
	s.guard.end()
	if err != nil {
		return nil, s.fail("LIST", err)
	}
	slices.SortFunc(list, func(a, b found) int { return strings.Compare(a.name, b.name) })
	list = slices.CompactFunc(list, func(a, b found) bool { return a.name == b.name })
	return assign(list, s.o.Roles, prefix), ctx.Err()
}
