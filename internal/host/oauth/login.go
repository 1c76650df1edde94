// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/oauth2"
)

// loginTimeout is how long a login waits for its owner.
const loginTimeout = 15 * time.Minute

// Loopback asks for consent in a browser, which then comes back to a port of this machine
// (RFC 8252, section 7.3; with PKCE, RFC 7636), and keeps it in the file. show is told the
// address to open. A browser on another machine comes back to nothing: paste returns the
// address that it tried, asked again after a wrong one, until its context ends; nil: nobody
// can paste.
func (c *Client) Loopback(ctx context.Context, show func(address string), paste func(ctx context.Context, again bool) (string, error)) error {
	conf, err := c.config(ctx)
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	conf.RedirectURL = "http://" + net.JoinHostPort(c.RedirectHost, port)
	verifier := oauth2.GenerateVerifier()
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(verifier)}
	for key, value := range c.Asking {
		options = append(options, oauth2.SetAuthURLParam(key, value))
	}
	state := oauth2.GenerateVerifier() // as random as that one
	q, err := c.await(ctx, l, state, func() { show(conf.AuthCodeURL(state, options...)) }, paste)
	if err != nil {
		return err
	}
	switch code := q.Get("error"); {
	case codeShape.MatchString(code):
		return c.explainCode("the provider", code, q.Get("error_description"))
	case code != "":
		return &Error{text: "the provider answered with an error of its own"}
	}
	t, err := conf.Exchange(withClient(ctx), q.Get("code"), oauth2.VerifierOption(verifier))
	if err != nil {
		return c.explain(c.TokenURL, err)
	}
	return c.keep(ctx, t)
}

// await returns the query of the redirect with this state (RFC 6749, section 4.1.2), whichever
// way it comes. Others are not taken: anybody on this machine, and any page, can ask.
func (c *Client) await(ctx context.Context, l net.Listener, state string, show func(), paste func(context.Context, bool) (string, error)) (url.Values, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, loginTimeout, errLate)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	came := make(chan url.Values, 1)
	take := func(q url.Values) bool {
		mine := subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(state)) == 1 && q.Get("code")+q.Get("error") != ""
		if mine {
			select {
			case came <- q:
			default: // it has come already
			}
		}
		return mine
	}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !take(r.URL.Query()) {
			http.Error(w, "hinged does not wait for this.", http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, "hinged has the answer. You can close this page; the terminal says how the login went.\n")
	})}
	var all sync.WaitGroup
	all.Go(func() { _ = server.Serve(l) }) // until it is closed
	show()
	if paste != nil {
		all.Go(func() {
			for again := false; ; again = true {
				text, err := paste(ctx, again)
				if err != nil {
					end(err)
					return
				}
				if u, err := url.Parse(strings.TrimSpace(text)); err == nil && take(u.Query()) {
					return
				}
			}
		})
	}
	var q url.Values
	var err error
	select {
	case q = <-came:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	end(nil)
	bounded, cut := context.WithTimeout(context.WithoutCancel(ctx), time.Second) // for the page
	defer cut()
	_ = server.Shutdown(bounded)
	_ = server.Close()
	all.Wait()
	return q, err
}

// Device asks for consent by a code that the owner types at a page, on any device (RFC 8628), and
// keeps it in the file. show is told both.
func (c *Client) Device(ctx context.Context, show func(page, code string)) error {
	conf, err := c.config(ctx)
	if err != nil {
		return err
	}
	d, err := conf.DeviceAuth(withClient(ctx))
	if err != nil {
		return c.explain(c.DeviceURL, err)
	}
	if d.DeviceCode == "" || d.UserCode == "" || d.VerificationURI == "" || strings.ContainsFunc(d.UserCode+d.VerificationURI, unicode.IsControl) {
		return c.explain(c.DeviceURL, errors.New("no code"))
	}
	show(d.VerificationURI, d.UserCode)
	if d.Expiry.IsZero() {
		d.Expiry = time.Now().Add(loginTimeout)
	}
	waits, cancel := context.WithDeadline(ctx, d.Expiry)
	defer cancel()
	for {
		t, err := conf.DeviceAccessToken(withClient(waits), d)
		if err == nil {
			return c.keep(ctx, t)
		}
		if waits.Err() != nil {
			return errLate
		}
		var e *Error
		if err = c.explain(c.TokenURL, err); errors.As(err, &e) && !e.passes {
			return err
		}
		// The next poll comes after the interval (RFC 8628, section 3.5).
	}
}

// keep writes what the server gave, if that is enough.
func (c *Client) keep(ctx context.Context, t *oauth2.Token) error {
	given, _ := t.Extra("scope").(string)
	missing := slices.DeleteFunc(slices.Clone(c.Scopes), func(want string) bool {
		// No answer repeats offline_access. RFC 6749, section 5.1: without scope, all was given.
		return given == "" || want == "offline_access" || slices.ContainsFunc(strings.Fields(given), func(s string) bool { return strings.EqualFold(s, want) })
	})
	if len(missing) > 0 {
		return fmt.Errorf("the consent lacks %s, so nothing was kept: log in again, and tick every box on the provider's page", strings.Join(missing, " and "))
	}
	if t.RefreshToken == "" {
		return errors.New("the provider gave no refresh token, so nothing was kept; many want the scope offline_access")
	}
	ctx, cancel := context.WithTimeout(ctx, turnTimeout)
	defer cancel()
	unlock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return c.write(t)
}
