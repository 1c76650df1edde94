// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// content is what a file holds.
type content uint8

const (
	nothing content = iota // no message
	single
	mailbox // mbox
)

// sniffBytes is how much of a file tells what it holds.
const sniffBytes = 4 << 10

// holds says what is in a file that begins with head. Only a file that was named is
// refused with an error.
func (e *entry) holds(head []byte) (content, error) {
	if e.single {
		return single, nil
	}
	why := Foreign(e.path, head)
	switch {
	case why != "" && e.named:
		return nothing, fmt.Errorf("read %s: it is %s", e.path, why)
	case bytes.HasPrefix(head, []byte(fromPrefix)) || len(head) == 0 && e.named && e.path != stdinPath:
		return mailbox, nil
	case e.named || why == "" && isMail(head):
		return single, nil
	}
	return nothing, nil
}

const outlook = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

// others are files that hold mail in another form, or none. They begin with magic, or
// don't look like mail and have a name that matches one of the patterns of path.Match.
var others = []struct{ magic, names, what string }{
	{outlook, "*.msg", "an Outlook message; save it as .eml, or convert it with msgconvert"},
	{"!BDN", "*.pst *.ost *.nst *.pab", "an Outlook data file; convert it with readpst"},
	{"\xcf\xad\x12\xfe", "*.dbx", "a mailbox of Outlook Express; convert it with readdbx"},
	{"", "*.olm", "an archive of Outlook for Mac; import it into a program that writes mbox"},
	{"// <!-- <mdb:mork", "*.msf *.mab", "an index of Thunderbird; name the file beside it that has no .msf"},
	{"", "*.emlxpart", "an attachment kept by Apple Mail; name the .emlx file"},
	{"SQLite format 3\x00", "dovecot* cyrus.* .mh_sequences .overview table_of_contents *.index *.cmeta *.plist *.sqlite *rules.dat panacea.dat popstate.dat",
		"an index or a setting of a mail program; name the folder or mbox itself"},
	{"PK\x03\x04", "*.zip", "a zip archive; unpack it, and name what was in it"},
	{"7z\xbc\xaf", "*.7z *.rar", "an archive; unpack it, and name what was in it"},
	{"%PDF-", "*.pdf", "a PDF document"},
	{"\x89PNG", "*.png", "a picture"}, {"\xff\xd8\xff", "*.jpg *.jpeg", "a picture"}, {"GIF8", "*.gif", "a picture"},
}

// Foreign says what a file is that holds no message in a form that can be read, and what
// to do; "" when it may hold one. Head is its beginning.
func Foreign(name string, head []byte) string {
	name = strings.ToLower(filepath.Base(name))
	mail := isMail(head) || bytes.HasPrefix(head, []byte(fromPrefix))
	for _, o := range others {
		if o.magic != "" && bytes.HasPrefix(head, []byte(o.magic)) {
			return o.what
		}
		for pattern := range strings.FieldsSeq(o.names) {
			if ok, _ := path.Match(pattern, name); ok && !mail {
				return o.what
			}
		}
	}
	return ""
}

// isMail reports whether text begins with a header that has a field which nearly every
// message has.
func isMail(text []byte) bool {
	for name := range fields(bytes.TrimPrefix(text, []byte("\ufeff"))) {
		if mailField.Match(name) {
			return true
		}
		if bytes.ContainsAny(name, " \t\r\n\x00") && !bytes.HasPrefix(name, []byte(">From ")) {
			return false
		}
	}
	return false
}

var mailField = regexp.MustCompile(`(?i)^(from|to|cc|subject|date|received|message-id|return-path|delivered-to|reply-to|sender|mime-version|content-type)$`)
