// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// maxName is how much of a name that somebody gives is read, in bytes. That of a user is
// shorter.
const maxName = 256

type loginView struct {
	Host, Name, Next  string
	Problem           string
	Expired, Unsaved  bool // the session has ended; what was to be changed was not
	ByLink            bool // no user has a password
	Session, Patience string
	Command, LinkLife string // what prints a link, and for how long that is good
}

// toLogin leads somebody who is not signed in to the page for that, and from there back.
func (s *Server) toLogin(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		http.Error(w, "Sign in again.", http.StatusUnauthorized)
		return
	}
	q := url.Values{}
	next := r.URL.RequestURI()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		// The page that the form was on; without one, that of the account.
		fallback := "/"
		if account := r.PathValue("account"); account != "" {
			fallback = pathOf(account)
		}
		next = local(r.PostFormValue("back"), fallback)
		q.Set("why", "unsaved")
	} else if s.hadSession(r) {
		q.Set("why", "expired")
	}
	if next = local(next, "/"); next != "/" && next != "/sign-out" {
		q.Set("next", next)
	}
	to := "/login"
	if len(q) > 0 {
		to += "?" + q.Encode()
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	next := r.URL.Query().Get("next")
	if viewerOf(r).session != "" {
		_ = back(w, r, next, "/")
		return
	}
	view := loginView{Next: local(next, "/")}
	switch r.URL.Query().Get("why") {
	case "expired":
		view.Expired = true
	case "unsaved":
		view.Expired, view.Unsaved = true, true
	}
	s.showLogin(w, r, http.StatusOK, view)
}

func (s *Server) showLogin(w http.ResponseWriter, r *http.Request, code int, view loginView) {
	p := &page{Title: "Sign in", CSRF: formProof(s.binding(w, r))}
	view.Host, view.ByLink, view.Command, view.LinkLife = bare(r.Host), s.byLink(), s.opts.Command, span(linkLife)
	view.Session, view.Patience = span(s.sessions.Lifetime), span(s.sessions.IdleTimeout)
	w.WriteHeader(code)
	if err := s.render(w, r, p, "login", view); err != nil {
		s.log.Error("the page to sign in could not be shown", "error", err)
	}
}

func (s *Server) signIn(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	name := strings.TrimSpace(r.PostFormValue("name"))
	name = name[:min(len(name), maxName)] // who tries is remembered by it
	view := loginView{Name: name, Next: local(r.PostFormValue("next"), "/")}
	if !s.proven(w, r) {
		view.Problem = "This page was too old. Try again."
		s.showLogin(w, r, http.StatusForbidden, view)
		return
	}
	address, u, hash := s.client(r), s.users[name], ""
	if u != nil {
		hash = u.PasswordHash
	}
	browser := s.familiar(r, name, hash)
	bounds := s.guard.bounds(browser, address, name)
	taken, wait := s.guard.try(bounds)
	if wait > 0 {
		w.Header().Set("Retry-After", retryIn(wait))
		view.Problem = fmt.Sprintf("Too many tries. Wait %s.", span(wait.Round(time.Second)+time.Second))
		s.showLogin(w, r, http.StatusTooManyRequests, view)
		return
	}
	right, err := false, error(nil)
	if password := r.PostFormValue("password"); len(password) <= maxPassword {
		right, err = s.guard.matches(r.Context(), password, hash, browser != "")
	}
	switch {
	case err != nil:
		taken()
		if !errors.Is(err, errBusy) {
			s.log.Error("a password could not be checked", "error", err)
		}
		w.Header().Set("Retry-After", "2")
		view.Problem = "Too many people sign in at this moment. Try again."
		s.showLogin(w, r, http.StatusServiceUnavailable, view)
	case !right:
		s.log.Warn("somebody gave a wrong name or password", "client", address)
		view.Problem = "Name or password is wrong."
		if left := s.guard.left(bounds); left == 0 {
			view.Problem += " Wait a minute before the next try."
		} else if left < narrowTries-1 {
			view.Problem += fmt.Sprintf(" After %d tries you wait a minute; %s.", narrowTries, map[bool]string{true: "1 is left", false: fmt.Sprintf("%d are left", left)}[left == 1])
		}
		s.showLogin(w, r, http.StatusForbidden, view)
	default:
		taken()
		if err := s.begin(r, u); err != nil {
			s.log.Error("a session could not begin", "error", err)
			http.Error(w, "Something went wrong. Try again.", http.StatusInternalServerError)
			return
		}
		if browser == "" {
			s.remember(w, name, hash)
		}
		_ = back(w, r, view.Next, "/")
	}
}

// familiar returns which browser sends r, if the user signed in there with the password of
// hash; "" if not. The cookie of remember proves it: without hash, which is secret, nobody
// can make one.
func (s *Server) familiar(r *http.Request, name, hash string) string {
	c, err := r.Cookie(s.known)
	if err != nil || hash == "" {
		return ""
	}
	browser, proof, _ := strings.Cut(c.Value, ".")
	if !hmac.Equal([]byte(proof), []byte(familiarity(browser, name, hash))) {
		return ""
	}
	return browser
}

// remember has the browser prove from now on that the user signed in there.
func (s *Server) remember(w http.ResponseWriter, name, hash string) {
	browser := rand.Text()
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure wherever there is TLS
		Name: s.known, Value: browser + "." + familiarity(browser, name, hash), Path: "/", MaxAge: int(familiarFor.Seconds()),
		HttpOnly: true, Secure: s.secure(), SameSite: http.SameSiteStrictMode,
	})
}

// familiarFor is how long a browser is remembered: as long as browsers keep a cookie.
const familiarFor = 400 * 24 * time.Hour

// familiarity is what proves that a user signed in with a browser.
func familiarity(browser, name, hash string) string {
	mac := hmac.New(sha256.New, []byte(hash))
	fmt.Fprintf(mac, "browser %q of %q", browser, name)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// begin begins a session under a new token: that of a user or, nil, of a link.
func (s *Server) begin(r *http.Request, u *User) error {
	ctx := r.Context()
	if err := s.sessions.RenewToken(ctx); err != nil {
		return err
	}
	name := ""
	if u != nil {
		name = u.Name
		s.sessions.Put(ctx, keyProof, u.proof(s.sessions.Token(ctx)))
	}
	s.sessions.Put(ctx, keyUser, name)
	s.sessions.Put(ctx, keyLink, u == nil)
	s.sessions.Put(ctx, keyEra, s.store.era(name))
	welcome(r)
	return nil
}

// signOut ends the session, or with everywhere all of the user's.
func (s *Server) signOut(w http.ResponseWriter, r *http.Request, p *page) error {
	ended := func(of viewer) bool { return of.session == p.session }
	if r.PostFormValue("everywhere") != "" {
		s.store.endAll(p.name())
		ended = func(of viewer) bool { return of.user == p.user }
	}
	if err := s.sessions.Destroy(r.Context()); err != nil {
		return err
	}
	s.hub.hangUp(ended)
	return back(w, r, "/login", "/login")
}

func span(d time.Duration) string {
	n, unit := d.Seconds(), "second"
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		n, unit = d.Hours(), "hour"
	case d >= 2*time.Minute || d == time.Minute:
		n, unit = d.Minutes(), "minute"
	}
	if int(n) != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s", int(n), unit)
}
