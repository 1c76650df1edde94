// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"bufio"
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
	"time"

	"golang.org/x/oauth2"
)

// loginTimeout is how long a login waits for its owner.
const loginTimeout = 15 * time.Minute

// Consent asks for consent in a browser, which then comes back to a port of this machine
// (RFC 8252, section 7.3; with PKCE, RFC 7636), and keeps it in the file. show is told the
// address to open. A browser on another machine comes back to nothing: the address that it
// tried may be a line of typed, which is read until it ends, also after the login.
func (c *Client) Consent(ctx context.Context, typed io.Reader, show func(address string)) error {
	ctx, cancel := context.WithTimeout(ctx, loginTimeout)
	defer cancel()
	conf, err := c.config()
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	conf.RedirectURL += ":" + port
	state, verifier := oauth2.GenerateVerifier(), oauth2.GenerateVerifier() // both are random
	came := make(chan url.Values, 1)
	stop := await(l, state, typed, came)
	defer stop()
	show(conf.AuthCodeURL(state, slices.Concat(c.Asking, []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(verifier)})...))
	select {
	case q := <-came:
		if !q.Has("code") {
			return c.refusal("the provider", q.Get("error"), q.Get("error_description"))
		}
		t, err := conf.Exchange(withClient(ctx), q.Get("code"), oauth2.VerifierOption(verifier))
		if err != nil {
			return c.explain(err)
		}
		return c.keep(ctx, t)
	case <-ctx.Done():
		return errors.New("nobody consented in time; run it again")
	}
}

// await sends the query of the first redirect with this state (RFC 6749, section 4.1.2) to came,
// whichever way it comes. Others are not taken: anybody on this machine, and any page, can ask.
// stop ends the listening.
func await(l net.Listener, state string, typed io.Reader, came chan<- url.Values) (stop func()) {
	take := func(q url.Values) bool {
		if subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(state)) == 0 {
			return false
		}
		select {
		case came <- q:
		default: // it has come already
		}
		return true
	}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !take(r.URL.Query()) {
			http.Error(w, "hinged does not wait for this.", http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, "hinged has the answer. You can close this page; the terminal says how the login went.\n")
	})}
	go func() { _ = server.Serve(l) }()
	go func() {
		for lines := bufio.NewScanner(typed); lines.Scan(); {
			if u, err := url.Parse(strings.TrimSpace(lines.Text())); err == nil {
				take(u.Query())
			}
		}
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second) // for the page
		defer cancel()
		_ = server.Shutdown(ctx)
		_ = server.Close()
	}
}

// keep writes what the server gave, if that is enough.
func (c *Client) keep(ctx context.Context, t *oauth2.Token) error {
	given, _ := t.Extra("scope").(string)
	for _, want := range c.Config.Scopes {
		// No answer repeats offline_access. RFC 6749, section 5.1: without scope, all was given.
		if given != "" && want != "offline_access" && !slices.ContainsFunc(strings.Fields(given), func(s string) bool { return strings.EqualFold(s, want) }) {
			return fmt.Errorf("the consent lacks %s, so nothing was kept: log in again, and tick every box on the provider's page", want)
		}
	}
	if t.RefreshToken == "" {
		return errors.New("the provider gave no refresh token, so nothing was kept; many want the scope offline_access")
	}
	unlock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return c.write(t)
}
