// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
	"strings"
	"unicode"
)

func (t table) external(c *IMAP) {
	const with = `with auth = "external"`
	for _, key := range c.keys("password") {
		t.useless(true, key, with)
	}
	if c.CertFile == "" && c.TLS != "none" {
		t.check(false, "auth", "is without cert_file", c.Auth, "cert_file and key_file, which prove who connects")
	}
	t.check(c.TLS != "none", "auth", `needs TLS to show a certificate`, c.Auth, `tls = "tls", or "starttls"`)
}

// certificates checks the files that TLS needs, and completes their paths.
func (t table) certificates(mode string, ca, cert, key *string) {
	for _, file := range []struct {
		key  string
		path *string
	}{{"ca_file", ca}, {"cert_file", cert}, {"key_file", key}} {
		t.useless(*file.path != "" && mode == "none", file.key, `with tls = "none"`)
		t.cleanPath(file.key, *file.path)
		*file.path = t.env.path(*file.path)
	}
	t.check(*cert == "" || *key != "", "cert_file", "is without key_file", nil, "the private key of the certificate in key_file, too")
	t.check(*key == "" || *cert != "", "key_file", "is without cert_file", nil, "the certificate of the private key in cert_file, too")
}

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

const maxFolderBytes = 200

// companion allows keywords that every hinged takes for a companion; ingest.IsCompanion
// says the same, and hinged check sets one that is none.
func (t table) companion(keyword string) {
	lower := strings.ToLower(keyword)
	ok := keyword == "" || strings.HasPrefix(lower, "$hinged") && lower != "$hingedcheck" && isAtom(keyword) && len(keyword) <= maxKeywordBytes
	t.check(ok, "companion", "no companion keyword", keyword, `"$Hinged", a keyword that begins so, or "" for none`)
}
