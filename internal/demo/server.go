// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"
)

// folders are the mailboxes that the demo's account has. Everybody knows by their names what
// they are for.
var folders = []string{"INBOX", "Archive", "Drafts", "Junk", "Sent", "Trash"}

// Host is where the demo's mail lies.
type Host struct {
	Addr     string // host:port, on loopback, without TLS
	User     string
	Password string
}

// embedded is an IMAP server in this process that keeps its mail in memory:
// go-imap's, with what that lacks for a mailbox that several clients have open
// (see session).
type embedded struct {
	Host
	server   *imapserver.Server
	listener net.Listener
	served   chan struct{} // closed when nobody is let in any more
	user     *imapmemserver.User

	// copying is held while messages go from one mailbox to another: the library
	// locks one of them, then the other.
	copying sync.Mutex
}

// capabilities are those of RFC 3501 and what the session adds. CONDSTORE is
// missing: the library reads none of its syntax.
var capabilities = imap.CapSet{
	imap.CapIMAP4rev1: {}, imap.CapNamespace: {}, imap.CapUIDPlus: {}, imap.CapESearch: {}, imap.CapListExtended: {},
	imap.CapListStatus: {}, imap.CapMove: {}, imap.CapStatusSize: {},
}

// startEmbedded starts the server on a free port of loopback, with a password
// made for it.
func startEmbedded(ctx context.Context, log *slog.Logger) (*embedded, error) {
	secret := make([]byte, 6)
	if _, err := rand.Read(secret); err != nil {
		return nil, fmt.Errorf("embedded mail server: %w", err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("embedded mail server: %w", err)
	}
	e := &embedded{
		Host:     Host{listener.Addr().String(), "nora", hex.EncodeToString(secret)},
		listener: listener, served: make(chan struct{}),
	}
	e.user = imapmemserver.NewUser(e.User, e.Password)
	for _, name := range folders {
		if err := errors.Join(e.user.Create(name, nil), e.user.Subscribe(name)); err != nil {
			return nil, fmt.Errorf("embedded mail server: %w", err)
		}
	}
	e.server = imapserver.New(&imapserver.Options{
		NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
			return &session{e: e}, nil, nil
		},
		Caps: capabilities, InsecureAuth: true, Logger: serverLog{log},
	})
	go func() {
		defer close(e.served)
		if err := e.server.Serve(listener); err != nil {
			log.Debug("embedded mail server", "error", err) // closed before it began
		}
	}()
	return e, nil
}

// close ends every connection.
func (e *embedded) close() error {
	err := e.server.Close()
	// The server does not know the listener yet if it had no time to begin.
	if again := e.listener.Close(); err == nil && !errors.Is(again, net.ErrClosed) {
		err = again
	}
	<-e.served
	if err != nil {
		return fmt.Errorf("embedded mail server: %w", err)
	}
	return nil
}

// serverLog is what the library logs to: lost connections of clients, mostly.
type serverLog struct{ log *slog.Logger }

func (l serverLog) Printf(format string, args ...any) {
	l.log.Debug("embedded mail server", "message", fmt.Sprintf(format, args...))
}
