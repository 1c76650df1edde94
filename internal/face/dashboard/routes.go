// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
)

// action is a page or a change. What it returns as an error is shown as a page of its own.
type action func(w http.ResponseWriter, r *http.Request, p *page) error

// routes is the one table of pages and changes. What s.page shows, operators see, too: it
// shows words only where p.owns(p.Account). What s.own shows and s.change does is for the
// owner of the account.
func (s *Server) routes() {
	s.pages = http.NewServeMux()
	s.pages.HandleFunc("/", s.nowhere)
	s.pages.HandleFunc("GET /login", s.login)
	s.pages.HandleFunc("POST /login", s.signIn)
	s.pages.HandleFunc("GET /link/{secret}", s.openLink)
	s.pages.HandleFunc("POST /link", s.pasteLink)
	s.change("POST /sign-out", s.signOut)
	s.page("GET /{$}", s.accounts)
	s.page("GET /a/{account}/{$}", s.overview)
	s.page("GET /a/{account}/live", s.live)
	s.own("GET /a/{account}/messages", s.messages)
	s.own("GET /a/{account}/messages/{key}", s.message)
	s.change("POST /a/{account}/messages/{key}/feedback", s.feedback)
	s.own("GET /a/{account}/ask", s.questionsPage)
	s.change("POST /a/{account}/ask/{key}", s.answerQuestion)
	s.own("GET /a/{account}/owed", s.owed)
	s.change("POST /a/{account}/owed/{key}", s.owedDone)
	s.own("GET /a/{account}/words", s.words)
	s.own("GET /a/{account}/ledger", s.ledger)
	s.own("GET /a/{account}/ledger/undo", s.undo)
	s.change("POST /a/{account}/ledger/undo", s.undoNow)
	s.own("GET /a/{account}/whatif", s.whatIf)
	s.change("POST /a/{account}/whatif", s.startWhatIf)
	s.change("POST /a/{account}/whatif/stop", s.stopWhatIf)
	s.change("POST /a/{account}/pause", s.pause)
	s.change("POST /a/{account}/resume", s.resume)
}

// page adds a page for whoever may see the account of its path, or, without one, for
// everybody who is signed in.
func (s *Server) page(pattern string, show action) {
	s.pages.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, show, (*page).mayLook) })
}

// own adds a page for the owner of the account of its path.
func (s *Server) own(pattern string, show action) {
	s.pages.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, show, (*page).mayChange) })
}

// change adds what a form asks for: a change to the owner's account of the path. It ends in
// back.
func (s *Server) change(pattern string, do action) {
	s.pages.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		s.serve(w, r, func(w http.ResponseWriter, r *http.Request, p *page) error {
			if err := r.ParseForm(); err != nil {
				return errors.Join(errOldForm, err)
			}
			if !s.proven(w, r) {
				return errOldForm
			}
			return do(w, r, p)
		}, (*page).mayChange)
	})
}

// Errors of a request.
var (
	errNotFound = errors.New("not found")
	errNotYours = errors.New("not yours")
	errOldForm  = errors.New("an old form")
)

// mayLook is nil if the page's viewer may see it.
func (p *page) mayLook() error {
	if p.Account != "" && !p.may(p.Account) {
		return errNotFound
	}
	return nil
}

// mayChange is nil if the page's viewer may change what it is about.
func (p *page) mayChange() error {
	if err := p.mayLook(); err != nil {
		return err
	}
	if p.Account != "" && !p.owns(p.Account) {
		return errNotYours
	}
	return nil
}

// serve has an action answer if its viewer may ask for it.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, do action, may func(*page) error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	v := viewerOf(r)
	p := page{viewer: v, Account: r.PathValue("account"), path: r.URL.Path, reload: r.Header.Get("X-Live") != "", now: s.now(), zone: time.UTC}
	if !p.known() || v.session == "" { // a token is for programs
		s.toLogin(w, r)
		return
	}
	p.CSRF = formProof(s.binding(w, r))
	err := may(&p)
	if err == nil && p.Account != "" {
		err = s.know(r, &p)
	}
	if err == nil {
		err = s.guarded(func() error { return do(w, r, &p) })
	}
	if err != nil {
		s.fail(w, r, &p, err)
	}
}

// errPanic is what a panic becomes: what shows the mail must not end what marks it.
var errPanic = errors.New("something is wrong with the program; its log says more")

// guarded turns a panic of do into errPanic.
func (s *Server) guarded(do func() error) (err error) {
	defer func() {
		p := recover()
		if p == http.ErrAbortHandler { //nolint:errorlint,err113 // what is recovered is no error yet
			panic(p)
		}
		if p != nil {
			s.log.Error("the dashboard panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = errPanic
		}
	}()
	return do()
}

// know finds out what every page of an account shows of it.
func (s *Server) know(r *http.Request, p *page) error {
	p.zone = s.opts.Zone(p.Account)
	if s.opts.Owner != nil {
		p.Owner = s.opts.Owner(p.Account)
	}
	p.Several = p.operator() && s.opts.Several || p.user != nil && len(p.user.Accounts) > 1
	p.Since = s.hub.position(p.Account)
	if r.Method == http.MethodPost {
		return nil // it leads to another page
	}
	return s.look(r.Context(), p)
}

// look finds out what the frame of a page shows of its account.
func (s *Server) look(ctx context.Context, p *page) error {
	a, err := desk.GetAccount.Do(ctx, s.opts.Host, p.Account, desk.None{})
	if err != nil {
		return err
	}
	p.Status = &a
	if p.owns(p.Account) {
		p.Asking = max(0, min(a.Questions-len(s.later.of(p)), desk.MostInvited))
	}
	return nil
}

func pathOf(account string) string { return "/a/" + url.PathEscape(account) + "/" }

func (s *Server) nowhere(w http.ResponseWriter, r *http.Request) {
	s.serve(w, r, func(http.ResponseWriter, *http.Request, *page) error { return errNotFound }, (*page).mayLook)
}

// back ends a change: the browser gets the page to, with what is at the row. to comes from a
// form and may be anything; what is no path of ours is replaced by fallback.
func back(w http.ResponseWriter, r *http.Request, to, fallback string) error {
	http.Redirect(w, r, local(to, fallback), http.StatusSeeOther) //nolint:gosec // local lets no other host through
	return nil
}

// local returns to if it is a path on this server, else fallback. A browser takes // and /\
// at its beginning for another host, and reads \ as / anywhere. Encoded, as in the name of an
// account, \ is a letter like others; only at the beginning it is refused all the same, in case
// something on the way decodes it.
func local(to, fallback string) string {
	if len(to) > 2048 || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\\") ||
		strings.ContainsFunc(to, func(r rune) bool { return r <= ' ' || r >= 0x7f && r < 0xa0 }) {
		return fallback
	}
	u, err := url.Parse(to)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || u.Opaque != "" || strings.HasPrefix(u.Path, "//") || strings.HasPrefix(u.Path, `/\`) {
		return fallback
	}
	return u.String()
}

type fault struct {
	Title, What, Do string
	Link, LinkText  string
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, p *page, err error) {
	if errors.Is(err, context.Canceled) || r.Context().Err() != nil {
		return // nobody reads it
	}
	f := fault{Link: pathOf(p.Account), LinkText: "Overview"}
	if p.Account == "" || errors.Is(err, errNotFound) || errors.Is(err, desk.ErrNoAccount) {
		f.Link, f.LinkText = "/", "Start"
	}
	_, code := desk.KindOf(err)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.Is(err, desk.ErrNoMessage):
		f.Title, f.What = "There is no such message", "hinged doesn’t know it, or has forgotten it."
	case errors.Is(err, errNotFound), code == http.StatusNotFound:
		code, f.Title, f.What = http.StatusNotFound, "There is no such page", "The address is wrong, or what it showed is gone."
	case errors.Is(err, errNotYours):
		code, f.Title, f.What = http.StatusForbidden, "This is for its owner", "You see the figures of this account; its mail is shown to its owner only."
	case errors.As(err, &tooLarge):
		code, f.Title, f.What = http.StatusRequestEntityTooLarge, "That was too much", "Nothing was changed."
	case errors.Is(err, errOldForm):
		code, f.Title, f.What = http.StatusForbidden, "This page was too old", "Nothing was changed."
		f.Do = "Open the page again and repeat what you did."
	case code == http.StatusConflict:
		f.Title, f.What = "This can’t be done now", err.Error()
	default:
		s.log.Error("a page could not be shown", "path", r.Pattern, "error", err)
		f.Title, f.What, f.Do = "This page can’t be shown now", "Your mail is not affected.", "Try again in a moment. The log of hinged says more."
		if p.Account != "" && p.owns(p.Account) {
			f.Do = "Try again in a moment. hinged says: " + err.Error()
		}
	}
	p.Title = f.Title
	w.WriteHeader(code)
	if err := s.render(w, r, p, "error", f); err != nil {
		s.log.Error("the page of an error could not be shown", "error", err)
	}
}
