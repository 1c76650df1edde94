// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"syscall"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
)

// ErrNotRunning is returned by Dial when no daemon listens on the socket.
var ErrNotRunning = errors.New("no daemon is running")

// silence is how long a daemon may say nothing before it is asked whether it is there, and
// how long the answer to that may take.
const silence = 5 * time.Second

// At is where verbs are carried out: a daemon behind its socket, or a host of this
// process.
type At struct {
	client  *http.Client // of a daemon
	socket  string
	silence time.Duration
	host    desk.Host
	close   func() error
}

// Dial finds out whether a daemon listens on the socket, and asks there. It is safe for
// concurrent use.
func Dial(ctx context.Context, socket string) (*At, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return nil, fmt.Errorf("%w (nothing listens on %s)", ErrNotRunning, socket)
	case err != nil:
		return nil, fmt.Errorf("connecting to the daemon: %w", err)
	}
	if err := conn.Close(); err != nil {
		return nil, fmt.Errorf("connecting to the daemon: %w", err)
	}
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}
	return &At{client: client, socket: socket, silence: silence, close: func() error { client.CloseIdleConnections(); return nil }}, nil
}

// Local asks a host of this process, which is closed with it.
func Local(h interface {
	desk.Host
	io.Closer
}) *At {
	return &At{host: h, close: h.Close}
}

// Close hangs up, or closes the host.
func (at *At) Close() error { return at.close() }

// Ask has a verb carried out. account is "" for the only one, and for verbs that are
// about all accounts.
func Ask[Q, A any](ctx context.Context, at *At, v desk.Verb[Q, A], account string, q Q) (out A, err error) {
	if at.host != nil {
		return v.Do(ctx, at.host, account, q)
	}
	return out, at.ask(ctx, v.Name, account, &q, &out)
}

// AskFor is Ask for a verb whose types are not known. q points to its request.
func AskFor(ctx context.Context, at *At, o *desk.Offer, account string, q any) (any, error) {
	if at.host != nil {
		return o.Do(ctx, at.host, account, q)
	}
	out := reflect.New(o.Answer)
	err := at.ask(ctx, o.Name, account, q, out.Interface())
	return out.Elem().Interface(), err
}

func (at *At) ask(ctx context.Context, name, account string, q, out any) (err error) {
	var body []byte
	if raw, ok := q.(desk.Raw); ok {
		body = *raw.Raw()
	} else if body, err = json.Marshal(q); err != nil {
		return err
	}
	resp, err := at.request(ctx, name, account, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return fmt.Errorf("reading the daemon's answer: %w", err)
	}
	return nil
}

// Backup writes a copy of the whole store to w.
func (at *At) Backup(ctx context.Context, w io.Writer) error { return at.copy(ctx, desk.Backup, "", w) }

// Export writes an export of one account to w.
func (at *At) Export(ctx context.Context, account string, w io.Writer) error {
	return at.copy(ctx, desk.Export, account, w)
}

// copy takes a file. One that breaks off is an error.
func (at *At) copy(ctx context.Context, c desk.Copy, account string, w io.Writer) error {
	if at.host != nil {
		return c.Do(ctx, at.host, account, w)
	}
	resp, err := at.request(ctx, c.Name, account, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(w, resp.Body); err != nil {
		return fmt.Errorf("receiving it from the daemon: %w", err)
	}
	return nil
}

// request asks the daemon. The caller closes the answer's body. An answer that
// tells of an error is returned as that error. It takes as long as it takes, provided
// that the daemon is alive.
func (at *At) request(ctx context.Context, name, account string, body []byte) (*http.Response, error) {
	ctx, end := context.WithCancelCause(ctx)
	go at.attend(ctx, end)
	resp, err := at.send(ctx, name, account, body)
	if err != nil {
		err = because(ctx, err)
		end(nil)
		return nil, fmt.Errorf("asking the daemon: %w", err)
	}
	resp.Body = &attended{resp.Body, ctx, end}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	var p Problem
	if err := json.NewDecoder(resp.Body).Decode(&p); err != nil {
		return nil, fmt.Errorf("the daemon answered %s", resp.Status)
	}
	return nil, &remoteError{p.Error, desk.ErrorOf(p.Kind)}
}

// send asks the daemon and returns its answer, whatever it is.
func (at *At) send(ctx context.Context, name, account string, body []byte) (*http.Response, error) {
	u := url.URL{Scheme: "http", Host: "hinged", Path: APIPath + name, RawQuery: url.Values{"account": {account}}.Encode()}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return at.client.Do(req)
}

// attend ends a request, with the cause, if the daemon is not alive any more. It returns
// when ctx is done.
func (at *At) attend(ctx context.Context, end context.CancelCauseFunc) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(at.silence):
		}
		asked, done := context.WithTimeout(ctx, at.silence)
		resp, err := at.send(asked, aliveRoute, "", nil)
		done()
		if err == nil {
			_ = resp.Body.Close() // there is nothing in it
		} else if ctx.Err() == nil {
			end(fmt.Errorf("nothing came on %s for %v: %w", at.socket, 2*at.silence, errSilent))
		}
	}
}

// attended is the body of an answer. Closing it ends the request.
type attended struct {
	io.ReadCloser
	ctx context.Context
	end context.CancelCauseFunc
}

func (a *attended) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err != nil {
		err = because(a.ctx, err)
	}
	return n, err
}

func (a *attended) Close() error {
	defer a.end(nil)
	return a.ReadCloser.Close()
}

// errSilent: the daemon has its socket, and says nothing.
var errSilent = errors.New("its process may be stopped or overloaded")

// because returns why a request was ended, if it was, instead of err.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errSilent) {
		return cause
	}
	return err
}

type remoteError struct {
	words string
	is    error
}

func (e *remoteError) Error() string { return e.words }
func (e *remoteError) Unwrap() error { return e.is }
