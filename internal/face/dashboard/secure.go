// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
)

// policy lets a page use what comes from the server itself, and nothing inline.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// handler is all of it: headers, then where the request comes from, then who sent it.
func (s *Server) handler() http.Handler {
	known := s.withSession(s.identify(http.HandlerFunc(s.serveKnown)))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.headers(w.Header())
		switch {
		case r.URL.Path == "/healthz":
			serve(w, r, s.opts.Healthz)
		case r.URL.Path == "/readyz":
			serve(w, r, s.opts.Readyz)
		case !s.expected(r):
			words := "This is hinged. It answers only where it is called by a name of this machine, as in " + s.URL()
			if len(s.users) > 0 {
				words += "\nIf that is the name that browsers are to use, say so with public_url in [dashboard]."
			}
			http.Error(w, words, http.StatusMisdirectedRequest)
		case s.origin.Check(r) != nil:
			http.Error(w, "Another site sent this request, so nothing was done.", http.StatusForbidden)
		case strings.HasPrefix(r.URL.Path, "/static/"):
			s.static(w, r)
		default:
			known.ServeHTTP(w, r)
		}
	})
}

func (s *Server) serveKnown(w http.ResponseWriter, r *http.Request) {
	v := viewerOf(r)
	switch {
	case strings.HasPrefix(r.URL.Path, "/api/"):
		s.serveMachine(w, r, s.opts.API, v.known())
	case r.URL.Path == "/metrics":
		// Without users the address is of this machine, and figures are no mail.
		s.serveMachine(w, r, s.opts.Metrics, v.operator() || len(s.users) == 0)
	default:
		s.pages.ServeHTTP(w, r)
	}
}

// serve has h answer; nil: there is nothing.
func serve(w http.ResponseWriter, r *http.Request, h http.Handler) {
	if h == nil {
		h = http.NotFoundHandler()
	}
	h.ServeHTTP(w, r)
}

// headers are those of every answer. A page may have others for caching.
func (s *Server) headers(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY") // of browsers that don't know frame-ancestors
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("Cache-Control", "no-store")
	if s.secure() {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// expected reports whether a request may be answered, by the host that it names. A site of
// somebody else could lead its own name here (DNS rebinding), and so have its visitor's
// browser read what needs no session, or try passwords from within the network. Without
// users only this machine reaches the address. With some, every address is fit, for it is no
// name, and so is a name that nobody can register, or is ours by the configuration. Whoever
// has a token is no such browser.
func (s *Server) expected(r *http.Request) bool {
	host := strings.ToLower(strings.TrimSuffix(bare(r.Host), "."))
	if loopbackHost(host) {
		return true
	}
	if len(s.users) == 0 {
		return false
	}
	if _, err := netip.ParseAddr(host); err == nil || !strings.Contains(host, ".") {
		return true
	}
	for _, private := range []string{".local", ".internal", ".home.arpa"} { // RFC 6762, ICANN, RFC 8375
		if strings.HasSuffix(host, private) {
			return true
		}
	}
	if s.public != nil && strings.EqualFold(host, s.public.Hostname()) || strings.EqualFold(host, bare(s.opts.Listen)) {
		return true
	}
	if name, err := os.Hostname(); err == nil && strings.EqualFold(host, name) {
		return true
	}
	token, _ := bearer(r)
	return s.certificate.names(host) || s.holder(token) != nil
}

// bare is the host of host[:port].
func bare(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// loopbackHost reports whether a host is this machine, reached by itself. Names below
// localhost are (RFC 6761, section 6.3).
func loopbackHost(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// client is the address that a request comes from, as far as it can be known: that of the
// proxy's client if there is a proxy. Somebody with an IPv6 address has the whole /64.
func (s *Server) client(r *http.Request) string {
	host := bare(r.RemoteAddr)
	if s.public != nil {
		// The proxy appends whom it talks to; what stands before may be made up.
		all := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		if last := strings.TrimSpace(all[len(all)-1]); last != "" {
			host = bare(last)
		}
	}
	return network(host)
}

// network is who is behind an address, "?" if it is none.
func network(host string) string {
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return "?"
	}
	if ip = ip.Unmap().WithZone(""); ip.Is6() {
		if p, err := ip.Prefix(64); err == nil {
			return p.String()
		}
	}
	return ip.String()
}

// formProof is what a form must carry: it proves that the form came from a page that this
// browser got. bound is what the browser has as a cookie, which is secret: nobody else can
// make it, and a form outlives a restart.
func formProof(bound string) string {
	mac := hmac.New(sha256.New, []byte(bound))
	mac.Write([]byte("a form of hinged"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

// binding returns what forms are bound to: the session, or else a cookie, which is made
// where there is none.
func (s *Server) binding(w http.ResponseWriter, r *http.Request) string {
	if v := viewerOf(r); v.session != "" {
		return v.session
	}
	if c, err := r.Cookie(s.form); err == nil && len(c.Value) == bindingLength {
		return c.Value
	}
	value := rand.Text()
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure wherever there is TLS
		Name: s.form, Value: value, Path: "/", HttpOnly: true, Secure: s.secure(), SameSite: http.SameSiteLaxMode,
	})
	return value
}

// bindingLength is how long the cookie of binding is (rand.Text).
const bindingLength = 26

// proven reports whether r, a form, came from a page of ours.
func (s *Server) proven(w http.ResponseWriter, r *http.Request) bool {
	return hmac.Equal([]byte(r.PostFormValue("csrf")), []byte(formProof(s.binding(w, r))))
}
