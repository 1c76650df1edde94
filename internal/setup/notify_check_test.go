// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
)

func TestTheMailboxOfTheDigestMailIsChecked(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	d.Owner(t).Create("Notes")
	for mailbox, want := range map[string]string{
		"Notes":   "OK    me: digest: each day at 07:00, hinged puts a mail into Notes",
		"Nowhere": "FAIL  me: digest: ",
	} {
		c := checked{dir: t.TempDir(), account: "digest = {mailbox = '" + mailbox + "'}", imap: place(d.Addr, "none"), secret: d.Password}
		if _, got := c.run(t); !strings.Contains(got, want) || !strings.Contains(got, "me: flag: ") {
			t.Errorf("%s: %q, and the tests after it, are not in\n%s", mailbox, want, got)
		}
	}
}
