// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// letter is message n of a day's post: its date is n hours after the first.
func letter(n int) string {
	return fmt.Sprintf("From: Zoë <zoe@quay.example>\nSubject: letter %d\nDate: %s\n\nletter %d\n", n, hour(n).Format(time.RFC1123Z), n)
}

func hour(n int) time.Time { return time.Date(2025, 3, 1, n, 0, 0, 0, time.UTC) }

// asMbox writes letters in an order; from makes the line before each.
func asMbox(order []int, from func(n int) string) string {
	var b strings.Builder
	for _, n := range order {
		fmt.Fprintf(&b, "%s\n%s\n", from(n), letter(n))
	}
	return b.String()
}

func enveloped(n int) string { return "From zoe@quay.example " + hour(n).Format(time.ANSIC) }

// upTo returns the numbers below n, or backwards, or mixed.
func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func backwards(n int) []int {
	all := upTo(n)
	slices.Reverse(all)
	return all
}

func mixed(n int) []int { return rand.New(rand.NewPCG(1, 2)).Perm(n) }

// numbers returns the numbers of letters, as they come.
func numbers(t testing.TB, messages []Message) (all []int) {
	t.Helper()
	for _, m := range messages {
		var n int
		i := bytes.LastIndex(m.Raw, []byte("\nletter "))
		if _, err := fmt.Sscanf(string(m.Raw[i+1:]), "letter %d", &n); err != nil {
			t.Errorf("no letter: %q", m.Raw)
		}
		all = append(all, n)
	}
	return all
}

func TestAnMboxComesInOrderOfDate(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // others may be reading an archive
	public := func(int) string { return "From mboxrd@z Thu Jan  1 00:00:00 1970" }
	git := func(n int) string { return fmt.Sprintf("From %040x Mon Sep 17 00:00:00 2001", n) }
	exported := func(n int) string { return "From - " + hour(9000+n%3).Format(time.ANSIC) }
	undated := func(int) string { return "From zoe@quay.example" }
	for _, tt := range []struct {
		name    string
		content string
	}{
		{"in order", asMbox(upTo(60), enveloped)},
		{"newest first", asMbox(backwards(60), enveloped)},
		{"mixed", asMbox(mixed(60), enveloped)},
		{"mixed and compressed", gzipped(t, asMbox(mixed(60), enveloped))},
		{"without dates before the messages", asMbox(backwards(60), undated)},
		{"as public-inbox writes it", asMbox(mixed(60), public)},
		{"as git writes patches", asMbox(mixed(60), git)},
		{"with the time of an export", asMbox(mixed(60), exported)},
		{"with CRLF", strings.ReplaceAll(asMbox(mixed(60), enveloped), "\n", "\r\n")},
		{"two years' files one after the other", asMbox(slices.Concat(upTo(60)[30:], upTo(30)), enveloped)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, t.TempDir(), "m", tt.content)
			messages, errs := read(t, Options{Order: ByDate}, path)
			if errs != nil {
				t.Fatal(errs)
			}
			if got := numbers(t, messages); !slices.Equal(got, upTo(60)) {
				t.Errorf("got %v", got)
			}
			for _, m := range messages {
				if n := numbers(t, []Message{m})[0]; !m.Date().Equal(hour(n)) || !strings.HasPrefix(string(m.Raw), "From: Zo") {
					t.Fatalf("letter %d: got %v, want %v\n%s", n, m.Date(), hour(n), m.Raw)
				}
			}
		})
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "hinged-archive-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A clock that is wrong makes no order. The Received field says when a message came.
func TestAFewWrongClocksMoveNothing(t *testing.T) {
	var b strings.Builder
	for n := range 100 {
		said := hour(n)
		switch n {
		case 20, 21, 70:
			said = hour(n + 5000)
		case 40, 41:
			said = hour(n - 5000)
		}
		fmt.Fprintf(&b, "From z@quay.example %s\nReceived: by mx.quay.example; %s\nDate: %s\n\nletter %d\n\n",
			said.Format(time.ANSIC), hour(n).Format(time.RFC1123Z), said.Format(time.RFC1123Z), n)
	}
	content := b.String()
	dir := t.TempDir()
	messages, _ := read(t, Options{Order: ByDate}, write(t, dir, "a", content))
	if got := numbers(t, messages); !slices.Equal(got, upTo(100)) {
		t.Errorf("got %v", got)
	}
	// A message that was moved into the folder late was received when it says.
	last := strings.LastIndex(content, "From z@")
	early := strings.Index(content[1:], "\nFrom z@") + 2
	moved := content[early:last] + content[:early] + content[last:]
	messages, _ = read(t, Options{Order: ByDate}, write(t, dir, "b", moved))
	if got := numbers(t, messages); !slices.Equal(got, upTo(100)) {
		t.Errorf("moved: got %v", got)
	}
}

func TestEqualDatesKeepTheirPlacesAndTurnInAnMboxThatIsNewestFirst(t *testing.T) {
	same := func(order []int) string {
		var b strings.Builder
		for _, n := range order {
			fmt.Fprintf(&b, "%s\nDate: %s\n\nletter %d\n\n", enveloped(n/2), hour(n/2).Format(time.RFC1123Z), n)
		}
		return b.String()
	}
	for name, order := range map[string][]int{"in order": upTo(40), "newest first": backwards(40)} {
		messages, _ := read(t, Options{Order: ByDate}, write(t, t.TempDir(), "m", same(order)))
		if got := numbers(t, messages); !slices.Equal(got, upTo(40)) {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestAThunderbirdProfileIsReadByDateAndOnlyItsMail(t *testing.T) {
	dir := t.TempDir()
	status := func(n int) string { return "From - " + hour(n).Format(time.ANSIC) + "\nX-Mozilla-Status: 0001" }
	local := "Mail/Local Folders/"
	write(t, dir, local+"Inbox", asMbox([]int{0, 3, 6}, status))
	write(t, dir, local+"Inbox.sbd/Häuser am Kai", asMbox([]int{4, 1}, status))
	write(t, dir, "ImapMail/imap.quay.example/Sent-1", asMbox([]int{2, 5}, status))
	write(t, dir, local+"Trash", "")
	others := map[string]string{
		local + "Inbox.msf": "// <!-- <mdb:mork:z v=\"1.4\"/> -->\n", local + "msgFilterRules.dat": "version=\"9\"\nlogging=\"no\"\n", local + "filterlog.html": "<style>p: x</style>",
		"prefs.js": "// Mozilla User Preferences\n\nuser_pref(\"mail\", 1);\nDate: x\n", "a.sqlite": "SQLite format 3\x00", "session.json": `{"From": "x", "Subject": 1}`,
		"popstate.dat": "# POP3 State File\n", "panacea.dat": "// <!-- <mdb:mork:z", "times.ini": "[Dates]\nDate: 1\n", "a.png": "\x89PNG\r\n\x1a\n", "binary": "\x00\x01\x02",
	}
	for name, content := range others {
		write(t, dir, name, content)
	}
	for _, order := range []Order{ByPath, ByDate} {
		r, err := Open([]string{dir}, Options{Order: order})
		if err != nil {
			t.Fatal(err)
		}
		var messages []Message
		for m, err := r.Next(); err == nil; m, err = r.Next() {
			messages = append(messages, Message{Raw: bytes.Clone(m.Raw)})
		}
		want := upTo(7)
		if order == ByPath {
			want = []int{2, 5, 0, 3, 6, 4, 1}
		}
		if got := numbers(t, messages); !slices.Equal(got, want) {
			t.Errorf("order %d: got %v, want %v", order, got, want)
		}
		if got := r.PassedOver(); len(got) != len(others) {
			t.Errorf("passed over %d files, want %d: %v", len(got), len(others), got)
		}
		r.Close()
	}
}

const plist = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<plist version=\"1.0\">\n<dict>\n\t<key>date-received</key>\n\t<integer>%d</integer>\n\t<key>flags</key>\n\t<integer>%d</integer>\n</dict>\n</plist>\n"

// emlx is a letter as Apple Mail keeps it.
func emlx(n, flags int) string {
	return fmt.Sprintf("%-10d\n%s"+plist, len(letter(n)), letter(n), hour(n).Unix(), flags)
}

func TestAppleMailIsReadWithoutWhatStandsAroundItsMessages(t *testing.T) {
	dir := t.TempDir()
	box := "V10/ACC/INBOX.mbox/UUID-1/Data/4/"
	write(t, dir, box+"Messages/9.emlx", emlx(0, 1|1<<4|3<<26))
	write(t, dir, box+"Messages/1.partial.emlx", emlx(2, 1<<2))
	write(t, dir, box+"Messages/1.1.emlxpart", "aGVsbG8=")
	write(t, dir, box+"Attachments/9/2/passed on.eml", letter(7))
	write(t, dir, "V10/ACC/INBOX.mbox/Info.plist", "<?xml version=\"1.0\"?><plist/>")
	write(t, dir, "Export.mbox/mbox", asMbox([]int{3, 1}, enveloped))
	write(t, dir, "Export.mbox/table_of_contents", "\x00\x01\x00From: x\n")
	messages, errs := read(t, Options{Order: ByDate}, dir)
	if got := numbers(t, messages); errs != nil || !slices.Equal(got, upTo(4)) {
		t.Fatalf("got %v, %v", got, errs)
	}
	for i, want := range [][]string{{`\Seen`, `\Flagged`}, nil, {`\Answered`}, nil} {
		if m := messages[i]; !slices.Equal(m.Flags, want) || string(m.Raw) != letter(i) || !m.Date().Equal(hour(i)) {
			t.Errorf("letter %d: got flags %v, %v\n%s", i, m.Flags, m.Date(), m.Raw)
		}
	}
}

func TestAnEmlxIsTakenApartHoweverItIsCounted(t *testing.T) {
	tail := fmt.Sprintf(plist, hour(1).Unix(), 16)
	for _, tt := range []struct{ name, file, want string }{
		{"right", "8\nTo: a\n\nx" + tail, "To: a\n\nx"},
		{"too long", "900\nTo: a\n\nx\n" + tail, "To: a\n\nx\n"},
		{"too short", "2\nTo: a\n\nx\n" + tail, "To: a\n\nx\n"},
		{"negative", "-5\nTo: a\n\nx\n" + tail, "To: a\n\nx\n"},
		{"no list", "9\nTo: a\n\nx\n", "To: a\n\nx\n"},
		{"no count", "To: a\n\nx\n", "To: a\n\nx\n"},
		{"a list in the text", "38\nTo: a\n\n<?xml?><plist></plist>\nstill text\n" + tail, "To: a\n\n<?xml?><plist></plist>\nstill text\n"},
		{"empty", "", ""},
	} {
		message, received, flags := readEmlx([]byte(tt.file))
		if string(message) != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, message, tt.want)
		}
		if has := strings.HasSuffix(tt.file, tail); has != (received.Equal(hour(1)) && slices.Equal(flags, []string{`\Flagged`})) {
			t.Errorf("%s: got %v, %v", tt.name, received, flags)
		}
	}
}

// FuzzEmlx asserts that a message is a piece of the file without its first line, and that
// one which was written well is found again.
func FuzzEmlx(f *testing.F) {
	f.Add([]byte(emlx(1, 17)), 17)
	f.Add([]byte("3\n\n<?xml\n</plist>"), 0)
	f.Add([]byte("-1\n\n\n<?xml</plist>"), -1)
	f.Fuzz(func(t *testing.T, data []byte, bits int) {
		message, received, _ := readEmlx(data)
		if !bytes.Contains(data, message) || received.Year() > 2300 {
			t.Fatalf("got %q, %v", message, received)
		}
		written := fmt.Sprintf("%d\n%s"+plist, len(data), data, int64(1e9), max(0, bits))
		message, received, flags := readEmlx([]byte(written))
		if !bytes.Equal(message, data) || received.Unix() != 1e9 || slices.Contains(flags, `\Seen`) != (max(0, bits)&1 == 1) {
			t.Fatalf("written and read again: got %q, %v, %v", message, received, flags)
		}
	})
}

func TestMHFoldersHaveTheFlagsOfTheirSequences(t *testing.T) {
	dir := t.TempDir()
	for n := range 12 {
		write(t, dir, fmt.Sprintf("inbox/%d", n+1), letter(n))
	}
	write(t, dir, "inbox/12", "From z@quay.example "+hour(11).Format(time.ANSIC)+"\n"+letter(11)+"\nFrom z@quay.example "+hour(11).Format(time.ANSIC)+"\nis no second one\n")
	write(t, dir, "inbox/.mh_sequences", "cur: 4\nunseen: 1-3\nflagged: 2 9-10\n 12\nreplied: 10 99-9999999999\n")
	messages, errs := read(t, Options{}, dir)
	if errs != nil || len(messages) != 12 {
		t.Fatalf("got %d messages, %v", len(messages), errs)
	}
	for i, m := range messages {
		want := map[int][]string{2: {`\Flagged`}, 9: {`\Flagged`}, 10: {`\Flagged`, `\Answered`}, 12: {`\Flagged`}}[i+1]
		if filepath.Base(m.Path) != fmt.Sprint(i+1) || !slices.Equal(m.Flags, want) {
			t.Errorf("%s: got %v, want %v", m.Path, m.Flags, want)
		}
	}
}

func TestContentLengthEndsAMessageOnlyWhereItLeadsToAnother(t *testing.T) {
	from := "From a@quay.example Sat Mar  1 10:00:00 2025\n"
	inner := "text\n" + from + "not another\n>From here\n"
	counted := func(n int, body string) string {
		return fmt.Sprintf("%sSubject: x\nContent-Length: %d\n\n%s\n", from, n, body)
	}
	for _, tt := range []struct {
		name, content string
		want          int
		first         string // the text of the first
	}{
		{"right, in the middle", counted(len(inner), inner) + from + "\nlast\n", 2, inner},
		{"right, at the end", counted(len(inner), inner), 1, inner},
		{"right, with CRLF", strings.ReplaceAll(counted(len(inner)+4, inner)+from+"\nlast\n", "\n", "\r\n"), 2, strings.ReplaceAll(inner, "\n", "\r\n")},
		{"too small", counted(3, inner) + from + "\nlast\n", 3, "text"},
		{"too great", counted(len(inner)+5, inner) + from + "\nlast\n", 3, "text"},
		{"absurd", counted(1<<60, inner), 2, "text"},
		{"quoted text", counted(11, ">From here\n") + from + "\nlast\n", 2, "From here\n"},
	} {
		messages, errs := read(t, Options{}, write(t, t.TempDir(), "m", tt.content))
		if errs != nil || len(messages) != tt.want {
			t.Errorf("%s: got %d messages, want %d, %v", tt.name, len(messages), tt.want, errs)
			continue
		}
		if text := string(messages[0].Raw[headerLen(messages[0].Raw):]); strings.TrimSuffix(text, "\n") != strings.TrimSuffix(tt.first, "\n") {
			t.Errorf("%s: got %q, want %q", tt.name, text, tt.first)
		}
	}
}

func TestPipermailNamesItsSendersAgain(t *testing.T) {
	for _, tt := range []struct{ name, field, want string }{
		{"a name", "zoe at quay.example (Zoë Kay)", `"Zoë Kay" <zoe@quay.example>`},
		{"none", "zoe at quay.example", "<zoe@quay.example>"},
		{"a comma in it", "zoe at quay.example (Kay, Zoë)", `"Kay, Zoë" <zoe@quay.example>`},
		{"quotes in it", `zoe at quay.example (Zoë "Z" Kay)`, `"Zoë 'Z' Kay" <zoe@quay.example>`},
		{"an encoded one, folded", "zoe at quay.example (=?utf-8?q?Zo=C3=AB?=\n =?utf-8?q?Kay?=)", "=?utf-8?q?Zo=C3=AB?=\n =?utf-8?q?Kay?= <zoe@quay.example>"},
		{"prose", "someone at the quay (Zoë)", "someone at the quay (Zoë)"},
		{"a real address", `"Zoë at home" <zoe@quay.example>`, `"Zoë at home" <zoe@quay.example>`},
	} {
		content := "From zoe at quay.example  Sat Mar  1 10:00:00 2025\nFrom: " + tt.field + "\nSubject: meet at quay.example (soon)\n\nFrom: x at y.example (Z)\n"
		messages, _ := read(t, Options{}, write(t, t.TempDir(), "m", content))
		value, _, _ := strings.Cut(strings.TrimPrefix(string(messages[0].Raw), "From:"), "\nSubject: meet at quay.example (soon)\n\nFrom: x at y.example (Z)\n")
		if got := strings.TrimSpace(value); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestOtherProgramsFilesAreRefusedByNameAndPassedOverInFolders(t *testing.T) {
	dir := t.TempDir()
	for name, tt := range map[string]struct{ content, want string }{
		"x.msg":            {outlook + strings.Repeat("\x00", 600), "an Outlook message; save it as .eml"},
		"renamed.eml.bin":  {outlook + "x", "an Outlook message"},
		"x.pst":            {"!BDN\x01\x02", "readpst"},
		"x.ost":            {"", "readpst"},
		"x.dbx":            {"\xcf\xad\x12\xfe", "readdbx"},
		"x.olm":            {"PK\x05\x06", "Outlook for Mac"},
		"Inbox.msf":        {"// <!-- <mdb:mork:z v=\"1.4\"/> -->", "index of Thunderbird"},
		"1.2.emlxpart":     {"aGVsbG8=", "name the .emlx file"},
		"dovecot.index":    {"\x07\x03", "an index"},
		"takeout.zip":      {"PK\x03\x04\x14", "unpack it"},
		"paper.pdf":        {"%PDF-1.7", "PDF"},
		"photo":            {"\xff\xd8\xff\xe0", "picture"},
		"global.sqlite":    {"SQLite format 3\x00", "a mail program"},
		"INBOX/Info.plist": {"<?xml version=\"1.0\"?>", "a mail program"},
	} {
		path := write(t, dir, name, tt.content)
		messages, errs := read(t, Options{}, path)
		if len(messages) > 0 || len(errs) != 1 || !strings.Contains(errs[0].Error(), tt.want) || !strings.Contains(errs[0].Error(), path) {
			t.Errorf("%s: got %d messages, %v; want %q", name, len(messages), errs, tt.want)
		}
	}
	messages, errs := read(t, Options{}, dir)
	if len(messages) > 0 || errs != nil {
		t.Errorf("in a folder: got %d messages, %v", len(messages), errs)
	}
	// What a program calls .msg may be mail.
	if messages, errs = read(t, Options{}, write(t, dir, "text.msg", letter(1))); len(messages) != 1 || errs != nil {
		t.Errorf("a message in .msg: got %d messages, %v", len(messages), errs)
	}
}

func TestFlagsAndLabelsSayWhatWasWanted(t *testing.T) {
	for _, tt := range []struct {
		field string
		flags []string
		want  bool
	}{
		{"Subject: x", nil, false},
		{"Subject: x", []string{`\Seen`}, false},
		{"Subject: x", []string{`\Seen`, `\Flagged`}, true},
		{"Subject: x", []string{"$Important"}, true},
		{"Status: RO", nil, false},
		{"Status: ROF", nil, true},
		{"X-Status: A", nil, true},
		{"Status: FAILED", nil, false},
		{"X-Mozilla-Status: 0001", nil, false},
		{"X-Mozilla-Status: 0005", nil, true},
		{"X-Mozilla-Status: 1003", nil, true},
		{"X-Mozilla-Keys: $label1 nonjunk", nil, true},
		{"X-Mozilla-Keys: $label2", nil, false},
		{"X-Keywords: NonJunk $Flagged", nil, true},
		{"X-Gmail-Labels: Inbox,Category updates,Unread", nil, false},
		{"X-Gmail-Labels: Inbox,\n Important,Opened", nil, true},
		{"X-Gmail-Labels: =?UTF-8?Q?Posteingang,Ge=C3=B6ffnet,Wichtig?=", nil, true},
		{"X-Gmail-Labels: Archived,Not so important", nil, false},
		{`X-GM-LABELS: "\\Inbox" "\\Starred"`, nil, true},
		{"Replied: Sat, 01 Mar 2025 10:00:00 +0000", nil, true},
		{"Subject: x\n\nX-Status: F", nil, false},
	} {
		m := Message{Raw: []byte("From: a@quay.example\n" + tt.field + "\n\ntext\n"), Flags: tt.flags}
		if got := m.Wanted(); got != tt.want {
			t.Errorf("%q with %v: got %v", tt.field, tt.flags, got)
		}
	}
}

func TestTheDateOfAFromLineCountsIfAnotherSupportsIt(t *testing.T) {
	day := func(d int) time.Time { return hour(24 * d) }
	field := func(name string, d int) string { return name + day(d).Format(time.RFC1123Z) + "\n" }
	for _, tt := range []struct {
		name     string
		envelope time.Time
		header   string
		want     time.Time
	}{
		{"it stands alone", day(3), "", day(3)},
		{"Date is near", day(3).Add(5 * time.Hour), field("Date: ", 3), day(3).Add(5 * time.Hour)},
		{"only Received is near", day(3), field("Received: by x; ", 3) + field("Date: ", 90), day(3)},
		{"only Date is near", day(90), field("Received: by x; ", 3) + field("Date: ", 90), day(90)},
		{"neither is near", day(90), field("Received: by x; ", 3) + field("Date: ", 2), day(3)},
		{"Date is not near", day(90), field("Date: ", 2), day(2)},
		{"Date is absurd", day(3), "Date: Thu, 01 Jan 1970 00:00:00 +0000\n", day(3)},
		{"it is the beginning of time", time.Unix(0, 0), "", time.Time{}},
		{"it is git's", gitDate, "", time.Time{}},
		{"there is none", time.Time{}, field("Date: ", 2), day(2)},
	} {
		m := Message{Envelope: tt.envelope, Raw: []byte(tt.header + "\n")}
		if got := m.Date(); !got.Equal(tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}
