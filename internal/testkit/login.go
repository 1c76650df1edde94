// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"crypto/tls"
	"testing"

	"github.com/emersion/go-imap/v2/imapclient"
)

// Login is what it takes to log in to a mailbox.
type Login struct {
	Addr      string // host:port, on loopback
	User      string
	Password  string
	TLSConfig *tls.Config // trusts the server; nil: it speaks in the clear
	// Certificate is the one that TLSConfig trusts, PEM; nil without TLS.
	Certificate []byte
}

// Owner logs in. The connection is closed when the test ends.
func (l Login) Owner(tb testing.TB) *Owner {
	tb.Helper()
	o := &Owner{tb: tb, exists: make(chan struct{}, 1)}
	opts := &imapclient.Options{
		TLSConfig: l.TLSConfig,
		UnilateralDataHandler: &imapclient.UnilateralDataHandler{
			Mailbox: func(m *imapclient.UnilateralDataMailbox) {
				if m.NumMessages != nil {
					select {
					case o.exists <- struct{}{}:
					default:
					}
				}
			},
		},
	}
	var err error
	if l.TLSConfig == nil {
		o.c, err = imapclient.DialInsecure(l.Addr, opts)
	} else if o.c, err = imapclient.DialTLS(l.Addr, opts); err != nil {
		o.c, err = imapclient.DialStartTLS(l.Addr, opts)
	}
	if err != nil {
		tb.Fatalf("owner: connect: %v", err)
	}
	tb.Cleanup(func() { o.c.Close() })
	if err := o.c.Login(l.User, l.Password).Wait(); err != nil {
		tb.Fatalf("owner: log in: %v", err)
	}
	return o
}
