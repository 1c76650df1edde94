// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"
)

// CertificateError says that a server is there whose certificate is not accepted, and
// what to do about it.
type CertificateError struct {
	Address string // host:port
	Hint    string // what is wrong and what to do, in sentences
	Err     error
}

// Error is the hint, and below it what verified the certificate said, in one line.
func (e *CertificateError) Error() string {
	detail, _, _ := strings.Cut(e.Err.Error(), "\n")
	return e.Hint + "\n  " + printable(detail)
}

// Unwrap returns Err.
func (e *CertificateError) Unwrap() error { return e.Err }

// certificateError returns what is to be said of a certificate that was not accepted; nil
// if err is another error.
func certificateError(address string, w Wanted, err error) error {
	var cert *tls.CertificateVerificationError
	if !errors.As(err, &cert) || len(cert.UnverifiedCertificates) == 0 {
		return nil
	}
	leaf := cert.UnverifiedCertificates[0]
	out := &CertificateError{Address: address, Err: cert.Err}
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	const own = "If the server is your own, name the file with %s with --ca-file; if not, somebody may stand in between."
	switch {
	case errors.As(cert.Err, &host):
		out.Hint = fmt.Sprintf("The certificate of %s is for %s. Name the server so, with --server.", address, nameOf(leaf))
	case errors.As(cert.Err, &invalid) && invalid.Reason == x509.Expired:
		out.Hint = fmt.Sprintf("The certificate of %s is good from %s to %s only. Have it renewed, or set this machine's clock.",
			address, leaf.NotBefore.UTC().Format(time.DateOnly), leaf.NotAfter.UTC().Format(time.DateOnly))
	case !errors.As(cert.Err, &unknown):
		out.Hint = fmt.Sprintf("The certificate of %s is not accepted.", address)
	case w.TLSRoots != nil:
		out.Hint = fmt.Sprintf("The certificate of %s was signed by %s, which is not in the --ca-file.", address, issuerOf(leaf))
	case bytes.Equal(leaf.RawIssuer, leaf.RawSubject):
		out.Hint = fmt.Sprintf("The certificate of %s is signed by itself (%s). "+own, address, issuerOf(leaf), "that certificate")
	default:
		out.Hint = fmt.Sprintf("The certificate of %s was signed by %s, which this machine doesn't trust. "+own, address, issuerOf(leaf), "that authority's certificate")
	}
	return out
}
