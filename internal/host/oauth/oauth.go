// SPDX-License-Identifier: Apache-2.0

// Package oauth gets the access tokens of an account from an authorization server (OAuth 2.0,
// RFC 6749), and keeps the refresh token in a file that only its owner can read.
//
// Data flow: Loopback or Device, which ask for the owner's consent → the file → Token, which
// renews what is in it. Processes that share a file take turns by a lock beside it. A refresh
// token is in the file before the access token that came with it is used. No error has a token,
// a code or a secret in it, nor what the server said beyond the codes of errors.
package oauth

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/oauth2"
)

const (
	answerTimeout = 20 * time.Second // for one answer of the server
	turnTimeout   = time.Minute      // for another process to have asked, and for asking
	// margin is how long before its end a token is renewed, but not before half of its
	// time: clocks are off, and a login takes a moment.
	margin = 5 * time.Minute
	untold = time.Hour // for how long a token is good whose server doesn't say so
)

// Client gets tokens for one account. Its fields are not changed once it is used. Its methods
// are safe for concurrent use.
type Client struct {
	ID                string
	Secret            func(context.Context) (string, error) // returns "" for a client without one
	Scopes            []string
	AuthURL, TokenURL string
	DeviceURL         string            // "": there is no device flow
	RedirectHost      string            // what a browser calls this machine: 127.0.0.1 or localhost
	Asking            map[string]string // more parameters of the authorization request
	File              string            // for the refresh token
	Login             string            // the command that asks for consent, for errors

	mu   sync.Mutex // held while the server is asked
	dead string     // the refresh token that it took for void
	seen atomic.Pointer[fs.FileInfo]
}

// Token returns an access token that is good for a while, from the file or from the server.
// An error about consent or the server is an *Error. Where consent has ended, the server is
// not asked again before the file has another refresh token.
func (c *Client) Token(ctx context.Context) (string, error) { return c.Renew(ctx, "") }

// Renew returns another token than one that the mail server refused though it looked good, as
// when the clock is wrong.
func (c *Client) Renew(ctx context.Context, refused string) (string, error) {
	g, err := c.read()
	if err != nil || g.fresh(time.Now()) && g.Access != refused {
		return g.Access, err
	}
	ctx, cancel := context.WithTimeout(ctx, turnTimeout)
	defer cancel()
	unlock, err := c.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	g, err = c.read()
	if err != nil || g.fresh(time.Now()) && g.Access != refused { // another process has renewed it
		return g.Access, err
	}
	if g.Refresh == c.dead {
		return "", c.consent("the consent has ended")
	}
	conf, err := c.config(ctx)
	if err != nil {
		return "", err
	}
	t, err := conf.TokenSource(withClient(ctx), &oauth2.Token{RefreshToken: g.Refresh}).Token()
	if err != nil {
		err = c.explain(c.TokenURL, err)
		if e := new(Error); errors.As(err, &e) && e.consent {
			c.dead = g.Refresh
		}
		return "", err
	}
	return t.AccessToken, c.write(t)
}

// News reports whether the file is another than was used last.
func (c *Client) News() bool {
	now, err := os.Stat(c.File)
	seen := c.seen.Load()
	return err == nil && (seen == nil || !os.SameFile(now, *seen) || !now.ModTime().Equal((*seen).ModTime()) || now.Mode() != (*seen).Mode())
}

func (c *Client) config(ctx context.Context) (*oauth2.Config, error) {
	secret, err := c.Secret(ctx)
	return &oauth2.Config{
		ClientID: c.ID, ClientSecret: secret, Scopes: c.Scopes,
		Endpoint: oauth2.Endpoint{AuthURL: c.AuthURL, TokenURL: c.TokenURL, DeviceAuthURL: c.DeviceURL, AuthStyle: oauth2.AuthStyleInParams},
	}, err
}

// withClient has requests follow no redirects, which might take secrets elsewhere.
func withClient(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, &http.Client{
		Timeout:       answerTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	})
}

// Error says why the authorization server gives no token.
type Error struct {
	text            string
	consent, passes bool
}

func (e *Error) Error() string { return e.text }

// ConsentNeeded reports whether there will be none before the owner logs in again.
func (e *Error) ConsentNeeded() bool { return e.consent }

// Passes reports whether the same request may well be answered later.
func (e *Error) Passes() bool { return e.passes }

func (c *Client) consent(why string) *Error {
	return &Error{text: why + "; run `" + c.Login + "`", consent: true}
}

// Codes of errors are those of RFC 6749, section 5.2, OpenID Connect, section 3.1.2.6, RFC 8628,
// section 3.5, and Microsoft's numbers. Nothing else that a server says is repeated.
var (
	codeShape = regexp.MustCompile(`^[a-z_]{1,40}$`)
	aadsts    = regexp.MustCompile(`AADSTS\d{4,8}`)
	errLate   = &Error{text: "nobody consented in time; run it again"}
)

// explain says what an error of a request to address means.
func (c *Client) explain(address string, err error) error {
	host := address
	if u, wrong := url.Parse(address); wrong == nil {
		host = u.Host
	}
	var answer *oauth2.RetrieveError
	var unsent *url.Error
	switch {
	case errors.As(err, &answer) && codeShape.MatchString(answer.ErrorCode):
		return c.explainCode(host, answer.ErrorCode, answer.ErrorDescription)
	case errors.As(err, &answer):
		return &Error{text: host + " answered " + http.StatusText(answer.Response.StatusCode) + ", without an error of OAuth", passes: true}
	case errors.As(err, &unsent):
		return &Error{text: "can't ask " + host + ": " + unsent.Err.Error(), passes: true}
	}
	return &Error{text: host + " answered with something else than OAuth", passes: true}
}

func (c *Client) explainCode(host, code, description string) error {
	said := " (" + code + ")"
	if number := aadsts.FindString(description); number != "" {
		said = " (" + code + ", " + number + ")"
	}
	switch code {
	case "invalid_grant", "interaction_required", "login_required", "consent_required":
		return c.consent("the consent has ended or was taken back" + said)
	case "invalid_client", "unauthorized_client":
		return &Error{text: host + " doesn't accept client_id or client_secret" + said}
	case "access_denied", "authorization_declined":
		return &Error{text: "the consent was declined" + said}
	case "expired_token":
		return errLate
	}
	return &Error{text: host + " refuses" + said, passes: code == "temporarily_unavailable" || code == "server_error"}
}
