// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// TestAMailboxAndATopicInOneProcess: each of the two learns what it would learn
// alone, although both belong to one owner, and both are there after kill -9.
func TestAMailboxAndATopicInOneProcess(t *testing.T) {
	t.Parallel() // they mostly wait
	s := newSite(t, quick)
	in := newTopic(t, testkit.StartKafka(t, testkit.KafkaOptions{}), "in", 2)
	text := testkit.Read(t, s.config)
	testkit.Write(t, s.config, string(text)+in.section("both", ""))
	mail := testkit.NewMail(11)
	mail.Owner = s.imap.User
	produce := func(n int) {
		var records []kafka.Record
		for i := range n {
			m := mail.Next()
			records = append(records,
				kafka.Encode(kafka.Message{Raw: m.Raw}, mail.Owner, fmt.Sprint("m", i), "test", m.Date),
				kafka.Encode(kafka.Feedback{Ref: kafka.Ref{Message: kafka.MessageID(m.MessageID)}, Label: kafka.Label(m.Important), Source: "explicit"}, mail.Owner, fmt.Sprint("f", i), "test", m.Date))
		}
		in.produce(records)
	}

	produce(20)
	s.start()
	owner := s.imap.Owner(t)
	messages, lessons := teach(s, owner)
	in.done(patience, s)
	s.kill()
	produce(20)
	s.start()
	in.done(patience, s)
	owner.Append("INBOX", letter(100, boss, s.imap.User, "urgent matter"), time.Now())
	s.until("the last message, marked", func(a desk.AccountStatus) bool {
		return a.Messages == messages+1 && a.Important+a.Ordinary == lessons && a.MarksConfirmed > 0 && a.MarksIntended == 0
	})
	st, ok := s.stream()
	if !ok || st.Accounts != 1 {
		t.Errorf("the stream has %d accounts, want 1: %+v", st.Accounts, st)
	}
	got := in.accountDigests(s)
	s.wantReplay("at the end")
	s.kill()

	alone := in.process("alone", "")
	alone.start()
	for name, want := range in.accountDigests(alone) {
		if got[name] != want {
			t.Errorf("%s: got %+v, without a mailbox beside it %+v", name, got[name], want)
		}
	}
	if len(got) != 2 {
		t.Errorf("want a mailbox and an account of the topic, got %v", got)
	}
}
