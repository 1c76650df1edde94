// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/alexedwards/argon2id"

	"github.com/hinged/hinged/internal/face/desk"
)

// fakeHost has accounts that are there, and nothing in them.
type fakeHost struct {
	desk.Host
	names []string
}

// having is a host with accounts of these names.
func having(names ...string) fakeHost { return fakeHost{names: names} }

func (h fakeHost) Account(_ context.Context, name string) (desk.Account, error) {
	if _, err := desk.Pick(h.names, name); err != nil {
		return nil, err
	}
	return fakeAccount{name: name}, nil
}

func (h fakeHost) Status(context.Context) (out desk.Status, _ error) {
	for _, name := range h.names {
		out.Accounts = append(out.Accounts, statusOf(name))
	}
	return out, nil
}

func (fakeAccount) Look(context.Context, func(*desk.Desk) error) error {
	return errors.New("nothing to look at")
}

type fakeAccount struct {
	desk.Account
	name string
}

func (a fakeAccount) Status(context.Context) (desk.AccountStatus, error) {
	return statusOf(a.name), nil
}

// statusOf is that of an account; of one with sick in its name the mail server is away.
func statusOf(name string) desk.AccountStatus {
	a := desk.AccountStatus{Account: name, Connected: !strings.Contains(name, "sick")}
	if !a.Connected {
		a.Problem = "connection refused"
	}
	return a
}

// quickHash hashes a password with as little work as is allowed.
func quickHash(t testing.TB, password string) string {
	t.Helper()
	hash, err := argon2id.CreateHash(password, &argon2id.Params{Memory: minMemory, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 16})
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// serving starts a Server on a free port, until the test ends.
func serving(t *testing.T, o Options) *Server {
	t.Helper()
	s := preparing(t, o)
	starting(t, s)
	return s
}

// preparing makes a Server with pages of three kinds of their own.
func preparing(t *testing.T, o Options) *Server {
	t.Helper()
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.Host == nil {
		o.Host = having("ann", "bob")
	}
	s, err := Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	show := func(w http.ResponseWriter, _ *http.Request, p *page) error {
		fmt.Fprintf(w, `%s own %t name="csrf" value="%s"`, p.Account, p.Own(), p.CSRF)
		return nil
	}
	s.page("GET /a/{account}/figures", show)
	s.own("GET /a/{account}/mail", show)
	s.change("POST /a/{account}/do", func(w http.ResponseWriter, r *http.Request, p *page) error {
		return back(w, r, r.PostFormValue("back"), pathOf(p.Account))
	})
	return s
}

// starting starts s until the test ends.
func starting(t *testing.T, s *Server) {
	t.Helper()
	s.Start(t.Context(), func() { t.Error("the server can't go on") })
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
}

// browser keeps cookies and follows no redirect.
type browser struct {
	t    *testing.T
	base string
	http *http.Client
}

// browse returns a browser that a link has signed in if there are no users.
func browse(t *testing.T, s *Server) *browser {
	t.Helper()
	b := stranger(t, s)
	if len(s.users) == 0 {
		b.open(s.Link().URL)
	}
	return b
}

// open opens a link of the server's, whose certificate nobody signed.
func (b *browser) open(link string) {
	b.t.Helper()
	b.http.Transport.(*http.Transport).TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	if got := b.get(strings.TrimPrefix(link, b.base)); got.code != http.StatusSeeOther || got.to() != "/" {
		b.t.Fatalf("the link leads to %s: %d\n%s", got.to(), got.code, got.body)
	}
}

// stranger returns a browser that is not signed in.
func stranger(t *testing.T, s *Server) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	tr := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(tr.CloseIdleConnections)
	return &browser{t, strings.TrimSuffix(s.URL(), "/"), &http.Client{
		Jar: jar, Transport: tr,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// answer is what came back.
type answer struct {
	code   int
	header http.Header
	body   string
}

// to is where a redirect leads.
func (a answer) to() string { return a.header.Get("Location") }

// do sends a request and reads the answer.
func (b *browser) do(r *http.Request) answer {
	b.t.Helper()
	resp, err := b.http.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(body)}
}

func (b *browser) get(path string) answer {
	b.t.Helper()
	r, err := http.NewRequest(http.MethodGet, b.base+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.do(r)
}

func (b *browser) post(path string, form url.Values) answer {
	b.t.Helper()
	r, err := http.NewRequest(http.MethodPost, b.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return b.do(r)
}

var csrfField = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// csrf takes the proof out of a page.
func csrf(t *testing.T, page string) string {
	t.Helper()
	m := csrfField.FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("no field csrf in %s", page)
	}
	return m[1]
}

// signIn signs in and expects to be led on.
func (b *browser) signIn(name, password, next string) (led string) {
	b.t.Helper()
	page := b.get("/login?next=" + url.QueryEscape(next))
	got := b.post("/login", url.Values{"csrf": {csrf(b.t, page.body)}, "name": {name}, "password": {password}, "next": {next}})
	if got.code != http.StatusSeeOther {
		b.t.Fatalf("signing in as %s: %d\n%s", name, got.code, got.body)
	}
	return got.to()
}

// leave signs out.
func (b *browser) leave(everywhere string) answer {
	b.t.Helper()
	return b.post("/sign-out", url.Values{"csrf": {csrf(b.t, b.get("/a/ann/figures").body)}, "everywhere": {everywhere}})
}
