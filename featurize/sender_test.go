// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"slices"
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
		f := newFor(t, "", "me@example.com")
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
	f := newFor(t, "")
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
	f := newFor(t, "")
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

func guise(t *testing.T, header string) Guise {
	t.Helper()
	return read(t, header).Guise
}

func read(t *testing.T, header string) *Message {
	t.Helper()
	f := newFor(t, "")
	return f.Read([]byte(header + "\r\nSubject: hello\r\n\r\nhello\r\n"))
}

// TestALinkIsWhatAPersonCanFollow: a picture that is shown, or an address to write to, is none.
func TestALinkIsWhatAPersonCanFollow(t *testing.T) {
	for body, want := range map[string]bool{
		"hello": false,
		`<a href="https://example.com/go">go</a>`:                                               true,
		`<form action="https://example.com">go</form>`:                                          true,
		`<p>go to https://example.com</p>`:                                                      true,
		`<img src="https://example.com/logo.png">`:                                              false,
		`<table background="https://example.com/"><a href="mailto:a@example.com">a</a></table>`: false,
		`<img src="https://example.com/logo.png"><a href="https://example.com/go">go</a>`:       true,
	} {
		if m := read(t, "From: a@example.org\r\nContent-Type: text/html\r\n\r\n"+body); m.Content.Links != want {
			t.Errorf("%s: links is %v", body, m.Content.Links)
		}
	}
}

// TestALookAlikeIsSeenUnderTheNameOfAnother: the eye takes each of these for Nordbank or for
// Anna Winter, at another home.
func TestALookAlikeIsSeenUnderTheNameOfAnother(t *testing.T) {
	bank := guise(t, "From: Nordbank <service@mail.nordbank.example>")
	anna := guise(t, "From: Anna Winter <anna@winter-mail.example>")
	if bank.Own == 0 || anna.Own == 0 {
		t.Fatalf("no names: %+v, %+v", bank, anna)
	}
	for from, whose := range map[string]Guise{
		"Nordbank <service@nordbank-secure.example>":              bank,
		"Kundenservice <info@n0rdbank.example>":                   bank,
		"Service <noreply@norddbank.example>":                     bank,
		"service@nordbank.example.account-17.com":                 bank,
		"Nordbank <noreply@verify3fa.example>":                    bank,
		"\"Nordbank Security Team\" <notification@x7f3q.example>": bank,
		"Anna Winter <anna.winter77@postbox24.example>":           anna,
		"ANNA WINTER <a@zmail.example>":                           anna,
	} {
		g := guise(t, "From: "+from)
		if g.Home == whose.Home || !slices.ContainsFunc(whose.Names[:whose.Own], func(name uint64) bool { return slices.Contains(g.Names, name) }) {
			t.Errorf("%s is not taken for it: %+v, %+v", from, g, whose)
		}
	}
	for _, from := range []string{"Ostbank <service@ostbank.example>", "Anna Sommer <anna@sommer.example>", "Service <info@hosting.example>"} {
		g := guise(t, "From: "+from)
		for _, name := range append(slices.Clone(bank.Names[:bank.Own]), anna.Names[:anna.Own]...) {
			if slices.Contains(g.Names, name) {
				t.Errorf("%s is taken for another", from)
			}
		}
	}
	if g := guise(t, "From: Nordbank <service@nordbank.com>"); g.Home != bank.Home {
		t.Error("one company in two countries has two homes")
	}
}

func TestForgedMailIsWhatAServerSays(t *testing.T) {
	from := "From: Nordbank <service@nordbank.example>"
	for field, want := range map[string]bool{
		"Authentication-Results: mx.example.org; spf=pass; dmarc=fail header.from=nordbank.example": true,
		"Authentication-Results: mx.example.org; spf=fail; dkim=pass; dmarc=pass":                   false,
		"Authentication-Results: mx.example.org; dmarc=none (\"dmarc=fail\")":                       false,
		"X-Other: dmarc=fail": false,
	} {
		if got := guise(t, field+"\r\n"+from).Failed; got != want {
			t.Errorf("%s: failed is %v", field, got)
		}
	}
	if g := guise(t, "List-Post: <mailto:list@example.org>\r\n"+from); g.Home != 0 || g.Own != 0 {
		t.Errorf("mail of a list has the guise %+v", g)
	}
	long := "From: "
	for range 400 {
		long += "abcdefg hijklmn-opqrstu."
	}
	if g := guise(t, long+" <a@b.example>"); len(g.Names) > maxGuises {
		t.Errorf("%d names are seen", len(g.Names))
	}
}
