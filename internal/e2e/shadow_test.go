// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// TestR1NothingIsWrittenInShadow: a fresh mailbox, 500 messages, and not one command on
// the wire that could change it, while status says what is missing. Some of the messages
// teach, so that the daemon has decisions to keep to itself.
func TestR1NothingIsWrittenInShadow(t *testing.T) {
	onEveryServer(t, func(o *resident) {
		s := o.daemon("mark_copy = \"Important\"\nsettle = \"50ms\"")
		mail := testkit.NewMail(3)
		mail.Owner = o.user
		for range 100 {
			o.Append("INBOX", mail.Next().Raw, time.Now())
		}
		before := flagsOf(o.Owner)
		s.start()
		// All important mail is from five people. The owner knows them, so that the
		// learner can't be better than knowing them.
		messages := uint64(100)
		for i, to := range []string{"ines.duarte@harbour.example", "tomasz@harbour.example", "priya.raman@quay.example", "mira@okafor.example", "lise.okafor@family.example"} {
			o.Append("Sent", letter(i, o.user, to, "hello"), time.Now())
			messages++
		}
		st := s.until("what is in Sent", func(a desk.AccountStatus) bool { return a.Messages == messages })
		if want := "not yet: learnt 0 of 5 important, 0 of 5 ordinary"; !st.InShadow || !strings.Contains(st.Marking, want) {
			o.Errorf("in shadow: %v; status says %q about marking, want %q", st.InShadow, st.Marking, want)
		}
		for i := range 400 {
			m := mail.Next()
			var flags []string
			switch {
			case i >= 200:
			case m.Important:
				flags = []string{`\Flagged`}
			default:
				flags = []string{"$Junk"}
			}
			uid := o.Append("INBOX", m.Raw, time.Now(), flags...)
			before[uid] = strings.Join(ingest.CanonicalFlags(flags), " ")
			if messages++; i%20 == 0 {
				s.until("the lessons", func(a desk.AccountStatus) bool { return a.Messages == messages && a.Pending == 0 })
			}
		}
		st = s.until("all messages", func(a desk.AccountStatus) bool { return a.Messages == messages && a.Pending == 0 })
		if !st.InShadow || !strings.Contains(st.Marking, "knowing your correspondents alone: 1.00; it marks nothing until they are better") {
			o.Errorf("in shadow: %v; status says %q about marking", st.InShadow, st.Marking)
		}
		if st.Judgement.F1 < 0.3 {
			o.Errorf("the learner has F1 %.2f: it had nothing to keep to itself", st.Judgement.F1)
		}
		said := o.wire.Commands()
		for _, word := range []string{"STORE", "COPY", "MOVE", "APPEND", "EXPUNGE", "CREATE", "DELETE", "RENAME", "CLOSE"} {
			if said[word] != 0 {
				o.Errorf("%d times %s on the wire", said[word], word)
			}
		}
		if said["FETCH"] == 0 || said["EXAMINE"] == 0 {
			o.Errorf("the proxy heard only %v", said)
		}
		for uid, f := range flagsOf(o.Owner) {
			if f != before[uid] {
				o.Errorf("message %d has the flags %q, want %q", uid, f, before[uid])
			}
		}
		o.Logf("%d messages, %d lessons, F1 %.2f; on the wire %v", st.Messages, st.Important+st.Ordinary, st.Judgement.F1, said)
	})
}
