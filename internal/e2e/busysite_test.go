// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
)

// busySite is what a server has that serves people for years: quota, access control lists,
// and plugins that protocols name for themselves.
const busySite = `
mail_plugins = $mail_plugins quota acl
protocol imap {
  mail_plugins = $mail_plugins imap_quota imap_acl
}
plugin {
  quota = maildir:User quota
  quota_rule = *:storage=1G
  acl = vfile
}
`

// busyDelivery is LMTP with Sieve on such a server.
const busyDelivery = `
protocols = imap lmtp
service lmtp {
  unix_listener lmtp {
    mode = 0666
  }
}
protocol lmtp {
  mail_plugins = $mail_plugins sieve
}
`

// dovecotOf returns what a page adds to the configuration of Dovecot.
func dovecotOf(page []command) (text string) {
	for _, c := range page {
		if strings.HasPrefix(c.path, "/etc/dovecot/conf.d/") {
			text += c.text
		}
	}
	return text
}

// TestTheServerOfThePageGoesOnServing: what docs/mail-server.md adds takes nothing from a
// server that has quota, Sieve, access control lists and LMTP. Owners log in, hinged logs in
// as each of them, mail is delivered, and quota holds.
func TestTheServerOfThePageGoesOnServing(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"lmtp", "modules/lib90_sieve_plugin.so"} {
		if _, err := os.Stat(filepath.Join("/usr/lib/dovecot", part)); err != nil && os.Getenv("CI") != "true" {
			t.Skipf("SKIPPED: no Pigeonhole or no LMTP here (packages dovecot-sieve, dovecot-lmtpd): %v", err)
		}
	}
	const name = "docs/mail-server.md"
	text := testkit.Read(t, filepath.Join("../..", name))
	page, err := commandsOf(name, text)
	if err != nil {
		t.Fatal(err)
	}
	machine := shortDir(t)
	for path, text := range map[string]string{
		"etc/dovecot/master-users": "hinged:{PLAIN}master\n", "etc/dovecot/virtual/Important/dovecot-virtual": "INBOX\n  KEYWORD $Important\n",
	} {
		path = filepath.Join(machine, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d := testkit.StartDovecot(t, testkit.DovecotOptions{
		Users: []string{"ann@example.org"}, Config: busySite + busyDelivery + strings.ReplaceAll(dovecotOf(page), "/etc/", machine+"/etc/"),
	})
	conf := filepath.Join(d.Mail(d.User), "../../../dovecot.conf")
	out, err := exec.Command("doveconf", "-n", "-c", conf).CombinedOutput()
	if err != nil || strings.Contains(string(out), "Warning") {
		t.Errorf("doveconf: %v\n%s", err, out)
	}
	lmtp(t, filepath.Clean(filepath.Join(filepath.Dir(conf), "run/lmtp")), d.User, letter(1, boss, d.User, "to the busy site"))
	for _, who := range []struct{ name, password string }{{d.User, d.Password}, {d.User + "*hinged", "master"}} {
		// A folder of its own, as each SELECT is to be the first.
		for _, mailbox := range []string{"INBOX", "virtual/Important"} {
			url := fmt.Sprintf("imap://%s/%s?ALL", d.Addr, strings.ReplaceAll(mailbox, "/", "%2F"))
			out, err := exec.Command("curl", "-sS", "--user", who.name+":"+who.password, url).CombinedOutput()
			want := map[string]string{"INBOX": "* SEARCH 1", "virtual/Important": "* SEARCH"}[mailbox]
			if got := strings.TrimSpace(string(out)); err != nil || got != want {
				t.Errorf("%s opens %s: %q (%v), want %q", who.name, mailbox, got, err, want)
			}
		}
	}
	if said := d.Log(); strings.Contains(said, "Error") || strings.Contains(said, "Warning") {
		t.Errorf("Dovecot logged:\n%s", said)
	}
}
