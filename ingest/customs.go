// SPDX-License-Identifier: Apache-2.0

package ingest

import (
	_ "embed"
	"strings"
)

// customs are the names that mail programs and servers give to mailboxes with a use, in lower
// case. Important has none: folders of that name are people's own.
//
//go:embed customs.txt
var customs string

// Customary tells the use of a mailbox by its name, in lower case. It is not to be changed.
var Customary = func() map[string]Role {
	roles := map[string]Role{"sent": RoleSent, "drafts": RoleDrafts, "junk": RoleJunk, "trash": RoleTrash, "archive": RoleArchive}
	out := map[string]Role{}
	for line := range strings.Lines(customs) {
		use, names, _ := strings.Cut(strings.TrimSpace(line), ": ")
		for name := range strings.SplitSeq(names, "|") {
			out[name] = roles[use]
		}
	}
	return out
}()
