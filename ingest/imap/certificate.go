// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
)

// ErrCertificate says that the server wants to see a certificate of ours, and there is none or it
// does not accept it.
var ErrCertificate = errors.New("the server does not accept the certificate of this client")

// overCertificate are the alerts of TLS over the certificate of a client (RFC 8446,
// section 6.2). With TLS 1.3 they come after the handshake, in the place of an answer.
var overCertificate = []string{
	"tls: bad certificate", "tls: unsupported certificate", "tls: revoked certificate", "tls: expired certificate",
	"tls: unknown certificate", "tls: unknown certificate authority", "tls: certificate required",
}

// overCertificate reports whether the server refuses a login for want of a certificate
// that it accepts. QUIRK: Dovecot 2.3 says that at the login, with auth_ssl_require_client_cert.
func (e *statusError) overCertificate() bool {
	return strings.Contains(strings.ToLower(e.Text), "ssl certificate")
}

// certificateError returns err with what it means if the server ended TLS over our
// certificate.
func certificateError(err error) error {
	var alert *net.OpError
	if errors.As(err, &alert) && alert.Op == "remote error" && slices.Contains(overCertificate, alert.Err.Error()) {
		return fmt.Errorf("%w: %w", ErrCertificate, err)
	}
	return err
}
