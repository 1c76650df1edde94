// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"strings"
	"testing"
)

func TestAPersonalMessageIsSentToTheOwnerAndToNoCrowd(t *testing.T) {
	letter := "From: Ann <ann@example.org>\nTo: me@example.com\nSubject: Sunday\n"
	for _, c := range []struct {
		name, header string
		want         bool
	}{
		{"a letter to the owner", letter, true},
		{"to the owner and others", "From: ann@example.org\nTo: ben@example.net, me@example.com\n", true},
		{"with a copy to the owner", "From: ann@example.org\nTo: ben@example.net\nCc: me@example.com\n", false},
		{"of the owner's own", "From: me@example.com\nTo: me@example.com\n", false},
		{"without a sender", "To: me@example.com\n", false},
		{"with a way out", letter + "List-Unsubscribe: <https://example.org/u>\n", false},
		{"through a list", letter + "List-Id: <l.example.org>\nList-Post: <mailto:l@example.org>\n", false},
		{"in bulk", letter + "Precedence: bulk\n", false},
		{"counted for complaints", letter + "Feedback-ID: 1:campaign:shop\n", false},
		{"by a program", letter + "Auto-Submitted: auto-generated\n", true},
		{"by a person whose program says so", letter + "Auto-Submitted: no\n", true},
		{"from an address that nobody reads", "From: Shop <no-reply@example.org>\nTo: me@example.com\n", true},
		{"from one in German", "From: Amt <nicht_antworten@example.org>\nTo: me@example.com\n", true},
		{"whose errors go to a program", letter + "Return-Path: <bounce-17@example.org>\n", true},
		{"whose errors go to nobody", letter + "Return-Path: <>\n", true},
		{"whose errors go to the sender", letter + "Return-Path: <ann@example.org>\n", true},
		{"from a tracker", letter + "X-JIRA-FingerPrint: 1\n", true},
		{"from a calendar", letter + "Content-Type: text/calendar; method=REQUEST\n", true},
	} {
		o := DefaultOptions()
		o.Owner = []string{"me@example.com"}
		f, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		raw := []byte(c.header + "\nShall we meet?\n")
		if got := f.Read(raw).Personal; got != c.want {
			t.Errorf("%s: Read says personal %v, want %v", c.name, got, c.want)
		}
		if got := f.ReadHeader(raw).Personal; got != c.want {
			t.Errorf("%s: ReadHeader says personal %v, want %v", c.name, got, c.want)
		}
	}
}

func TestTheKindOfSenderIsReadFromTheHeader(t *testing.T) {
	f, err := New(DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, header, want string }{
		{"a letter", "", "written by a person, as it seems"},
		{"a newsletter with a List-Id", "List-Id: <news.example.org>\nList-Unsubscribe: <https://example.org/u>\n", "sent to many at once"},
		{"a discussion", "List-Id: <l.example.org>\nList-Post: <mailto:l@example.org>\nPrecedence: bulk\n", "sent through a mailing list"},
		{"a list without a way to post", "List-Id: <l.example.org>\nList-Subscribe: <mailto:l+s@example.org>\n", "sent through a mailing list"},
		{"a ticket", "X-Zendesk-Ticket: 7\n", "written by a program"},
	} {
		m := f.Read([]byte("From: ann@example.org\nTo: me@example.com\n" + c.header + "\nShall we?\n"))
		if got := Describe("kind:" + m.sender.String()); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestWhatTheOwnerKeptOfASenderIsSaid(t *testing.T) {
	for _, c := range []struct {
		kept, left uint32
		want       string
	}{
		{0, 0, ""}, {0, 2, "you kept none of this sender's few messages"}, {0, 9, "you kept none of this sender's messages"},
		{1, 2, "you kept fewer than half of this sender's few messages"}, {1, 9, "you kept few of this sender's messages"},
		{2, 1, "you kept at least half of this sender's few messages"}, {6, 4, "you kept at least half of this sender's messages"},
		{9, 1, "you kept most of this sender's messages"}, {3, 0, "you kept all of this sender's few messages"}, {8, 0, "you kept all of this sender's messages"},
	} {
		l := factList{prefix: "history:"}
		History{Kept: c.kept, Left: c.left}.each(new(Message), &l)
		got := ""
		for _, e := range l.entries {
			if name := string(l.names[e.start : e.start+uint32(e.size)]); strings.HasPrefix(name, "history:sender kept ") {
				got = Describe(name)
			}
		}
		if got != c.want {
			t.Errorf("%d kept, %d left: %q, want %q", c.kept, c.left, got, c.want)
		}
	}
}

func TestAnAttachmentIsAFactOfItsKind(t *testing.T) {
	f, err := New(DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	m := f.Read([]byte("From: ann@example.org\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nsee there\n" +
		"--b\nContent-Type: application/pdf; name=a.pdf\nContent-Disposition: attachment; filename=a.pdf\n\nx\n" +
		"--b\nContent-Type: application/pdf\nContent-Disposition: attachment; filename=b.pdf\n\nx\n--b--\n"))
	const want = "kind:a person | with pdf"
	for x := range f.Freeze(m, History{}).All() {
		if x.Name == want {
			if got := Describe(want); got != "written by a person, as it seems, with a PDF file" {
				t.Errorf("%q is described as %q", want, got)
			}
			return
		}
	}
	t.Errorf("there is no feature %q", want)
}
