// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
)

// What a Dovecot is told about the certificates of its clients, beside which to trust.
const (
	wantsCertificate = "ssl_verify_client_cert = yes\nauth_ssl_require_client_cert = yes\n"
	takesExternal    = wantsCertificate + `auth_ssl_username_from_cert = yes
auth_mechanisms = plain external
passdb {
  driver = static
  args = nopassword=y
  mechanisms = external
}
`
)

// certifying starts a Dovecot that trusts the clients of an authority.
func certifying(t *testing.T, a *testkit.Authority, o testkit.DovecotOptions) *testkit.Dovecot {
	t.Helper()
	path := filepath.Join(t.TempDir(), "authority.pem")
	testkit.Write(t, path, a.Certificate)
	o.Config += "ssl_ca = <" + path + "\nssl_require_crl = no\n"
	return testkit.StartDovecot(t, o)
}

// showing has o show a certificate; nil is none.
func showing(o Options, pair *tls.Certificate) Options {
	o.TLSConfig = o.TLSConfig.Clone()
	if pair != nil {
		o.TLSConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair, nil }
	}
	return o
}

// TestClientCertificates logs in to a Dovecot that wants a certificate beside the
// password, and to one that takes it in the place of the password, with certificates that
// are right and wrong.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	authority, other := testkit.NewAuthority(t, "our authority"), testkit.NewAuthority(t, "another authority")
	ended, err := tls.X509KeyPair(authority.Issue("owner@example.org", time.Now().Add(-time.Hour)))
	if err != nil {
		t.Fatal(err)
	}
	right, foreign, stranger := authority.Pair("owner@example.org"), other.Pair("owner@example.org"), authority.Pair("stranger@example.org")
	for _, server := range []struct {
		name string
		o    testkit.DovecotOptions
		tls  TLSMode
	}{
		{"TLS, beside the password", testkit.DovecotOptions{TLS: true, Config: wantsCertificate}, TLSImplicit},
		{"STARTTLS, beside the password", testkit.DovecotOptions{StartTLS: true, Config: wantsCertificate}, TLSStart},
		{"TLS, in its place", testkit.DovecotOptions{TLS: true, Config: takesExternal}, TLSImplicit},
		{"STARTTLS, in its place", testkit.DovecotOptions{StartTLS: true, Config: takesExternal}, TLSStart},
	} {
		t.Run(server.name, func(t *testing.T) {
			d := certifying(t, authority, server.o)
			o := dovecotOptions(d)
			o.TLS = server.tls
			external := server.o.Config == takesExternal
			if external {
				o.Auth, o.Password = AuthExternal, nil
			}
			for _, c := range []struct {
				what string
				pair *tls.Certificate
				want error
			}{
				{"the right one", &right, nil},
				{"one that has ended", &ended, ErrCertificate},
				{"one of another authority", &foreign, ErrCertificate},
				{"somebody else's", &stranger, map[bool]error{true: ErrRefused}[external]},
			} {
				p, err := Reach(t.Context(), showing(o, c.pair))
				if err != nil {
					t.Fatalf("%s: %v", c.what, err)
				}
				if err = p.Login(t.Context()); !errors.Is(err, c.want) {
					t.Errorf("%s: %v, want %v", c.what, err, c.want)
				}
				p.Close()
			}
			if external {
				if _, err := Reach(t.Context(), o); err == nil || !strings.Contains(err.Error(), "needs TLS and a certificate to show") {
					t.Errorf("without a certificate: %v", err)
				}
			} else if p, err := Reach(t.Context(), o); err != nil {
				t.Error(err)
			} else if err = p.Login(t.Context()); !errors.Is(err, ErrCertificate) {
				t.Errorf("without a certificate: %v, want %v", err, ErrCertificate)
			}
			// The daemon's way in.
			r := startSource(t, showing(o, &right))
			awaitConnected(t, r)
		})
	}
}

// TestServerThatEndsTLSOverTheCertificateIsUnderstood has TLS itself refuse: at once with
// TLS 1.2, in the place of the greeting with 1.3.
func TestServerThatEndsTLSOverTheCertificateIsUnderstood(t *testing.T) {
	t.Parallel()
	for name, version := range map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13} {
		t.Run(name, func(t *testing.T) {
			server := testkit.NewAuthority(t, "localhost")
			pair := server.Pair("localhost")
			var lc net.ListenConfig
			raw, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			l := tls.NewListener(raw, &tls.Config{
				Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: x509.NewCertPool(), MinVersion: version, MaxVersion: version,
			})
			t.Cleanup(func() { l.Close() })
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, c)
					c.Close()
				}
			}()
			o := options(raw.Addr().String(), "owner", "not to be seen")
			o.TLS, o.TLSConfig = TLSImplicit, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}
			wrong := testkit.NewAuthority(t, "another").Pair("owner")
			_, err = Reach(t.Context(), showing(o, &wrong))
			if !errors.Is(err, ErrCertificate) {
				t.Errorf("got %v, want %v", err, ErrCertificate)
			}
		})
	}
}
