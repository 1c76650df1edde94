// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"bytes"
	"strconv"
	"strings"

	goimap "github.com/emersion/go-imap/v2"
)

// After ENABLE UIDONLY (RFC 9586) a server need number no messages, and shows all of a mailbox of
// which it would else show a window. It answers UIDFETCH and VANISHED instead of FETCH and EXPUNGE,
// which the client library does not know. So the dialect makes the latter of them: messages are
// asked for by their UIDs, and nobody looks at the numbers.

const (
	capUIDOnly  = goimap.Cap("UIDONLY")
	maxVanished = 64 << 10 // bytes of one line VANISHED
	maxGone     = 100_000  // UIDs in it
)

// enableUIDOnly has the server do so, if it can.
func (s *session) enableUIDOnly() error {
	if !s.has(capUIDOnly) {
		return nil
	}
	s.begin()
	defer s.guard.end()
	// The client library enables what it knows only: this stands in.
	const standIn = goimap.CapMetadata
	s.guard.amending(func(line []byte) []byte { return bytes.Replace(line, []byte(standIn), []byte(capUIDOnly), 1) })
	_, err := s.client.Enable(standIn).Wait()
	s.guard.amending(nil)
	if err != nil && saidNo(err) == nil {
		return s.fail("ENABLE", err)
	}
	return nil // after a no it answers as ever
}

// hides takes c, the next byte, while the kind of its line is not known, or if that is VANISHED. It
// reports whether the client library is not to see it, as the first three letters of UIDFETCH.
func (d *dialect) hides(c byte) (hidden bool) {
	if d.line == kindUnknown {
		n := len(d.word)
		hidden = d.number != "" && n < 3 && strings.EqualFold(string(append(d.word, c)), "UID"[:n+1])
		d.classify(c)
	}
	if d.line != kindVanished {
		return hidden
	}
	if len(d.held) <= maxVanished { // one more is too many
		d.held = append(d.held, c)
	}
	return true
}

// expunged appends an EXPUNGE for each UID of the line VANISHED that ends. Its error is errGone.
func (d *dialect) expunged(out []byte) ([]byte, error) {
	if d.line != kindVanished {
		return out, nil
	}
	_, set, _ := strings.Cut(strings.TrimSpace(string(d.held)), " ")
	if len(d.held) > maxVanished {
		return out, errGone
	}
	gone := uint64(0)
	for r := range strings.SplitSeq(set, ",") {
		first, last, isRange := strings.Cut(r, ":")
		if !isRange {
			last = first
		}
		from, err := strconv.ParseUint(first, 10, 32)
		to, err2 := strconv.ParseUint(last, 10, 32)
		if err != nil || err2 != nil {
			return out, errGone
		}
		gone += max(from, to) - min(from, to) + 1
	}
	if gone > maxGone {
		return out, errGone
	}
	return append(out, strings.Repeat("1 EXPUNGE\r\n* ", int(gone)-1)+"1 EXPUNGE\r"...), nil
}
