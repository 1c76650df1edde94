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
	o := &Owner{tb: tb, login: l, exists: make(chan struct{}, 1)}
	o.connect()
	tb.Cleanup(func() { o.c.Close() })
	return o
}

// connect logs in with a connection of its own.
func (o *Owner) connect() {
	o.tb.Helper()
	opts := &imapclient.Options{
		TLSConfig: o.login.TLSConfig,
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
	if o.login.TLSConfig == nil {
		o.c, err = imapclient.DialInsecure(o.login.Addr, opts)
	} else if o.c, err = imapclient.DialTLS(o.login.Addr, opts); err != nil {
		o.c, err = imapclient.DialStartTLS(o.login.Addr, opts)
	}
	if err != nil {
		o.tb.Fatalf("owner: connect: %v", err)
	}
	if err := o.c.Login(o.login.User, o.login.Password).Wait(); err != nil {
		o.tb.Fatalf("owner: log in: %v", err)
	}
}
