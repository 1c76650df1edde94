// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/ingest/imap"
	"github.com/hinged/hinged/internal/face/desk"
)

// Times after which a server is given up.
const (
	patience      = 5 * time.Second  // for one answer, or a connection
	countPatience = 10 * time.Second // for one answer that takes counting
	lookPatience  = 90 * time.Second // for all of looking around, in large mailboxes
)

// Wanted is what the owner said of the account. The zero value of a field means
// that it is to be found.
type Wanted struct {
	Address  string // the owner's e-mail address; required
	Server   string // host, or host:port
	TLS      imap.TLSMode
	TLSRoots *tls.Config // nil: the system's authorities
	Username string
	Auth     imap.AuthMechanism
	// Password gives the secret. Find does not need it.
	Password func(context.Context) (string, error)
}

// Server is the mail server of an account.
type Server struct {
	Address string       `json:"address"` // host:port
	TLS     imap.TLSMode `json:"tls"`     // tls, starttls or none
	How     string       `json:"how"`     // how the server was found, as in "found by its usual name"
}

// Resolver looks up names; *net.Resolver is one.
type Resolver interface {
	LookupSRV(ctx context.Context, service, proto, name string) (string, []*net.SRV, error)
}

// Finder finds servers and looks at them. The zero value asks the machine's
// resolver.
type Finder struct {
	Resolver Resolver
	Dial     func(ctx context.Context, network, address string) (net.Conn, error)
	// Trust is asked before a server is believed that the DNS names for the
	// owner's domain but that lies in another one (RFC 6186, section 6): whoever
	// forged the answer would get the password. nil trusts none.
	Trust func(host string) bool
	// Retry is asked before the password is tried with a second name, once the first
	// was refused: servers shut out whoever fails often. nil never tries it.
	Retry func(refused error, name string) bool
}

// ErrNoServer says that no mail server was found.
var ErrNoServer = errors.New("no mail server was found")

type candidate struct {
	Server
	foreign bool // the DNS says so, of another domain
}

// Find finds the owner's IMAP server: the one that was named, or the first that
// greets of those that SRV records name (RFC 6186), imap.DOMAIN, mail.DOMAIN and
// this very machine. Nothing secret is sent. ErrNoServer tells what was tried; a
// *CertificateError, that a server is there whose certificate is not accepted.
func (f *Finder) Find(ctx context.Context, w Wanted) (Server, error) {
	list, err := f.candidates(ctx, w)
	if err != nil {
		return Server{}, err
	}
	var tried []string
	var unaccepted error
	for _, c := range list {
		if c.foreign && (f.Trust == nil || !f.Trust(c.Address)) {
			tried = append(tried, fmt.Sprintf("%s: named by the DNS of %s, but of another domain, and not confirmed", c.Address, domainOf(w.Address)))
			continue
		}
		err := greets(ctx, f.options(c.Server, w))
		if err == nil {
			return c.Server, nil
		}
		if ctx.Err() != nil {
			return Server{}, ctx.Err()
		}
		if why := certificateError(c.Address, w, err); why != nil && unaccepted == nil {
			unaccepted = why
		}
		tried = append(tried, fmt.Sprintf("%s (%s): %s", c.Address, c.TLS, reason(err)))
	}
	if unaccepted != nil {
		return Server{}, unaccepted
	}
	return Server{}, fmt.Errorf("%w; tried\n  %s", ErrNoServer, strings.Join(tried, "\n  "))
}

func greets(ctx context.Context, o imap.Options) error {
	p, err := imap.Reach(ctx, o)
	if err != nil {
		return err
	}
	defer p.Close()
	offers, err := p.Mechanisms()
	if err == nil && len(offers) == 0 {
		err = errors.New("it takes no login this way")
	}
	return err
}

// options are those of a connection for looking around.
func (f *Finder) options(s Server, w Wanted) imap.Options {
	dial := f.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: patience}).DialContext
	}
	return imap.Options{
		Address: s.Address, TLS: s.TLS, TLSConfig: w.TLSRoots, Username: w.Username, Auth: w.Auth,
		Password: w.Password, CommandTimeout: patience, Dial: dial,
	}
}

func domainOf(address string) string { return address[strings.LastIndexByte(address, '@')+1:] }

// candidates lists where to look, the best first.
func (f *Finder) candidates(ctx context.Context, w Wanted) ([]candidate, error) {
	if w.Server != "" {
		return named(w)
	}
	domain := strings.TrimSuffix(domainOf(w.Address), ".")
	var list []candidate
	add := func(host string, port int, mode imap.TLSMode, how string, foreign bool) {
		list = append(list, candidate{Server{net.JoinHostPort(host, strconv.Itoa(port)), mode, how}, foreign})
	}
	resolver := f.Resolver
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	for _, service := range []struct {
		name string
		mode imap.TLSMode
	}{{"imaps", imap.TLSImplicit}, {"imap", imap.TLSStart}} {
		asking, cancel := context.WithTimeout(ctx, patience)
		_, records, err := resolver.LookupSRV(asking, service.name, "tcp", domain)
		cancel()
		if err != nil {
			continue // most domains have none
		}
		for _, r := range records {
			host := strings.TrimSuffix(r.Target, ".")
			if host == "" {
				continue // "." says that there is no such service
			}
			add(host, int(r.Port), service.mode, "from the SRV record of "+domain, !inside(host, domain))
		}
	}
	for _, mode := range []struct {
		mode imap.TLSMode
		port int
	}{{imap.TLSImplicit, 993}, {imap.TLSStart, 143}} {
		for _, host := range []string{"imap." + domain, "mail." + domain} {
			add(host, mode.port, mode.mode, "found by its usual name", false)
		}
	}
	for _, mode := range []struct {
		mode imap.TLSMode
		port int
	}{{imap.TLSImplicit, 993}, {imap.TLSStart, 143}, {imap.TLSNone, 143}} {
		add("localhost", mode.port, mode.mode, "on this machine", false)
	}
	if w.TLS == "" {
		return list, nil
	}
	var kept []candidate
	for _, c := range list {
		if c.TLS == w.TLS {
			kept = append(kept, c)
		}
	}
	return kept, nil
}

func inside(host, domain string) bool {
	host, domain = strings.ToLower(host), strings.ToLower(domain)
	return host == domain || strings.HasSuffix(host, "."+domain)
}

// named lists the ways to reach a server that was named. A password crosses the
// network in the clear only when that was asked for, or on this very machine.
func named(w Wanted) ([]candidate, error) {
	host, port, err := net.SplitHostPort(w.Server)
	if err != nil {
		host, port = strings.Trim(w.Server, "[]"), ""
	}
	if n, err := strconv.ParseUint(port, 10, 16); host == "" || strings.ContainsAny(host, "/ @") || port != "" && (err != nil || n == 0) {
		return nil, fmt.Errorf("%q is not a server, as in imap.example.org or imap.example.org:993", w.Server)
	}
	modes := []imap.TLSMode{imap.TLSImplicit, imap.TLSStart}
	if config.IsLoopback(host) && w.TLSRoots == nil {
		modes = append(modes, imap.TLSNone)
	}
	if w.TLS != "" {
		modes = []imap.TLSMode{w.TLS}
	}
	var list []candidate
	for _, mode := range modes {
		usual := "143"
		if mode == imap.TLSImplicit {
			usual = "993"
		}
		at := port
		switch {
		case at == "":
			at = usual
		case w.TLS == "" && at != usual && (at == "993" || at == "143"):
			continue // the port tells
		}
		list = append(list, candidate{Server: Server{net.JoinHostPort(host, at), mode, "as you asked"}})
	}
	return list, nil
}

// reason is the heart of an error, for a list of what was tried.
func reason(err error) string {
	var dns *net.DNSError
	var stage *imap.StageError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return "there is no such name"
	case errors.As(err, &stage):
		return stage.Error()
	}
	return err.Error()
}

// CertificateError says that a server is there whose certificate is not accepted, and
// what to do about it.
type CertificateError struct {
	Address string // host:port
	Hint    string // what is wrong and what to do, in sentences
	Err     error
}

// Error is the hint, and below it what verified the certificate said, in one line.
func (e *CertificateError) Error() string {
	detail, _, _ := strings.Cut(e.Err.Error(), "\n")
	return e.Hint + "\n  " + desk.OneLine(detail, mostShown)
}

// Unwrap returns Err.
func (e *CertificateError) Unwrap() error { return e.Err }

// certificateError returns what is to be said of a certificate that was not accepted; nil
// if err is another error.
func certificateError(address string, w Wanted, err error) error {
	var cert *tls.CertificateVerificationError
	if !errors.As(err, &cert) || len(cert.UnverifiedCertificates) == 0 {
		return nil
	}
	leaf := cert.UnverifiedCertificates[0]
	out := &CertificateError{Address: address, Err: cert.Err}
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	const own = "If the server is your own, name the file with %s with --ca-file; if not, somebody may stand in between."
	switch {
	case errors.As(cert.Err, &host):
		out.Hint = fmt.Sprintf("The certificate of %s is for %s. Name the server so, with --server.", address, nameOf(leaf))
	case errors.As(cert.Err, &invalid) && invalid.Reason == x509.Expired:
		out.Hint = fmt.Sprintf("The certificate of %s is good from %s to %s only. Have it renewed, or set this machine's clock.",
			address, leaf.NotBefore.UTC().Format(time.DateOnly), leaf.NotAfter.UTC().Format(time.DateOnly))
	case !errors.As(cert.Err, &unknown):
		out.Hint = fmt.Sprintf("The certificate of %s is not accepted.", address)
	case w.TLSRoots != nil:
		out.Hint = fmt.Sprintf("The certificate of %s was signed by %s, which is not in the --ca-file.", address, issuerOf(leaf))
	case bytes.Equal(leaf.RawIssuer, leaf.RawSubject):
		out.Hint = fmt.Sprintf("The certificate of %s is signed by itself (%s). "+own, address, issuerOf(leaf), "that certificate")
	default:
		out.Hint = fmt.Sprintf("The certificate of %s was signed by %s, which this machine doesn't trust. "+own, address, issuerOf(leaf), "that authority's certificate")
	}
	return out
}
