package imap

import (
	"context"
	"slices"
	"strings"

	goimap "github.com/emersion/go-imap/v2"

	"github.com/hinged/hinged/ingest"
)

// roles maps the special uses of RFC 6154 and RFC 8457.
var roles = map[goimap.MailboxAttr]ingest.Role{
	goimap.MailboxAttrSent:      ingest.RoleSent,
	goimap.MailboxAttrDrafts:    ingest.RoleDrafts,
	goimap.MailboxAttrJunk:      ingest.RoleJunk,
	goimap.MailboxAttrTrash:     ingest.RoleTrash,
	goimap.MailboxAttrArchive:   ingest.RoleArchive,
	goimap.MailboxAttrImportant: ingest.RoleImportant,
}

// customary names say what a mailbox is for on a server without special use.
var customary = map[string]ingest.Role{
	"sent": ingest.RoleSent, "sent items": ingest.RoleSent, "sent messages": ingest.RoleSent,
	"drafts": ingest.RoleDrafts,
	"junk":   ingest.RoleJunk, "junk e-mail": ingest.RoleJunk, "spam": ingest.RoleJunk,
	"trash": ingest.RoleTrash, "deleted items": ingest.RoleTrash, "deleted messages": ingest.RoleTrash,
	"archive": ingest.RoleArchive, "archives": ingest.RoleArchive,
}

// watches reports whether a mailbox is to be watched.
func (s *Source) watches(name string, role ingest.Role) bool {
	named := func(list []string) bool {
		return slices.ContainsFunc(list, func(n string) bool { return mailboxName(n) == name })
	}
	switch {
	case named(s.o.Exclude):
		return false
	case named(s.o.Include), named(s.o.Mailboxes):
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
	name   string
	role   ingest.Role
	byName bool // the role is what such names customarily mean
}

// list returns the mailboxes that can be opened, sorted by name.
func (s *session) list(ctx context.Context) ([]listed, error) {
	var opts *goimap.ListOptions
	if s.has(goimap.CapSpecialUse) && s.has(goimap.CapListExtended) {
		opts = &goimap.ListOptions{ReturnSpecialUse: true}
	}
	s.beginFor(1000)
	cmd := s.client.List("", "*", opts)
	var out []listed
	special := false
	for {
		m := cmd.Next()
		if m == nil {
			break
		}
		if slices.Contains(m.Attrs, goimap.MailboxAttrNoSelect) || slices.Contains(m.Attrs, goimap.MailboxAttrNonExistent) {
			continue
		}
		l := listed{name: mailboxName(m.Mailbox)}
		for _, a := range m.Attrs {
			if role, ok := roles[a]; ok {
				l.role, special = role, true
			}
		}
		out = append(out, l)
	}
	err := cmd.Close()
	s.guard.end()
	if err != nil {
		return nil, s.fail("list mailboxes", err)
	}
	slices.SortFunc(out, func(a, b listed) int { return strings.Compare(a.name, b.name) })
	for i, l := range out {
		switch {
		case l.name == inbox:
			out[i].role = ingest.RoleInbox
		case !special:
			out[i].role = customary[strings.ToLower(l.name)]
			out[i].byName = out[i].role != ingest.RoleOther
		}
	}
	return slices.CompactFunc(out, func(a, b listed) bool { return a.name == b.name }), ctx.Err()
}
