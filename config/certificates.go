// SPDX-License-Identifier: Apache-2.0

package config

// external checks a login by certificate alone.
func (t table) external(c *IMAP) {
	const with = `with auth = "external"`
	for _, key := range c.keys("password") {
		t.useless(true, key, with)
	}
	if c.CertFile == "" && c.TLS != "none" {
		t.check(false, "auth", "is without cert_file", c.Auth, "cert_file and key_file, which prove who connects")
	}
	t.check(c.TLS != "none", "auth", `needs TLS to show a certificate`, c.Auth, `tls = "tls", or "starttls"`)
}

// certificates checks the files that TLS needs, and completes their paths.
func (t table) certificates(mode string, ca, cert, key *string) {
	for _, file := range []struct {
		key  string
		path *string
	}{{"ca_file", ca}, {"cert_file", cert}, {"key_file", key}} {
		t.useless(*file.path != "" && mode == "none", file.key, `with tls = "none"`)
		t.cleanPath(file.key, *file.path)
		*file.path = t.env.path(*file.path)
	}
	t.check(*cert == "" || *key != "", "cert_file", "is without key_file", nil, "the private key of the certificate in key_file, too")
	t.check(*key == "" || *cert != "", "key_file", "is without cert_file", nil, "the certificate of the private key in cert_file, too")
}
