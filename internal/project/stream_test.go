// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"mime/quotedprintable"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"

	"github.com/hinged/hinged/internal/testkit"
)

// tongue is a language that mail comes in, and how it is put into bytes.
type tongue struct {
	charset  string
	encoding encoding.Encoding
	words    []string
}

// tongues take the segmenter through letters, ideographs, syllables without
// spaces, combining marks and emoji, where its plain and its prod build differ
// in code.
var tongues = []tongue{
	{"iso-8859-1", charmap.ISO8859_1, strings.Fields("Größe Straße für Übung façade déjà señor niño août Ärger morgen Rechnung")},
	{"utf-8", unicode.UTF8, strings.Fields("naïve cœur 👩‍💻 🇫🇷 e\u0301te\u0301 zero\u200bwidth İstanbul ﬁnale ½ 12.345,67€ don’t")},
	{"windows-1251", charmap.Windows1251, strings.Fields("встреча завтра договор счёт оплата письмо ответ срочно склад поезд")},
	{"iso-2022-jp", japanese.ISO2022JP, strings.Fields("会議は明日です 資料を送ります カタログ ありがとうございます 請求書")},
	{"gb18030", simplifiedchinese.GB18030, strings.Fields("会议改到星期五 合同草案 请查收附件 谢谢 发票")},
	{"utf-8", unicode.UTF8, strings.Fields("การประชุมพรุ่งนี้ ขอบคุณครับ ใบแจ้งหนี้ เอกสาร")},
	{"utf-8", unicode.UTF8, strings.Fields("내일 회의 계약서 감사합니다 אני בא מחר مرحبا بالعالم שלום")},
	{"x-unknown", unicode.UTF8, strings.Fields("étrange größer строка")},
}

// foreign returns a message of the i-th tongue: encoded words in its subject,
// now and then an HTML part, in base64 or quoted-printable.
func foreign(t *testing.T, r *rand.Rand, i int) testkit.Message {
	t.Helper()
	tongue := tongues[i%len(tongues)]
	text := func(n int) string {
		words := make([]string, n)
		for j := range words {
			words[j] = tongue.words[r.IntN(len(tongue.words))]
			if r.IntN(9) == 0 {
				words[j] += ".\r\n"
			}
		}
		return strings.Join(words, " ")
	}
	bytesOf := func(s string) []byte {
		b, err := tongue.encoding.NewEncoder().Bytes([]byte(s))
		if err != nil {
			t.Fatalf("%s: %v", tongue.charset, err)
		}
		return b
	}
	kind, body := "plain", text(20+r.IntN(120))
	if r.IntN(3) == 0 {
		kind = "html"
		body = "<html><body><p>" + strings.ReplaceAll(body, "\r\n", "</p>\r\n<p>") + `</p><a href="https://shop.example/` + fmt.Sprint(r.IntN(50)) + `">&rarr;</a></body></html>`
	}
	transfer, coded := "base64", new(bytes.Buffer)
	if r.IntN(2) == 0 {
		for line := range strings.SplitSeq(wrap(base64.StdEncoding.EncodeToString(bytesOf(body)), 76), "\n") {
			coded.WriteString(line + "\r\n")
		}
	} else {
		transfer = "quoted-printable"
		w := quotedprintable.NewWriter(coded)
		if _, err := w.Write(bytesOf(body)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	m := testkit.Message{
		From:      fmt.Sprintf("sender%d@tongue%d.example", r.IntN(3), i%len(tongues)),
		MessageID: fmt.Sprintf("foreign.%d@tongue.example", i),
		Important: i%len(tongues) < 2 && r.IntN(4) != 0,
	}
	subject := "=?" + tongue.charset + "?B?" + base64.StdEncoding.EncodeToString(bytesOf(text(4))) + "?="
	m.Subject = subject
	m.Raw = fmt.Appendf(nil, "From: <%s>\r\nTo: <owner@example.org>\r\nSubject: %s\r\nMessage-ID: <%s>\r\nMIME-Version: 1.0\r\nContent-Type: text/%s; charset=%q\r\nContent-Transfer-Encoding: %s\r\n\r\n%s",
		m.From, subject, m.MessageID, kind, tongue.charset, transfer, coded)
	return m
}

// wrap breaks a text into lines of width bytes.
func wrap(s string, width int) string {
	var b strings.Builder
	for len(s) > width {
		b.WriteString(s[:width] + "\n")
		s = s[width:]
	}
	return b.String() + s
}

// stream generates an mbox of about n messages with the owner's answers among
// them. The same seed gives the same bytes.
func stream(t *testing.T, n int, seed uint64) []byte {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0x70726f6a))
	mail := testkit.NewMail(seed)
	var mbox bytes.Buffer
	write := func(m testkit.Message, at time.Time) {
		fmt.Fprintf(&mbox, "From %s %s\n", m.From, at.UTC().Format(time.ANSIC))
		for line := range bytes.Lines(m.Raw) {
			line = bytes.TrimRight(line, "\r\n")
			if bytes.HasPrefix(bytes.TrimLeft(line, ">"), []byte("From ")) {
				mbox.WriteByte('>')
			}
			mbox.Write(line)
			mbox.WriteByte('\n')
		}
		mbox.WriteByte('\n')
	}
	for i := range n {
		m := mail.Next()
		at := m.Date
		write(m, at)
		if m.Important && r.IntN(4) != 0 {
			answer := mail.Reply(m)
			at = answer.Date
			write(answer, at)
		}
		if i%4 == 0 {
			f := foreign(t, r, i/4)
			f.Date = at.Add(time.Second)
			f.Raw = append([]byte("Date: "+f.Date.Format(time.RFC1123Z)+"\r\n"), f.Raw...)
			write(f, f.Date)
			if f.Important {
				answer := mail.Reply(f)
				write(answer, answer.Date)
			}
		}
	}
	return mbox.Bytes()
}
