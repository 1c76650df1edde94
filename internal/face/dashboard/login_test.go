// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// clocked is a server whose clock is set by hand.
func clocked(t *testing.T) (s *Server, forward func(time.Duration)) {
	t.Helper()
	now := time.Date(2026, 3, 12, 14, 30, 0, 0, time.UTC)
	s = serving(t, Options{Users: people(t), Now: func() time.Time { return now }})
	return s, func(d time.Duration) { now = now.Add(d) }
}

// try tries to sign in.
func (b *browser) try(name, password string) answer {
	b.t.Helper()
	return b.post("/login", url.Values{"csrf": {csrf(b.t, b.get("/login").body)}, "name": {name}, "password": {password}})
}

func TestAfterFiveWrongPasswordsAnAddressWaitsAsThatUser(t *testing.T) {
	t.Parallel()
	s, forward := clocked(t)
	b := browse(t, s)
	for i, want := range []string{
		"Name or password is wrong.</p>", "3 are left", "2 are left", "1 is left", "Wait a minute before the next try",
	} {
		got := b.try("ann", "wrong horse")
		if got.code != http.StatusForbidden || !strings.Contains(got.body, want) || !strings.Contains(got.body, `aria-invalid="true"`) || !strings.Contains(got.body, `value="ann"`) {
			t.Fatalf("try %d: got %d, want %q in\n%s", i+1, got.code, want, got.body)
		}
		if strings.Contains(got.body, "wrong horse") {
			t.Errorf("the password comes back:\n%s", got.body)
		}
	}
	got := b.try("ann", "correct horse")
	if got.code != http.StatusTooManyRequests || got.header.Get("Retry-After") != "61" || !strings.Contains(got.body, "Too many tries. Wait 61 seconds.") {
		t.Errorf("the right password after five wrong ones: %d, Retry-After %s\n%s", got.code, got.header.Get("Retry-After"), got.body)
	}
	// Behind one address there may be many: a proxy's, without public_url.
	if got := browse(t, s).try("op", "correct horse"); got.code != http.StatusSeeOther {
		t.Errorf("another name from the same address: %d", got.code)
	}
	forward(time.Minute - time.Second)
	if got := b.try("ann", "correct horse"); got.code != http.StatusTooManyRequests {
		t.Errorf("a second too early: %d", got.code)
	}
	forward(time.Second)
	if got := b.try("ann", "correct horse"); got.code != http.StatusSeeOther {
		t.Errorf("after a minute: %d\n%s", got.code, got.body)
	}
}

// Whoever has many addresses, or tries many names, is bounded, too, and an owner who signs in
// uses up nothing.
func TestTriesAreCountedByNameAndByAddressToo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what          string
		address, name string // with a number
	}{{"name", "192.0.2.%d", "ann"}, {"address", "192.0.2.1", "user%d"}} {
		g := newGuard(nil, time.Now)
		try := func(i int) (func(), time.Duration) {
			in := func(format string) string {
				return strings.ReplaceAll(format, "%d", strconv.Itoa(i))
			}
			return g.try(g.bounds("", in(c.address), in(c.name)))
		}
		for i := range 100 {
			back, wait := try(i)
			if wait > 0 {
				t.Fatalf("%s: a right password was counted", c.what)
			}
			back()
		}
		for i := range wideTries {
			if _, wait := try(i); wait > 0 {
				t.Fatalf("%s: try %d was refused", c.what, i+1)
			}
		}
		if _, wait := try(wideTries); wait <= 0 || wait > wideEvery {
			t.Errorf("%s: one more waits %v", c.what, wait)
		}
		if left := g.left(g.bounds("", "198.51.100.1", "bob")); left != narrowTries {
			t.Errorf("%s: that counted for somebody else: %d left", c.what, left)
		}
	}
}

// However often a name is tried, from anywhere, its owner gets in with a browser that has
// signed in before. That browser's tries are bounded, too.
func TestNobodyLocksOutABrowserThatHasSignedInBefore(t *testing.T) {
	t.Parallel()
	s, _ := clocked(t)
	b, other := browse(t, s), browse(t, s)
	b.signIn("ann", "correct horse", "/")
	b.leave("")
	other.signIn("op", "correct horse", "/")
	other.leave("")
	for range narrowTries {
		browse(t, s).try("ann", "wrong horse")
	}
	for i := range wideTries {
		s.guard.try(s.guard.bounds("", fmt.Sprint("192.0.2.", i), "ann"))
	}
	for name, refused := range map[string]*browser{"a new browser": browse(t, s), "that of another user": other} {
		if got := refused.try("ann", "correct horse"); got.code != http.StatusTooManyRequests {
			t.Errorf("%s: %d", name, got.code)
		}
	}
	b.signIn("ann", "correct horse", "/")
	b.leave("")
	for range narrowTries {
		if got := b.try("ann", "wrong horse"); got.code != http.StatusForbidden {
			t.Errorf("a wrong password: %d", got.code)
		}
	}
	if got := b.try("ann", "correct horse"); got.code != http.StatusTooManyRequests {
		t.Errorf("its sixth try: %d", got.code)
	}
	// A proof is of one browser, user and password.
	browser, hash := "ABC", s.users["ann"].PasswordHash
	good := browser + "." + familiarity(browser, "ann", hash)
	for name, c := range map[string]struct {
		cookie, user, hash string
		want               string
	}{
		"its own": {good, "ann", hash, browser}, "of another browser": {"X" + good, "ann", hash, ""}, "of another user": {good, "op", hash, ""},
		"of another password": {good, "ann", hash + "x", ""}, "of no user": {browser + "." + familiarity(browser, "ann", ""), "ann", "", ""}, "none": {browser, "ann", hash, ""},
	} {
		r := httptest.NewRequest(http.MethodPost, "/login", nil)
		r.AddCookie(&http.Cookie{Name: s.known, Value: c.cookie})
		if got := s.familiar(r, c.user, c.hash); got != c.want {
			t.Errorf("%s: taken for %q, want %q", name, got, c.want)
		}
	}
}

func TestWhoIsRememberedIsBounded(t *testing.T) {
	t.Parallel()
	l := newLimits(2, time.Minute)
	now := time.Now()
	for range 2 {
		l.take("the one who tries", now)
	}
	for i := range 2 * maxLimits {
		l.take(fmt.Sprint(i), now)
		if len(l.by) > maxLimits {
			t.Fatalf("%d are remembered", len(l.by))
		}
	}
	if left := l.left("the one who tries", now); left != 0 {
		t.Errorf("who tried most was forgotten: %d left", left)
	}
	for i := 0; len(l.by) < maxLimits; i++ {
		l.take(fmt.Sprint("until it is full ", i), now)
	}
	now = now.Add(time.Hour)
	l.take("one more", now)
	if len(l.by) != 1 {
		t.Errorf("%d are remembered after an hour", len(l.by))
	}
}

// An unknown name costs the same work as a known one, and is told in the same words.
func TestAnUnknownNameIsNotTold(t *testing.T) {
	t.Parallel()
	s, forward := clocked(t)
	b := browse(t, s)
	known := b.try("ann", "wrong horse")
	forward(time.Hour)
	for _, name := range []string{"nobody", "robot", ""} {
		got := b.try(name, "wrong horse")
		body := strings.Replace(got.body, fmt.Sprintf(`value="%s"`, name), `value="ann"`, 1)
		strip := func(page string) string { return csrfField.ReplaceAllString(page, "") }
		if got.code != known.code || strip(body) != strip(known.body) {
			t.Errorf("%q: %d\n%s", name, got.code, got.body)
		}
		forward(time.Hour)
	}
	g := newGuard([]string{people(t)[0].PasswordHash}, time.Now)
	want := "$argon2id$v=19$m=8192,t=1,p=1$"
	if !strings.HasPrefix(g.decoy, want) || CheckHash(g.decoy) != nil {
		t.Errorf("the hash of nobody is %s, want the work of %s", g.decoy, want)
	}
	if ok, err := g.matches(t.Context(), "", "", false); ok || err != nil {
		t.Errorf("nobody's password matches: %v %v", ok, err)
	}
}

func TestFewPasswordsAreHashedAtOnce(t *testing.T) {
	t.Parallel()
	g := newGuard(nil, time.Now)
	for range hashing + queueing {
		g.waiting <- struct{}{}
	}
	if _, err := g.matches(t.Context(), "x", "", false); !errors.Is(err, errBusy) {
		t.Errorf("one too many: %v", err)
	}
	for range hashing + queueing {
		<-g.waiting
	}
	for range hashing {
		g.hashing <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.matches(ctx, "x", "", false); !errors.Is(err, context.Canceled) {
		t.Errorf("whoever gave up: %v", err)
	}
	if len(g.waiting) != 0 {
		t.Error("whoever gave up still waits")
	}
}

func TestSigningInNeedsAFormOfOurs(t *testing.T) {
	t.Parallel()
	s, _ := clocked(t)
	b := browse(t, s)
	b.get("/login")
	got := b.post("/login", url.Values{"csrf": {"made up"}, "name": {"ann"}, "password": {"correct horse"}})
	if got.code != http.StatusForbidden || !strings.Contains(got.body, "This page was too old") {
		t.Errorf("got %d\n%s", got.code, got.body)
	}
	if got := b.post("/login", url.Values{"csrf": {csrf(t, b.get("/login").body)}, "name": {" ann "}, "password": {"correct horse"}, "next": {"https://example.org/"}}); got.to() != "/" {
		t.Errorf("led to %s", got.to())
	}
	if got := b.get("/login?next=/a/ann/figures"); got.code != http.StatusSeeOther || got.to() != "/a/ann/figures" {
		t.Errorf("whoever is signed in sees %d, led to %s", got.code, got.to())
	}
}

func TestSigningInBeginsANewSession(t *testing.T) {
	t.Parallel()
	s, _ := clocked(t)
	b := browse(t, s)
	session := func() string {
		u, _ := url.Parse(b.base)
		for _, c := range b.http.Jar.Cookies(u) {
			if c.Name == s.sessions.Cookie.Name {
				return c.Value
			}
		}
		return ""
	}
	b.signIn("ann", "correct horse", "/")
	first := session()
	b.leave("")
	if session() != "" {
		t.Error("the cookie is still there after signing out")
	}
	b.signIn("ann", "correct horse", "/")
	if first == "" || session() == "" || session() == first {
		t.Errorf("the sessions are %q and %q", first, session())
	}
	// The old one is of no use, not even to somebody who kept it.
	r, err := http.NewRequest(http.MethodGet, b.base+"/a/ann/figures", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(&http.Cookie{Name: s.sessions.Cookie.Name, Value: first})
	if got := browse(t, s).do(r); got.code != http.StatusSeeOther || !strings.Contains(got.to(), "why=expired") {
		t.Errorf("with the old session: %d to %s", got.code, got.to())
	}
}

// A request that was under way while its user signed out saves its session once more.
func TestASessionThatEndedDoesNotComeBack(t *testing.T) {
	t.Parallel()
	st := openSessionStore("", nil, time.Now)
	later := time.Now().Add(time.Hour)
	if err := errors.Join(st.Commit("a", []byte("1"), later), st.Delete("a"), st.Commit("a", []byte("1"), later)); err != nil {
		t.Fatal(err)
	}
	if _, found, _ := st.Find("a"); found {
		t.Error("it came back")
	}
}

func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Now()
	st := openSessionStore("", nil, func() time.Time { return now })
	for i := range maxSessions + 1 {
		if err := st.Commit(fmt.Sprint(i), []byte("1"), now.Add(time.Hour+time.Duration(i))); err != nil {
			t.Fatal(err)
		}
	}
	_, first, _ := st.Find("0")
	_, second, _ := st.Find("1")
	if len(st.kept) != maxSessions || first || !second {
		t.Errorf("%d sessions; the first is there: %t, the second: %t", len(st.kept), first, second)
	}
	now = now.Add(2 * time.Hour)
	if _, found, _ := st.Find("1"); found {
		t.Error("it has not expired")
	}
	if err := st.Commit("new", []byte("1"), now.Add(time.Hour)); err != nil || len(st.kept) != 1 {
		t.Errorf("%d sessions after the others expired: %v", len(st.kept), err)
	}
}

// The clock of sessions is that of the bubble.
func TestASessionEnds(t *testing.T) {
	for name, c := range map[string]struct {
		every time.Duration // between two requests
		ends  time.Duration // after which the next one is refused
	}{
		"after 2 hours without a request": {3 * time.Hour, 0},
		"after 12 hours in any case":      {time.Hour, 12 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := preparing(t, Options{Users: people(t)})
				h := s.handler()
				jar := map[string]*http.Cookie{}
				send := func(method, path string, form url.Values) *httptest.ResponseRecorder {
					r := httptest.NewRequest(method, "http://127.0.0.1"+path, strings.NewReader(form.Encode()))
					r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
					for _, cookie := range jar {
						r.AddCookie(cookie)
					}
					w := httptest.NewRecorder()
					h.ServeHTTP(w, r)
					for _, cookie := range w.Result().Cookies() {
						jar[cookie.Name] = cookie
					}
					return w
				}
				form := send(http.MethodGet, "/login", nil)
				if w := send(http.MethodPost, "/login", url.Values{"csrf": {csrf(t, form.Body.String())}, "name": {"ann"}, "password": {"correct horse"}}); w.Code != http.StatusSeeOther {
					t.Fatalf("signing in: %d", w.Code)
				}
				began := time.Now()
				for {
					time.Sleep(c.every)
					w := send(http.MethodGet, "/a/ann/figures", nil)
					if w.Code == http.StatusOK {
						if time.Since(began) >= 12*time.Hour {
							t.Fatalf("signed in for %v", time.Since(began))
						}
						continue
					}
					if got, want := w.Header().Get("Location"), "/login?next=%2Fa%2Fann%2Ffigures&why=expired"; w.Code != http.StatusSeeOther || got != want {
						t.Errorf("got %d to %s, want %s", w.Code, got, want)
					}
					if lasted := time.Since(began); lasted < c.ends {
						t.Errorf("it ended after %v", lasted)
					}
					break
				}
				// What was to be changed is not lost sight of.
				w := send(http.MethodPost, "/a/ann/do", url.Values{"back": {"/a/ann/messages?q=x"}})
				if got, want := w.Header().Get("Location"), "/login?next=%2Fa%2Fann%2Fmessages%3Fq%3Dx&why=unsaved"; got != want {
					t.Errorf("a change: to %s, want %s", got, want)
				}
				if page := send(http.MethodGet, w.Header().Get("Location"), nil).Body.String(); !strings.Contains(page, "Sign in again") || !strings.Contains(page, "the change was not made") || !strings.Contains(page, `name="next" value="/a/ann/messages?q=x"`) {
					t.Errorf("the page is\n%s", page)
				}
			})
		})
	}
}

func FuzzTheWayBackLeadsToThisServer(f *testing.F) {
	for _, seed := range []string{
		"/", "/a/ann/messages?q=x#m-7", "//example.org", "/\\example.org", "\\\\example.org", "https://example.org", "javascript:alert(1)", "/%2f/example.org", "/\t/example.org",
		"/\n/example.org", "/a//b", "///example.org", "/.//example.org", "/@example.org", "a/b", "", "/a\x00b", "/..//example.org", "/%5cexample.org", "/ /example.org", "/?//example.org", "/#//example.org",
	} {
		f.Add(seed)
	}
	base, err := url.Parse("https://hinged.example.net/a/ann/")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, to string) {
		got := local(to, "/fallback")
		if got == "" || got[0] != '/' || strings.HasPrefix(got, "//") || strings.ContainsAny(got, "\\\r\n\t\x00") {
			t.Fatalf("%q leads to %q", to, got)
		}
		u, err := base.Parse(got)
		if err != nil || u.Host != base.Host || u.Scheme != base.Scheme || u.User != nil {
			t.Fatalf("%q leads to %v (%v)", to, u, err)
		}
	})
}

// Whatever is sent, only the right name with the right password begins a session, and the
// answer is one of those that there are.
func FuzzSigningIn(f *testing.F) {
	f.Add("ann", "correct horse", "/", "own")
	f.Add("ann", "wrong", "//example.org", "own")
	f.Add("", "", "", "")
	f.Add("robot", "", "/\x00", "own")
	f.Add("ann\x00", "correct horse\x00", "/a", "made up")
	f.Add("ann", strings.Repeat("a", maxPassword+1), "/", "own")
	now := time.Now()
	s, err := Listen(Options{Listen: "127.0.0.1:0", Host: having("ann"), Now: func() time.Time { return now }, Users: []User{
		{Name: "ann", PasswordHash: quickHash(f, "correct horse"), Accounts: []string{"ann"}}, {Name: "robot", Token: "robot's token, which is long"},
	}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close() })
	h := s.handler()
	f.Fuzz(func(t *testing.T, name, password, next, proof string) {
		now = now.Add(time.Hour) // nobody waits
		cookie := &http.Cookie{Name: s.form, Value: strings.Repeat("A", bindingLength)}
		if proof == "own" {
			proof = formProof(cookie.Value)
		}
		form := url.Values{"name": {name}, "password": {password}, "next": {next}, "csrf": {proof}}
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/login", strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.AddCookie(cookie)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		in := false
		for _, c := range w.Result().Cookies() {
			in = in || c.Name == s.sessions.Cookie.Name && c.Value != ""
		}
		right := strings.TrimSpace(name) == "ann" && password == "correct horse" && proof == formProof(cookie.Value)
		if in != right || right != (w.Code == http.StatusSeeOther) {
			t.Fatalf("%q with %q: %d, signed in: %t", name, password, w.Code, in)
		}
		if !right && w.Code != http.StatusForbidden && w.Code != http.StatusRequestEntityTooLarge {
			t.Fatalf("%q with %q: %d", name, password, w.Code)
		}
		if to := w.Header().Get("Location"); to != "" && local(to, "") != to {
			t.Fatalf("led to %q", to)
		}
	})
}

func TestANewPasswordIsNeitherShortNorEndless(t *testing.T) {
	t.Parallel()
	for password, ok := range map[string]bool{
		"1234567": false, "12345678": true, "ééééééé": false, "éééééééé": true,
		strings.Repeat("a", maxPassword): true, strings.Repeat("a", maxPassword+1): false,
	} {
		if err := CheckPassword(password); (err == nil) != ok {
			t.Errorf("%d bytes: %v", len(password), err)
		}
	}
	hash, err := HashPassword("correct horse")
	if err != nil || CheckHash(hash) != nil || !strings.HasPrefix(hash, "$argon2id$v=19$m=65536,t=3,p=4$") {
		t.Errorf("got %s, %v, %v", hash, err, CheckHash(hash))
	}
}
