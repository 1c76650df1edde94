// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// TestLettersWithoutAnAnswer: an important letter and a question of the owner's are listed after
// three days, and no longer once they are answered, done, or gone from the server; so it is after a
// kill -9 and in a replay.
func TestLettersWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	const colleague = "colleague@example.com"
	server := testkit.StartDovecot(t, testkit.DovecotOptions{Config: noIdle})
	s := siteLogging(t, server, server.Addr, t.TempDir(), "info", `settle = "0s"
[[account.rule]]
match = "from:`+boss+`"
label = "important"
[[account.rule]]
match = "from:`+colleague+`"
label = "ordinary"
`)
	owner := server.Owner(t)
	begin := time.Now().AddDate(0, 0, -20) // Dovecot takes no date of the future
	owner.Append("INBOX", letter(1, news, s.imap.User, "weekly newsletter"), begin.Add(-time.Hour))
	s.clock = newClock(t, s.dir, begin)
	s.bootstrap()
	s.start()
	messages := s.until("the connection", func(a desk.AccountStatus) bool { return a.Connected }).Messages
	n, uid := 1, uint32(0)
	put := func(mailbox, from, to, words string, headers ...string) string {
		t.Helper()
		n++
		uid = owner.Append(mailbox, letter(n, from, to, words, headers...), s.clock.now)
		messages++
		s.until("letter "+fmt.Sprint(n), func(a desk.AccountStatus) bool { return a.Messages == messages && a.MarksIntended == 0 })
		return fmt.Sprintf("l%d@example.com", n)
	}
	re := func(id string) string { return "In-Reply-To: <" + id + ">" }
	listed := func() (owed, waiting string) {
		t.Helper()
		var o desk.Owed
		if err := json.Unmarshal([]byte(s.must("owed", "--config", s.config, "--json")), &o); err != nil {
			t.Fatal(err)
		}
		for _, l := range o.Owed.Letters {
			owed += " " + l.Subject + " from " + l.With
		}
		for _, l := range o.Waiting.Letters {
			waiting += " " + l.Subject + " to " + l.With
		}
		return owed, waiting
	}
	// The daemon follows the clock and the server at looks of its own.
	want := func(when, owed, waiting string) {
		t.Helper()
		for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
			isOwed, isWaiting := listed()
			if isOwed == owed && isWaiting == waiting {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: owed%q, waiting%q; want %q, %q", when, isOwed, isWaiting, owed, waiting)
			}
		}
	}
	request := put("INBOX", boss, s.imap.User, "contract")
	question := put("Sent", s.imap.User, colleague, "Shall we meet?")
	put("INBOX", news, s.imap.User, "weekly newsletter")
	s.clock.pass(2 * 24 * time.Hour)
	want("after two days", "", "")
	s.clock.pass(25 * time.Hour)
	want("after three days", " contract from "+boss, " Shall we meet? to "+colleague)
	s.kill()
	s.start()
	want("after kill -9", " contract from "+boss, " Shall we meet? to "+colleague)

	put("INBOX", colleague, s.imap.User, "Re: Shall we meet?", re(question), "Auto-Submitted: auto-replied")
	want("out of office", " contract from "+boss, " Shall we meet? to "+colleague)
	put("INBOX", colleague, s.imap.User, "Re: Shall we meet?", re(question))
	want("answered by the colleague", " contract from "+boss, "")
	put("Sent", s.imap.User, boss, "Re: contract", re(request))
	want("answered by the owner", "", "")

	second := put("INBOX", boss, s.imap.User, "budget")
	put("Sent", s.imap.User, colleague, "Lunch?")
	lunch := uid
	s.clock.pass(3*24*time.Hour + time.Minute)
	want("three days later", " budget from "+boss, " Lunch? to "+colleague)
	if out := s.must("done", "--config", s.config, second); !strings.Contains(out, "done, until another letter comes") {
		t.Errorf("done says %q", out)
	}
	want("done", "", " Lunch? to "+colleague)
	s.kill()
	s.start()
	want("done and killed", "", " Lunch? to "+colleague)
	put("INBOX", news, s.imap.User, "Re: budget", re(second))
	want("more in its thread", " budget from "+boss, " Lunch? to "+colleague)

	owner.Expunge("Sent", lunch)
	want("the question deleted on the server", " budget from "+boss, "")
	s.wantReplay("at the end")
}
