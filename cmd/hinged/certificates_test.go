// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
)

// TestOwnCertificateIsReadAnewAndItsFaultsAreNamed has files that are not there, are no
// pair, and are replaced while hinged runs.
func TestOwnCertificateIsReadAnewAndItsFaultsAreNamed(t *testing.T) {
	dir := t.TempDir()
	authority := testkit.NewAuthority(t, "an authority")
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		testkit.Write(t, path, data)
		return path
	}
	cert, key := authority.Issue("owner@example.org", time.Now().Add(time.Hour))
	_, otherKey := authority.Issue("owner@example.org", time.Now().Add(time.Hour))
	certFile, keyFile := file("cert.pem", cert), file("key.pem", key)
	for _, c := range []struct{ what, cert, key, want string }{
		{"no certificate", filepath.Join(dir, "none"), keyFile, "none: no such file"},
		{"no key", certFile, filepath.Join(dir, "none"), "none: no such file"},
		{"another key", certFile, file("other.pem", otherKey), "private key does not match public key"},
		{"not PEM", file("text", []byte("text")), keyFile, "failed to find any PEM data in certificate input"},
	} {
		_, err := tlsConfig("", c.cert, c.key)
		if err == nil || !strings.HasPrefix(err.Error(), "cert_file and key_file: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
	conf, err := tlsConfig("", certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	before, err := conf.GetClientCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = authority.Issue("owner@example.org", time.Now().Add(2*time.Hour))
	file("cert.pem", cert)
	file("key.pem", key)
	after, err := conf.GetClientCertificate(nil)
	if err != nil || bytes.Equal(before.Certificate[0], after.Certificate[0]) {
		t.Errorf("the renewed certificate was not read: %v", err)
	}
}
