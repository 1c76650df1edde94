package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"syscall"
)

// ErrNotRunning is returned by Dial when no daemon listens on the socket.
var ErrNotRunning = errors.New("no daemon is running")

// Client talks to a running daemon through its control socket. Safe for
// concurrent use.
type Client struct{ http *http.Client }

// Dial finds out whether a daemon listens on the socket.
func Dial(ctx context.Context, socket string) (*Client, error) {
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
	return &Client{&http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}}, nil
}

// Close implements Backend.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// call asks the daemon and reads its answer.
func call[T any](ctx context.Context, c *Client, method, path string, query url.Values, body []byte) (v T, err error) {
	resp, err := c.request(ctx, method, path, query, body)
	if err != nil {
		return v, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&v); err != nil {
		return v, fmt.Errorf("reading the daemon's answer: %w", err)
	}
	return v, nil
}

// post asks path for what q says, as JSON.
func post[T any](ctx context.Context, c *Client, path, account string, q any) (v T, err error) {
	body, err := json.Marshal(q)
	if err != nil {
		return v, err
	}
	return call[T](ctx, c, http.MethodPost, path, of(account), body)
}

// of names an account in a request.
func of(account string) url.Values { return url.Values{"account": {account}} }

// request asks the daemon. The caller closes the answer's body. An answer that
// tells of an error is returned as that error.
func (c *Client) request(ctx context.Context, method, path string, query url.Values, body []byte) (*http.Response, error) {
	u := url.URL{Scheme: "http", Host: "hinged", Path: path, RawQuery: query.Encode()}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("asking the daemon: %w", err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	var f failure
	if err := json.NewDecoder(resp.Body).Decode(&f); err != nil {
		return nil, fmt.Errorf("the daemon answered %s", resp.Status)
	}
	for _, k := range kinds {
		if f.Kind == k.name {
			return nil, &told{f.Error, k.is}
		}
	}
	return nil, errors.New(f.Error)
}

// told is an error that the daemon told of, in its words.
type told struct {
	words string
	is    error
}

func (e *told) Error() string { return e.words }
func (e *told) Unwrap() error { return e.is }

// Status implements Backend.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return call[Status](ctx, c, http.MethodGet, "/v1/status", nil, nil)
}

// Digests implements Backend.
func (c *Client) Digests(ctx context.Context) ([]Digest, error) {
	return call[[]Digest](ctx, c, http.MethodGet, "/v1/digests", nil, nil)
}

// Verify implements Backend.
func (c *Client) Verify(ctx context.Context) (Verified, error) {
	return call[Verified](ctx, c, http.MethodGet, "/v1/verify", nil, nil)
}
