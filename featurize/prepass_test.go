// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// fieldsOf lists what split makes of a message.
func fieldsOf(t testing.TB, raw string) (fields []string, body, debris string) {
	t.Helper()
	f := newTest(t)
	f.reset()
	list, b, d := f.split(stripEnvelope([]byte(raw)), nil, true)
	for _, fd := range list {
		fields = append(fields, string(fd.name)+"="+string(fd.value))
	}
	return fields, string(b), string(d)
}

func TestHeaderIsCutIntoFields(t *testing.T) {
	for _, c := range []struct {
		name, raw    string
		fields       []string
		body, debris string
	}{
		{"plain", "A: 1\nB: 2\n\nbody\n", []string{"A=1", "B=2"}, "body\n", ""},
		{"folded", "A: 1\n 2\n\t3\nB:\n  4\n\n", []string{"A=1 2 3", "B=4"}, "", ""},
		{"folded, twice in turn", "A: 1\n 2\nB: 3\n 4\n 5\n\n", []string{"A=1 2", "B=3 4 5"}, "", ""},
		{"CRLF", "A: 1\r\n 2\r\n\r\nbody\r\n", []string{"A=1 2"}, "body\r\n", ""},
		{"mbox", "From a b c\nA: 1\n\nbody", []string{"A=1"}, "body", ""},
		{"quoted mbox", ">From a b c\nA: 1\n\nbody", []string{"A=1"}, "body", ""},
		{"byte order mark", "\xef\xbb\xbfA: 1\n\nbody", []string{"A=1"}, "body", ""},
		{"space before the colon", "A : 1\n\n", []string{"A=1"}, "", ""},
		{"8-bit field name", "\xe9: 1\nB: 2\n\nx", []string{"B=2"}, "x", "\xe9: 1\n"},
		{"line without colon", "A: 1\noops\nB: 2\n\nx", []string{"A=1", "B=2"}, "x", "oops\n"},
		{"leading continuation", " 0\nA: 1\n\nx", []string{"A=1"}, "x", " 0\n"},
		{"no blank line", "A: 1\nB: 2", []string{"A=1", "B=2"}, "", ""},
		{"no blank line, then text", "A: 1\ntext: here is\nthe text\nB: 2", []string{"A=1", "text=here is"}, "the text\nB: 2", ""},
		{"empty header", "\nbody", nil, "body", ""},
		{"blank line first", "\nA: 1\n\nbody", []string{"A=1"}, "body", ""},
		{"no header", "some text\n\nmore", nil, "some text\n\nmore", ""},
		{"empty value", "A:\nB: \n\n", []string{"A=", "B="}, "", ""},
		{"nothing", "", nil, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			fields, body, debris := fieldsOf(t, c.raw)
			if !slices.Equal(fields, c.fields) || body != c.body || debris != c.debris {
				t.Errorf("%q: got fields %q, body %q, debris %q; want %q, %q, %q", c.raw, fields, body, debris, c.fields, c.body, c.debris)
			}
		})
	}
}

func TestForgedHeadersAreNoFeatures(t *testing.T) {
	read := func(header string) *Message {
		return newBelieving(t).Read([]byte("From: a@example.net\n" + header + "\ntext\n"))
	}
	plain := wordsWith(read(""), "")
	if got := wordsWith(read("X-Hinged-Score: 1\nx-hinged-important: yes\n"), ""); !slices.Equal(got, plain) {
		t.Errorf("X-Hinged-*: got %q, want %q", got, plain)
	}
	if got := wordsWith(read("Authentication-Results: evil.example; dkim=pass; spf=pass\n"), ""); !slices.Equal(got, plain) {
		t.Errorf("foreign Authentication-Results: got %q, want %q", got, plain)
	}
	got := wordsWith(read("Authentication-Results: MX.example.org 1; dkim=pass header.d=x;\n spf=fail (no)\n"), "auth:")
	if want := []string{"dkim=pass", "spf=fail"}; !slices.Equal(got, want) {
		t.Errorf("own Authentication-Results: got %q, want %q", got, want)
	}
	// A header field can't pass for what the account remembers.
	for _, name := range wordsWith(read("History: answers the owner\nhistory:answers the owner: x\n"), "") {
		if strings.HasPrefix(name, "history:") {
			t.Errorf("feature %q from a header field", name)
		}
	}
}

// Mail programs write into a stored message what its reader did with it. As features that
// would tell hinged eval the label.
func TestWhatTheReaderDidLaterIsNoFeature(t *testing.T) {
	read := func(header string) *Message {
		return newTest(t).Read([]byte(header + "From: a@example.net\n\ntext\n"))
	}
	plain := wordsWith(read(""), "")
	for _, field := range []string{
		"Status: RO", "X-Status: A", "X-Status: F", "X-Keywords: $Important $Hinged", "X-UID: 7", "X-UIDL: x", "X-IMAP: 1 2", "X-IMAPbase: 1 2",
		"Content-Length: 5", "Lines: 1", "X-Label: important", "Replied: Mon, 02 Mar 2026 09:00:00 +0100", "Forwarded: to b", "Resent: to b",
		"Xref: localhost mail.important:3", "X-KMail-EncryptionState: N", "X-KMail-SignatureState: N", "X-KMail-MDN-Sent: I",
		"X-Account-Key: account1", "X-Mozilla-Status: 0013", "X-Mozilla-Status2: 00000000", "X-Mozilla-Keys: $label1",
		"X-Gmail-Labels: Inbox,Important,Opened", "X-GM-LABELS: \\Important", "X-GM-MSGID: 1", "X-PMFLAGS: 33554560 0",
		"X-GM-THRID: 1",
		"X-TUID: abcdefghijkl", "X-Evolution: 0000002e-0010", "X-Evolution-Source: pop", "X-VM-v5-Data: ([nil t])", "X-VM-Labels: important",
		"X-RMAIL-ATTRIBUTES: -A------", "X-RMAIL-KEYWORDS: important", "X-Gnus-Article-Number: 3", "X-OfflineIMAP-1-2: 3-4-v6",
	} {
		if got := wordsWith(read(field+"\n"), ""); !slices.Equal(got, plain) {
			t.Errorf("%s: got %q, want %q", field, got, plain)
		}
	}
	// These are the sender's, or were written on the way.
	for _, field := range []string{"X-Gm-Message-State: x", "X-Status-Page: up", "Keywords: a", "X-Spam-Status: no"} {
		if got := wordsWith(read(field+"\n"), ""); slices.Equal(got, plain) {
			t.Errorf("%s gives no feature", field)
		}
	}
}

// The first Received field is that of the last server, and its date stands last.
func TestTheLastDeliveryIsDated(t *testing.T) {
	for _, c := range []struct{ name, header, want string }{
		{"none", "", "0001-01-01 00:00"},
		{"two of them", "Received: from a.example\n\tby b.example (x; y) with ESMTPS id 1;\n\tMon, 02 Mar 2026 09:00:00 +0100 (CET)\nReceived: by a.example; Sun, 01 Mar 2026 09:00:00 +0100\n", "2026-03-02 08:00"},
		{"the last has no date", "Received: by b.example\nReceived: by a.example; Sun, 01 Mar 2026 09:00:00 +0100\n", "0001-01-01 00:00"},
		{"not a date", "Received: by b.example; soon\n", "0001-01-01 00:00"},
	} {
		m := newTest(t).Read([]byte(c.header + "Subject: x\n\n"))
		if got := m.Received.UTC().Format("2006-01-02 15:04"); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestHeaderFieldsFillTheMessage(t *testing.T) {
	m := newTest(t).Read([]byte(`From: "Doe, Jane" <Jane@Example.NET>, owner@example.org
To: broken <, ok@example.com, "a, b" <quoted@example.com>; last@example.com
Cc: team: x@example.com, y@example.com;
Message-ID: <m1@x>
In-Reply-To: Your message of Monday <p1@x>
References: <r0@x> <r1@x>
	<p1@x>
Subject: =?utf-8?q?f=C3=BCnf?= =?utf-8?b?IHNlY2hz?=
Date: Mon, 02 Mar 2026 09:00:00 +0100

`))
	for _, c := range []struct {
		name      string
		got, want []string
	}{
		{"From", m.From, []string{"jane@example.net", "owner@example.org"}},
		{"To", m.To, []string{"ok@example.com", "quoted@example.com", "last@example.com"}},
		{"Cc", m.Cc, []string{"x@example.com", "y@example.com"}},
		{"In-Reply-To", m.InReplyTo, []string{"p1@x"}},
		{"References", m.References, []string{"r0@x", "r1@x", "p1@x"}},
		{"others", []string{m.MessageID, m.Subject, m.Date.UTC().Format("15:04")}, []string{"m1@x", "fünf sechs", "08:00"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, c.got, c.want)
		}
	}
	if !m.FromOwner {
		t.Error("a message From the owner's address, in another case, is not own")
	}
}

func TestSubjectTellsThePlaceInTheThread(t *testing.T) {
	for subject, want := range map[string]place{
		"hello":                   placeStart,
		"Re: hello":               placeReply,
		"AW: Re: hello":           placeReply,
		"[list] hello":            placeStart,
		"[PATCH] fix":             placePatch,
		"[PATCH v2 0/3] fix":      placeCover,
		"[PATCH v2 1/3] fix":      placeSeries,
		"[PATCH 1/1] fix":         placePatch,
		"Re: [PATCH v2 1/3] fix":  placePatchReply,
		"[list] Re: [PATCH] fix":  placePatchReply,
		"Re: [list] re: hello":    placeReply,
		"[unclosed":               placeStart,
		"[PATCH 5/3] out of turn": placePatch,
		"[] Re: [PATCH]":          placePatchReply,
		// The lower case of these letters has more bytes, or fewer.
		"[]ȺȺ":                             placeStart,
		"[]ȺȺȺȺȺȺȺȺ":                       placeStart,
		"[Ⱥ]Re: Ⱥ":                         placeReply,
		"=?utf-8?B?W13Iusi6yLrIusi6yLo=?=": placeStart,
		"[liste] Re: İSTANBUL TOPLANTISI İÇİN": placeReply,
		"[\u212a] Re: \u212a":                  placeReply, // the sign for kelvin
		"[PATCH \u212a] Re: [ẞ] AW: ẞ":         placePatchReply,
	} {
		if got := newTest(t).Read([]byte("Subject: " + subject + "\n\n")).place; got != want {
			t.Errorf("%q: got %v, want %v", subject, got, want)
		}
	}
}

var prepassSeeds = []string{
	"From x\nA: 1\n 2\n\nbody", "A: 1\nbad\nB: 2", "\n\nA: 1\n\n", "no header", "A:\r\n\r\nb", " lead\n: x\nA: b\n\n", ">From x\n\xff: y\n\nz",
}

func FuzzPrepass(f *testing.F) {
	for _, seed := range prepassSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		fz := newTest(t)
		fz.reset()
		held := bytes.Clone(raw)
		fields, body, debris := fz.split(raw, nil, true)
		if !bytes.HasSuffix(raw, body) {
			t.Errorf("body %q is not the end of %q", body, raw)
		}
		total := len(debris) + len(body)
		for _, fd := range fields {
			if len(fd.name) == 0 || bytes.ContainsAny(fd.name, ": \t\r\n") || bytes.IndexByte(fd.value, '\n') >= 0 {
				t.Errorf("field %q: %q of %q", fd.name, fd.value, raw)
			}
			total += len(fd.name) + len(fd.value)
		}
		if total > 2*len(raw)+2 {
			t.Errorf("%d bytes of fields, debris and body from %d bytes", total, len(raw))
		}
		if !bytes.Equal(raw, held) {
			t.Error("the raw message was changed")
		}
		// What was found, written down properly, is found again.
		var clean bytes.Buffer
		for _, fd := range fields {
			clean.WriteString(string(fd.name) + ": " + string(bytes.ReplaceAll(fd.value, []byte{'\r'}, nil)) + "\r\n")
		}
		clean.WriteString("\r\n")
		again, _, _ := fz.split(clean.Bytes(), nil, true)
		if len(again) != len(fields) {
			t.Errorf("%q has %d fields, written anew %d", raw, len(fields), len(again))
		}
	})
}

func TestSeedsOfFuzzPrepassReachTheCode(t *testing.T) {
	for _, seed := range prepassSeeds {
		fields, body, debris := fieldsOf(t, seed)
		if len(fields)+len(body)+len(debris) == 0 {
			t.Errorf("seed %q gives nothing", seed)
		}
	}
}

var headerSeeds = []string{
	"From: a <a@b.c>, \"x, y\" <z@w>\nTo: owner@example.org\n", "Subject: =?utf-8?q?f=C3=BC?= =?x?b?!?= \xff\n", "Subject: [PATCH v9 3/4] Re: x\n",
	"References: <a> <b\n <c>\nIn-Reply-To: x@y\n", "Date: Mon, 2 Mar 2026 09:00:00 +0100 (CET)\nReceived: from a.b by c.d; x\n",
	"DKIM-Signature: d=x.example; b=\nList-Id: <l.x>\nX-Y: z\n", "Authentication-Results: mx.example.org; a=b; c\n", "Cc: (((((\nSender: ;;,,<>\n", "From: \"a@b | to\"@c\n",
	// Letters whose lower case has another length; mutations of bytes hardly ever make one.
	"Subject: []ȺȺ Ⱦ\n", "Subject: [Ⱥ] Re: [İ] İstanbul\n", "Subject: [\u212a]\u212a ẞ\nList-Id: <Ⱥ.\u212a>\n",
	"From: İ Ⱥ <Ⱥ@\u212a.İ>\nSender: ẞ@Ⱥ\nReceived: from Ⱥ.İ by \u212a.Ⱥ; x\nUser-Agent: İȺ/1\n", "DKIM-Signature: d=Ⱥ.\u212a\nContent-Type: TEXT/Ⱥ; charset=İ\n",
}

func FuzzHeaders(f *testing.F) {
	for _, seed := range headerSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, header []byte) {
		fz := newBelieving(t)
		m := fz.Read(append(bytes.Clone(header), "\n\n"...))
		checkFeatures(t, m, fz.Freeze(m, History{}))
		if want, got := placeBySubject(fz, m.Subject), placeBySubject(fz, "[x]"+m.Subject); got != want {
			t.Errorf("subject %q says %v, and behind a tag %v", m.Subject, want, got)
		}
		for _, list := range [][]string{m.InReplyTo, m.References, {m.MessageID}} {
			for _, id := range list {
				if strings.ContainsAny(id, "<>\n") && strings.Count(id, "<") == strings.Count(id, ">") {
					t.Errorf("Message-ID %q", id)
				}
			}
		}
		for _, list := range [][]string{m.From, m.To, m.Cc} {
			for _, a := range list {
				if a != strings.ToLower(a) || !strings.Contains(a, "@") || strings.Contains(a, " | ") {
					t.Errorf("address %q", a)
				}
			}
		}
	})
}

// placeBySubject is the place in the thread that the subject alone tells.
func placeBySubject(f *Featurizer, subject string) place {
	f.structure = structure{}
	m := &Message{Subject: subject}
	f.readSubject(m)
	return f.structure.placeOf(m)
}

func TestSeedsOfFuzzHeadersReachTheCode(t *testing.T) {
	f := newBelieving(t)
	empty := f.Read(nil).Content.Len()
	for _, seed := range headerSeeds {
		if got := f.Read([]byte(seed + "\n\n")).Content.Len(); got <= empty && !strings.HasPrefix(seed, "References") {
			t.Errorf("seed %q gives %d features, no message at all %d", seed, got, empty)
		}
	}
}
