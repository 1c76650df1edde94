// SPDX-License-Identifier: Apache-2.0

package featurize

import (
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
		{"a letter", "", "a person"},
		{"a newsletter with a List-Id", "List-Id: <news.example.org>\nList-Unsubscribe: <https://example.org/u>\n", "bulk"},
		{"a discussion", "List-Id: <l.example.org>\nList-Post: <mailto:l@example.org>\nPrecedence: bulk\n", "a list"},
		{"a list without a way to post", "List-Id: <l.example.org>\nList-Subscribe: <mailto:l+s@example.org>\n", "a list"},
		{"a ticket", "X-Zendesk-Ticket: 7\n", "a program"},
	} {
		m := f.Read([]byte("From: ann@example.org\nTo: me@example.com\n" + c.header + "\nShall we?\n"))
		if got := m.sender.String(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
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
			return
		}
	}
	t.Errorf("there is no feature %q", want)
}
