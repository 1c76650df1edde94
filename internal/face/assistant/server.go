// SPDX-License-Identifier: Apache-2.0

package assistant

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
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
	// mostAtOnce is how many verbs are carried out at the same time.
	mostAtOnce = 4
	// maxError is the most characters of an error.
	maxError = 1000
	// lastWords is how long the session may take to end.
	lastWords = 100 * time.Millisecond
)

const instructions = `hinged marks the mail that matters to its owner. These tools tell what it decided and why. They never return the body of a message. ` + note

// Serve answers a client until it closes in, an answer can't be written, or ctx is done. The
// error says why it could not begin. A read from in, or a write to out, may outlive it: nothing
// can end these.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	all, err := available(o.Teach, o.Account != "")
	if err != nil {
		return err
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "hinged", Version: o.Version},
		&mcp.ServerOptions{Instructions: instructions, Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}})
	room := make(chan struct{}, mostAtOnce)
	var names []string
	for _, t := range all {
		names = append(names, t.name)
		no, changes := false, t.teaches
		s.AddTool(&mcp.Tool{Name: t.name, Title: t.title, Description: t.about + " " + note, InputSchema: t.schema,
			Annotations: &mcp.ToolAnnotations{Title: t.title, ReadOnlyHint: !t.teaches, IdempotentHint: true, DestructiveHint: &changes, OpenWorldHint: &no}},
			func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				select {
				case room <- struct{}{}:
					defer func() { <-room }()
				case <-ctx.Done():
					return nil, ctx.Err()
				}
				return result(o.call(ctx, t, r.Params.Arguments)), nil
			})
	}
	s.AddReceivingMiddleware(knowing(names))
	w := newWire(in, out)
	session, err := s.Connect(ctx, w, nil)
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_ = session.Wait() // whatever it is, the client has gone
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		_ = w.Close() // never fails
	case <-w.gone:
	}
	select {
	case <-ended:
	case <-time.After(lastWords):
	}
	return nil
}

// call has a tool's verb carried out, and returns its answer for a language model.
func (o *Options) call(ctx context.Context, t *tool, args []byte) ([]byte, error) {
	q, account, err := t.request(args)
	if err != nil {
		return nil, err
	}
	if o.Account != "" {
		account = o.Account
	}
	a, err := o.Ask(ctx, t.offer, account, q)
	if err != nil {
		return nil, err
	}
	return shield(a)
}

// result says an answer twice, as the protocol recommends: clients read one or the other.
func result(text []byte, err error) *mcp.CallToolResult {
	if err != nil {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "hinged: " + plain(err.Error(), maxError)}}}
	}
	return &mcp.CallToolResult{StructuredContent: json.RawMessage(text), Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}
}

// knowing says which tools there are where one is called that there is not.
func knowing(names []string) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			p, is := r.GetParams().(*mcp.CallToolParamsRaw)
			if !is || slices.Contains(names, p.Name) {
				return next(ctx, method, r)
			}
			hint := ""
			if slices.ContainsFunc(tools, func(t tool) bool { return t.name == p.Name && t.teaches }) {
				hint = "; it needs teach = true in the section [mcp] of the configuration when `hinged mcp` starts"
			}
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("no tool %q%s; there are %s", plain(p.Name, maxText), hint, strings.Join(names, ", "))}
		}
	}
}
