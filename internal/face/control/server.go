// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
)

const (
	// headPatience bounds reading a request's header.
	headPatience = 10 * time.Second
	// stopPatience bounds how long answers under way may take once the server stops.
	stopPatience = 5 * time.Second
)

// Server answers on a socket for a host.
type Server struct {
	path     string
	host     desk.Host
	log      *slog.Logger
	listener net.Listener
	http     *http.Server
	stopping context.Context // done when copies that are being sent are to break off
	served   chan error      // how serving ended
	only     []string        // names of the routes; nil: all
	filters  *Server         // on the socket for filters; nil: there is none
}

// filterRoutes are what filters of a mail server may ask: what a message is. All else is for
// the daemon's owner.
var filterRoutes = []string{desk.Classify.Name, "filter", aliveRoute}

// Listen opens the socket, for its owner alone, on which Start then answers, and that for
// filters, for its owner and its group; "": none. The caller closes the Server.
func Listen(path, filters string, h desk.Host, log *slog.Logger) (*Server, error) {
	l, err := listen(path, 0o600, os.Chmod)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	s := &Server{path: path, host: h, log: log, listener: l}
	if filters != "" {
		l, err := listen(filters, 0o660, os.Chmod)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("filter_socket: %w", err), s.Close())
		}
		s.filters = &Server{path: filters, host: h, log: log, listener: l, only: filterRoutes}
	}
	return s, nil
}

// listen replaces a socket that was left over by a daemon that was killed; the lock on
// the store has made sure that no other daemon is using it.
func listen(path string, mode os.FileMode, chmod func(string, os.FileMode) error) (_ net.Listener, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if info, err := os.Lstat(path); err == nil {
		if info.Mode().Type() != os.ModeSocket {
			return nil, fmt.Errorf("%s exists and is not a socket; choose another path", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	// Made under another name, given its mode, then moved into place, so that at
	// no moment anybody else could connect.
	staged := path + ".new"
	_ = os.Remove(staged)
	l, err := new(net.ListenConfig).Listen(context.Background(), "unix", staged)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err = chmod(staged, mode); err == nil {
		err = os.Rename(staged, path)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close(), os.Remove(staged))
	}
	return l, nil
}

// ListenUnix listens on a socket that it makes as it makes the control socket, with a mode. The
// daemon must hold the lock on its store. Who closes the listener removes the file.
func ListenUnix(path string, mode os.FileMode) (net.Listener, error) {
	return listen(path, mode, os.Chmod)
}

// Start answers until Stop. Copies that are being sent break off when ctx is done; all
// else goes on. failed is called if the server can't go on.
func (s *Server) Start(ctx context.Context, failed func()) {
	s.stopping, s.served = ctx, make(chan error, 1)
	s.http = &http.Server{Handler: newSocket(ctx, s.host, s.log, s.only), ReadHeaderTimeout: headPatience}
	go func() {
		err := s.http.Serve(s.listener)
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		} else {
			failed()
		}
		s.served <- err
	}()
	if s.filters != nil {
		s.filters.Start(ctx, failed)
	}
}

// Alive returns nil if the server, asked as a client asks, answers before ctx is done. Call
// it between Start and Stop.
func (s *Server) Alive(ctx context.Context) error {
	at, err := Dial(ctx, s.path)
	if err == nil {
		var resp *http.Response
		if resp, err = at.request(ctx, aliveRoute, "", nil); err == nil {
			err = resp.Body.Close()
		}
		err = errors.Join(err, at.Close())
	}
	if err != nil {
		return fmt.Errorf("the control socket does not answer: %w", err)
	}
	return nil
}

// Stop waits for answers under way, for a while, and ends what Start began.
func (s *Server) Stop() error {
	ctx, done := context.WithTimeout(context.WithoutCancel(s.stopping), stopPatience)
	defer done()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close() // hangs up on clients that send or read too slowly
	}
	err := <-s.served
	if err != nil {
		err = fmt.Errorf("%s: %w", s.path, err)
	}
	if s.filters != nil {
		err = errors.Join(err, s.filters.Stop())
	}
	return err
}

// Close removes the socket. Call it after Stop, or instead of Start.
func (s *Server) Close() error {
	err := s.listener.Close()
	if errors.Is(err, net.ErrClosed) { // by Stop
		err = nil
	}
	gone := os.Remove(s.path)
	if errors.Is(gone, os.ErrNotExist) {
		gone = nil
	}
	if s.filters != nil {
		gone = errors.Join(gone, s.filters.Close())
	}
	return errors.Join(err, gone)
}
