// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"mime/quotedprintable"
	"strings"
	"time"
)

// Message is one generated message.
type Message struct {
	Raw       []byte // RFC 5322, CRLF line ends
	From, To  string // addresses
	Subject   string
	MessageID string // without angle brackets
	Date      time.Time
	// Important says what the owner would think of it: people they know about
	// things they work on. It shows in sender and words, though not in each word.
	Important bool
}

// Mail makes believable mail: a circle of senders, threads that go on, subjects
// and bodies of words that fit their topic, newsletters in HTML. The same seed
// gives the same mail, byte for byte. Not safe for concurrent use.
type Mail struct {
	Owner string // address; "owner@example.org"

	rand    *rand.Rand
	now     time.Time
	n       int
	threads []thread
}

type thread struct {
	topic   *topic
	subject string
	refs    []string
	people  []person
}

type person struct{ name, address string }

type topic struct {
	important bool
	people    []person
	subjects  []string
	words     []string
}

// NewMail returns a builder whose first message is dated 2 January 2024.
func NewMail(seed uint64) *Mail {
	return &Mail{
		Owner: "owner@example.org",
		rand:  rand.New(rand.NewPCG(seed, 0x68696e676564)),
		now:   time.Date(2024, 1, 2, 7, 30, 0, 0, time.UTC),
	}
}

var mailTopics = []topic{
	{
		important: true,
		people: []person{
			{"Ines Duarte", "ines.duarte@harbour.example"}, {"Tomasz Wilk", "tomasz@harbour.example"},
			{"Priya Raman", "priya.raman@quay.example"},
		},
		subjects: []string{"Crane 4 inspection", "Contract for the north quay", "Budget of the harbour study", "Soundings near the pier"},
		words: strings.Fields(`crane inspection quay contract draft clause signature deadline budget figures sounding depth pier survey
			engineer schedule invoice approve berth dredging report measurement permit harbour authority tender offer revision`),
	},
	{
		important: true,
		people:    []person{{"Mira Okafor", "mira@okafor.example"}, {"Grandma Lise", "lise.okafor@family.example"}},
		subjects:  []string{"Sunday lunch", "Photos of the garden", "Train to Lyon", "Jonas and the school play"},
		words: strings.Fields(`lunch sunday garden photos train ticket arrive station birthday cake school play rehearsal
			weekend cousin kitchen recipe tomatoes visit doctor letter piano lesson holiday cottage`),
	},
	{
		people: []person{
			{"build-bot", "noreply@build.example"}, {"Arvid Lund", "arvid@compilers.example"},
			{"Chen Wei", "chen.wei@compilers.example"}, {"Rosa Blum", "rosa@compilers.example"},
		},
		subjects: []string{"[PATCH] allocator: fix off-by-one", "[PATCH 2/5] parser: reject empty blocks", "Regression in loop unrolling", "Weekly triage"},
		words: strings.Fields(`patch allocator register spill regression bisect commit branch review loop unroll parser token test
			failing linker symbol relocation benchmark cache miss latency rebase maintainer queue applied thanks`),
	},
	{
		people: []person{
			{"Bargain Barn", "offers@bargainbarn.example"}, {"Cloudwear", "news@cloudwear.example"},
			{"Miles & More Coffee", "club@coffeemiles.example"},
		},
		subjects: []string{"Only today: everything must go", "Your points expire soon", "New arrivals for spring", "We miss you"},
		words: strings.Fields(`sale discount percent offer limited exclusive shop collection spring arrivals shipping free voucher code
			points reward member unsubscribe newsletter brand colours sneakers jacket click browser deal tonight`),
	},
}

var smallWords = strings.Fields(`the and of to in that we for is on with this have it you be are as by from at will not
	can there which should before after until next last some more about please also just again would when then`)

// Next returns the next message, a minute to two hours after the one before.
func (m *Mail) Next() Message {
	m.now = m.now.Add(time.Minute + time.Duration(m.rand.IntN(119*60))*time.Second)
	if n := len(m.threads); n > 0 && m.rand.IntN(100) < 45 {
		t := &m.threads[m.rand.IntN(n)]
		return m.write(t, t.people[m.rand.IntN(len(t.people))], m.Owner)
	}
	return m.write(m.open(), person{}, m.Owner)
}

// Reply returns the owner's answer to a message, ten minutes to a day later.
func (m *Mail) Reply(to Message) Message {
	m.now = m.now.Add(10*time.Minute + time.Duration(m.rand.IntN(86000))*time.Second)
	t := thread{topic: &mailTopics[0], subject: strings.TrimPrefix(to.Subject, "Re: "), refs: []string{to.MessageID}}
	for i := range m.threads {
		for _, id := range m.threads[i].refs {
			if id == to.MessageID {
				return m.write(&m.threads[i], person{"The Owner", m.Owner}, to.From)
			}
		}
	}
	return m.write(&t, person{"The Owner", m.Owner}, to.From)
}

// open starts a thread. A dozen at most go on at a time.
func (m *Mail) open() *thread {
	t := &mailTopics[[]int{0, 1, 2, 2, 2, 3, 3, 3, 3, 3}[m.rand.IntN(10)]]
	subject := t.subjects[m.rand.IntN(len(t.subjects))]
	if m.rand.IntN(2) == 0 {
		subject += ", " + t.words[m.rand.IntN(len(t.words))]
	}
	th := thread{topic: t, subject: subject, people: t.people}
	if len(m.threads) < 12 {
		m.threads = append(m.threads, th)
		return &m.threads[len(m.threads)-1]
	}
	i := m.rand.IntN(len(m.threads))
	m.threads[i] = th
	return &m.threads[i]
}

func (m *Mail) write(t *thread, from person, to string) Message {
	if from.address == "" {
		from = t.people[m.rand.IntN(len(t.people))]
	}
	m.n++
	msg := Message{
		From: from.address, To: to, Subject: t.subject, Date: m.now, Important: t.topic.important,
		MessageID: fmt.Sprintf("%d.%08x@%s", m.n, m.rand.Uint32(), from.address[strings.IndexByte(from.address, '@')+1:]),
	}
	if len(t.refs) > 0 {
		msg.Subject = "Re: " + t.subject
	}
	var b strings.Builder
	head := func(name, value string) { fmt.Fprintf(&b, "%s: %s\r\n", name, value) }
	head("Return-Path", "<"+from.address+">")
	head("Received", fmt.Sprintf("from mx.%s by mail.example.org with ESMTPS id %x; %s",
		from.address[strings.IndexByte(from.address, '@')+1:], m.rand.Uint64(), m.now.Format(time.RFC1123Z)))
	head("From", fmt.Sprintf("%q <%s>", from.name, from.address))
	head("To", "<"+to+">")
	head("Subject", msg.Subject)
	head("Date", m.now.Format(time.RFC1123Z))
	head("Message-ID", "<"+msg.MessageID+">")
	if n := len(t.refs); n > 0 {
		head("In-Reply-To", "<"+t.refs[n-1]+">")
		head("References", "<"+strings.Join(t.refs, ">\r\n <")+">")
	}
	head("MIME-Version", "1.0")
	text := m.text(t.topic)
	switch {
	case t.topic == &mailTopics[3]:
		head("List-Unsubscribe", "<https://example.org/u/"+fmt.Sprint(m.rand.Uint32())+">")
		m.newsletter(&b, head, text)
	case m.rand.IntN(4) == 0:
		head("Content-Type", "text/plain; charset=utf-8")
		head("Content-Transfer-Encoding", "quoted-printable")
		b.WriteString("\r\n")
		q := quotedprintable.NewWriter(&b)
		_, _ = q.Write([]byte(strings.ReplaceAll(text, "please", "s’il vous plaît"))) // a strings.Builder never fails
		_ = q.Close()
	default:
		head("Content-Type", "text/plain; charset=us-ascii")
		b.WriteString("\r\n" + text)
	}
	msg.Raw = []byte(b.String())
	if t.refs = append(t.refs, msg.MessageID); len(t.refs) > 6 {
		t.refs = t.refs[1:]
	}
	return msg
}

// text writes one to five paragraphs, two thirds of them small words.
func (m *Mail) text(t *topic) string {
	var b strings.Builder
	for range 1 + m.rand.IntN(5) {
		column := 0
		for range 20 + m.rand.IntN(80) {
			w := smallWords[m.rand.IntN(len(smallWords))]
			if m.rand.IntN(3) == 0 {
				w = t.words[m.rand.IntN(len(t.words))]
			}
			if column += len(w) + 1; column > 72 {
				b.WriteString("\r\n")
				column = len(w) + 1
			} else if column > len(w)+1 {
				b.WriteByte(' ')
			}
			b.WriteString(w)
		}
		b.WriteString(".\r\n\r\n")
	}
	return b.String()
}

// newsletter writes text as multipart/alternative.
func (m *Mail) newsletter(b *strings.Builder, head func(name, value string), text string) {
	boundary := fmt.Sprintf("b%016x", m.rand.Uint64())
	head("Content-Type", `multipart/alternative; boundary="`+boundary+`"`)
	fmt.Fprintf(b, "\r\n--%s\r\nContent-Type: text/plain; charset=us-ascii\r\n\r\n%s\r\n", boundary, text)
	html := "<html><body><table><tr><td>" + strings.ReplaceAll(text, "\r\n\r\n", "</td><td>") +
		`</td></tr></table><a href="https://shop.example/deal">more</a></body></html>`
	encoded := base64.StdEncoding.EncodeToString([]byte(html))
	fmt.Fprintf(b, "--%s\r\nContent-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n", boundary)
	for len(encoded) > 76 {
		b.WriteString(encoded[:76] + "\r\n")
		encoded = encoded[76:]
	}
	fmt.Fprintf(b, "%s\r\n--%s--\r\n", encoded, boundary)
}

// AppendMbox adds a message to an mbox, with LF line ends.
func AppendMbox(b *bytes.Buffer, raw []byte, at time.Time) {
	fmt.Fprintf(b, "From someone@example.org %s\n", at.UTC().Format(time.ANSIC))
	for line := range bytes.Lines(bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n"))) {
		if bytes.HasPrefix(bytes.TrimLeft(line, ">"), []byte("From ")) {
			b.WriteByte('>')
		}
		b.Write(line)
	}
	b.WriteString("\n\n")
}

// Answered is an mbox of n generated messages in which the owner answers the important
// ones, an hour later, and nothing else.
func Answered(n int, seed uint64) (mbox []byte, important int) {
	mail := NewMail(seed)
	var b bytes.Buffer
	for range n {
		m := mail.Next()
		AppendMbox(&b, m.Raw, m.Date)
		if m.Important {
			important++
			answer := mail.Reply(m)
			AppendMbox(&b, answer.Raw, answer.Date)
		}
	}
	return b.Bytes(), important
}
