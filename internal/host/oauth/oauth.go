// SPDX-License-Identifier: Apache-2.0

// Package oauth gets the access tokens of an account from an authorization server (OAuth 2.0,
// RFC 6749), and keeps the refresh token in a file that only its owner can read.
//
// Data flow: Loopback or Device, which ask for the owner's consent → the file → Token, which
// renews what is in it. Several processes may use one file: they take turns by a lock beside
// it, and read it anew before they ask the server. A refresh token that the server puts into
// the place of another is in the file before its access token is used. No error of this
// package has a token, a code or a secret in it, nor what the server said beyond the codes
// of errors.
package oauth

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/oauth2"
)

const (
	// answerTimeout is how long the server may take for one answer.
	answerTimeout = 20 * time.Second
	// turnTimeout bounds the wait for another process that asks, and asking.
	turnTimeout = time.Minute
	// margin is how long before its end a token is renewed, but not before half of its
	// time: clocks are off, and a login takes a moment.
	margin = 5 * time.Minute
	// untold is how long a token is good whose server doesn't say so.
	untold = time.Hour
)

// Client gets tokens for one account. Its fields are not changed once it is used. Its methods
// are safe for concurrent use.
type Client struct {
	ID     string
	Secret func(context.Context) (string, error) // returns "" for a client without one
	Scopes []string

	AuthURL, TokenURL string
	DeviceURL         string // "": there is no device flow
	// RedirectHost is how a browser on this machine calls it: 127.0.0.1, or localhost where the
	// provider knows that alone.
	RedirectHost string
	// Asking are more parameters of the authorization request.
	Asking map[string]string

	File  string // for the refresh token
	Login string // the command that asks for consent, for errors

	mu      sync.Mutex // guards what follows, and refreshes
	dead    string     // the refresh token that the server took for void
	unsaved *grant     // what could not be written
	seen    atomic.Pointer[fs.FileInfo]
}

// Token returns an access token that is good for a while, from the file or from the server.
// An error is an *Error if it is about consent or the server. Without the owner's consent,
// the server is not asked again before the file has another refresh token.
func (c *Client) Token(ctx context.Context) (string, error) { return c.token(ctx, "") }

// Renew returns another token than the one that the mail server refused, though it looked
// good: the clock may be wrong.
func (c *Client) Renew(ctx context.Context, refused string) (string, error) {
	return c.token(ctx, refused)
}

// News reports whether the file is another than Token and Renew saw last.
func (c *Client) News() bool {
	now, err := os.Stat(c.File)
	if err != nil {
		return false
	}
	seen := c.seen.Load()
	return seen == nil || !os.SameFile(now, *seen) || !now.ModTime().Equal((*seen).ModTime()) || now.Mode() != (*seen).Mode()
}

func (c *Client) token(ctx context.Context, refused string) (string, error) {
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
	if g, err = c.read(); err != nil { // another process may have renewed it
		return "", err
	}
	if u := c.unsaved; u != nil && u.replaces == g.Refresh {
		if err := c.write(u); err != nil {
			return "", err
		}
		g = *u
	}
	c.unsaved = nil
	if g.fresh(time.Now()) && g.Access != refused {
		return g.Access, nil
	}
	return c.refresh(ctx, g)
}

// refresh asks the server (RFC 6749, section 6). The caller has the lock.
func (c *Client) refresh(ctx context.Context, g grant) (string, error) {
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
	next := grantOf(t, time.Now())
	if err := c.write(next); err != nil {
		next.replaces, c.unsaved = g.Refresh, next
		return "", err
	}
	return next.Access, nil
}

func (c *Client) config(ctx context.Context) (*oauth2.Config, error) {
	secret, err := c.Secret(ctx)
	return &oauth2.Config{
		ClientID: c.ID, ClientSecret: secret, Scopes: c.Scopes,
		// Providers of mail take the secret there; public clients have to name themselves there.
		Endpoint: oauth2.Endpoint{AuthURL: c.AuthURL, TokenURL: c.TokenURL, DeviceAuthURL: c.DeviceURL, AuthStyle: oauth2.AuthStyleInParams},
	}, err
}

// withClient returns a context whose requests follow no redirects, which might take secrets
// elsewhere.
func withClient(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, &http.Client{
		Timeout:       answerTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	})
}
