// SPDX-License-Identifier: Apache-2.0

// Package oauth gets the access tokens of an account from an authorization server (OAuth 2.0,
// RFC 6749), and keeps the refresh token in a file that only its owner can read.
//
// Data flow: Consent, which asks for the owner's → the file → Renew, which
// renews what is in it. Processes that share a file take turns. A refresh token is in the file
// before the access token that came with it is used. No error has a token, a code or a secret
// in it, nor what the server said beyond the codes of errors.
package oauth

import (
	"bufio"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/oauth2"

	"github.com/hinged/hinged/internal/host/atomicfile"
)

const (
	loginTimeout  = 15 * time.Minute // for the owner to consent
	answerTimeout = 20 * time.Second // for one answer of the server
	turnTimeout   = time.Minute      // for another process to have asked, and for asking
	margin        = 5 * time.Minute  // before its end a token is renewed: clocks are off, and a login takes a moment
)

// Client gets tokens for one account. Its fields are not changed once it is used. Its methods
// are safe for concurrent use.
type Client struct {
	Config oauth2.Config           // without a secret; its RedirectURL is this machine's, without a port
	Secret func() (string, error)  // returns "" for a client without one
	Asking []oauth2.AuthCodeOption // more parameters of the authorization request
	File   string                  // for the tokens
	Login  string                  // the command that asks for consent, for errors

	seen atomic.Value // what was in the file that was used last, as a string
}

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

// Token returns an access token that is good for a while, from the file or from the server.
// An error about consent or the server is an *Error. Where consent has ended, the server is
// not asked again before the next login.
func (c *Client) Token(ctx context.Context) (string, error) { return c.Renew(ctx, "") }

// Renew returns another token than one that the mail server refused though it looked good, as
// when the clock is wrong.
func (c *Client) Renew(ctx context.Context, refused string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, turnTimeout)
	defer cancel()
	unlock, err := c.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	old, err := c.read()
	if err != nil {
		return "", err
	}
	if old.AccessToken == refused {
		old.AccessToken = ""
	}
	conf, err := c.config()
	if err != nil {
		return "", err
	}
	t, err := oauth2.ReuseTokenSourceWithExpiry(old, conf.TokenSource(withClient(ctx), old), margin).Token()
	if err != nil {
		err = c.explain(err)
		if e := new(Error); errors.As(err, &e) && e.consent {
			return "", errors.Join(err, c.write(&oauth2.Token{}))
		}
		return "", err
	}
	if t != old {
		err = c.write(t)
	}
	return t.AccessToken, err
}

// News reports whether the file is another than was used last.
func (c *Client) News() bool {
	data, err := os.ReadFile(c.File)
	return err == nil && c.seen.Load() != string(data)
}

func (c *Client) config() (oauth2.Config, error) {
	conf := c.Config
	conf.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	var err error
	conf.ClientSecret, err = c.Secret()
	return conf, err
}

// read returns what is in the file, once it is certain that nobody else can read it.
func (c *Client) read() (*oauth2.Token, error) {
	info, err := os.Stat(c.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, c.needs("nobody has logged in yet")
	}
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("others on this machine can get at %s, which has a token in it (mode %04o): chmod 600 %[1]s", c.File, mode)
	}
	data, err := os.ReadFile(c.File)
	if err != nil {
		return nil, err
	}
	c.seen.Store(string(data))
	t := &oauth2.Token{}
	if json.Unmarshal(data, t) != nil {
		return nil, c.needs(c.File + " is damaged")
	}
	if t.RefreshToken == "" {
		return nil, c.needs("the consent has ended")
	}
	return t, nil
}

// write replaces the file; a token without a refresh token says that consent has ended. The
// caller has the lock.
func (c *Client) write(t *oauth2.Token) error {
	data, err := json.Marshal(t) //nolint:gosec // tokens are what it is for
	if err == nil {
		err = atomicfile.Write(c.File, data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("can't keep the token: %w", err)
	}
	c.seen.Store(string(data)) // it is no news
	return nil
}

// lock waits until no other process is about to ask the server or to write the file. Where there
// is no file yet, there is nothing to wait for. Who waited for a file that was replaced meanwhile
// holds a lock of its own, and finds what is new.
func (c *Client) lock(ctx context.Context) (unlock func(), err error) {
	if err := c.ours(); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(c.File, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, err
	}
	for {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			return func() { _ = f.Close() }, nil
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, &Error{text: "another process is renewing the token, and doesn't end: " + err.Error(), passes: true}
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// ours keeps root from writing what the daemon of another user can't read.
func (c *Client) ours() error {
	dir := filepath.Dir(c.File)
	info, err := os.Stat(dir)
	for err != nil && dir != filepath.Dir(dir) { // to be made, or to say why not
		dir = filepath.Dir(dir)
		info, err = os.Stat(dir)
	}
	if err != nil || os.Geteuid() != 0 {
		return err
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Uid != 0 {
		return fmt.Errorf("%s belongs to the user %d, who couldn't read what root writes there: run this with sudo -u '#%[2]d'", dir, s.Uid)
	}
	return nil
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

func (c *Client) needs(why string) *Error {
	return &Error{text: why + "; run `" + c.Login + "`", consent: true}
}

// Codes of errors are those of RFC 6749, section 5.2, OpenID Connect, section 3.1.2.6, and
// Microsoft's numbers. Nothing else that a server says is repeated.
var (
	codeShape = regexp.MustCompile(`^[a-z_]{1,40}$`)
	aadsts    = regexp.MustCompile(`AADSTS\d{4,8}`)
)

// explain says what an error of a request means.
func (c *Client) explain(err error) error {
	var answer *oauth2.RetrieveError
	var unsent *url.Error
	switch {
	case errors.As(err, &answer):
		return c.refusal(fmt.Sprintf("%s (status %d)", answer.Response.Request.URL.Host, answer.Response.StatusCode), answer.ErrorCode, answer.ErrorDescription)
	case errors.As(err, &unsent):
		return &Error{text: "can't ask the provider: " + unsent.Error(), passes: true}
	}
	return c.refusal("the provider", "", "")
}

// refusal says what a code of an error means.
func (c *Client) refusal(who, code, description string) error {
	if !codeShape.MatchString(code) {
		return &Error{text: who + " answered with something else than OAuth", passes: true}
	}
	said := who + " answered " + code
	if number := aadsts.FindString(description); number != "" {
		said += ", " + number
	}
	switch code {
	case "invalid_grant", "interaction_required", "login_required", "consent_required":
		return c.needs(said)
	}
	return &Error{text: said, passes: code == "temporarily_unavailable" || code == "server_error"}
}
