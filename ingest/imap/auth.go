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

// login proves who we are.
func (s *session) login(ctx context.Context, o *Options) error {
	secret, err := o.Password(ctx)
	if err != nil {
		return fmt.Errorf("%w: %s", ErrNoPassword, ingest.OneLine(err.Error()))
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
			return fmt.Errorf("%w: it wants LOGIN only after TLS, or not at all", ErrNoMechanism)
		}
		err = s.client.Login(o.Username, secret).Wait()
	case mech == nil:
		return fmt.Errorf("%w (%s)", ErrNoMechanism, o.Auth)
	default:
		err = s.client.Authenticate(mech)
	}
	if err == nil {
		return nil
	}
	err = wireError(err, s.guard.why())
	var status *statusError
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
