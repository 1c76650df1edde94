// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"

	"github.com/hinged/hinged/internal/face/desk"
)

// TestADigestMailComesAtItsTime has the program itself put one into the mailbox, at the next
// full minute. It mostly waits.
func TestADigestMailComesAtItsTime(t *testing.T) {
	t.Parallel()
	// The account is taught before that, and what it does then is in the digest.
	at := time.Now().UTC().Add(90 * time.Second).Truncate(time.Minute)
	s := newSite(t, "time_zone = \"UTC\"\n"+quick+still+fmt.Sprintf("\n[account.digest]\nat = %q\nmailbox = \"Archive\"\n", at.Format("15:04")))
	s.start()
	owner := s.imap.Owner(t)
	messages, lessons := teach(s, owner)
	section := &imap.FetchItemBodySection{Peek: true}
	var text []byte
	for deadline := at.Add(patience); ; time.Sleep(250 * time.Millisecond) {
		if owner.Select("Archive"); len(owner.All("Archive")) > 0 {
			all, err := owner.Client().Fetch(imap.SeqSetNum(1), &imap.FetchOptions{BodySection: []*imap.FetchItemBodySection{section}}).Collect()
			if err != nil {
				t.Fatal(err)
			}
			text = all[0].FindBodySection(section)
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no digest mail came by %v\n%s", deadline, tail(s.log.String()))
		}
	}
	if time.Now().Before(at) {
		t.Errorf("it came before %v", at)
	}
	for _, want := range []string{"@hinged.invalid>\r\n", "\r\nTo: <" + s.user + ">\r\n", "LEARNT FROM WHAT YOU DID"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		l := ask(s, desk.GetLedger, desk.LedgerRequest{State: "sent"})
		if len(l.Entries) == 1 && l.Entries[0].Mailbox == "Archive" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the ledger has %+v", l.Entries)
		}
	}
	if a := s.until("a status", func(desk.AccountStatus) bool { return true }); a.Messages != messages || a.Important+a.Ordinary != lessons {
		t.Errorf("it counts: %d messages and %d lessons, want %d and %d", a.Messages, a.Important+a.Ordinary, messages, lessons)
	}
	s.kill()
	s.wantReplay("after a digest mail")
	for _, words := range []string{"urgent matter", "weekly newsletter"} {
		if strings.Contains(s.log.String(), words) {
			t.Errorf("%q is in the log", words)
		}
	}
}
