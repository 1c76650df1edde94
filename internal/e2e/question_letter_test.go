// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// TestQuestionsByLetterAreAnsweredByOneFlag has the program put three letters into the
// mailbox of somebody of whom it knows nothing. The owner stars one, throws one away, and
// stars one while the daemon is down.
func TestQuestionsByLetterAreAnsweredByOneFlag(t *testing.T) {
	t.Parallel()
	due := time.Now().UTC().Add(-time.Minute)
	s := newSite(t, "time_zone = \"UTC\"\nsettle = \"50ms\"\nsilence = \"0d\"\n"+still+fmt.Sprintf("\n[account.digest]\nat = %q\nquestions = 3\n", due.Format("15:04")))
	owner := s.imap.Owner(t)
	const messages = 5
	for i := range messages {
		owner.Append("INBOX", letter(i, fmt.Sprintf("somebody%d@example.com", i), s.user, fmt.Sprint("subject", i)), time.Now())
	}
	s.start()
	letters := func() (found []testkit.Stored) {
		for _, m := range owner.All("INBOX") {
			if bytes.Contains(m.Raw, []byte("<question.")) {
				found = append(found, m)
			}
		}
		return found
	}
	var asked []testkit.Stored
	for deadline := time.Now().Add(patience); len(asked) < 3; time.Sleep(100 * time.Millisecond) {
		if asked = letters(); time.Now().After(deadline) {
			t.Fatalf("%d letters came\n%s", len(asked), tail(s.log.String()))
		}
	}
	about := func(l testkit.Stored) string {
		for i := range messages {
			if bytes.Contains(l.Raw, fmt.Appendf(nil, "mid:l%d@example.com", i)) && bytes.Contains(l.Raw, fmt.Appendf(nil, "subject%d", i)) {
				return fmt.Sprintf("somebody%d@example.com", i)
			}
		}
		t.Fatalf("it names no message:\n%s", l.Raw)
		return ""
	}
	yes, no, later := about(asked[0]), about(asked[1]), about(asked[2])
	if yes == no || no == later || yes == later {
		t.Errorf("they ask about %s, %s and %s", yes, no, later)
	}
	learnt := func(want ...string) {
		t.Helper()
		var got []string
		for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
			got = nil
			for _, l := range ask(s, desk.GetLessons, desk.LessonsRequest{}).Lessons {
				got = append(got, l.From+" "+l.Label+" by "+l.Source)
			}
			if slices.Sort(got); slices.Equal(got, want) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("learnt %q, want %q\n%s", got, want, tail(s.log.String()))
			}
		}
	}
	wanted := func(list ...string) []string { slices.Sort(list); return list }
	yes, no, later = yes+" important by letter", no+" ordinary by letter", later+" important by letter"
	owner.Set("INBOX", asked[0].UID, `\Flagged`)
	learnt(yes)
	owner.Move("INBOX", asked[1].UID, "Trash")
	learnt(wanted(yes, no)...)
	s.kill()
	owner.Set("INBOX", asked[2].UID, `\Seen`, `\Flagged`)
	s.start()
	learnt(wanted(yes, no, later)...)
	if a := s.until("a status", func(desk.AccountStatus) bool { return true }); a.Messages != messages || a.Questions != 2 {
		t.Errorf("it counts %d messages, and %d questions", a.Messages, a.Questions)
	}
	if n := len(letters()); n != 2 {
		t.Errorf("INBOX has %d letters, want the 2 that were starred", n)
	}
	s.kill()
	s.wantReplay("after letters were answered")
}
