// SPDX-License-Identifier: Apache-2.0

// Package milter adds hinged's header fields to mail while the mail server takes it, before
// anybody can read it. It speaks the protocol of Sendmail's mail filters, as Postfix does.
//
//	mail server ─▶ guard (whole packets that do no harm) ─▶ go-milter ─▶ message ─▶ Decide
//	           ◀─ forged fields out, our two in, accept ◀──────────────┘
//
// It never refuses, delays or loses mail: whatever goes wrong, the answer is "accept". What
// it writes is what `hinged classify --passthrough` writes. Nothing is learnt or recorded.
package milter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/d--j/go-milter"

	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
)

// Results of a message. All but Decided leave it without our fields.
const (
	Decided = "decided" // our fields were added
	Several = "several" // its recipients are not all of one account
	Nobody  = "nobody"  // no recipient has an account here
	Late    = "late"    // no decision before the deadline, or no memory for the message
	Failed  = "failed"  // the decision failed
)

const (
	// maxConnections is twice as many as Postfix opens if its process limit is the usual one.
	maxConnections = 200
	// maxMail is how many bytes of a message are decided by: as many as max_bytes usually is, and
	// one more, so that a longer one is told.
	maxMail = 16<<20 + 1
	// budget is how many bytes of messages are held at once, of all connections.
	budget = 64 << 20
	// idle bounds the wait for a packet. A mail server keeps its connection for as long as its own
	// client keeps it: Postfix' smtpd_timeout is 5 minutes.
	idle = 10 * time.Minute
	// patience bounds the wait for the negotiation, and for the rest of a message once its header
	// has begun: mail servers have all of it by then.
	patience = time.Minute
	// stopPatience bounds the wait for answers under way when the server stops.
	stopPatience = 3 * time.Second
)

// Options are what a Server needs to know.
type Options struct {
	Socket   string // its path
	Settings Settings
	// Decide decides a message for an account, as if it had just arrived. It is called on
	// several goroutines at once, and ends with its context if it can.
	Decide func(ctx context.Context, account string, mail []byte) (desk.Classification, error)
	Log    *slog.Logger

	idle, patience time.Duration // 0: the usual ones
	budget         int64         // 0: the usual one
}

// Settings may change from message to message.
type Settings struct {
	Deadline time.Duration // of an answer
	// AccountOf returns whose mail an address gets, "" for nobody's. Safe for concurrent use.
	AccountOf func(address string) (account string)
}

// Server answers mail servers.
type Server struct {
	o                 Options
	settings          atomic.Pointer[Settings]
	library           *milter.Server
	ctx               context.Context // done when it stops
	cancel            context.CancelFunc
	deciding          chan struct{}  // has room for the decisions that go on at once
	work              sync.WaitGroup // decisions, and serving
	connections, held atomic.Int64   // held are bytes of messages

	mu      sync.Mutex
	results map[string]uint64
}

//nolint:gochecknoinits // the library has one log for all servers; the guard logs what matters
func init() { milter.LogWarning = func(string, ...any) {} }

// Listen opens the socket, for its owner and the group of its directory or process, and
// answers there until Stop. A socket that was left over is replaced.
func Listen(o Options) (*Server, error) {
	o.idle, o.patience, o.budget = cmp.Or(o.idle, idle), cmp.Or(o.patience, patience), cmp.Or(o.budget, budget)
	// A directory that ListenUnix makes would be one that no mail server may enter.
	_, err := os.Stat(filepath.Dir(o.Socket))
	var l net.Listener
	if err == nil {
		l, err = control.ListenUnix(o.Socket, 0o660)
	}
	if err != nil {
		return nil, fmt.Errorf("milter: %w", err)
	}
	// The accounts' own work comes first.
	s := &Server{o: o, results: map[string]uint64{}, deciding: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
	s.Use(o.Settings)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.library = milter.NewServer(
		milter.WithMilter(func() milter.Milter { return &message{server: s} }),
		milter.WithActions(milter.OptAddHeader|milter.OptChangeHeader),
		milter.WithReadTimeout(o.idle),
		// One answer for each chunk of the body, one at the end, and none else.
		milter.WithProtocols(milter.OptNoConnect|milter.OptNoHelo|milter.OptNoData|milter.OptNoUnknown|
			milter.OptNoMailReply|milter.OptNoRcptReply|milter.OptNoHeaderReply|milter.OptNoEOHReply|
			milter.OptSkip|milter.OptHeaderLeadingSpace),
	)
	s.work.Go(func() {
		_ = s.library.Serve(gate{l, s}) // until Stop
		_ = l.Close()
	})
	return s, nil
}

// Use has messages that begin from now on go by other settings. Safe for concurrent use.
func (s *Server) Use(settings Settings) { s.settings.Store(&settings) }

// Stop hangs up, after answers under way, and removes the socket. A nil Server has none.
func (s *Server) Stop() error {
	if s == nil {
		return nil
	}
	s.cancel()
	ctx, done := context.WithTimeout(context.Background(), stopPatience)
	defer done()
	err := s.library.Shutdown(ctx)
	s.work.Wait()
	return errors.Join(err, os.Remove(s.o.Socket))
}

// Status says how the server is doing. Safe for concurrent use.
func (s *Server) Status() *desk.MilterStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &desk.MilterStatus{Socket: s.o.Socket, Connections: s.connections.Load(), Messages: maps.Clone(s.results)}
}

func (s *Server) count(result string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.results[result]++
}
