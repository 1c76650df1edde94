// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
)

// TestTheTLSProxyReadsWhatIsSaid, which goes encrypted on both of its sides, and says
// goodbye in the server's name.
func TestTheTLSProxyReadsWhatIsSaid(t *testing.T) {
	d := StartDovecot(t, DovecotOptions{TLS: true})
	p := StartTLSProxy(t, d.Addr, d.TLSConfig)
	login := d.login(d.User)
	login.Addr, login.TLSConfig = p.Addr, &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	login.TLSConfig.RootCAs.AppendCertsFromPEM(p.Certificate)
	o := login.Owner(t)
	o.Select("INBOX")
	if said := p.Commands(); said["LOGIN"] != 1 || said["SELECT"] != 1 || said["STORE"] != 0 {
		t.Errorf("the proxy heard %v, want one LOGIN and one SELECT", said)
	}
	p.Bye("going down")
	<-o.Client().Closed()
	if p.Cuts() != 1 {
		t.Errorf("%d cuts, want 1", p.Cuts())
	}
}
