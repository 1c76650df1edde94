// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"strconv"
	"time"
)

// emlxName is how the names of Apple Mail's files end, also those of messages whose
// attachments were not fetched (.partial.emlx).
const emlxName = ".emlx"

// plistBytes is how much more than a message an .emlx file may hold.
const plistBytes = 256 << 10

// splitEmlx takes an .emlx file apart: a line with the number of bytes of the message,
// the message, and a property list. Where the number is wrong, the property list that
// the file ends in tells them apart. A file without the line is a message alone.
func splitEmlx(file []byte) (message, list []byte) {
	line, rest, ok := bytes.Cut(file, []byte("\n"))
	n, err := strconv.Atoi(string(bytes.TrimSpace(line)))
	if !ok || err != nil {
		return file, nil
	}
	isList := func(b []byte) bool {
		b = bytes.TrimSpace(b)
		return len(b) == 0 || bytes.HasPrefix(b, []byte("<?xml")) || bytes.HasPrefix(b, []byte("bplist0"))
	}
	if n < 0 || n > len(rest) || !isList(rest[n:]) {
		n = len(rest)
		if i := bytes.LastIndex(rest, []byte("\n<?xml")); i >= 0 && bytes.HasSuffix(bytes.TrimSpace(rest), []byte("</plist>")) {
			n = i + 1
		}
	}
	return rest[:n], rest[n:]
}

// emlxFlags are the low bits of "flags" that IMAP has too.
var emlxFlags = []struct {
	bit  uint
	flag string
}{{0, `\Seen`}, {1, `\Deleted`}, {2, `\Answered`}, {4, `\Flagged`}, {6, `\Draft`}, {8, "$Forwarded"}}

// readPlist returns what the property list of an .emlx file tells: when the message was
// received, zero if it doesn't say, and its flags.
func readPlist(list []byte) (received time.Time, flags []string) {
	if n, ok := plistNumber(list, "date-received"); ok && n > 0 {
		received = time.Unix(int64(n), 0).UTC()
	}
	n, _ := plistNumber(list, "flags")
	for _, f := range emlxFlags {
		if n>>f.bit&1 == 1 {
			flags = append(flags, f.flag)
		}
	}
	return received, flags
}

// plistNumber returns the number of a key.
func plistNumber(list []byte, key string) (uint64, bool) {
	_, rest, _ := bytes.Cut(list, []byte("<key>"+key+"</key>"))
	element, _, _ := bytes.Cut(rest, []byte("</"))
	kind, digits, _ := bytes.Cut(bytes.TrimSpace(element), []byte(">"))
	digits, _, _ = bytes.Cut(digits, []byte("."))
	if k := string(kind); k != "<integer" && k != "<real" {
		return 0, false
	}
	n, err := strconv.ParseUint(string(bytes.TrimSpace(digits)), 10, 63)
	return n, err == nil
}
