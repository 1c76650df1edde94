// SPDX-License-Identifier: Apache-2.0

package featurize

import "strings"

// mailbox is one item of a list of addresses.
type mailbox struct {
	name    string // "" if there is none
	address string // as written
}

// plainAddresses reads a list of addresses of the forms in which nearly all are written:
//
//	a.b@example.org
//	<a.b@example.org>
//	Ann B. Example <a.b@example.org>
//	"Example, Ann" <a.b@example.org>
//
// It appends them to list. If any item has another form, ok is false and net/mail has to
// read the whole list. It takes a twentieth of the time of net/mail and allocates nothing
// (docs/results.md); a test and a fuzz target hold it against net/mail.
func plainAddresses(list []mailbox, value string) (_ []mailbox, ok bool) {
	for {
		var m mailbox
		if m, value, ok = plainMailbox(strings.TrimLeft(value, " ")); !ok {
			return list, false
		}
		list = append(list, m)
		value = strings.TrimLeft(value, " ")
		if value == "" {
			return list, true
		}
		if value[0] != ',' {
			return list, false
		}
		value = value[1:]
	}
}

// plainMailbox reads one item and returns what follows it.
func plainMailbox(s string) (m mailbox, rest string, ok bool) {
	if end := plainSpec(s); end > 0 {
		return mailbox{address: s[:end]}, s[end:], true
	}
	n := plainPhrase(s)
	if s != "" && s[0] == '"' {
		if n = plainQuoted(s); n > 0 {
			m.name = s[1 : n-1]
		}
	} else {
		m.name = s[:n]
	}
	if n == 0 && (s == "" || s[0] != '<') {
		return m, s, false
	}
	s = strings.TrimLeft(s[n:], " ")
	if s == "" || s[0] != '<' {
		return m, s, false
	}
	end := 1 + plainSpec(s[1:])
	if end == 1 || end == len(s) || s[end] != '>' {
		return m, s, false
	}
	m.address = s[1:end]
	return m, s[end+1:], true
}

// plainSpec returns the length of the address, without a name, that s begins with; 0 if
// it begins with none.
func plainSpec(s string) int {
	local := plainAtom(s)
	if local == 0 || local == len(s) || s[local] != '@' {
		return 0
	}
	domain := plainAtom(s[local+1:])
	if domain == 0 || !dotsWithin(s[:local]) || !dotsWithin(s[local+1:local+1+domain]) {
		return 0
	}
	return local + 1 + domain
}

// dotsWithin reports whether every dot of an atom stands between two other characters.
func dotsWithin(atom string) bool {
	return atom[0] != '.' && atom[len(atom)-1] != '.' && !strings.Contains(atom, "..")
}

// plainPhrase returns the length of the words, with one space between each two, that s
// begins with.
func plainPhrase(s string) int {
	end := plainAtom(s)
	for end > 0 && end < len(s) && s[end] == ' ' {
		n := plainAtom(s[end+1:])
		if n == 0 {
			break
		}
		end += 1 + n
	}
	return end
}

// plainQuoted returns the length of the quoted string without backslashes that s begins
// with, its quotes included; 0 if it begins with none.
func plainQuoted(s string) int {
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return i + 1
		case c < ' ' || c >= 0x7f || c == '\\':
			return 0
		}
	}
	return 0
}

// plainAtom returns how many bytes at the start of s can stand in an atom, apart from
// those that may mean something else there.
func plainAtom(s string) int {
	for i := range len(s) {
		if !atomic[s[i]] {
			return i
		}
	}
	return len(s)
}

// atomic has the characters of plain atoms. The equals sign is not among them: it begins
// an encoded word (RFC 2047).
var atomic = func() (set [256]bool) {
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-+'/" {
		set[c] = true
	}
	return set
}()
