// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// TestR1NothingIsWrittenInShadow: a fresh mailbox, 500 messages, and not one command on
// the wire that could change it: first as too little is known for the first marks, of which
// status says what is missing, then as the owner keeps the shadow on. Some of the messages
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
		messages, stars := uint64(100), 0
		st := s.until("the mailbox", func(a desk.AccountStatus) bool { return a.Messages == messages })
		const want = "not yet: of the messages that it learnt from, %d are important; the first marks come with 3"
		if !st.InShadow || st.Marking != fmt.Sprintf(want, 0) {
			o.Errorf("in shadow: %v; status says %q about marking", st.InShadow, st.Marking)
		}
		for i := range 400 {
			m := mail.Next()
			var flags []string
			switch {
			case i >= 200:
			case !m.Important:
				flags = []string{"$Junk"}
			case stars < 2 || i >= 50:
				flags = []string{`\Flagged`}
				stars++
			}
			// What has just arrived brings no word of the owner's.
			uid := o.Append("INBOX", m.Raw, time.Now().Add(-time.Hour), flags...)
			before[uid] = strings.Join(ingest.CanonicalFlags(flags), " ")
			if messages++; i%20 == 0 || i == 49 {
				st = s.until("the lessons", func(a desk.AccountStatus) bool { return a.Messages == messages && a.Pending == 0 })
			}
			if i == 49 {
				if !st.InShadow || stars != 2 || st.Marking != fmt.Sprintf(want, 2) {
					o.Errorf("after %d stars in shadow: %v; status says %q about marking", stars, st.InShadow, st.Marking)
				}
				o.shadowOn(s)
			}
		}
		st = s.until("all messages", func(a desk.AccountStatus) bool { return a.Messages == messages && a.Pending == 0 })
		if !st.InShadow || !strings.HasPrefix(st.Marking, "no: shadow is on") {
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

// shadowOn starts the daemon again with the shadow that the owner keeps on.
func (o *resident) shadowOn(s *site) {
	o.Helper()
	s.end()
	text := testkit.Read(o, s.config)
	testkit.Write(o, s.config, strings.Replace(string(text), "mark_copy", "shadow = \"on\"\nmark_copy", 1))
	s.start()
}
