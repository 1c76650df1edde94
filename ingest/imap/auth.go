// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	goimap "github.com/emersion/go-imap/v2"
	"github.com/emersion/go-sasl"

	"github.com/hinged/hinged/ingest"
)

// xoauth2 is the client side of the XOAUTH2 mechanism of Google and Microsoft.
type xoauth2 struct{ username, token string }

func (x xoauth2) Start() (string, []byte, error) {
	return "XOAUTH2", []byte("user=" + x.username + "\x01auth=Bearer " + x.token + "\x01\x01"), nil
}

// Next answers the error details with nothing, upon which the server says NO.
func (xoauth2) Next([]byte) ([]byte, error) { return []byte{}, nil }

// oauthBearer is OAUTHBEARER of go-sasl, but for the answer to the error
// details: without one the server would wait for ever (RFC 7628, section 3.2.3).
type oauthBearer struct{ sasl.Client }

func (oauthBearer) Next([]byte) ([]byte, error) { return []byte{1}, nil }

// emptyResponse is an empty answer to a challenge as it has to be: an empty line. The
// client library writes "=", which stands for an empty initial response alone (RFC 9051,
// section 6.2.2).
func emptyResponse(line []byte) []byte {
	if string(line) == "=\r\n" {
		return []byte("\r\n")
	}
	return line
}

// NeedsConsent reports whether err, of Options.Password, says that an authorization
// server gives no token until the owner logs in there.
func NeedsConsent(err error) bool {
	var e interface{ ConsentNeeded() bool }
	return errors.As(err, &e) && e.ConsentNeeded()
}

// login proves who we are.
func (s *session) login(ctx context.Context, o *Options) error {
	secret, err := o.secret(ctx)
	if err != nil {
		return err
	}
	err = s.prove(o, secret)
	if err != nil && o.Renew != nil && errors.Is(err, ErrConsent) {
		if secret, err = o.Renew(ctx, secret); err != nil {
			return tokenError(err)
		}
		err = s.prove(o, secret)
	}
	return err
}

// prove logs in with a secret.
func (s *session) prove(o *Options, secret string) (err error) {
	oauth := o.Auth == AuthXOAuth2 || o.Auth == AuthOAuthBearer
	s.tried = true
	s.begin()
	defer s.guard.end()
	caps := s.client.Caps()
	if caps == nil {
		return fmt.Errorf("ask for capabilities: %w", wireError(errClosed, s.guard.why()))
	}
	s.guard.begin(o.loginTimeout, 4*o.loginTimeout, commandBudget)
	mech, useLogin := s.mechanism(o, caps, secret)
	switch {
	case useLogin:
		if caps.Has(goimap.CapLoginDisabled) {
			return fmt.Errorf("%w: it allows LOGIN only after TLS, or not at all", ErrNoMechanism)
		}
		err = s.client.Login(o.Username, secret).Wait()
	case mech == nil:
		return fmt.Errorf("%w (%s)", ErrNoMechanism, o.Auth)
	default:
		s.guard.amending(emptyResponse)
		err = s.client.Authenticate(mech)
		s.guard.amending(nil)
	}
	if err == nil {
		return nil
	}
	err = wireError(err, s.guard.why())
	var status *statusError
	forms := secretForms(secret, mech)
	if errors.As(err, &status) && status.overCertificate() {
		return fmt.Errorf("%w (%w: %s)", ErrCertificate, ErrRefused, redact(status.Error(), forms))
	}
	if errors.As(err, &status) && !status.passing() && oauth {
		// The token was given out just now.
		return fmt.Errorf("%w (%w: %s)", ErrConsent, ErrRefused, redact(status.Error(), forms))
	}
	if errors.As(err, &status) && !status.passing() {
		return fmt.Errorf("%w: %s", ErrRefused, redact(status.Error(), forms))
	}
	if errors.As(err, &status) {
		return &statusError{Type: status.Type, Code: status.Code, Text: redact(status.Text, forms)}
	}
	return fmt.Errorf("log in: %w", err)
}

// secret gets what proves who we are beside a certificate. The error wraps ErrNoPassword.
func (o *Options) secret(ctx context.Context) (string, error) {
	if o.Auth == AuthExternal {
		return "", nil
	}
	secret, err := o.Password(ctx)
	if err != nil {
		return "", tokenError(err)
	}
	if secret == "" {
		return "", fmt.Errorf("%w: it is empty", ErrNoPassword)
	}
	return secret, nil
}

// tokenError says what an error of Options.Password or Options.Renew means.
func tokenError(err error) error {
	var e interface{ Passes() bool }
	switch {
	case errors.As(err, &e) && e.Passes():
		return fmt.Errorf("%w: %s", errNoTokenYet, ingest.OneLine(err.Error()))
	case NeedsConsent(err):
		return fmt.Errorf("%w (%w)", ErrConsent, &passwordError{err})
	}
	return &passwordError{err}
}

// passwordError is an error of Options.Password, on one line.
type passwordError struct{ err error }

func (e *passwordError) Error() string {
	return ErrNoPassword.Error() + ": " + ingest.OneLine(e.err.Error())
}
func (e *passwordError) Unwrap() []error { return []error{ErrNoPassword, e.err} }

// mechanism picks the SASL mechanism, or the LOGIN command.
func (s *session) mechanism(o *Options, caps goimap.CapSet, secret string) (mech sasl.Client, useLogin bool) {
	has := func(name string) bool { return caps.Has(goimap.AuthCap(name)) }
	switch {
	case o.Auth == AuthLogin, o.Auth == AuthPlain && !has(sasl.Plain):
		return nil, true
	case o.Auth == AuthPlain:
		return sasl.NewPlainClient("", o.Username, secret), false
	case o.Auth == AuthExternal && has(sasl.External):
		// With the name, so that no other mailbox than the one meant is opened.
		return sasl.NewExternalClient(o.Username), false
	case o.Auth == AuthXOAuth2 && has("XOAUTH2"):
		return xoauth2{o.Username, secret}, false
	case o.Auth == AuthOAuthBearer && has(sasl.OAuthBearer):
		opts := &sasl.OAuthBearerOptions{Username: o.Username, Token: secret}
		if host, port, err := net.SplitHostPort(o.Address); err == nil {
			opts.Host = host
			opts.Port, _ = strconv.Atoi(port)
		}
		return oauthBearer{sasl.NewOAuthBearerClient(opts)}, false
	}
	return nil, false
}

// secretForms returns the spellings in which the server was told the secret, by mech or,
// if that is nil, by LOGIN; nil if there is no secret.
func secretForms(secret string, mech sasl.Client) []string {
	if secret == "" {
		return nil
	}
	forms := []string{
		secret,
		strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(secret), // in a quoted string
		base64.StdEncoding.EncodeToString([]byte(secret)),
	}
	if mech != nil {
		if _, initial, err := mech.Start(); err == nil {
			forms = append(forms, base64.StdEncoding.EncodeToString(initial))
		}
	}
	return forms
}

// redact takes a secret in any of its forms out of the words of a server that repeats what
// it was told. A secret too short to be recognised safely costs all the words.
func redact(words string, forms []string) string {
	for _, form := range forms {
		if len(form) < 4 {
			return "(its words are withheld)"
		}
		// The words were cut short, so the secret may have been, too: its beginning counts.
		for n := len(form); n >= max(4, min(8, len(form)/2)); n-- {
			words = strings.ReplaceAll(words, form[:n], "(secret)")
		}
	}
	return words
}
