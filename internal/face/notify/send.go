// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// How long sending may take.
const (
	commandTimeout = 30 * time.Second
	webTimeout     = 20 * time.Second
	maxAnswer      = 64 << 10 // bytes that are read of an answer, so that the connection ends well
)

// pauseError says that a server wants to be left alone for a while.
type pauseError struct {
	status string
	pause  time.Duration
}

func (e *pauseError) Error() string { return "the server said " + e.status }

// send tells a target. No error has a token, an argument of a command, or a URL beyond its
// host.
func send(ctx context.Context, t *Target, n *Notification) error {
	if len(t.Command) > 0 {
		return run(ctx, t.Command, n)
	}
	address, body := t.Webhook, any(n)
	if t.Ntfy != "" {
		var err error
		if address, body, err = toNtfy(t, n); err != nil {
			return err
		}
	}
	token := ""
	if t.Token != nil {
		var err error
		if token, err = t.Token(ctx); err != nil {
			return fmt.Errorf("the token: %w", err)
		}
	}
	return post(ctx, address, token, body)
}

func run(ctx context.Context, argv []string, n *Notification) error {
	input, err := json.Marshal(n)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) //nolint:gosec // the owner's own program, without a shell
	cmd.Stdin = bytes.NewReader(append(input, '\n'))
	// A child that lives on must not hold us up. What the program prints is nobody's:
	// it may repeat what it was told.
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%s did not end in time: %w", argv[0], ctx.Err())
	case errors.As(err, &exit):
		return fmt.Errorf("%s ended with %s; run it by hand to see why", argv[0], exit.ProcessState)
	default:
		return fmt.Errorf("run %s: %w", argv[0], err)
	}
}

// ntfy is a message for ntfy (docs.ntfy.sh/publish, "Publish as JSON").
type ntfy struct {
	Topic    string `json:"topic"`
	Title    string `json:"title"`
	Message  string `json:"message"`
	Priority int    `json:"priority,omitempty"`
}

// toNtfy returns what is posted to which URL. JSON goes to the server's root: header
// fields would have to be encoded.
func toNtfy(t *Target, n *Notification) (address string, body any, err error) {
	u, err := url.Parse(t.Ntfy)
	if err != nil {
		return "", nil, errors.New("the URL of the topic can't be read")
	}
	topic := strings.Trim(u.Path, "/")
	u.Path, u.RawPath = "/", ""
	return u.String(), ntfy{topic, n.Title, n.Text, t.Priority}, nil
}

// newClient returns a client that follows no redirects, which might take the token
// elsewhere, and keeps no connection.
func newClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one
	transport.DisableKeepAlives = true
	return &http.Client{
		Timeout: webTimeout, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func post(ctx context.Context, address, token string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(text))
	if err != nil {
		return errors.New("the URL can't be used")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "hinged")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := newClient().Do(r)
	if err != nil {
		var in *url.Error
		if errors.As(err, &in) {
			err = in.Err // it has the whole URL
		}
		return fmt.Errorf("%s: %w", hostOf(address), err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer))
	if answer.StatusCode/100 == 2 {
		return nil
	}
	seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
	return fmt.Errorf("%s: %w", hostOf(address), &pauseError{
		strconv.Itoa(answer.StatusCode) + " " + http.StatusText(answer.StatusCode), time.Duration(min(max(seconds, 0), 86400)) * time.Second,
	})
}

// hostOf is what may be said of a URL: its path may be a secret.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "(a URL)"
	}
	return u.Host
}
