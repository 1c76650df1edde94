// SPDX-License-Identifier: Apache-2.0

// Package milter adds hinged's header fields to mail while the mail server takes it, before
// anybody can read it. It speaks the protocol of Sendmail's mail filters, as Postfix does.
//
//	mail server ─▶ guard (whole, well-formed packets) ─▶ go-milter ─▶ message ─▶ Decide
//	           ◀─ forged fields out, our two in, accept ◀──────────────┘
//
// It never refuses, delays or loses mail: whatever goes wrong, the answer is "accept". What
// it writes is what `hinged classify --passthrough` writes. Nothing is learnt or recorded.
package milter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/d--j/go-milter"

	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
)

// Results of a message. All but Decided leave it without our fields.
const (
	Decided  = "decided"  // our fields were added
	Several  = "several"  // its recipients are not all of one account
	Nobody   = "nobody"   // no recipient has an account here
	Paused   = "paused"   // the account is
	Late     = "late"     // no decision before the deadline
	Overload = "overload" // too many decisions or bytes at once
	Failed   = "failed"   // the decision failed
)

// Results returns all of them.
func Results() []string {
	return []string{Decided, Several, Nobody, Paused, Late, Overload, Failed}
}

const (
	// idle bounds the wait for the next message. A mail server keeps its connection for as
	// long as its own client keeps it: Postfix' smtpd_timeout is 5 minutes.
	idle = 10 * time.Minute
	// patience bounds the wait for the rest of a packet, and of a message once it has begun:
	// mail servers have all of it by then.
	patience = 30 * time.Second
	// budget is how many bytes of messages are held at once, of all connections.
	budget = 64 << 20
	// stopPatience bounds the wait for answers under way when the server stops.
	stopPatience = 3 * time.Second
)

// Options are what a Server needs to know.
type Options struct {
	Listen         string // "unix:" and a path, or "inet:" and host:port
	MaxConnections int
	// Settings are asked for at the beginning of each message.
	Settings func() Settings
	// Decide decides a message for an account, as if it had just arrived. It is called on
	// several goroutines at once, and ends with its context if it can.
	Decide func(ctx context.Context, account string, mail []byte) (desk.Classification, error)
	// Observe is told of every message, and how long the answer to its end took; nil: of none.
	Observe func(result string, took time.Duration)
	Log     *slog.Logger

	Idle, Patience time.Duration // 0: the usual ones
	Budget         int64         // 0: the usual one
}

// Settings may change from message to message.
type Settings struct {
	Deadline time.Duration // of an answer
	MaxBytes int           // how much of a message is decided by
	// AccountOf returns whose mail an address gets, "" for nobody's.
	AccountOf func(address string) (account string)
}

// Server answers mail servers.
type Server struct {
	o        Options
	listener net.Listener
	path     string // of the socket; "" for none
	library  *milter.Server
	served   chan error
	ctx      context.Context // of decisions
	cancel   context.CancelFunc
	deciding chan struct{} // has room for the decisions that go on at once
	held     atomic.Int64  // bytes of messages
	work     sync.WaitGroup

	mu      sync.Mutex
	stopped chan struct{}
	guards  map[*guard]bool
	refused uint64
	counts  map[string]uint64
}

//nolint:gochecknoinits // the library has one log for all servers; the guard has logged what matters
func init() { milter.LogWarning = func(string, ...any) {} }

// Listen opens the socket and answers there until Stop. A socket that was left over is
// replaced; it is for its owner and the group of its directory or process.
func Listen(o Options) (*Server, error) {
	if o.Idle == 0 {
		o.Idle = idle
	}
	if o.Patience == 0 {
		o.Patience = patience
	}
	if o.Budget == 0 {
		o.Budget = budget
	}
	s := &Server{
		o: o, served: make(chan error, 1), stopped: make(chan struct{}), guards: map[*guard]bool{}, counts: map[string]uint64{},
		// The accounts' own work comes first.
		deciding: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	var err error
	if s.listener, s.path, err = listen(o.Listen); err != nil {
		return nil, fmt.Errorf("milter: %w", err)
	}
	s.library = milter.NewServer(
		milter.WithDynamicMilter(func(_ uint32, _ milter.OptAction, protocol milter.OptProtocol, _ milter.DataSize) milter.Milter {
			return &message{server: s, maySkip: protocol&milter.OptSkip != 0}
		}),
		milter.WithActions(milter.OptAddHeader|milter.OptChangeHeader),
		// One answer for each chunk of the body, one at the end, and none else.
		milter.WithProtocols(milter.OptNoConnect|milter.OptNoHelo|milter.OptNoData|milter.OptNoUnknown|
			milter.OptNoMailReply|milter.OptNoRcptReply|milter.OptNoHeaderReply|milter.OptNoEOHReply|
			milter.OptSkip|milter.OptHeaderLeadingSpace),
	)
	go func() { s.served <- s.library.Serve(gate{s.listener, s}) }()
	return s, nil
}

func listen(address string) (l net.Listener, path string, err error) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		// A directory that is made here would be one that no mail server may enter.
		if _, err = os.Stat(filepath.Dir(path)); err == nil {
			l, err = control.ListenUnix(path, 0o660)
		}
		return l, path, err
	}
	l, err = new(net.ListenConfig).Listen(context.Background(), "tcp", strings.TrimPrefix(address, "inet:"))
	return l, "", err
}

// Stop lets answers under way end, for a while, hangs up and removes the socket.
func (s *Server) Stop() error {
	s.mu.Lock()
	close(s.stopped)
	for g := range s.guards {
		_ = g.Conn.SetReadDeadline(time.Unix(1, 0)) // whoever waits for a packet ends
	}
	s.mu.Unlock()
	ctx, done := context.WithTimeout(context.Background(), stopPatience)
	defer done()
	err := s.library.Shutdown(ctx)
	s.cancel()
	if serving := <-s.served; !errors.Is(serving, milter.ErrServerClosed) {
		err = errors.Join(err, serving)
	}
	s.work.Wait()
	if s.path != "" {
		err = errors.Join(err, os.Remove(s.path))
	}
	return err
}

// Status says how the server is doing. Safe for concurrent use.
func (s *Server) Status() *desk.MilterStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &desk.MilterStatus{Listen: s.o.Listen, Connections: len(s.guards), Refused: s.refused, HeldBytes: s.held.Load(), Messages: maps.Clone(s.counts)}
}

func (s *Server) count(result string, took time.Duration) {
	s.mu.Lock()
	s.counts[result]++
	s.mu.Unlock()
	if s.o.Observe != nil {
		s.o.Observe(result, took)
	}
}

// reserve takes n bytes out of the budget, unless there are too few.
func (s *Server) reserve(n int) bool {
	if s.held.Add(int64(n)) <= s.o.Budget {
		return true
	}
	s.release(n)
	return false
}

func (s *Server) release(n int) { s.held.Add(-int64(n)) }
