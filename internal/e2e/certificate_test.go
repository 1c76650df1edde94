// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// TestCertificateInThePlaceOfAPassword runs hinged with a certificate alone. While the
// files are being renewed they can't be read, which the status says; then hinged goes on
// by itself.
func TestCertificateInThePlaceOfAPassword(t *testing.T) {
	t.Parallel()
	testkit.NeedDovecot(t)
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	write := func(name string, data []byte) {
		if err := os.WriteFile(file(name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	authority := testkit.NewAuthority(t, "our authority")
	write("clients.pem", authority.Certificate)
	d := testkit.StartDovecot(t, testkit.DovecotOptions{TLS: true, Config: testkit.WantsCertificates(file("clients.pem"))})
	write("server.pem", d.Certificate)
	issue := func() {
		cert, key := authority.Issue(d.User, time.Now().Add(1000*time.Hour))
		write("cert.pem", cert)
		write("key.pem", key)
	}
	issue()
	s := siteFor(t, testkit.Login{Addr: d.Addr, User: d.User}, dir, "debug", "", fmt.Sprintf(
		"tls = 'tls'\nauth = 'external'\nca_file = %q\ncert_file = %q\nkey_file = %q\npoll_interval = '1s'",
		file("server.pem"), file("cert.pem"), file("key.pem")))
	s.imap = d
	text, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	write("hinged.toml", []byte(strings.Replace(string(text), "password_file", "# password_file", 1)))

	out, err := s.hinged("check", "--config", s.config)
	if err != nil || !strings.Contains(out, "cert_file, for owner@example.org by our authority") {
		t.Fatalf("check: %v\n%s", err, out)
	}
	s.start()
	s.until("the mailbox open", func(a desk.AccountStatus) bool { return a.Connected })

	write("cert.pem", []byte("half of a cert"))
	d.Restart()
	s.until("the certificate unreadable", func(a desk.AccountStatus) bool {
		return !a.Connected && strings.Contains(a.Problem, "cert_file and key_file: ")
	})
	issue()
	own := d.TLSConfig.Clone()
	own.Certificates = []tls.Certificate{authority.Pair(d.User)}
	owner := testkit.Login{Addr: d.Addr, User: d.User, Password: d.Password, TLSConfig: own}.Owner(t)
	owner.Append("INBOX", letter(1, boss, d.User, "urgent matter"), time.Now())
	s.until("the letter", func(a desk.AccountStatus) bool { return a.Connected && a.Messages == 1 })
}
