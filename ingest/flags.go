// SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"slices"
	"strings"
)

// CanonicalFlag returns the one spelling by which hinged knows a flag or
// keyword: lower case, and with the two names of the importance mark folded
// into one, since some servers store $Important and return \Important (RFC 8457
// registers both).
func CanonicalFlag(flag string) string {
	f := strings.ToLower(flag)
	switch f {
	case `\important`:
		return "$important"
	case "junk":
		return "$junk"
	case "notjunk", "nonjunk", "$nonjunk":
		return "$notjunk"
	}
	return f
}

// CheckKeyword is set on one message and taken off again by hinged check, to
// find out whether the server keeps keywords.
const CheckKeyword = "$HingedCheck"

// Companion begins the keywords that a hinged sets beside a mark, to tell other
// programs, another hinged among them, that the mark is no word of the owner's.
const Companion = "$Hinged"

// IsCompanion reports whether a canonical flag is such a keyword of any hinged.
func IsCompanion(flag string) bool { return strings.HasPrefix(flag, "$hinged") }

// CopiesInto reports whether a mailbox may be the one that a MarkRequest calls copyTo:
// servers put a prefix before names, and may have an Important of their own.
func CopiesInto(mailbox string, role Role, copyTo string) bool {
	if before, same := strings.CutSuffix(mailbox, copyTo); same && (before == "" || strings.HasSuffix(before, ".") || strings.HasSuffix(before, "/")) {
		return true
	}
	return role == RoleImportant && strings.EqualFold(copyTo, "Important")
}

// CanonicalFlags returns the canonical spellings, sorted, each once, without
// \Recent, which is about sessions and not about the message, and without
// CheckKeyword, which is our own and no word of the owner. The result is never
// shared with the argument; it is nil when no flag is left.
func CanonicalFlags(flags []string) []string {
	var out []string
	for _, f := range flags {
		if c := CanonicalFlag(f); c != `\recent` && c != "$hingedcheck" {
			out = append(out, c)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// HasFlag reports whether canonical flags contain flag, in any spelling.
func HasFlag(flags []string, flag string) bool {
	_, ok := slices.BinarySearch(flags, CanonicalFlag(flag))
	return ok
}

// WithoutFlags returns what of canonical flags a is not in b.
func WithoutFlags(a, b []string) (out []string) {
	for _, flag := range a {
		if !HasFlag(b, flag) {
			out = append(out, flag)
		}
	}
	return out
}

// CommonFlags returns what of canonical flags a is in b, too.
func CommonFlags(a, b []string) []string { return WithoutFlags(a, WithoutFlags(a, b)) }
