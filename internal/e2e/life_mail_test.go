// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
)

// lifeMail is one message of the stream that an owner lives through.
type lifeMail struct {
	raw       []byte
	date      time.Time // never before that of the message before it
	key       store.MessageKey
	own       bool
	answered  int  // number of the first message that answers it; -1: none does
	important bool // it is not the owner's own, and some message answers it
}

// life is a stream of mail with a place in it: what lies before is the past.
type life struct {
	name, owner string
	mail        []lifeMail
	past        int // messages
	judge       int // messages judged after the past, the owner's own not counted
	shadow      string
}

// newLife reads the messages and finds what the owner answered. A second copy of a
// message is left out.
func newLife(tb testing.TB, name, owner string, each func(take func(raw []byte, date time.Time))) life {
	tb.Helper()
	o := featurize.DefaultOptions()
	o.Owner = []string{owner}
	reader, err := featurize.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	l := life{name: name, owner: owner, shadow: "auto"}
	known, byID := map[store.MessageKey]bool{}, map[string]int{}
	var last time.Time
	each(func(raw []byte, date time.Time) {
		m := reader.ReadHeader(raw)
		if known[m.Key] {
			return
		}
		known[m.Key] = true
		if date.Before(last) {
			date = last
		}
		last = date
		number := len(l.mail)
		if m.FromOwner {
			for _, id := range m.InReplyTo {
				if i, ok := byID[id]; ok && l.mail[i].answered < 0 {
					l.mail[i].answered, l.mail[i].important = number, !l.mail[i].own
				}
			}
		}
		if _, ok := byID[m.MessageID]; !ok && m.MessageID != "" {
			byID[m.MessageID] = number
		}
		l.mail = append(l.mail, lifeMail{raw: bytes.Clone(raw), date: date, key: m.Key, own: m.FromOwner, answered: -1})
	})
	return l
}

// lifeOf reads an archive.
func lifeOf(tb testing.TB, name, owner, file string) life {
	tb.Helper()
	return newLife(tb, name, owner, func(take func([]byte, time.Time)) { eachOf(tb, file, take) })
}

// generatedLife is the life of an owner who answers most of what is important, and
// now and then something else.
func generatedLife(tb testing.TB, seed uint64, n int) life {
	tb.Helper()
	const owner = "owner@example.org"
	return newLife(tb, "generated", owner, func(take func([]byte, time.Time)) {
		mail, rng := testkit.NewMail(seed), rand.New(rand.NewPCG(seed, 3))
		mail.Owner = owner
		for range n {
			m := mail.Next()
			take(m.Raw, m.Date)
			if chance := rng.IntN(100); m.Important && chance < 85 || chance < 4 {
				answer := mail.Reply(m)
				take(answer.Raw, answer.Date)
			}
		}
	})
}

// at is the life with a place in it: what comes from there on is judged, and of what
// lies before so many messages are the past. Dates are moved so that the past ends
// then.
func (l life) at(place, past, judge int) life {
	l.name = fmt.Sprintf("%s %d", l.name, place)
	all := slices.Clone(l.mail[place-past:])
	for i := range all {
		if all[i].answered >= 0 {
			all[i].answered -= place - past
		}
	}
	l.mail, l.past, l.judge = all, past, judge
	return l
}

// shift moves all dates by as much as it takes for message number i to come then.
func (l life) shift(i int, then time.Time) {
	by := then.Sub(l.mail[i].date)
	for i := range l.mail {
		l.mail[i].date = l.mail[i].date.Add(by)
	}
}

// judged returns the numbers of the messages that are judged.
func (l life) judged() (numbers []int) {
	for i := l.past; i < len(l.mail) && len(numbers) < l.judge; i++ {
		if !l.mail[i].own {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// mbox writes the stream to a file.
func (l life) mbox(tb testing.TB) string {
	tb.Helper()
	var b bytes.Buffer
	for _, m := range l.mail {
		fmt.Fprintf(&b, "From life@example.org %s\n", m.date.UTC().Format(time.ANSIC))
		for line := range bytes.Lines(m.raw) {
			if bytes.HasPrefix(bytes.TrimLeft(line, ">"), []byte("From ")) {
				b.WriteByte('>')
			}
			b.Write(line)
		}
		if !bytes.HasSuffix(m.raw, []byte("\n")) {
			b.WriteByte('\n')
		}
		b.WriteByte('\n')
	}
	path := filepath.Join(tb.TempDir(), "life.mbox")
	testkit.Write(tb, path, b.Bytes())
	return path
}

// dropPast fills the mailboxes of a server with the past: the owner's own mail in
// Sent, all else read in INBOX, with \Answered what the past answers.
func (l life) dropPast(imap *testkit.Dovecot) {
	drop := func(mailbox string, own bool) {
		imap.Drop(l.owner, mailbox, func(yield func(testkit.Dropped) bool) {
			for _, m := range l.mail[:l.past] {
				d := testkit.Dropped{Raw: m.raw, Date: m.date, Flags: "S"}
				if m.answered >= 0 && m.answered < l.past {
					d.Flags = "RS"
				}
				if m.own == own && !yield(d) {
					return
				}
			}
		})
	}
	drop("INBOX", false)
	drop("Sent", true)
}
