// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"unicode"
)

// folders checks the names of the mailboxes that have a use.
func (t table) folders(f *Folders) {
	const want = `a name as the mail program shows it, such as "INBOX.Sent"; or leave the key out`
	byUse, taken := f.ByUse(), map[string]string{}
	for _, key := range []string{"sent", "drafts", "junk", "trash", "archive", "important"} {
		name, set := byUse[key]
		if !set {
			t.check(!t.has(key), key, "is empty", nil, want)
			continue
		}
		t.check(!strings.EqualFold(name, "INBOX") && !strings.ContainsFunc(name, unicode.IsControl), key, "not the name of such a mailbox", name, want)
		if other := taken[name]; other != "" {
			t.check(false, key, "is the mailbox for "+other+" already", name, "another mailbox")
		}
		taken[name] = key
	}
}
