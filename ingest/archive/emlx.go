// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"regexp"
	"strconv"
	"time"
)

// emlxName is how the names of Apple Mail's files end, also those of messages whose
// attachments were not fetched (.partial.emlx).
const emlxName = ".emlx"

// plistBytes is how much more than a message an .emlx file may hold.
const plistBytes = 256 << 10

var (
	plistBegins   = regexp.MustCompile(`^\s*(<\?xml|bplist0|$)`)
	plistReceived = regexp.MustCompile(`<key>date-received</key>\s*<(?:integer|real)>([0-9]{1,10})[<.]`)
	plistFlags    = regexp.MustCompile(`<key>flags</key>\s*<integer>([0-9]+)<`)
	// emlxFlags are the low bits of "flags" that IMAP has too.
	emlxFlags = []string{0: `\Seen`, 1: `\Deleted`, 2: `\Answered`, 4: `\Flagged`, 6: `\Draft`, 8: "$Forwarded"}
)

// readEmlx takes an .emlx file apart: a line with the number of bytes of the message, the
// message, and a property list, which has the date of arrival and flags. Where the number
// is wrong, the list that the file ends in tells. Without the line all is message.
func readEmlx(file []byte) (message []byte, received time.Time, flags []string) {
	line, rest, ok := bytes.Cut(file, []byte("\n"))
	n, err := strconv.Atoi(string(bytes.TrimSpace(line)))
	if !ok || err != nil {
		return file, time.Time{}, nil
	}
	if n < 0 || n > len(rest) || !plistBegins.Match(rest[n:]) {
		n = len(rest)
		if i := bytes.LastIndex(rest, []byte("\n<?xml")); i >= 0 && bytes.HasSuffix(bytes.TrimSpace(rest), []byte("</plist>")) {
			n = i + 1
		}
	}
	number := func(key *regexp.Regexp) (n uint64) {
		if found := key.FindSubmatch(rest); found != nil {
			n, _ = strconv.ParseUint(string(found[1]), 10, 64)
		}
		return n
	}
	message, rest = rest[:n], rest[n:]
	if at := number(plistReceived); at > 0 {
		received = time.Unix(int64(at), 0).UTC()
	}
	bits := number(plistFlags)
	for i, flag := range emlxFlags {
		if flag != "" && bits>>i&1 == 1 {
			flags = append(flags, flag)
		}
	}
	return message, received, flags
}
