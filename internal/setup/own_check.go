// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"time"

	"github.com/hinged/hinged/config"
)

// ownCertificate returns the certificate that a connection shows to the server, nil if it
// has none to show.
func ownCertificate(conf *tls.Config) (*x509.Certificate, error) {
	if conf == nil || conf.GetClientCertificate == nil {
		return nil, nil
	}
	pair, err := conf.GetClientCertificate(&tls.CertificateRequestInfo{})
	if err != nil {
		return nil, err
	}
	return pair.Leaf, nil
}

// own tests the certificate that shows the server who connects.
func (c *Checker) own(a *config.Account, cert *x509.Certificate) {
	if cert == nil {
		return
	}
	if level, mend, text := Readers(a.IMAP.KeyFile); level != OK {
		c.add(level, a.Name, "certificate", mend, "%s %s", a.IMAP.KeyFile, text)
	}
	left := cert.NotAfter.Sub(c.Now())
	switch {
	case left <= 0:
		c.add(Fail, a.Name, "certificate", "renew it; hinged then uses the new one", "%s has expired", described(cert))
	case left < certificateWarning:
		c.add(Warn, a.Name, "certificate", "renew it; hinged then uses the new one", "%s expires in %d days", described(cert), int(left.Hours()/24))
	default:
		c.add(OK, a.Name, "certificate", "", "%s", described(cert))
	}
}

// described says of a certificate of ours what a server's log will say of it.
func described(cert *x509.Certificate) string {
	return fmt.Sprintf("cert_file, for %s by %s, good until %s,", holderOf(cert), issuerOf(cert), cert.NotAfter.UTC().Format(time.DateOnly))
}

// holderOf is for whom a certificate of ours is.
func holderOf(cert *x509.Certificate) string {
	if cert == nil {
		return "not known"
	}
	if cert.Subject.CommonName != "" {
		return printable(cert.Subject.CommonName)
	}
	return nameOf(cert)
}

// mendOwn says what to do about a server that does not accept our certificate.
func mendOwn(cert *x509.Certificate) string {
	if cert == nil {
		return "set cert_file and key_file to a certificate that the server accepts, and its key"
	}
	return fmt.Sprintf("set cert_file to a certificate that the server accepts: it may be too old, or by an authority (%s) that the server does not trust", issuerOf(cert))
}
