// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/alexedwards/scs/v2"
	"golang.org/x/net/netutil"

	"github.com/hinged/hinged/internal/face/desk"
)

const (
	// headPatience bounds reading a request's header, readPatience all of it, and
	// writePatience writing the answer. Whoever watches live has longer, and so has the API.
	headPatience  = 5 * time.Second
	readPatience  = time.Minute
	writePatience = time.Minute
	idlePatience  = 30 * time.Second
	// stopPatience bounds how long answers under way may take once the server stops.
	stopPatience = 5 * time.Second
	// maxHead bounds a request's header, in bytes, maxForm the body of a form.
	maxHead = 32 << 10
	maxForm = 64 << 10
	// maxConnections bounds how many connections are open at once; more wait. See also
	// maxStrangers.
	maxConnections = 1024
)

// Options are what a Server needs to know.
type Options struct {
	Listen string // host:port; port 0 chooses a free one
	// CertFile and KeyFile are the certificate and its key, read anew when they change;
	// "": plain HTTP.
	CertFile, KeyFile string
	// PublicURL is how browsers reach a reverse proxy in front of the server, as in
	// https://mail.example.org; "": there is none.
	PublicURL string
	// Session is for how long somebody stays signed in, and SessionIdle for how long
	// without a request. 0: 12 and 2 hours.
	Session, SessionIdle time.Duration
	// SessionFile is where sessions are kept over a restart; "": nowhere.
	SessionFile string
	// Users may sign in. None: Listen must be of the loopback interface. Where none has a
	// password, links sign in (Server.Link): their holders own all accounts.
	Users []User
	// Command is what prints a link (Server.Link), as the page to sign in shows it; "":
	// hinged dashboard.
	Command string

	Host    desk.Host
	Version string
	Log     *slog.Logger     // nil discards
	Now     func() time.Time // nil is time.Now

	// Several: there are several accounts, or may be, as with a stream.
	Several bool
	// Zone returns where an account's days begin; nil: in UTC.
	Zone func(account string) *time.Location
	// Owner returns the first address that the owner of an account writes from; nil: unknown.
	Owner func(account string) string

	// API answers below /api/, Metrics at /metrics, Healthz and Readyz there. nil: nothing
	// does. API must ask MayUse what the sender of a request may do. Metrics is for
	// operators. Healthz and Readyz are for everybody.
	API, Metrics, Healthz, Readyz http.Handler
}

// Server shows the accounts to browsers.
type Server struct {
	opts     Options
	log      *slog.Logger
	listener net.Listener
	http     *http.Server
	pages    *http.ServeMux
	sessions *scs.SessionManager
	store    *sessionStore
	origin   *http.CrossOriginProtection
	public   *url.URL // nil: no proxy
	// certificate is nil without TLS.
	certificate *certificate
	form        string // name of the cookie that forms are bound to before a login
	known       string // name of the cookie of a browser in which somebody has signed in
	users       map[string]*User
	links       links
	guard       *guard
	templates   templates
	hub         *hub
	notices     notices
	later       later
	served      chan error // how serving ended
	stopping    sync.Once
	ended       error // after stopping
}

// Listen opens the port on which Start then answers. The caller closes the Server.
func Listen(o Options) (*Server, error) {
	s := &Server{opts: o, log: o.Log, users: map[string]*User{}, links: links{kept: map[[sha256.Size]byte]*keptLink{}}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.opts.Now == nil {
		s.opts.Now = time.Now
	}
	s.links.now = s.opts.Now
	if s.opts.Zone == nil {
		s.opts.Zone = func(string) *time.Location { return time.UTC }
	}
	s.opts.Command = cmp.Or(o.Command, "hinged dashboard")
	if err := s.prepare(); err != nil {
		return nil, fmt.Errorf("dashboard: %w", err)
	}
	var err error
	if s.listener, err = new(net.ListenConfig).Listen(context.Background(), "tcp", o.Listen); err != nil {
		return nil, fmt.Errorf("dashboard: %w", err)
	}
	s.name()
	s.listener = &door{Listener: netutil.LimitListener(s.listener, maxConnections)}
	if o.CertFile != "" {
		c, err := newCertificate(o.CertFile, o.KeyFile, s.log)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("dashboard: %w", err), s.Close())
		}
		s.certificate = c
		s.listener = tls.NewListener(s.listener, &tls.Config{
			MinVersion: tls.VersionTLS12, GetCertificate: c.get, NextProtos: []string{"h2", "http/1.1"},
		})
	}
	if len(s.users) > 0 && !s.secure() && !loopback(o.Listen) {
		s.log.Warn("the dashboard's passwords cross the network unencrypted; set cert_file and key_file, or public_url", "listen", o.Listen)
	}
	return s, nil
}

// prepare checks the options and builds what answers.
func (s *Server) prepare() (err error) {
	if len(s.opts.Users) == 0 && (!loopback(s.opts.Listen) || s.opts.PublicURL != "") {
		return fmt.Errorf("%s is not an address of the loopback interface alone, so somebody must have to sign in: add a [[dashboard.user]]", s.opts.Listen)
	}
	if s.opts.PublicURL != "" {
		if s.public, err = url.Parse(s.opts.PublicURL); err != nil {
			return fmt.Errorf("public_url: %w", err)
		}
	}
	if err := CheckUsers(s.opts.Users); err != nil {
		return err
	}
	for i := range s.opts.Users {
		s.users[s.opts.Users[i].Name] = &s.opts.Users[i]
	}
	s.origin = http.NewCrossOriginProtection()
	if s.public != nil {
		if err := s.origin.AddTrustedOrigin(s.public.Scheme + "://" + s.public.Host); err != nil {
			return fmt.Errorf("public_url: %w", err)
		}
	}
	s.guard = newGuard(slices.Collect(s.passwords()), s.opts.Now)
	s.hub = newHub()
	s.routes()
	s.templates, err = parseTemplates()
	return err
}

// name gives the cookies names of their own. Cookies don't know of ports: without the port
// in its name, a demo beside the daemon would sign its owner out.
func (s *Server) name() {
	_, port, _ := net.SplitHostPort(s.listener.Addr().String())
	prefix := ""
	if s.secure() {
		prefix = "__Host-"
	}
	s.form, s.known = prefix+"hinged-form-"+port, prefix+"hinged-known-"+port
	s.store = openSessionStore(s.opts.SessionFile, s.log, s.opts.Now)
	s.sessions = newSessions(s, prefix+"hinged-"+port)
}

// secure reports whether browsers reach the server by HTTPS.
func (s *Server) secure() bool {
	return s.opts.CertFile != "" || s.public != nil && s.public.Scheme == "https"
}

// URL is where the server answers: the first page.
func (s *Server) URL() string {
	if s.public != nil {
		return s.public.Scheme + "://" + s.public.Host + "/"
	}
	scheme := "http"
	if s.opts.CertFile != "" {
		scheme = "https"
	}
	host, port, _ := net.SplitHostPort(s.listener.Addr().String())
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return scheme + "://" + net.JoinHostPort(host, port) + "/"
}

// Start answers until Stop. Browsers that watch live are hung up on when ctx is done; all
// else goes on. failed is called if the server can't go on.
func (s *Server) Start(ctx context.Context, failed func()) {
	s.served = make(chan error, 1)
	s.hub.start(ctx)
	s.http = &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: headPatience, ReadTimeout: readPatience,
		WriteTimeout: writePatience, IdleTimeout: idlePatience, MaxHeaderBytes: maxHead,
		ConnContext: withCaller, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	go func() {
		err := s.http.Serve(s.listener)
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		} else {
			failed()
		}
		s.served <- err
	}()
}

// Stop hangs up on browsers that watch live, waits for answers under way, for a while, and
// ends what Start began. It may be called again.
func (s *Server) Stop() error {
	s.stopping.Do(func() {
		s.hub.stop()
		ctx, done := context.WithTimeout(context.Background(), stopPatience)
		defer done()
		if err := s.http.Shutdown(ctx); err != nil {
			_ = s.http.Close() // hangs up on clients that send or read too slowly
		}
		s.ended = <-s.served
		s.store.save()
	})
	if s.ended != nil {
		return fmt.Errorf("dashboard: %w", s.ended)
	}
	return nil
}

// Close closes the port. Call it after Stop, or instead of Start.
func (s *Server) Close() error {
	if s.listener == nil {
		return nil
	}
	if err := s.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("dashboard: %w", err)
	}
	return nil
}

// Show tells the browsers that watch the account what was done. It never blocks and is safe
// for concurrent use.
func (s *Server) Show(d desk.Shown) { s.hub.show(d) }

func (s *Server) now() time.Time { return s.opts.Now() }

// loopback reports whether only this machine reaches an address to listen on.
func loopback(address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return false
	}
	return loopbackHost(host)
}
