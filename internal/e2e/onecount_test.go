// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"regexp"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// TestBootstrapAndStatusCountTheSame: the wrong decisions that bootstrap prints are
// those that status prints right after it, to the letter. The mailbox has what two
// counts would disagree about: mail that claims to be the owner's, is starred, and
// turns out to be the owner's once it is found among sent mail; and mail with a label
// where nothing is decided, in Trash or Junk.
func TestBootstrapAndStatusCountTheSame(t *testing.T) {
	t.Parallel()
	testkit.NeedDovecot(t)
	imap := testkit.StartDovecot(t, testkit.DovecotOptions{})
	owner := imap.Owner(t)
	defer owner.Close()
	lived(owner, 34, 600)
	mail := testkit.NewMail(35)
	for i := range 90 {
		m := mail.Next()
		switch i % 3 {
		case 0:
			claimed := mail.Reply(m)
			owner.Append("INBOX", claimed.Raw, claimed.Date, `\Flagged`)
			owner.Append("Sent", claimed.Raw, claimed.Date.Add(2*time.Hour), `\Seen`)
		case 1:
			owner.Append("Junk", m.Raw, m.Date, `\Flagged`)
		default:
			owner.Append("Trash", m.Raw, m.Date)
			owner.Append("INBOX", m.Raw, m.Date.Add(time.Minute), `\Seen`)
		}
	}
	s := siteAt(t, imap, imap.Addr, t.TempDir(), "")
	text, err := s.hinged("bootstrap", "--config", s.config, "--months", "0")
	if err != nil {
		t.Fatalf("bootstrap: %v\n%s", err, text)
	}
	after, err := s.hinged("status", "--config", s.config)
	if err != nil {
		t.Fatalf("status: %v\n%s", err, after)
	}
	count := regexp.MustCompile(`(?m)[Ww]rong decisions:? +(\d+ of \d+ messages that you judged: \d+ false alarms, \d+ missed)\.?$`)
	first, second := count.FindStringSubmatch(text), count.FindStringSubmatch(after)
	if first == nil || second == nil || first[1] != second[1] {
		t.Errorf("bootstrap says %q, status %q", first, second)
	}

	r := s.bootstrap() // of what is in the store
	out, err := s.hinged("status", "--config", s.config, "--json")
	var status desk.Status
	if err == nil {
		err = json.Unmarshal([]byte(out), &status)
	}
	if err != nil || len(status.Accounts) != 1 {
		t.Fatalf("status: %v\n%s", err, out)
	}
	a, d := status.Accounts[0], r.Decisions
	if a.Judged != r.Judged || a.FalseAlarms != uint64(d.FalseAlarms) || a.Missed != uint64(d.Missed) || a.WrongDecisions != a.FalseAlarms+a.Missed {
		t.Errorf("bootstrap: %d judged, %d false alarms, %d missed; status: %d, %d, %d", r.Judged, d.FalseAlarms, d.Missed, a.Judged, a.FalseAlarms, a.Missed)
	}
	if d.FalseAlarms == 0 || d.Missed == 0 {
		t.Errorf("%d false alarms and %d missed say too little", d.FalseAlarms, d.Missed)
	}
	t.Logf("both print %s", first)
}
