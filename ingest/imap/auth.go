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

// needsConsent reports whether words say that an authorization server gives no token
// until the owner logs in there (RFC 6749, section 5.2; OpenID Connect Core, section
// 3.1.2.6).
func needsConsent(words string) bool {
	for _, code := range []string{"invalid_grant", "unauthorized_client", "interaction_required", "login_required", "consent_required"} {
		if strings.Contains(words, code) {
			return true
		}
	}
	return false
}

// login proves who we are.
func (s *session) login(ctx context.Context, o *Options) error {
	secret, err := o.Password(ctx)
	oauth := o.Auth == AuthXOAuth2 || o.Auth == AuthOAuthBearer
	if err != nil {
		words := ingest.OneLine(err.Error())
		if oauth && needsConsent(words) {
			return fmt.Errorf("%w (%w: %s)", ErrConsent, ErrNoPassword, words)
		}
		return fmt.Errorf("%w: %s", ErrNoPassword, words)
	}
	if secret == "" {
		return fmt.Errorf("%w: it is empty", ErrNoPassword)
	}
	s.begin()
	defer s.guard.end()
	caps := s.client.Caps()
	if caps == nil {
		return fmt.Errorf("ask for capabilities: %w", wireError(errClosed, s.guard.why()))
	}
	s.guard.begin(o.loginTimeout, 4*o.loginTimeout, commandBudget)
	switch mech, useLogin := s.mechanism(o, caps, secret); {
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
	if errors.As(err, &status) && !status.passing() && oauth {
		// The token was given out just now.
		return fmt.Errorf("%w (%w: %s)", ErrConsent, ErrRefused, redact(status.Error(), o.Username, secret))
	}
	if errors.As(err, &status) && !status.passing() {
		return fmt.Errorf("%w: %s", ErrRefused, redact(status.Error(), o.Username, secret))
	}
	if errors.As(err, &status) {
		return errors.New(redact(status.Error(), o.Username, secret))
	}
	return fmt.Errorf("log in: %w", err)
}

// mechanism picks the SASL mechanism, or the LOGIN command.
func (s *session) mechanism(o *Options, caps goimap.CapSet, secret string) (mech sasl.Client, useLogin bool) {
	has := func(name string) bool { return caps.Has(goimap.AuthCap(name)) }
	switch {
	case o.Auth == AuthLogin, o.Auth == AuthPlain && !has(sasl.Plain):
		return nil, true
	case o.Auth == AuthPlain:
		return sasl.NewPlainClient("", o.Username, secret), false
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

// redact takes the secret out of the words of a server that repeats what it was
// told. A secret too short to be recognised safely costs all the words.
func redact(words, username, secret string) string {
	if len(secret) < 4 {
		return "(its words are withheld)"
	}
	forms := []string{
		secret,
		base64.StdEncoding.EncodeToString([]byte(secret)),
		base64.StdEncoding.EncodeToString([]byte("\x00" + username + "\x00" + secret)),
		base64.StdEncoding.EncodeToString([]byte("user=" + username + "\x01auth=Bearer " + secret + "\x01\x01")),
	}
	for _, form := range forms {
		// The words were cut short, so the secret may have been, too.
		for n := len(form); n >= max(4, len(form)/2); n-- {
			words = strings.ReplaceAll(words, form[:n], "(secret)")
		}
	}
	return words
}
