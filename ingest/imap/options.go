// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/hinged/hinged/ingest"
)

// TLSMode says how the connection is protected.
type TLSMode string

// The modes. Nothing falls back from one to another.
const (
	TLSImplicit TLSMode = "tls"      // TLS from the first byte (RFC 8314), the default
	TLSStart    TLSMode = "starttls" // upgraded with STARTTLS before anything is said
	TLSNone     TLSMode = "none"     // in clear, password and mail alike
)

// AuthMechanism says how to log in.
type AuthMechanism string

// The mechanisms.
const (
	// AuthPlain is SASL PLAIN (RFC 4616), the default; the LOGIN command where
	// the server does not offer PLAIN.
	AuthPlain AuthMechanism = "plain"
	// AuthLogin is the LOGIN command.
	AuthLogin AuthMechanism = "login"
	// AuthXOAuth2 is the OAuth mechanism of Google and Microsoft; the password is
	// the access token.
	AuthXOAuth2 AuthMechanism = "xoauth2"
	// AuthOAuthBearer is OAUTHBEARER (RFC 7628); the password is the access token.
	AuthOAuthBearer AuthMechanism = "oauthbearer"
	// AuthExternal is SASL EXTERNAL (RFC 4422, appendix A): the certificate that
	// Options.TLSConfig shows is the proof, and there is no password.
	AuthExternal AuthMechanism = "external"
)

// Options configure a Source. The zero value of a field means its default. The configuration,
// from which they come, is what says what is wrong with bounds and names.
type Options struct {
	Address string // host:port, required
	TLS     TLSMode
	// TLSConfig is nil for the system's roots; ServerName is filled in. A certificate of
	// ours comes from GetClientCertificate: of Certificates the standard library shows
	// only those whose issuer is on the server's list, and the server could not say what
	// it has against the others.
	TLSConfig *tls.Config
	Username  string // required
	Auth      AuthMechanism
	// Password returns the password or token. It is asked at every connection, so
	// that a changed file or a refreshed token is found. An error with a method
	// ConsentNeeded() bool says whether only the owner can get a new token. Required,
	// but with AuthExternal.
	Password func(ctx context.Context) (string, error)
	// Renew returns another token than the one that the server refused, once in a login;
	// nil: there is none. Of both, an error whose method Passes() bool returns true is
	// trouble that passes.
	Renew func(ctx context.Context, refused string) (string, error)
	// News reports whether there may be another secret than that of the last login, and
	// ends the wait after a refused one; nil: it never does.
	News func() bool

	// Mailboxes names what to watch and nothing else. Empty: INBOX and the
	// mailboxes whose special use is Sent, Junk, Trash, Archive or Important.
	Mailboxes []string
	Exclude   []string // not watched, whatever else is said

	// Roles names mailboxes that have a role, one for each role at most. No other
	// mailbox has that role then. A mailbox for a role that is not in it is found by the
	// special use that the server tells, or else by its name.
	Roles map[ingest.Role]string

	// MaxBytes is how much of a message is fetched; 1 MiB.
	MaxBytes int64

	// IdleRestart is how long one IDLE lasts; 7 minutes. Servers may drop a
	// client after 29 minutes of silence (RFC 2177), routers sooner.
	IdleRestart time.Duration
	// IdleCheck is how long one IDLE lasts as long as the server has told nothing in
	// it; 20 seconds. Some servers offer IDLE and are late, or silent.
	IdleCheck time.Duration
	// PollInterval is the time between looks at the mailboxes that are not idled
	// on; 60 seconds.
	PollInterval time.Duration
	// InboxPoll is the time between looks at INBOX where IDLE is of no use; 20
	// seconds, or PollInterval if that is less.
	InboxPoll time.Duration
	// RecheckInterval is the time between full comparisons of flags and UIDs,
	// which find what a server forgot to tell; 30 minutes.
	RecheckInterval time.Duration
	// CommandTimeout is how long the server may be silent in the middle of a
	// command; 30 seconds.
	CommandTimeout time.Duration

	// BackoffMin and BackoffMax bound the wait before a new connection; 1 second
	// and 5 minutes. It grows until a connection has lasted for BackoffMax or a minute,
	// whichever is less.
	BackoffMin, BackoffMax time.Duration
	// AuthBackoffMin and AuthBackoffMax bound the wait after a refused login; 30
	// seconds and 15 minutes. Providers lock accounts that try too often.
	AuthBackoffMin, AuthBackoffMax time.Duration
	// LoginEvery limits logins whose connections are of no use: at most three in any
	// stretch of time that is shorter, and one in each in the long run. 1 minute.
	LoginEvery time.Duration

	Logger *slog.Logger // nil discards
	// Dial opens the TCP connection; a net.Dialer with a 30 second timeout.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	loginTimeout time.Duration // for the answer to a login; CommandTimeout
	moment       time.Duration // an absence no longer than this is none; shortAbsence
	linger       time.Duration // how long a connection for headers is kept after its last use; 1 minute
	markPause    time.Duration // before a mark is tried again for the first time; 1 second
	stopTimeout  time.Duration // for taking a keyword off once the caller has gone; stopTimeout

	chunk int // messages a FETCH of bodies; tests vary it
}

// defaultChunk is how many bodies one FETCH asks for. Measured on Dovecot over
// loopback with 20,000 messages: below 50 the round trips show,
// above 200 nothing is gained, and a restart repeats up to one chunk.
const defaultChunk = 100

// shortAbsence is how long the source may have been away from a mailbox for what
// changed there to count as seen live. A connection that breaks is usually back
// within minutes, and nobody corrects 50 messages one by one in that time.
const shortAbsence = 10 * time.Minute

func orDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// withDefaults returns o with every default filled in.
func (o Options) withDefaults() Options {
	orDefault(&o.TLS, TLSImplicit)
	orDefault(&o.Auth, AuthPlain)
	orDefault(&o.MaxBytes, 1<<20)
	orDefault(&o.IdleRestart, 7*time.Minute)
	orDefault(&o.PollInterval, time.Minute)
	orDefault(&o.IdleCheck, min(20*time.Second, o.IdleRestart))
	orDefault(&o.InboxPoll, min(20*time.Second, o.PollInterval))
	orDefault(&o.RecheckInterval, 30*time.Minute)
	orDefault(&o.CommandTimeout, 30*time.Second)
	orDefault(&o.BackoffMin, time.Second)
	orDefault(&o.BackoffMax, 5*time.Minute)
	orDefault(&o.AuthBackoffMin, 30*time.Second)
	orDefault(&o.AuthBackoffMax, 15*time.Minute)
	orDefault(&o.loginTimeout, o.CommandTimeout)
	orDefault(&o.moment, shortAbsence)
	orDefault(&o.LoginEvery, time.Minute)
	orDefault(&o.linger, time.Minute)
	orDefault(&o.markPause, time.Second)
	orDefault(&o.stopTimeout, stopTimeout)
	orDefault(&o.chunk, defaultChunk)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: 30 * time.Second}).DialContext
	}
	return o
}

// validate lists what would have a connection go elsewhere, or unprotected, or come to nothing.
func (o Options) validate() error {
	var errs []error
	if host, port, err := net.SplitHostPort(o.Address); err != nil || host == "" || port == "" {
		errs = append(errs, fmt.Errorf("address %q is not host:port", o.Address))
	}
	switch o.TLS {
	case TLSImplicit, TLSStart, TLSNone:
	default:
		errs = append(errs, fmt.Errorf("tls mode %q is unknown; the modes are tls, starttls and none", o.TLS))
	}
	switch o.Auth {
	case AuthPlain, AuthLogin, AuthXOAuth2, AuthOAuthBearer:
	case AuthExternal:
		if o.TLS == TLSNone || o.TLSConfig == nil || o.TLSConfig.GetClientCertificate == nil {
			errs = append(errs, errors.New("auth mechanism external needs TLS and a certificate to show"))
		}
	default:
		errs = append(errs, fmt.Errorf("auth mechanism %q is unknown; the mechanisms are plain, login, xoauth2, oauthbearer and external", o.Auth))
	}
	if o.Username == "" {
		errs = append(errs, errors.New("username is empty"))
	}
	if o.Password == nil && o.Auth != AuthExternal {
		errs = append(errs, errors.New("no password was given"))
	}
	return errors.Join(errs...)
}

// ValidFlag reports why flag cannot be stored on a server, or nil: it must be an
// atom, or one of the system flags that a client may set (RFC 9051, sections 2.3.2 and 9).
func ValidFlag(flag string) error {
	name := flag
	if strings.HasPrefix(flag, `\`) {
		switch strings.ToLower(flag) {
		case `\answered`, `\flagged`, `\important`:
			return nil
		case `\seen`, `\deleted`, `\draft`, `\recent`:
			return fmt.Errorf("flag %q has a meaning of its own, so it can't be a mark", flag)
		}
		name = flag[1:]
	}
	if name == "" {
		return errors.New("flag is empty")
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`(){%*"\]`, c) >= 0 {
			return fmt.Errorf("flag %q contains %q, which IMAP does not allow in a keyword", flag, c)
		}
	}
	return nil
}

// mailboxName gives INBOX, which is case-insensitive (RFC 9051, section 5.1),
// its one spelling.
func mailboxName(name string) string {
	if strings.EqualFold(name, inbox) {
		return inbox
	}
	return name
}

const inbox = "INBOX"
