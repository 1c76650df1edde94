// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestHeaderWordsAreReadAsMailProgramsDo(t *testing.T) {
	for _, c := range []struct{ name, raw, want string }{
		{"plain", "Hello there", "Hello there"},
		{"base64", "=?utf-8?B?TsOkaGUgYmVpIEvDtmxu?=", "Nähe bei Köln"},
		{"base64 without padding", "=?UTF-8?b?w4l0w6k?=", "Été"},
		{"base64 with a blank and a dash in it", "=?utf-8?B?TsOk aGUg-YmVpIEvDtmxu?=", "Nähe bei Köln"},
		{"a bad escape", "=?utf-8?Q?100=ZZ_Gr=C3=BCn=?=", "100=ZZ Grün="},
		{"blanks inside", "=?iso-8859-1?Q?Neue M=F6bel?= bald", "Neue Möbel bald"},
		{"a raw letter inside", "=?iso-8859-1?Q?Neue_M\xf6bel?=", "Neue Möbel"},
		{"a raw UTF-8 letter inside", "=?utf-8?Q?Neue_Möbel?=", "Neue Möbel"},
		{"a question mark inside", "=?utf-8?Q?Kommst_du?_Ja!?=", "Kommst du? Ja!"},
		{"a question mark before an escape", "=?utf-8?Q?Was?=20Ja!?=", "Was? Ja!"},
		{"a question mark at its end", "=?utf-8?Q?Kommst_du??=", "Kommst du?"},
		{"a character cut in two", "=?utf-8?Q?sch=C3?= =?utf-8?Q?=B6n?=", "schön"},
		{"a character cut in two, in base64", "=?utf-8?B?c2Now?= =?UTF-8?B?w7Zu?=", "schön"},
		{"two charsets", "=?utf-8?Q?sch=C3=B6n?= =?iso-8859-1?Q?_gr=FCn?=", "schön grün"},
		{"no end", "=?utf-8?Q?sch=C3=B6ne_Gr", "schöne Gr"},
		{"half an end", "=?utf-8?Q?sch=C3=B6ne?", "schöne"},
		{"no end before the next", "=?utf-8?Q?sch=C3=B6n =?utf-8?Q?es_Haus?=", "schönes Haus"},
		{"no blank between", "=?utf-8?Q?sch=C3=B6n?==?utf-8?Q?es?=", "schönes"},
		{"no blank before and behind", "Re:=?utf-8?Q?sch=C3=B6n?=!", "Re:schön!"},
		{"a language", "=?utf-8*de?Q?sch=C3=B6n?=", "schön"},
		{"in quotes", `"=?utf-8?Q?sch=C3=B6n?="`, `"schön"`},
		{"text between words", "=?utf-8?Q?=C3=A4?= und =?utf-8?Q?=C3=B6?=", "ä und ö"},
		{"no charset that is known", "=?x-unknown?Q?H=F6he?=", "Höhe"},
		{"an encoding that is none", "=?utf-8?X?abc?=", "=?utf-8?X?abc?="},
		{"not a word", "a =? b ?= c", "a =? b ?= c"},
		{"an empty word", "=?utf-8?Q??=", ""},
		{"raw UTF-8", "Höhe", "Höhe"},
		{"raw UTF-8, cut", "Höhe und Tiefe, schö\xc3", "Höhe und Tiefe, schö\ufffd"},
		{"raw latin1", "Gr\xf6\xdfe", "Größe"},
		{"raw ISO-2022-JP", "\x1b$B;qNA\x1b(B 2", "資料 2"},
		{"ISO-2022-JP over two words", "=?iso-2022-jp?B?GyRCO3E=?= =?iso-2022-jp?B?TkEbKEI=?=", "資料"},
	} {
		if got := newTest(t).headerText([]byte(c.raw)); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	m := newTest(t).Read([]byte("Subject: \xf0\xd2\xc9\xd7\xc5\xd4\nContent-Type: text/plain; charset=koi8-r\n\n"))
	if m.Subject != "Привет" {
		t.Errorf("a raw subject in the charset of the message: got %q", m.Subject)
	}
}

func FuzzEncodedWord(f *testing.F) {
	for _, s := range []string{"=?utf-8?Q?a=C3=A4?= =?utf-8*de?b?w6Q?= x", "=?koi8-r?Q?=F0?b?=20=?", "\xff=?a?q?\xff", "\x1b$B;q\x1b(B"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		got := newTest(t).headerText(value)
		if !utf8.ValidString(got) {
			t.Fatalf("%q is not valid UTF-8", got)
		}
		if isASCII(value) && !strings.Contains(string(value), "=?") && !slices.Contains(value, 0x1b) && got != string(value) {
			t.Fatalf("plain text became %q", got)
		}
		if w := encodedWord(value); w.size > len(value) {
			t.Fatalf("a word of %d bytes in %d", w.size, len(value))
		}
	})
}

func TestAddressesAreReadAsMailProgramsDo(t *testing.T) {
	for _, c := range []struct{ name, raw, want string }{
		{"no brackets", "Ann Example ann@example.net", "Ann Example <ann@example.net>"},
		{"the name in a comment", "ann@example.net (Ann Example)", "Ann Example <ann@example.net>"},
		{"an encoded word in quotes", `"=?utf-8?Q?J=C3=BCrgen?=" <j@example.net>`, "Jürgen <j@example.net>"},
		{"an encoded word with a comma", "=?utf-8?Q?Gr=C3=BCn,_Jan?= <j@example.net>", "Grün, Jan <j@example.net>"},
		{"a name with a comma", "Example, Ann <ann@example.net>, b@example.net", "Example, Ann <ann@example.net>|<b@example.net>"},
		{"nobody", "undisclosed-recipients:;", ""},
		{"a group", "Team: ann@example.net, Bob <b@example.net>;", "<ann@example.net>|Bob <b@example.net>"},
		{"a dot and a blank behind", "<ann@example.net. >", "<ann@example.net>"},
		{"mailto", "mailto:ann@example.net, <mailto:b@example.net>", "<ann@example.net>|<b@example.net>"},
		{"two pairs of brackets", "Ann <<ann@example.net>>", "Ann <ann@example.net>"},
		{"single quotes", "'ann@example.net' <'ann@example.net'>", "'ann@example.net' <ann@example.net>"},
		{"no comma between two", "Ann <ann@example.net> Bob <b@example.net>", "Ann <ann@example.net>|Bob <b@example.net>"},
		{"semicolons", "ann@example.net; b@example.net", "<ann@example.net>|<b@example.net>"},
		{"a route", "<@a.example,@b.example:ann@example.net>", "<ann@example.net>"},
		{"comments within", "Ann <ann(her)@example.net(host)>", "Ann <ann@example.net>"},
		{"an address in quotes as a name", `"boss@bank.example" <ann@example.net>`, "boss@bank.example <ann@example.net>"},
		{"a local part in quotes", `"a@bank.example, b"@example.net`, "<a@bank.example, b@example.net>"},
		{"escapes in quotes", `"Ann \"Bee\" Example" <ann@example.net>`, `Ann "Bee" Example <ann@example.net>`},
		{"an open quote", `"Ann <ann@example.net>`, "Ann <ann@example.net>"},
		{"raw latin1", "J\xfcrgen Gr\xfcn <j@example.net>", "Jürgen Grün <j@example.net>"},
		{"raw ISO-2022-JP", "\x1b$B;qNA\x1b(B <j@example.net>", "資料 <j@example.net>"},
		{"a domain outside ASCII", "ann@Grün.example", "<ann@xn--grn-ioa.example>"},
	} {
		f := newTest(t)
		var got []string
		for _, m := range f.addresses([]byte(c.raw)) {
			got = append(got, strings.TrimSpace(strings.Trim(f.headerText(m.name), `" `)+" <"+m.address+">"))
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s: got %q, want %q", c.name, strings.Join(got, "|"), c.want)
		}
	}
}

func TestOneAddressIsTheSameHoweverItIsWritten(t *testing.T) {
	for _, c := range []struct{ owner, from string }{
		{"ann@grün.example", "ann@XN--GRN-IOA.example"},
		{"ann@xn--grn-ioa.example", "ann@GRÜN.example"},
		{"andré@example.org", "ANDRE\u0301@example.org"},
		{"andre\u0301@example.org", "André@example.org"},
		{"ann@example.org.", "Ann@Example.ORG"},
		{"ann@example.org", "ann+list@example.org"},
	} {
		f := newFor(t, "", c.owner)
		if !f.ReadHeader([]byte("From: "+c.from+"\n\n")).FromOwner || !f.Owns(c.from) {
			t.Errorf("%s is not taken for %s", c.from, c.owner)
		}
		if once := CanonicalAddress(c.from); CanonicalAddress(once) != once {
			t.Errorf("%s is not its own canonical form", once)
		}
	}
	o := DefaultOptions()
	o.Owner, o.Subaddress = []string{"ann@example.org"}, ""
	if o.Owns("ann+list@example.org") {
		t.Error("a subaddress is the owner's, though there are none")
	}
	if o := DefaultOptions(); o.Owns("ann+list@example.org") {
		t.Error("a stranger's subaddress is the owner's")
	}
}

func TestTheOwnerNamedTwiceIsAlone(t *testing.T) {
	for to, want := range map[string]address{
		"owner@example.org, Me <OWNER@example.org>":         addressedToAlone,
		"owner@example.org, owner+shop@example.org":         addressedToAlone,
		"owner@example.org, ann@example.net":                addressedTo,
		"ann@example.net\nCc: owner+lists@example.org, b@c": addressedCc,
		"ann@example.net": addressedElsewhere,
	} {
		f := newFor(t, "", "owner@example.org")
		if m := f.Read([]byte("To: " + to + "\n\nhi")); m.address != want {
			t.Errorf("To %s: %v, want %v", to, m.address, want)
		}
	}
}

func TestThePlaceInTheThread(t *testing.T) {
	for header, want := range map[string]place{
		"Subject: VS: Kokous":                                                   placeReply,
		"Subject: Re[4]: Umzug":                                                 placeReply,
		"Subject: RE(2): Umzug":                                                 placeReply,
		"Subject: Re^3: Umzug":                                                  placeReply,
		"Subject: RE : Réunion":                                                 placeReply,
		"Subject: Re：会議":                                                        placeReply,
		"Subject: 答复：会议":                                                        placeReply,
		"Subject: R: Offerta":                                                   placeReply,
		"Subject: Rif.: Offerta":                                                placeReply,
		"Subject: Ynt: Toplantı":                                                placeReply,
		"Subject: ΑΠ: Συνάντηση":                                                placeReply,
		"Subject: Σχετ: Συνάντηση":                                              placeReply,
		"Subject: תגובה: פגישה":                                                 placeReply,
		"Subject: رد: اجتماع":                                                   placeReply,
		"Subject: Trả lời: Họp":                                                 placeReply,
		"Subject: [list] Sv: möte":                                              placeReply,
		"Subject: Odp: Fwd: zebranie":                                           placeReply,
		"Subject: Note: bring a towel":                                          placeStart,
		"Subject: r: a":                                                         placeStart,
		"Subject: R2: Data":                                                     placeStart,
		"Subject: A:B":                                                          placeStart,
		"Subject: Reminder: pay":                                                placeStart,
		"Subject: WG: Umzug\nReferences: <a@b>":                                 placeStart,
		"Subject: TR : Réunion\nIn-Reply-To: <a@b>":                             placeStart,
		"Subject: I: Offerta\nReferences: <a@b>":                                placeStart,
		"Subject: İLT: Toplantı\nReferences: <a@b>":                             placeStart,
		"Subject: 转发: Re: 会议\nReferences: <a@b>":                                placeStart,
		"Subject: ПЕР: Встреча\nReferences: <a@b>":                              placeStart,
		"Subject: Fwd[2]: plan\nReferences: <a@b>":                              placeStart,
		"Subject: إعادة توجيه: x\nReferences: <a@b>":                            placeStart,
		"Subject: plan\nReferences: <a@b>":                                      placeReply,
		"Subject: plan\nReferences: null\nIn-Reply-To: <(null)>":                placeStart,
		"Subject: plan\nReferences: <>":                                         placeStart,
		"Subject: plan\nThread-Index: AdqrsTuvWXyzABCDefghIJKLmnopQQ==":         placeStart,
		"Subject: plan\nThread-Index: AdqrsTuvWXyzABCDefghIJKLmnopQQAAAAAB":     placeReply,
		"Subject: Fw: plan\nThread-Index: AdqrsTuvWXyzABCDefghIJKLmnopQQAAAAAB": placeStart,
		"Subject: [PATCH 1/2] x\nReferences: <a@b>":                             placeSeries,
		"Subject: Re: [PATCH] x":                                                placePatchReply,
	} {
		if m := newTest(t).Read([]byte(header + "\n\nhi")); m.place != want {
			t.Errorf("%q: got %v, want %v", header, m.place, want)
		}
	}
	m := newTest(t).Read([]byte("In-Reply-To: =?us-ascii?Q?=3Cone=40example=2Enet=3E?=\n\n"))
	if !slices.Equal(m.InReplyTo, []string{"one@example.net"}) {
		t.Errorf("In-Reply-To as an encoded word: got %q", m.InReplyTo)
	}
}

func TestDatesOfManyForms(t *testing.T) {
	const layout = "2006-01-02 15:04:05"
	for value, want := range map[string]string{
		"Tue, 3 Mar 2026 08:30:00 EST":                  "2026-03-03 13:30:00",
		"Tue, 3 Mar 2026 08:30:00 PDT":                  "2026-03-03 15:30:00",
		"Tue, 3 Mar 2026 08:30:00 MST":                  "2026-03-03 15:30:00",
		"Tue, 3 Mar 2026 08:30:00 UT":                   "2026-03-03 08:30:00",
		"Tue, 3 Mar 2026 08:30:00 Z":                    "2026-03-03 08:30:00",
		"Tue, 3 Mar 2026 08:30:00 CET":                  "2026-03-03 07:30:00",
		"Tue, 3 Mar 2026 08:30:00 QQQ":                  "2026-03-03 08:30:00",
		"Tue, 3 Mar 2026 08:30:00 GMT+0200":             "2026-03-03 06:30:00",
		"Tue, 3 Mar 2026 08:30:00 UTC-3":                "2026-03-03 11:30:00",
		"Tue Mar 03 2026 08:30:00 GMT+0100 (CET)":       "2026-03-03 07:30:00",
		"Tue, 3 Mar 2026 08:30:00 (EST)":                "2026-03-03 13:30:00",
		"2026-03-03T08:30:00+02:00":                     "2026-03-03 06:30:00",
		"2026-03-03T08:30:00.125Z":                      "2026-03-03 08:30:00",
		"2026-03-03 08:30:00 -0500":                     "2026-03-03 13:30:00",
		"Tue, 03-Mar-2026 08:30:00 +0100":               "2026-03-03 07:30:00",
		"03-Mar-26 08:30":                               "2026-03-03 08:30:00",
		"Di, 3 Mär 2026 08:30:00 +0100":                 "2026-03-03 07:30:00",
		"Dienstag, 3. März 2026 08:30:00 +0100":         "2026-03-03 07:30:00",
		"mar., 3 mars 2026 08:30:00 +0100":              "2026-03-03 07:30:00",
		"mardi 3 novembre 2026 08:30:00 +0100":          "2026-11-03 07:30:00",
		"mar, 3 nov 2026 08:30:00 +0100":                "2026-11-03 07:30:00",
		"martes, 3 de noviembre de 2026 08:30:00 +0100": "2026-11-03 07:30:00",
		"sáb, 5 dez 2026 08:30:00 -0300":                "2026-12-05 11:30:00",
		"вт, 3 мар 2026 08:30:00 +0300":                 "2026-03-03 05:30:00",
		"ti, 3 marras 2026 08:30:00 +0200":              "2026-11-03 06:30:00",
		"2026年3月3日 下午 2:30":                             "2026-03-03 14:30:00",
		"3.3.2026 08:30":                                "2026-03-03 08:30:00",
		"3/31/2026 8:30 PM":                             "2026-03-31 20:30:00",
		"March 3, 2026 12:05:00 AM":                     "2026-03-03 00:05:00",
		"Tue Mar  3 08:30:00 2026":                      "2026-03-03 08:30:00",
		"Tue Mar  3 08:30:00 EST 2026":                  "2026-03-03 13:30:00",
		"Tue, 3 Mar 126 08:30:00 +0000":                 "2026-03-03 08:30:00",
		"Tue,  3  Mar  2026  08:30:00  +0100":           "2026-03-03 07:30:00",
		"Tue,3 Mar 2026 08:30:00+01:00":                 "2026-03-03 07:30:00",
		"Tue, 3 Mar 2026 08:30 +0100":                   "2026-03-03 07:30:00",
		"Tue, 3 Mar 2026 08:30:00":                      "2026-03-03 08:30:00",
		"Tue, 3 Mar 2026 08:30:00 +0100 (CET) x 7":      "2026-03-03 07:30:00",
		"3 March 2026":                                  "2026-03-03 00:00:00",
		"Tue, 3 Mar 2026 08:30:60 +0000":                "2026-03-03 08:30:59",
		"1772526600":                                    "2026-03-03 08:30:00",
	} {
		if got, ok := parseDate([]byte(value)); !ok || got.UTC().Format(layout) != want {
			t.Errorf("%s: got %v, %v, want %s", value, got.UTC().Format(layout), ok, want)
		}
	}
	for _, value := range []string{"", "soon", "3/4/2026 08:30", "03-04-2026", "31 Feb 2026", "Tue, 3 Mar", "Tue, 3 Mar 2026 25:00:00", "0 Mar 2026", "12:30", "2026", "Mar 2026"} {
		if got, ok := parseDate([]byte(value)); ok {
			t.Errorf("%q is read as %v", value, got)
		}
	}
}

func TestTheBelievedServerIsKnownHoweverItIsWritten(t *testing.T) {
	for name, field := range map[string]string{
		"quoted":         `"mx.example.org"; dmarc=fail header.from=ann.example`,
		"with a version": "mx.example.org\t1; dmarc=fail header.from=ann.example",
		"folded":         "\n\tmx.example.org\n\t1;\n\tdmarc=fail header.from=ann.example",
		"a comment":      "(checked) mx.example.org (by us); dmarc=fail header.from=ann.example",
		"an escape":      `"mx\.example.org" 1; dmarc=fail header.from=ann.example`,
		"nothing found":  `MX.example.org; none`,
	} {
		f := newFor(t, "mx.example.org")
		m := f.Read([]byte("Authentication-Results: " + field + "\nAuthentication-Results: mx.example.org; dmarc=pass header.from=ann.example\nFrom: a@ann.example\n\nhi"))
		if m.Vouched {
			t.Errorf("%s: the forged field below is believed", name)
		}
	}
	for result, vouched := range map[string]bool{
		"dkim=pass header.d=ann.example header.i=@mail.ann.example": true,
		"dkim=pass header.d=evil.example header.i=@ann.example":     false,
		"dkim=pass header.i=@ann.example":                           true,
		"dkim=pass header.d=example header.i=@ann.example":          false,
	} {
		f := newFor(t, "mx.example.org")
		if m := f.Read([]byte("Authentication-Results: mx.example.org; " + result + "\nFrom: a@ann.example\n\nhi")); m.Vouched != vouched {
			t.Errorf("%s: vouched is %v", result, m.Vouched)
		}
	}
}
