// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	goimap "github.com/emersion/go-imap/v2"

	"github.com/hinged/hinged/ingest"
)

// What can go wrong on the wire.
var (
	// ErrMute: the server said nothing for longer than Options.CommandTimeout.
	ErrMute   = errors.New("the server did not respond")
	errBudget = errors.New("the server sent more than was asked for")
	errDepth  = errors.New("the server nested an answer too deeply")
	errGone   = errors.New("the server said unreadably which messages vanished")
	errClosed = errors.New("the server closed the connection")
)

// What can go wrong at login. All are waited out slowly.
var (
	// ErrRefused: the server knows no such user and password.
	ErrRefused = errors.New("the server refused the login")
	// ErrNoMechanism: the server offers no way to log in that Options.Auth allows.
	ErrNoMechanism = errors.New("the server doesn't offer the configured way to log in")
	// ErrConsent: no token is to be had, or none is taken, until the owner consents
	// again (OAuth, RFC 6749). It comes together with ErrRefused or ErrNoPassword.
	ErrConsent = errors.New("consent needed: the owner has to log in with the provider again")
	// ErrNoPassword: Options.Password gave none.
	ErrNoPassword = errors.New("can't get the password")
)

// errNoTokenYet: the provider gives no token at the moment. It is no refused login.
var errNoTokenYet = errors.New("temporarily no token")

// errProtocol wraps what the server said that is not IMAP, or not an answer to
// what was asked.
var errProtocol = errors.New("the server broke the protocol")

// verdict is what to do about an error of a session.
type verdict uint8

const (
	stop      verdict = iota // we were asked to, or nobody takes our events
	again                    // connect again, after the usual backoff
	againSlow                // connect again, but the server must not be hammered
)

// retryable is the one place that says whether an error is worth another
// connection.
func retryable(ctx context.Context, err error) verdict {
	var emit emitError
	switch {
	case ctx.Err() != nil:
		return stop // whatever broke, it broke because we are leaving
	case errors.As(err, &emit):
		return stop // the receiver is gone; a new connection does not bring it back
	case loginRefused(err):
		return againSlow // someone must change a password or a setting; they may, so never give up
	default:
		// Refused or broken connections, servers that do not respond, BYE, bad certificates,
		// missing mailboxes, protocol errors: all of them can pass.
		return again
	}
}

// loginRefused reports whether the login failed for good, until somebody steps in.
func loginRefused(err error) bool {
	return errors.Is(err, ErrRefused) || errors.Is(err, ErrNoPassword) || errors.Is(err, ErrNoMechanism)
}

// emitError is an error of the receiver of events.
type emitError struct{ err error }

func (e emitError) Error() string { return "hand an event over: " + e.err.Error() }
func (e emitError) Unwrap() error { return e.err }

// isProtocol reports whether the server, not the network, was at fault, so
// that asking the same again will probably fail the same way.
func isProtocol(err error) bool {
	return errors.Is(err, errProtocol) || errors.Is(err, errBudget) || errors.Is(err, errDepth) || errors.Is(err, errGone)
}

// wireError says what err, which a command of the client returned, really was;
// cause is what the guard saw.
func wireError(err, cause error) error {
	var status *goimap.Error
	var timeout net.Error
	var cert *tls.CertificateVerificationError
	switch {
	case errors.As(err, &cert):
		return err
	case errors.As(err, &status) && cause == nil:
		return &statusError{Type: string(status.Type), Code: string(status.Code), Text: ingest.OneLine(status.Text)}
	case errors.Is(cause, io.EOF), errors.Is(cause, io.ErrUnexpectedEOF):
		return errClosed
	case errors.Is(cause, syscall.ECONNRESET):
		return fmt.Errorf("%w: %w", errClosed, cause) // over a command that crossed its goodbye
	case cause != nil:
		return certificateError(cause)
	case errors.Is(err, net.ErrClosed), errors.As(err, &timeout):
		return err
	default:
		return fmt.Errorf("%w: %s", errProtocol, ingest.OneLine(err.Error()))
	}
}

// saidNo returns the NO or BAD that a command of the client ended with, or nil.
func saidNo(err error) *goimap.Error {
	var status *goimap.Error
	errors.As(err, &status)
	return status
}

// unsent reports whether a command could not be sent because the connection was
// closed just before: by the server, or by the client's reader over something
// that it could not read.
func unsent(err error) bool {
	var op *net.OpError
	return errors.Is(err, net.ErrClosed) || errors.As(err, &op) && op.Op == "write" && !op.Timeout()
}

// statusError is a NO or BAD of the server, its words made fit to print.
type statusError struct{ Type, Code, Text string }

func (e *statusError) Error() string {
	if e.Code != "" {
		return fmt.Sprintf("%s [%s] %s", e.Type, e.Code, e.Text)
	}
	return e.Type + " " + e.Text
}

// passing reports whether the server says that the trouble is its own and not
// for long (RFC 5530).
func (e *statusError) passing() bool {
	switch e.Code {
	case "UNAVAILABLE", "INUSE", "SERVERBUG":
		return true
	}
	return e.limited()
}

// limited reports whether the server says that it was asked too much, whatever was asked.
func (e *statusError) limited() bool {
	switch e.Code {
	case "LIMIT", "THROTTLED", "OVERQUOTA":
		return true // the last two are Gmail's and Outlook.com's
	}
	text := strings.ToLower(e.Text)
	return slices.ContainsFunc(limitWords, func(words string) bool { return strings.Contains(text, words) })
}

// limitWords are what providers say of limits without a code.
// QUIRK: Gmail refuses the sixteenth connection, and Microsoft 365 one that asks too much,
// with the NO or BAD that stands for a wrong password or a wrong command.
var limitWords = []string{
	"too many simultaneous connections", "exceeded command or bandwidth limits", // Gmail
	"request is throttled", "user is authenticated but not connected", // Outlook.com, Microsoft 365
}

// throttled finds for how long Microsoft 365 wants to be left alone.
var throttled = regexp.MustCompile(`(?i)suggested backoff time: (\d{1,9}) milliseconds`)

// askedPause returns how long the server asks to be left alone, 0 if it does not.
func askedPause(err error) time.Duration {
	var status *statusError
	if !errors.As(err, &status) {
		return 0
	}
	found := throttled.FindStringSubmatch(status.Text)
	if found == nil {
		return 0
	}
	n, _ := strconv.Atoi(found[1]) // nine digits at most
	return time.Duration(n) * time.Millisecond
}
