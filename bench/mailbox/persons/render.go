// SPDX-License-Identifier: Apache-2.0

package persons

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"mime"
	"mime/quotedprintable"
	"strings"
	"time"
)

// address is a name and a mailbox, as in From.
type address struct{ name, mail string }

func (a address) String() string {
	if a.name == "" {
		return a.mail
	}
	name := mime.QEncoding.Encode("utf-8", a.name)
	if name == a.name && strings.ContainsAny(name, ".,:;<>@()") {
		name = `"` + name + `"`
	}
	return name + " <" + a.mail + ">"
}

func (a address) domain() string { return a.mail[strings.LastIndexByte(a.mail, '@')+1:] }

// letter is a message before it is rendered.
type letter struct {
	from      address
	to, cc    []address
	at        time.Time
	subject   string
	body      string // paragraphs; see html.go for its marks
	look      look
	lang      string
	id        string
	refs      []string // Message-IDs of the thread so far
	quotes    *letter  // the message that is answered and quoted
	signature string
	preheader string
	brand     string
	color     string
	unsub     string   // the link to leave the list, if it's bulk
	head      []string // more header lines
	files     []file
	calendar  string // text/calendar, with its method
	method    string
	auth      string // pass, fail, none, or own: no check by a server
	via       string // the domain whose server sends it
	list      string // the address of the mailing list that it came by
}

// file is an attachment.
type file struct {
	name, kind string
	size       int
}

// part is a MIME entity: its header lines, a blank line, its body.
func part(head, body string) string { return head + "\r\n\r\n" + body }

func qp(kind, text string) string {
	var b bytes.Buffer
	w := quotedprintable.NewWriter(&b)
	_, _ = w.Write([]byte(strings.ReplaceAll(text, "\n", "\r\n")))
	_ = w.Close()
	return part("Content-Type: "+kind+"; charset=\"utf-8\"\r\nContent-Transfer-Encoding: quoted-printable", b.String())
}

func multi(r *rand.Rand, kind string, parts ...string) string {
	if len(parts) == 1 {
		return parts[0]
	}
	mark := fmt.Sprintf("%s%016x", []string{"----=_Part_", "=-", "_000_", "b1_", "Apple-Mail-"}[r.IntN(5)], r.Uint64())
	var b strings.Builder
	for _, p := range parts {
		fmt.Fprintf(&b, "--%s\r\n%s\r\n", mark, p)
	}
	fmt.Fprintf(&b, "--%s--\r\n", mark)
	return part("Content-Type: multipart/"+kind+"; boundary=\""+mark+"\"", b.String())
}

func (f file) part(r *rand.Rand) string {
	raw := make([]byte, f.size)
	for i := range raw {
		raw[i] = byte(r.Uint32())
	}
	if f.kind == "application/pdf" {
		copy(raw, "%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
	}
	text := base64.StdEncoding.EncodeToString(raw)
	var b strings.Builder
	for len(text) > 76 {
		b.WriteString(text[:76] + "\r\n")
		text = text[76:]
	}
	b.WriteString(text + "\r\n")
	name := mime.QEncoding.Encode("utf-8", f.name)
	return part("Content-Type: "+f.kind+"; name=\""+name+"\"\r\nContent-Disposition: attachment; filename=\""+name+
		"\"\r\nContent-Transfer-Encoding: base64", b.String())
}

// render returns the message in RFC 5322 form, as the sender's program writes it.
func (l *letter) render(r *rand.Rand, owner address) []byte {
	var alt []string
	alt = append(alt, qp("text/plain", l.plain()))
	if l.look != lookText {
		alt = append(alt, qp("text/html", l.html(r)))
	}
	if l.look == lookHTMLOnly {
		alt = alt[1:]
	}
	if l.calendar != "" {
		alt = append(alt, qp("text/calendar; method="+l.method, l.calendar))
	}
	parts := []string{multi(r, "alternative", alt...)}
	for _, f := range l.files {
		parts = append(parts, f.part(r))
	}
	return []byte(l.header(r, owner) + "MIME-Version: 1.0\r\n" + multi(r, "mixed", parts...))
}

func hex(r *rand.Rand, n int) string { return fmt.Sprintf("%0*x", n, r.Uint64()>>(64-4*min(n, 16))) }

// zone is the time of a place with summer time as in the European Union, near enough.
func zone(t time.Time) time.Time {
	if t.Month() > time.March && t.Month() < time.November {
		return t.In(time.FixedZone("", 2*3600))
	}
	return t.In(time.FixedZone("", 3600))
}

// trace is the header that the servers on the way write.
func (l *letter) trace(r *rand.Rand, owner address, line func(string, ...any)) {
	via := l.via
	if via == "" {
		via = l.from.domain()
	}
	bounce := l.from.mail
	if l.unsub != "" || via != l.from.domain() {
		bounce = fmt.Sprintf("bounce+%s@%s", hex(r, 12), via)
	}
	mx := "mx1." + owner.domain()
	line("Return-Path: <%s>", bounce)
	line("Delivered-To: %s", owner.mail)
	at := zone(l.at).Format(time.RFC1123Z)
	line("Received: from out%d.%s (out%d.%s {lb}198.51.100.%d{rb})\r\n\tby %s (Postfix) with ESMTPS id %s\r\n\tfor <%s>; %s",
		1+r.IntN(4), via, 1+r.IntN(4), via, r.IntN(250), mx, strings.ToUpper(hex(r, 10)), owner.mail, at)
	switch l.auth {
	case "none":
	case "fail":
		line("Authentication-Results: %s; spf=%s smtp.mailfrom=%s; dkim=none; dmarc=fail header.from=%s",
			mx, []string{"fail", "softfail", "none"}[r.IntN(3)], via, l.from.domain())
	default:
		line("Authentication-Results: %s; spf=pass smtp.mailfrom=%s;\r\n\tdkim=pass header.d=%s; dmarc=pass header.from=%s", mx, via, l.from.domain(), l.from.domain())
		line("DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=%s; s=s%d;\r\n\th=from:to:subject:date:message-id; bh=%s=;\r\n\tb=%s%s=",
			l.from.domain(), 1+r.IntN(3), hex(r, 16), hex(r, 16), hex(r, 16))
	}
	if r.IntN(2) == 0 {
		line("Received: from %s ({lb}10.%d.%d.%d{rb}) by out.%s with ESMTP; %s",
			[]string{"localhost", "app-" + hex(r, 4), "smtp", "mailer"}[r.IntN(4)], r.IntN(255), r.IntN(255), r.IntN(255), via, at)
	}
}

func list(as []address) string {
	s := make([]string, len(as))
	for i, a := range as {
		s[i] = a.String()
	}
	return strings.Join(s, ",\r\n\t")
}

// header is the header without what the body's form needs.
func (l *letter) header(r *rand.Rand, owner address) string {
	var b strings.Builder
	line := func(format string, a ...any) {
		s := strings.NewReplacer("{lb}", "[", "{rb}", "]").Replace(fmt.Sprintf(format, a...))
		b.WriteString(s + "\r\n")
	}
	if l.auth != "own" {
		l.trace(r, owner, line)
	}
	line("Date: %s", zone(l.at).Format(time.RFC1123Z))
	line("From: %s", l.from)
	line("To: %s", list(l.to))
	if len(l.cc) > 0 {
		line("Cc: %s", list(l.cc))
	}
	line("Subject: %s", fold(mime.QEncoding.Encode("utf-8", l.subject)))
	line("Message-ID: <%s>", l.id)
	if n := len(l.refs); n > 0 {
		line("In-Reply-To: <%s>", l.refs[n-1])
		line("References: <%s>", strings.Join(l.refs, ">\r\n\t<"))
	}
	for _, h := range l.head {
		line("%s", h)
	}
	if l.unsub != "" {
		line("List-Unsubscribe: <%s>,\r\n\t<mailto:unsubscribe-%s@%s>", l.unsub, hex(r, 8), l.from.domain())
		if r.IntN(3) > 0 {
			line("List-Unsubscribe-Post: List-Unsubscribe=One-Click")
		}
		if r.IntN(3) == 0 {
			line("Precedence: bulk")
		}
	}
	return b.String()
}

// fold breaks a header line between encoded words.
func fold(s string) string { return strings.ReplaceAll(s, "?= =?", "?=\r\n =?") }
