// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/ingest/imap"
	"github.com/hinged/hinged/internal/testkit"
)

// TestOwnCertificateIsChecked shows a Dovecot that wants a certificate several.
func TestOwnCertificateIsChecked(t *testing.T) {
	t.Parallel()
	authority, other := testkit.NewAuthority(t, "our authority"), testkit.NewAuthority(t, "another authority")
	dir := t.TempDir()
	trusted := filepath.Join(dir, "authority.pem")
	if err := os.WriteFile(trusted, authority.Certificate, 0o600); err != nil {
		t.Fatal(err)
	}
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
				if err := os.WriteFile(path, data, tt.mode); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(path, tt.mode); err != nil {
					t.Fatal(err)
				}
			}
			pair, err := tls.X509KeyPair(cert, key)
			if err != nil {
				t.Fatal(err)
			}
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
