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
	"slices"
	"strings"
	"sync"
	"time"

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
		err := e.user.Create(name, nil)
		if err == nil {
			err = e.user.Subscribe(name)
		}
		if err != nil {
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

// session is one client's connection to the embedded server. On top of the
// library's it wakes up clients that idle however late their IDLE comes, and speaks only of messages that its client has been
// told of (RFC 3501, section 7.4.1): the library would give them number 0.
type session struct {
	*imapmemserver.UserSession // nil before the login
	e                          *embedded
}

var _ imapserver.SessionIMAP4rev2 = (*session)(nil)

// Login implements imapserver.Session.
func (s *session) Login(username, password string) error {
	if err := s.e.user.Login(username, password); err != nil {
		return err
	}
	s.UserSession = imapmemserver.NewUserSession(s.e.user)
	return nil
}

// systemFlags can be set on every message. The library lists those in use only.
var systemFlags = []imap.Flag{imap.FlagSeen, imap.FlagAnswered, imap.FlagFlagged, imap.FlagDeleted, imap.FlagDraft}

// Select implements imapserver.Session.
func (s *session) Select(name string, options *imap.SelectOptions) (*imap.SelectData, error) {
	data, err := s.UserSession.Select(name, options)
	if err != nil {
		return nil, err
	}
	for _, f := range systemFlags {
		same := func(other imap.Flag) bool { return strings.EqualFold(string(f), string(other)) }
		if !slices.ContainsFunc(data.Flags, same) {
			data.Flags = append(data.Flags, f)
			data.PermanentFlags = append(data.PermanentFlags, f)
		}
	}
	return data, nil
}

// idlePause is how often an idling session looks for news.
const idlePause = 25 * time.Millisecond

// Idle implements imapserver.Session. The library's own waits for the next
// change only, and would sit on what came before it began.
func (s *session) Idle(w *imapserver.UpdateWriter, stop <-chan struct{}) error {
	tick := time.NewTicker(idlePause)
	defer tick.Stop()
	for {
		if err := s.Poll(w, true); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-stop:
			return nil
		}
	}
}

// announced returns the messages of set that the client has been told of, by
// the numbers that it knows them by.
func (s *session) announced(set imap.NumSet) (imap.NumSet, error) {
	uids, ok := set.(imap.UIDSet)
	if !ok {
		return set, nil
	}
	found, err := s.UserSession.Search(imapserver.NumKindSeq, &imap.SearchCriteria{UID: []imap.UIDSet{slices.Clone(uids)}}, &imap.SearchOptions{})
	if err != nil {
		return nil, err
	}
	return found.All, nil
}

// Search implements imapserver.Session.
func (s *session) Search(kind imapserver.NumKind, c *imap.SearchCriteria, o *imap.SearchOptions) (*imap.SearchData, error) {
	all := imap.UIDSet{{Start: 1, Stop: 0}}
	known, err := s.announced(all)
	if err != nil {
		return nil, err
	}
	c.SeqNum = append(c.SeqNum, known.(imap.SeqSet))
	return s.UserSession.Search(kind, c, o)
}

// Fetch implements imapserver.Session.
func (s *session) Fetch(w *imapserver.FetchWriter, set imap.NumSet, o *imap.FetchOptions) error {
	set, err := s.announced(set)
	if err != nil {
		return err
	}
	return s.UserSession.Fetch(w, set, o)
}

// Store implements imapserver.Session.
func (s *session) Store(w *imapserver.FetchWriter, set imap.NumSet, flags *imap.StoreFlags, o *imap.StoreOptions) error {
	set, err := s.announced(set)
	if err != nil {
		return err
	}
	return s.UserSession.Store(w, set, flags, o)
}

// Copy implements imapserver.Session.
func (s *session) Copy(set imap.NumSet, to string) (*imap.CopyData, error) {
	set, err := s.announced(set)
	if err != nil {
		return nil, err
	}
	s.e.copying.Lock()
	defer s.e.copying.Unlock()
	return s.UserSession.Copy(set, to)
}

// Move implements imapserver.Session: a copy, then the originals vanish. The
// library's own tells the client that moves of each message twice.
func (s *session) Move(w *imapserver.MoveWriter, set imap.NumSet, to string) error {
	set, err := s.announced(set)
	if err != nil {
		return err
	}
	s.e.copying.Lock()
	defer s.e.copying.Unlock()
	copied, err := s.UserSession.Copy(set, to)
	if err != nil {
		return err
	}
	moved := copied.SourceUIDs
	if len(moved) == 0 {
		return nil
	}
	if err := w.WriteCopyData(copied); err != nil {
		return err
	}
	// Silent: that they vanish is told at the end of the command, as to everybody.
	err = s.UserSession.Store(nil, moved, &imap.StoreFlags{
		Op: imap.StoreFlagsAdd, Silent: true, Flags: []imap.Flag{imap.FlagDeleted},
	}, &imap.StoreOptions{})
	if err != nil {
		return err
	}
	return s.Expunge(nil, &moved)
}
