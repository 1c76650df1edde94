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

// ErrForeign is returned for an address that does not belong to the login under way.
var ErrForeign = errors.New("that is not the address of the page to which this login led")

// Loopback asks for consent in a browser, which then comes back to a port of this machine
// (RFC 8252, section 7.3; with PKCE, RFC 7636). show is told the address to open. Where the
// browser is on another machine, it comes back to nothing: paste returns the address that it
// tried, asked again after one that is wrong; nil: nobody can paste. Its context ends once the
// browser has come. What was consented to is kept in the file.
func (c *Client) Loopback(ctx context.Context, show func(address string), paste func(context.Context, error) (string, error)) error {
	conf, err := c.config(ctx)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	conf.RedirectURL = "http://" + net.JoinHostPort(c.RedirectHost, port)
	w := &waiting{state: oauth2.GenerateVerifier(), client: c, answers: make(chan answer, 1)}
	verifier := oauth2.GenerateVerifier()
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(verifier)}
	for key, value := range c.Asking {
		options = append(options, oauth2.SetAuthURLParam(key, value))
	}

	waits, cancel := context.WithTimeout(ctx, loginTimeout)
	var all sync.WaitGroup
	server := &http.Server{Handler: w, ReadHeaderTimeout: 10 * time.Second}
	all.Go(func() { _ = server.Serve(l) }) // until Shutdown
	show(conf.AuthCodeURL(w.state, options...))
	if paste != nil {
		all.Go(func() { w.ask(waits, paste) })
	}
	var got answer
	select {
	case got = <-w.answers:
	case <-waits.Done():
		if got.err = ctx.Err(); got.err == nil {
			got.err = errLate
		}
	}
	cancel()
	bounded, end := context.WithTimeout(context.WithoutCancel(ctx), time.Second) // for the page
	_ = server.Shutdown(bounded)
	end()
	_ = server.Close()
	all.Wait()
	if got.err != nil {
		return got.err
	}
	t, err := conf.Exchange(withClient(ctx), got.code, oauth2.VerifierOption(verifier))
	if err != nil {
		return c.explain(c.TokenURL, err)
	}
	return c.keep(ctx, t)
}

// answer is a code for a token, or why there is none.
type answer struct {
	code string
	err  error
}

// waiting is a login that waits for its browser.
type waiting struct {
	client  *Client
	state   string
	answers chan answer // room for one
}

// take takes the query of a redirect (RFC 6749, section 4.1.2). The error is ErrForeign if it is
// of no login or of another one: anybody on this machine, and any page, can ask.
func (w *waiting) take(q url.Values) error {
	got := answer{code: q.Get("code")}
	if code := q.Get("error"); code != "" {
		got.err = &Error{text: "the provider answered with an error of its own"}
		if codes.MatchString(code) {
			got.err = w.client.explainCode("the provider", code, q.Get("error_description"))
		}
	}
	if subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(w.state)) != 1 || got.code == "" && got.err == nil {
		return ErrForeign
	}
	select {
	case w.answers <- got:
	default: // it has come already
	}
	return nil
}

// ServeHTTP is what the browser comes to.
func (w *waiting) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	out.Header().Set("Content-Type", "text/plain; charset=utf-8")
	out.Header().Set("Cache-Control", "no-store")
	if err := w.take(r.URL.Query()); err != nil {
		out.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(out, "hinged does not wait for this.\n")
		return
	}
	_, _ = io.WriteString(out, "hinged has the answer. You can close this page; the terminal says how the login went.\n")
}

func (w *waiting) ask(ctx context.Context, paste func(context.Context, error) (string, error)) {
	var wrong error
	for ctx.Err() == nil {
		text, err := paste(ctx, wrong)
		if err != nil {
			select {
			case w.answers <- answer{err: err}:
			default:
			}
			return
		}
		wrong = ErrForeign
		if u, err := url.Parse(strings.TrimSpace(text)); err == nil {
			wrong = w.take(u.Query())
		}
		if wrong == nil {
			return
		}
	}
}

// Device asks for consent by a code that the owner types at a page, on any device (RFC 8628).
// show is told both. What was consented to is kept in the file.
func (c *Client) Device(ctx context.Context, show func(page, code string)) error {
	conf, err := c.config(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, loginTimeout)
	defer cancel()
	asking := withClient(ctx)
	d, err := conf.DeviceAuth(asking)
	if err == nil && (d.DeviceCode == "" || d.UserCode == "" || d.VerificationURI == "" || strings.ContainsFunc(d.UserCode+d.VerificationURI, unicode.IsControl)) {
		err = errors.New("no code")
	}
	if err != nil {
		return c.explain(c.DeviceURL, err)
	}
	show(d.VerificationURI, d.UserCode)
	for {
		t, err := conf.DeviceAccessToken(asking, d)
		if err == nil {
			return c.keep(ctx, t)
		}
		late := errors.Is(err, context.DeadlineExceeded) && !d.Expiry.IsZero() && !time.Now().Before(d.Expiry) || errors.Is(ctx.Err(), context.DeadlineExceeded)
		switch err = c.explain(c.TokenURL, err); {
		case late:
			return errLate
		case ctx.Err() != nil:
			return ctx.Err()
		}
		if e := new(Error); !errors.As(err, &e) || !e.temporary {
			return err
		}
		// It waits before it asks, and goes on asking (RFC 8628, section 3.5).
	}
}

// notReturned are scopes that ask for something else than access, which no answer repeats.
var notReturned = []string{"offline_access", "openid", "profile", "email"}

// keep writes what the server gave, if that is enough.
func (c *Client) keep(ctx context.Context, t *oauth2.Token) error {
	// RFC 6749, section 5.1: without scope, all was given.
	if given, ok := t.Extra("scope").(string); ok && given != "" {
		var missing []string
		for _, want := range c.Scopes {
			same := func(s string) bool { return strings.EqualFold(s, want) }
			if !slices.Contains(notReturned, want) && !slices.ContainsFunc(strings.Fields(given), same) {
				missing = append(missing, want)
			}
		}
		if len(missing) > 0 {
			return fmt.Errorf("the consent lacks %s, so that nothing was kept: log in again, and tick every box on the provider's page", strings.Join(missing, " and "))
		}
	}
	if t.RefreshToken == "" {
		return errors.New("the provider gave no refresh token, so that nothing was kept: ask for one by scopes (many providers want offline_access)")
	}
	ctx, cancel := context.WithTimeout(ctx, turnTimeout)
	defer cancel()
	unlock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return c.write(grantOf(t, time.Now()))
}
