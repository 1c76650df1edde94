// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"time"
)

// lineLength is where text is wrapped, as mail programs do.
const lineLength = 74

type header struct{ bytes.Buffer }

func (h *header) add(name, value string) { fmt.Fprintf(h, "%s: %s\r\n", name, value) }

func address(p person) string { return (&mail.Address{Name: p.name, Address: p.address}).String() }

// encoded returns a subject as header words, if it needs them.
func encoded(s string) string { return mime.QEncoding.Encode("utf-8", s) }

func domain(address string) string { return address[strings.IndexByte(address, '@')+1:] }

// write makes a message of conversation t.
func (w *writer) write(s *stock, t *thread, from person, at time.Time) *Message {
	id := w.id(from.address)
	subject := t.subject
	if len(t.refs) > 0 {
		subject = "Re: " + subject
	}
	m := &Message{ID: id, From: from.name, Address: from.address, Subject: subject, Date: at}
	var h header
	h.add("Return-Path", "<"+from.address+">")
	h.add("Received", fmt.Sprintf("from mx.%s by mail.larkfield.example with ESMTPS id %08x;\r\n\t%s",
		domain(from.address), w.rand.Uint32(), at.Format(time.RFC1123Z)))
	h.add("From", address(from))
	owner := address(person{OwnerName, OwnerAddress})
	switch {
	case s.To != "":
		h.add("To", s.To)
		if t.owner {
			h.add("Cc", owner) // people answer her, and the list
		}
	case s.Cc:
		h.add("To", address(person{"Tilde Brandt", "tilde.brandt@larkfield.example"}))
		h.add("Cc", owner)
	default:
		h.add("To", owner)
	}
	h.add("Subject", encoded(subject))
	h.add("Date", at.Format(time.RFC1123Z))
	h.add("Message-ID", "<"+id+">")
	h.refer(t.refs)
	if s.List != "" {
		h.add("List-Id", "<"+s.List+">")
		h.add("List-Post", "<mailto:"+s.To+">")
		h.add("Precedence", "list")
	}
	if s.Bulk {
		h.add("List-Unsubscribe", "<https://"+domain(from.address)+"/leave/"+fmt.Sprint(w.rand.Uint32())+">")
		h.add("Precedence", "bulk")
	}
	if s.Robot {
		h.add("Auto-Submitted", "auto-generated")
	}
	h.add("MIME-Version", "1.0")
	w.body(&h, w.text(s, t), domain(from.address), s.HTML)
	m.Raw = h.Bytes()
	t.note(id)
	return m
}

// reply makes the owner's answer to m, which goes on conversation t.
func (w *writer) reply(t *thread, m *Message) *Reply {
	at := m.Date.Add(time.Duration(5+w.rand.IntN(90)) * time.Minute)
	r := &Reply{ID: w.id(OwnerAddress), To: m.Address, Date: at}
	var h header
	h.add("From", address(person{OwnerName, OwnerAddress}))
	h.add("To", address(person{m.From, m.Address}))
	h.add("Subject", encoded("Re: "+strings.TrimPrefix(m.Subject, "Re: ")))
	h.add("Date", at.Format(time.RFC1123Z))
	h.add("Message-ID", "<"+r.ID+">")
	h.add("In-Reply-To", "<"+m.ID+">")
	h.add("References", "<"+strings.Join(t.refs, ">\r\n <")+">")
	h.add("MIME-Version", "1.0")
	w.body(&h, one(w, replies)+"\n\nNora\n", "larkfield.example", 0)
	r.Raw = h.Bytes()
	t.note(r.ID)
	return r
}

var replies = []string{
	"Yes, that works for me. I will be there.", "I looked at it this morning; go ahead.", "Not before Thursday, sorry. Can it wait?",
	"Done. Tell me if something is missing.", "Let us talk about it tomorrow.", "Merci, je t'appelle ce soir.", "Please send me the drawing first.",
	"Agreed, but the price must stay where it is.",
}

// refer writes what a message answers: its parent, and all before it.
func (h *header) refer(refs []string) {
	if len(refs) == 0 {
		return
	}
	h.add("In-Reply-To", "<"+refs[len(refs)-1]+">")
	h.add("References", "<"+strings.Join(refs, ">\r\n <")+">")
}

// note adds a message to its conversation, which refers to the last few only.
func (t *thread) note(id string) {
	if t.refs = append(t.refs, id); len(t.refs) > 8 {
		t.refs = t.refs[1:]
	}
}

func (w *writer) id(from string) string {
	w.n++
	return fmt.Sprintf("%d.%08x@%s", w.n, w.rand.Uint32(), domain(from))
}

// text is a greeting, some sentences and a farewell; lines end in "\n".
func (w *writer) text(s *stock, t *thread) string {
	var b strings.Builder
	if g := one(w, s.Greeting); g != "" {
		b.WriteString(g + "\n\n")
	}
	order := w.rand.Perm(len(s.Sentences))
	column := 0
	for i, k := range order[:2+w.rand.IntN(4)] {
		if i == 3 {
			b.WriteString("\n\n")
			column = 0
		}
		for word := range strings.FieldsSeq(t.topic.fill(s.Sentences[k])) {
			n := len([]rune(word))
			switch {
			case column == 0:
			case column+1+n > lineLength:
				b.WriteByte('\n')
				column = 0
			default:
				b.WriteByte(' ')
				column++
			}
			b.WriteString(word)
			column += n
		}
	}
	b.WriteString("\n\n" + t.topic.fill(one(w, s.Farewell)) + "\n")
	return b.String()
}

// body writes text as a message's body, the fields for it first: plain, in the
// encodings that one meets, or in percent html of all cases with HTML beside it.
func (w *writer) body(h *header, text, host string, htmlPercent int) {
	if !w.chance(htmlPercent) {
		h.part(text, "text/plain", w.chance(25))
		return
	}
	page := fmt.Sprintf(`<html><head><title>%[1]s</title></head><body><table><tr><td>%[2]s</td></tr></table><p><a href="https://%[1]s/open">Open in your browser</a> <img src="https://%[1]s/dot.png" alt=""></p></body></html>`,
		host, strings.ReplaceAll(strings.ReplaceAll(html.EscapeString(text), "\n\n", "</td></tr>\n<tr><td>"), "\n", "<br>\n"))
	if w.chance(20) {
		h.part(page, "text/html", true)
		return
	}
	boundary := fmt.Sprintf("=_%016x", w.rand.Uint64())
	h.add("Content-Type", `multipart/alternative; boundary="`+boundary+`"`)
	for _, alternative := range []struct{ text, kind string }{{text, "text/plain"}, {page, "text/html"}} {
		h.WriteString("\r\n--" + boundary + "\r\n")
		h.part(alternative.text, alternative.kind, w.chance(30))
	}
	h.WriteString("\r\n--" + boundary + "--\r\n")
}

// part writes a text with its fields, in base64 where asked for.
func (h *header) part(text, kind string, base bool) {
	text = strings.ReplaceAll(text, "\n", "\r\n")
	ascii := strings.IndexFunc(text, func(r rune) bool { return r > 126 }) < 0
	charset := "utf-8"
	if ascii {
		charset = "us-ascii"
	}
	h.add("Content-Type", kind+"; charset="+charset)
	switch {
	case base:
		h.add("Content-Transfer-Encoding", "base64")
		h.WriteString("\r\n")
		for enc := base64.StdEncoding.EncodeToString([]byte(text)); enc != ""; {
			n := min(76, len(enc))
			h.WriteString(enc[:n] + "\r\n")
			enc = enc[n:]
		}
	case ascii && kind == "text/plain":
		h.WriteString("\r\n" + text)
	default:
		h.add("Content-Transfer-Encoding", "quoted-printable")
		h.WriteString("\r\n")
		q := quotedprintable.NewWriter(h)
		_, _ = q.Write([]byte(text)) // a buffer never fails
		_ = q.Close()
		h.WriteString("\r\n")
	}
}
