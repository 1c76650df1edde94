// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"reflect"
	"regexp"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// TestBootstrapAndStatusCountTheSame: the figures that bootstrap prints are those that
// status prints right after it, to the letter. The mailbox has what two
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
	count := regexp.MustCompile(`(of \d+ whose label is known, \d+ were important: \d+ found, \d+ missed, \d+ false alarms)`)
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
	a := status.Accounts[0]
	if !reflect.DeepEqual(a.Judgement, r.Judgement) {
		t.Errorf("bootstrap: %+v; status: %+v", r.Judgement, a.Judgement)
	}
	if a.Judgement.FalseAlarms == 0 || a.Judgement.Missed == 0 {
		t.Errorf("%+v says too little", a.Judgement)
	}
	t.Logf("both print %s", first)
}
