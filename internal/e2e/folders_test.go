// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
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

// TestBootstrapSaysWhenThereIsNoFolderOfSentMail has answers that only the folder of
// sent mail tells of. Where that is found, by its name below INBOX or by the
// configuration, they count; where it is not, bootstrap and check say so.
func TestBootstrapSaysWhenThereIsNoFolderOfSentMail(t *testing.T) {
	t.Parallel()
	testkit.NeedDovecot(t)
	for _, c := range []struct{ name, folder, key, found string }{
		{"by its name", "INBOX.Gesendet", "", "sent is INBOX.Gesendet (name)"},
		{"by the configuration", "INBOX.Kopien", "sent = \"INBOX.Kopien\"\n", "sent is INBOX.Kopien (configured)"},
		{"not found", "INBOX.Kopien", "", "there is no folder of sent mail"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			imap := testkit.StartDovecot(t, testkit.DovecotOptions{Config: testkit.BelowInbox + noSent})
			owner := imap.Owner(t)
			defer owner.Close()
			owner.Create(c.folder)
			mail := testkit.NewMail(31)
			answers := 0
			for range 120 {
				m := mail.Next()
				owner.Append("INBOX", m.Raw, m.Date, `\Seen`)
				if m.Important {
					answer := mail.Reply(m)
					owner.Append(c.folder, answer.Raw, answer.Date, `\Seen`)
					answers++
				}
			}
			s := siteOn(t, imap, t.TempDir(), "")
			text, err := os.ReadFile(s.config)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(s.config, append(text, c.key...), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, _ := s.hinged("check", "--config", s.config, "--no-write"); !strings.Contains(out, c.found) {
				t.Errorf("check does not say %q:\n%s", c.found, out)
			}
			r := s.bootstrap()
			if there := c.name != "not found"; r.SentFolder != there || (r.Own == answers) != there || (r.Important > 0) != there {
				t.Errorf("the folder was found: %v; %d of %d own messages, %d important", r.SentFolder, r.Own, answers, r.Important)
			}
			words, err := s.hinged("bootstrap", "--config", s.config, "--months", "0")
			if err != nil {
				t.Fatalf("%v\n%s", err, words)
			}
			warned := strings.Contains(words, "WARNING: no folder of sent mail was found")
			boasts := strings.Contains(words, "is better than these rules")
			if warned != !r.SentFolder || warned && boasts {
				t.Errorf("it warns: %v, boasts: %v\n%s", warned, boasts, words)
			}
			t.Logf("%d own, %d important of %d judged", r.Own, r.Important, r.Judged)
		})
	}
}
