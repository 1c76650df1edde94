// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"maps"
	"slices"
	"strings"

	goimap "github.com/emersion/go-imap/v2"
	"golang.org/x/text/unicode/norm"

	"github.com/hinged/hinged/ingest"
)

// Means says how the role of a mailbox was found.
type Means uint8

// The means, in their order: what an earlier one tells, no later one is asked for.
const (
	MeansNone    Means = iota // it has no role, or is INBOX
	MeansOptions              // Options.Roles names it
	MeansUse                  // the server says its special use (RFC 6154, RFC 8457)
	MeansName                 // its name is one that such mailboxes customarily have
)

func (m Means) String() string {
	return [...]string{"", "configured", "special use", "name"}[min(m, MeansName)]
}

// uses maps the special uses of RFC 6154 and RFC 8457.
var uses = map[goimap.MailboxAttr]ingest.Role{
	goimap.MailboxAttrSent:      ingest.RoleSent,
	goimap.MailboxAttrDrafts:    ingest.RoleDrafts,
	goimap.MailboxAttrJunk:      ingest.RoleJunk,
	goimap.MailboxAttrTrash:     ingest.RoleTrash,
	goimap.MailboxAttrArchive:   ingest.RoleArchive,
	goimap.MailboxAttrImportant: ingest.RoleImportant,
}

// found is one mailbox of a LIST answer.
type found struct {
	name    string
	delim   string // between levels of the hierarchy; "": there is one level
	special []ingest.Role
}

// assign gives each mailbox its role. named are those of Options.Roles; a role that it
// names no other mailbox has, and a role that the server gives to some has none by its
// name. prefix is that of the personal namespace (RFC 2342).
func assign(list []found, named map[ingest.Role]string, prefix string) []listed {
	given := map[ingest.Role]bool{}
	for _, f := range list {
		for _, role := range f.special {
			given[role] = true
		}
	}
	out := make([]listed, len(list))
	for i, f := range list {
		l := listed{name: f.name}
		if f.name == inbox {
			l.role = ingest.RoleInbox
		}
		for _, role := range slices.Sorted(maps.Keys(named)) {
			if named[role] != "" && SameMailbox(named[role], f.name) {
				l.role, l.by = role, MeansOptions
			}
		}
		for _, role := range f.special {
			if l.role == ingest.RoleOther && named[role] == "" {
				l.role, l.by = role, MeansUse
			}
		}
		if role := ingest.Customary[plainName(f, prefix)]; l.role == ingest.RoleOther && named[role] == "" && !given[role] && role != ingest.RoleOther {
			l.role, l.by = role, MeansName
		}
		out[i] = l
	}
	return out
}

// plainName returns the name of a mailbox as its owner has it in mind: without the
// prefix of the personal namespace, and without INBOX where all lie below it (QUIRK:
// Courier and Cyrus), in lower case.
func plainName(f found, prefix string) string {
	name := strings.ToLower(norm.NFC.String(f.name))
	for _, p := range []string{prefix, inbox + f.delim} {
		if p = strings.ToLower(p); p != "" && f.delim != "" && strings.HasPrefix(name, p) {
			return name[len(p):]
		}
	}
	return name
}

// namespace asks for the prefix of the personal namespace, "" where the server has
// none or does not tell.
func (s *session) namespace() (string, error) {
	if !s.has(goimap.CapNamespace) && !s.has(goimap.CapIMAP4rev2) {
		return "", nil
	}
	s.begin()
	defer s.guard.end()
	data, err := s.client.Namespace().Wait()
	if err != nil {
		if err = s.fail("NAMESPACE", err); s.guard.why() == nil {
			return "", nil // it said no
		}
		return "", err
	}
	if len(data.Personal) == 0 {
		return "", nil
	}
	return data.Personal[0].Prefix, nil
}
