// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
)

func TestTheServerThatVouchesIsChecked(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	owner := d.Owner(t)
	for n := range 10 {
		owner.Append("INBOX", fmt.Appendf(nil, "Authentication-Results: mx.example.org; dkim=none\r\nFrom: a@example.net\r\nMessage-ID: <%d@x>\r\n\r\nx\r\n", n), time.Now())
	}
	for id, want := range map[string]string{
		"":               `WARN me: vouch: |authserv_id = "mx.example.org"`,
		"mx.example.org": "OK me: vouch: |in 10 of the newest 10",
		"MX.example.org": "OK me: vouch: |in 10 of the newest 10",
		"mx.example.com": "WARN me: vouch: |in 10 of them it is mx.example.org",
	} {
		r, got := checked{imap: place(d.Addr, "none"), secret: d.Password, change: func(c *Checker) { c.Config.Accounts[0].Featurize.AuthservID = id }}.run(t)
		if wants(t, got, want); !r.OK {
			t.Errorf("with %q it is not well:\n%s", id, got)
		}
	}
}
