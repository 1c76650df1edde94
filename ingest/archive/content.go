// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"fmt"
	"path"
	"path/filepath"
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
	why := Foreign(e.path, head)
	switch isMbox := bytes.HasPrefix(head, []byte(fromPrefix)); {
	case e.single:
		return single, nil
	case why != "" && e.named:
		return nothing, fmt.Errorf("read %s: it is %s", e.path, why)
	case isMbox || len(head) == 0 && e.named && e.path != stdinPath:
		return mailbox, nil
	case e.named || why == "" && isMail(head):
		return single, nil
	}
	return nothing, nil
}

// others are files that hold mail in another form, or none. Magic is what they begin
// with, names are patterns of path.Match for the lower-case name of one that doesn't look
// like a message.
var others = []struct{ magic, names, what string }{
	{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "*.msg", "an Outlook message; save it as .eml, or convert it with msgconvert"},
	{"!BDN", "*.pst *.ost *.nst *.pab", "an Outlook data file; convert it with readpst"},
	{"\xcf\xad\x12\xfe", "*.dbx", "a mailbox of Outlook Express; convert it with readdbx"},
	{"", "*.olm", "an archive of Outlook for Mac; import it into a mail program that writes mbox"},
	{"// <!-- <mdb:mork", "*.msf *.mab", "an index of Thunderbird; name the file beside it that has no .msf"},
	{"", "*.emlxpart", "an attachment kept by Apple Mail; name the .emlx file"},
	{"", "dovecot* cyrus.* maildirsize .mh_sequences .overview table_of_contents *.idx *.index *.cmeta *.ibex.index* *.plist msgfilterrules.dat panacea.dat popstate.dat",
		"an index or a setting of a mail program; name the folder or mbox itself"},
	{"SQLite format 3\x00", "*.sqlite", "a database; export the mail from its program as mbox"},
	{"PK\x03\x04", "*.zip", "a zip archive; unpack it, and name what was in it"},
	{"7z\xbc\xaf\x27\x1c", "", "a 7-Zip archive; unpack it, and name what was in it"},
	{"Rar!\x1a\x07", "", "a RAR archive; unpack it, and name what was in it"},
	{"%PDF-", "", "a PDF document"},
	{"\x89PNG\r\n", "", "a picture"}, {"\xff\xd8\xff", "", "a picture"}, {"GIF8", "", "a picture"},
}

// Foreign says what a file is that holds no message in a form that can be read, and what
// to do; "" when it may hold one. Head is its beginning.
func Foreign(name string, head []byte) string {
	name = strings.ToLower(filepath.Base(name))
	for _, o := range others {
		if o.magic != "" && bytes.HasPrefix(head, []byte(o.magic)) {
			return o.what
		}
		for pattern := range strings.FieldsSeq(o.names) {
			if ok, _ := path.Match(pattern, name); ok && !isMail(head) && !bytes.HasPrefix(head, []byte(fromPrefix)) {
				return o.what
			}
		}
	}
	return ""
}

// mailFields are in lower case; nearly every message has one of them.
var mailFields = map[string]bool{
	"from": true, "to": true, "cc": true, "subject": true, "date": true, "received": true, "message-id": true, "return-path": true,
	"delivered-to": true, "reply-to": true, "sender": true, "mime-version": true, "content-type": true,
}

// isMail reports whether text begins with a header that has a field of mail.
func isMail(text []byte) bool {
	for name := range fields(bytes.TrimPrefix(text, []byte("\ufeff"))) {
		if bytes.ContainsAny(name, " \t\r\n\x00") && !bytes.HasPrefix(name, []byte(">From ")) {
			return false
		}
		if mailFields[string(bytes.ToLower(name))] {
			return true
		}
	}
	return false
}
