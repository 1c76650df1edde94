// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/ingest/imap"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// TestOwnCertificateIsChecked shows a Dovecot that wants a certificate several.
func TestOwnCertificateIsChecked(t *testing.T) {
	t.Parallel()
	authority, other := testkit.NewAuthority(t, "our authority"), testkit.NewAuthority(t, "another authority")
	dir := t.TempDir()
	trusted := filepath.Join(dir, "authority.pem")
	testkit.OK(t, os.WriteFile(trusted, authority.Certificate, 0o600))
	d := testkit.StartDovecot(t, testkit.DovecotOptions{TLS: true, Config: testkit.WantsCertificates(trusted)})
	for _, tt := range []struct {
		name  string
		by    *testkit.Authority
		owner string
		left  time.Duration
		mode  os.FileMode
		want  []string
	}{
		{"it is right", authority, "owner@example.org", 1000 * time.Hour, 0o600, []string{"OK me: certificate: cert_file, for owner@example.org by our authority|good until", "OK me: login: |as owner@example.org"}},
		{"it ends soon", authority, "owner@example.org", 72 * time.Hour, 0o600, []string{"WARN me: certificate: |expires in 2 days. Fix: renew it", "OK me: login: "}},
		{"its key is open to the group", authority, "owner@example.org", 1000 * time.Hour, 0o640, []string{"WARN me: certificate: |can be read by its group", "OK me: login: "}},
		{"it has ended", authority, "owner@example.org", -time.Hour, 0o600, []string{"FAIL me: certificate: |has expired. Fix: renew it", "FAIL me: login: |does not accept the certificate"}},
		{"nobody knows its authority", other, "owner@example.org", 1000 * time.Hour, 0o600, []string{"FAIL me: login: |by an authority (another authority) that the server does not trust"}},
		{"it is somebody else's", authority, "stranger@example.org", 1000 * time.Hour, 0o600, []string{"FAIL me: login: |set username to the name that the server takes from the certificate, which is stranger@example.org"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cert, key := tt.by.Issue(tt.owner, time.Now().Add(tt.left))
			files := map[string][]byte{filepath.Join(dir, "cert.pem"): cert, filepath.Join(dir, "key.pem"): key}
			for path, data := range files {
				testkit.OK(t, os.WriteFile(path, data, tt.mode))
				testkit.OK(t, os.Chmod(path, tt.mode))
			}
			pair, err := tls.X509KeyPair(cert, key)
			testkit.OK(t, err)
			lines := place(d.Addr, "tls") + fmt.Sprintf("\nauth = 'external'\ncert_file = '%[1]s/cert.pem'\nkey_file = '%[1]s/key.pem'", dir)
			_, got := checked{imap: lines, change: func(c *Checker) {
				c.IMAP = func(a *config.Account) (imap.Options, error) {
					roots := d.TLSConfig.Clone()
					roots.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
					return imap.Options{Address: a.IMAP.Address, TLS: imap.TLSImplicit, TLSConfig: roots, Auth: imap.AuthExternal, Username: a.IMAP.Username}, nil
				}
			}}.run(t)
			wants(t, got, tt.want...)
		})
	}
}

func TestTheDashboardIsTested(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.OK(t, err)
	defer taken.Close()
	users := []config.User{{Name: "ann", PasswordHash: "x"}, {Name: "op", PasswordHashFile: "x"}, {Name: "robot"}}
	for name, c := range map[string]struct {
		dashboard *config.Dashboard
		status    *desk.Status
		wrong     error
		want      string // "": nothing is told
	}{
		"none":                       {nil, nil, nil, ""},
		"a user that is wrong":       {&config.Dashboard{Listen: "127.0.0.1:0"}, nil, errors.New("user ann: no"), "FAIL  dashboard: user ann: no"},
		"on this machine":            {&config.Dashboard{Listen: "127.0.0.1:0"}, nil, nil, "OK    dashboard: it listens on 127.0.0.1:0; `hinged dashboard` prints a link that opens it"},
		"with users":                 {&config.Dashboard{Listen: "localhost:0", Users: users}, nil, nil, "OK    dashboard: it listens on localhost:0; ann, op may sign in"},
		"with programs alone":        {&config.Dashboard{Listen: "localhost:0", Users: users[2:]}, nil, nil, "OK    dashboard: it listens on localhost:0; `hinged dashboard`"},
		"a port that is taken":       {&config.Dashboard{Listen: taken.Addr().String()}, nil, nil, "WARN  dashboard: another program listens on " + taken.Addr().String()},
		"that of the daemon":         {&config.Dashboard{Listen: taken.Addr().String()}, &desk.Status{Dashboard: "http://127.0.0.1:9/"}, nil, "OK    dashboard: it is at http://127.0.0.1:9/; `hinged dashboard`"},
		"a daemon without":           {&config.Dashboard{Listen: "127.0.0.1:0"}, &desk.Status{}, nil, "WARN  dashboard: the daemon that runs has none"},
		"passwords in the clear":     {&config.Dashboard{Listen: "0.0.0.0:0", Users: users}, nil, nil, "WARN  dashboard: passwords cross the network unencrypted to 0.0.0.0:0"},
		"with a certificate":         {&config.Dashboard{Listen: "0.0.0.0:0", CertFile: "c", Users: users}, nil, nil, "OK    dashboard: it listens on 0.0.0.0:0; ann, op may sign in"},
		"behind a proxy":             {&config.Dashboard{Listen: "0.0.0.0:0", PublicURL: "https://x.org", Users: users}, nil, nil, "OK    dashboard"},
		"behind a proxy without TLS": {&config.Dashboard{Listen: "0.0.0.0:0", PublicURL: "http://x.org", Users: users}, nil, nil, "WARN  dashboard: passwords"},
	} {
		checker := &Checker{
			Config: &config.Config{Dashboard: c.dashboard}, status: c.status,
			Dashboard: func(context.Context, *config.Dashboard) error { return c.wrong },
		}
		checker.pages(t.Context())
		got := ""
		for _, f := range checker.report.Findings {
			got += f.String()
		}
		if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

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
