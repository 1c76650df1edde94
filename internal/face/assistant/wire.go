// SPDX-License-Identifier: Apache-2.0

package assistant

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxLine is the most bytes that a request may have.
	maxLine = 64 << 10
	// mostCalls is how many calls may be unanswered. No more are read meanwhile, so a client
	// that floods waits, and so does one that reads no answers.
	mostCalls = 32
	// lastCall is how long the next answer may take when the client has closed its end.
	lastCall = 700 * time.Millisecond
)

// wire is a client on a pair of streams, with a JSON-RPC message on each line. The SDK has one,
// too, which ends at the first line that is no JSON, and reads calls without bound.
type wire struct {
	out    io.Writer
	lines  chan line     // closed at the end of what the client sends
	calls  chan struct{} // has an element for each unanswered call
	write  sync.Mutex    // for out
	once   sync.Once
	closed chan struct{}
	gone   chan struct{} // closed when the client sends no more, and has had its answers
}

type line struct {
	text []byte
	long bool // longer than maxLine, so there is no text
}

// newWire begins to read. That ends with the stream, or at the first message after Close.
func newWire(in io.Reader, out io.Writer) *wire {
	w := &wire{out: out, lines: make(chan line), calls: make(chan struct{}, mostCalls), closed: make(chan struct{}), gone: make(chan struct{})}
	go w.scan(bufio.NewReaderSize(in, maxLine))
	return w
}

func (w *wire) scan(r *bufio.Reader) {
	defer close(w.lines)
	for {
		text, err := r.ReadSlice('\n')
		l := line{text: bytes.TrimSpace(text)}
		for errors.Is(err, bufio.ErrBufferFull) {
			l = line{long: true}
			_, err = r.ReadSlice('\n')
		}
		if l.text = bytes.Clone(l.text); l.long || len(l.text) > 0 {
			select {
			case w.lines <- l:
			case <-w.closed:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// Connect implements mcp.Transport.
func (w *wire) Connect(context.Context) (mcp.Connection, error) { return w, nil }

// SessionID implements mcp.Connection.
func (w *wire) SessionID() string { return "" }

// Close implements mcp.Connection. It leaves the streams open.
func (w *wire) Close() error {
	w.once.Do(func() { close(w.closed) })
	return nil
}

// Read implements mcp.Connection. It answers by itself what is no message.
func (w *wire) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		var l line
		open := false
		select {
		case l, open = <-w.lines:
		case <-w.closed:
		case <-ctx.Done():
		}
		if !open {
			w.finish()
			return nil, io.EOF
		}
		if l.long {
			w.refuse(jsonrpc.CodeInvalidRequest, fmt.Sprintf("the line is longer than %d bytes", maxLine))
			continue
		}
		m, err := jsonrpc.DecodeMessage(l.text)
		if err != nil {
			code := int64(jsonrpc.CodeParseError)
			if json.Valid(l.text) {
				code = jsonrpc.CodeInvalidRequest
			}
			w.refuse(code, "want one JSON-RPC 2.0 message on each line, and no batch")
			continue
		}
		if q, ok := m.(*jsonrpc.Request); ok && w.admit(q) {
			return m, nil
		} // hinged asks nothing, so answers are for nothing
	}
}

// admit waits until there is room for a request. It returns false if the connection was closed.
func (w *wire) admit(q *jsonrpc.Request) bool {
	if !q.IsCall() {
		// The SDK queues notifications without bound behind an answer that nobody reads.
		w.write.Lock()
		defer w.write.Unlock()
		return true
	}
	select {
	case w.calls <- struct{}{}:
		return true
	case <-w.closed:
		return false
	}
}

// finish waits for the last answers, as long as they come.
func (w *wire) finish() {
	defer close(w.gone)
	for range mostCalls {
		select {
		case w.calls <- struct{}{}:
		case <-w.closed:
			return
		case <-time.After(lastCall):
			return
		}
	}
}

// refuse answers what has no ID. If the client does not read that, the next answer fails, too.
func (w *wire) refuse(code int64, text string) {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": jsonrpc.Error{Code: code, Message: text}})
	if err == nil {
		_ = w.send(body)
	}
}

// Write implements mcp.Connection.
func (w *wire) Write(_ context.Context, m jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	err = w.send(text)
	if _, answer := m.(*jsonrpc.Response); answer {
		<-w.calls
	}
	return err
}

func (w *wire) send(text []byte) error {
	w.write.Lock()
	defer w.write.Unlock()
	_, err := w.out.Write(append(text, '\n'))
	return err
}
