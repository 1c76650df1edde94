// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
)

// noSent makes no folder of sent mail.
const noSent = `
namespace inbox {
  mailbox Sent {
    auto = no
  }
}
`

// TestBootstrapSaysWhenThereIsNoFolderOfSentMail, in which the answers are: then nothing
// counts as answered. How folders are found is tested in ingest/imap.
func TestBootstrapSaysWhenThereIsNoFolderOfSentMail(t *testing.T) {
	t.Parallel()
	imap := testkit.StartDovecot(t, testkit.DovecotOptions{Config: testkit.BelowInbox + noSent})
	owner := imap.Owner(t)
	owner.Create("INBOX.Kopien")
	mail := testkit.NewMail(31)
	for range 120 {
		m := mail.Next()
		owner.Append("INBOX", m.Raw, m.Date, `\Seen`)
		if m.Important {
			answer := mail.Reply(m)
			owner.Append("INBOX.Kopien", answer.Raw, answer.Date, `\Seen`)
		}
	}
	s := siteOn(t, imap, t.TempDir(), "")
	if r := s.bootstrap(); r.SentFolder || r.Own+r.Important > 0 {
		t.Errorf("the folder was found: %v; %d own messages, %d important", r.SentFolder, r.Own, r.Important)
	}
	words, err := s.hinged("bootstrap", "--config", s.config, "--months", "0")
	if err != nil || !strings.Contains(words, "WARNING: no folder of sent mail was found") || strings.Contains(words, "better than each") {
		t.Errorf("%v\n%s", err, words)
	}
}
