// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"bytes"
	"net/mail"
	"testing"
)

func TestMailIsTheSameForTheSameSeedAndCanBeRead(t *testing.T) {
	a, b, other := NewMail(7), NewMail(7), NewMail(8)
	important, replies, different := 0, 0, 0
	ids := map[string]bool{}
	for range 500 {
		x, y := a.Next(), b.Next()
		if !bytes.Equal(x.Raw, y.Raw) {
			t.Fatal("two builders with one seed differ")
		}
		if !bytes.Equal(x.Raw, other.Next().Raw) {
			different++
		}
		m, err := mail.ReadMessage(bytes.NewReader(x.Raw))
		if err != nil {
			t.Fatalf("%v in:\n%s", err, x.Raw)
		}
		if got := m.Header.Get("Message-ID"); got != "<"+x.MessageID+">" || ids[got] {
			t.Fatalf("got Message-ID %s, want a new one, <%s>", got, x.MessageID)
		}
		ids["<"+x.MessageID+">"] = true
		if x.Important {
			important++
		}
		if m.Header.Get("In-Reply-To") != "" {
			replies++
		}
	}
	if important < 50 || important > 250 || replies < 100 || different < 490 {
		t.Errorf("got %d important, %d replies, %d unlike another seed's of 500", important, replies, different)
	}
	first := a.Next()
	reply := a.Reply(first)
	if reply.From != a.Owner || reply.To != first.From || !bytes.Contains(reply.Raw, []byte("<"+first.MessageID+">")) {
		t.Errorf("the reply is from %s to %s and must name %s", reply.From, reply.To, first.MessageID)
	}
}
