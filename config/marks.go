// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
	"strings"
	"unicode"
)

// reserved are the flags and keywords that already mean something that the
// owner or the server says (RFC 9051 section 2.3.2, RFC 5788's registry).
var reserved = []string{"$junk", "$notjunk", "$phishing", "$forwarded", "$mdnsent", "$submitted", "$submitpending", "$muted", "junk", "nonjunk", "notjunk", "$hingedcheck"}

func (t table) marks(marks []string, markCopy string) {
	if len(marks) == 0 && markCopy == "" {
		t.check(false, "mark", "no mark is named", marks, `keywords such as ["$Important"], or a folder in mark_copy`)
	}
	t.markCopy(markCopy)
	seen := map[string]bool{}
	list := t.at.kid("mark")
	for i, mark := range marks {
		line := lineOf(list.elem(i), list)
		lower := strings.ToLower(mark)
		switch {
		case lower == `\flagged`:
		case lower == `\important`:
			t.checkAt(line, "mark", "is the name of a mailbox's use, not of a keyword", mark, `"$Important"`)
		case strings.HasPrefix(mark, `\`):
			t.checkAt(line, "mark", "this system flag means something else", mark, `"\\Flagged" or a keyword such as "$Important"`)
		case !isAtom(mark) || len(mark) > maxKeywordBytes:
			t.checkAt(line, "mark", "not an IMAP keyword", mark, `1 to 100 plain ASCII characters without spaces or any of ( ) { % * " \ ]`)
		case slices.Contains(reserved, lower), strings.HasPrefix(lower, "$hinged"):
			t.checkAt(line, "mark", "this keyword means something else", mark, `a keyword such as "$Important"`)
		}
		if seen[lower] {
			t.checkAt(line, "mark", "is there twice", mark, "each mark once")
		}
		seen[lower] = true
	}
}

// notForCopies are folders that have a meaning of their own for a message.
var notForCopies = []string{"inbox", "sent", "drafts", "junk", "spam", "trash"}

func (t table) markCopy(folder string) {
	ok := len(folder) <= maxFolderBytes && !strings.ContainsFunc(folder, unicode.IsControl) && !strings.ContainsAny(folder, `*%\`) &&
		folder == strings.TrimSpace(folder) && !slices.Contains(notForCopies, strings.ToLower(folder))
	t.check(ok, "mark_copy", "no folder for copies", folder, `the name of a folder of its own such as "Important", or "" for none`)
}

// maxFolderBytes bounds the name of a folder.
const maxFolderBytes = 200

// companion allows keywords that every hinged takes for a companion; ingest.IsCompanion
// says the same, and hinged check sets one that is none.
func (t table) companion(keyword string) {
	lower := strings.ToLower(keyword)
	ok := keyword == "" || strings.HasPrefix(lower, "$hinged") && lower != "$hingedcheck" && isAtom(keyword) && len(keyword) <= maxKeywordBytes
	t.check(ok, "companion", "no companion keyword", keyword, `"$Hinged", a keyword that begins so, or "" for none`)
}
