// SPDX-License-Identifier: Apache-2.0

// Package assistant lets a language model ask hinged, by the Model Context Protocol
// (modelcontextprotocol.io): verbs of the desk are tools. It sends no text of a message's body,
// and what mail says is marked as data.
package assistant

import (
	"context"
	"errors"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hinged/hinged/internal/face/desk"
)

// Options are what Serve needs to know.
type Options struct {
	Version string
	Account string // the only account that may be asked; "": all
	Teach   bool   // there is a tool that teaches
	// Ask has a verb carried out, as control.AskFor does. It must be safe for concurrent use.
	Ask func(ctx context.Context, o *desk.Offer, account string, q any) (any, error)
}

const (
	// maxLine is the most bytes that a request may have.
	maxLine = 64 << 10
	// mostCalls is how many calls may be unanswered. No more are read meanwhile, so a client
	// that floods waits, and so does one that reads no answers.
	mostCalls = 8
	// callPatience is how long none of these may get its answer.
	callPatience = time.Minute
	// lastCalls is how long the last answers may take once the client has closed its end.
	lastCalls = 700 * time.Millisecond
)

const instructions = `hinged marks the mail that matters to its owner. These tools tell what it decided and why. They never return the body of a message. ` + note

// Serve answers a client until it closes in, goes away or breaks the protocol, or ctx is done.
// It closes both ends.
func Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser, o Options) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "hinged", Version: o.Version},
		&mcp.ServerOptions{Instructions: instructions, Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}})
	o.addTools(s)
	err := s.Run(ctx, &bounded{mcp.IOTransport{Reader: in, Writer: out, MaxLineLength: maxLine}})
	if ctx.Err() != nil || errors.Is(err, syscall.EPIPE) {
		err = nil // it was told to end, or the client has gone
	}
	return err
}

// bounded is a transport that bounds what a client can have in memory: the SDK reads all that it
// is sent.
type bounded struct{ mcp.IOTransport }

// Connect implements mcp.Transport.
func (b *bounded) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := b.IOTransport.Connect(ctx)
	w := &wire{Connection: c, calls: make(chan struct{}, mostCalls)}
	w.open, w.end = context.WithCancel(ctx)
	return w, err
}

type wire struct {
	mcp.Connection
	calls chan struct{}   // has an element for each unanswered call
	write sync.Mutex      // held while an answer is written
	open  context.Context // done after Close
	end   func()
}

// Read implements mcp.Connection.
func (w *wire) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := w.Connection.Read(ctx)
	if err != nil {
		for last, n := time.After(lastCalls), 0; n < mostCalls && w.admit(last); n++ {
		}
		return nil, err
	}
	if q, is := m.(*jsonrpc.Request); is && q.IsCall() && !w.admit(time.After(callPatience)) {
		return nil, io.EOF
	}
	// The SDK queues notifications without bound behind an answer that nobody reads.
	w.write.Lock()
	defer w.write.Unlock()
	return m, nil
}

// admit waits until there is room for a call. It returns false if there is none in time.
func (w *wire) admit(late <-chan time.Time) bool {
	select {
	case w.calls <- struct{}{}:
		return true
	case <-w.open.Done():
	case <-late:
	}
	return false
}

// Write implements mcp.Connection.
func (w *wire) Write(ctx context.Context, m jsonrpc.Message) error {
	w.write.Lock()
	defer w.write.Unlock()
	err := w.Connection.Write(ctx, m)
	if _, answer := m.(*jsonrpc.Response); answer {
		<-w.calls
	}
	return err
}

// Close implements mcp.Connection.
func (w *wire) Close() error {
	w.end()
	return w.Connection.Close()
}
