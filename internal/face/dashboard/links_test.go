// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
)

// Somebody else with a login on this machine reaches the port, too.
func TestWithoutUsersNobodyGetsInWithoutALink(t *testing.T) {
	t.Parallel()
	s := serving(t, Options{API: who, Metrics: who, Healthz: who})
	b := stranger(t, s)
	for path, want := range map[string]int{
		"/": 303, "/a/ann/": 303, "/a/ann/figures": 303, "/a/ann/mail": 303, "/a/nobody/": 303, "/a/ann/live": 303,
		"/api/v1/status": 401, "/login": 200, "/metrics": 200, "/healthz": 200, "/static/hinged.css": 200,
	} {
		got := b.get(path)
		if got.code != want || want == 303 && !strings.HasPrefix(got.to(), "/login") {
			t.Errorf("%s: %d to %s, want %d", path, got.code, got.to(), want)
		}
	}
	form := url.Values{"csrf": {csrf(t, b.get("/login").body)}, "name": {"ann"}, "password": {""}}
	if got := b.post("/login", form); got.code != http.StatusForbidden {
		t.Errorf("a name: %d", got.code)
	}
	if got := b.post("/a/ann/do", form); got.code != http.StatusSeeOther || !strings.HasPrefix(got.to(), "/login") {
		t.Errorf("a change: %d to %s", got.code, got.to())
	}
	r, err := http.NewRequest(http.MethodGet, b.base+"/api/v1/status", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer ")
	if got := b.do(r); got.code != http.StatusUnauthorized {
		t.Errorf("an empty token: %d", got.code)
	}
	b.open(s.Link().URL)
	for path, want := range map[string]int{"/": 200, "/a/ann/figures": 200, "/a/bob/mail": 200, "/a/nobody/": 404, "/api/v1/status": 200} {
		if got := b.get(path); got.code != want {
			t.Errorf("with a link, %s: %d to %s, want %d", path, got.code, got.to(), want)
		}
	}
	if got := b.get("/api/v1/status").body; got != "ann true bob true all true" {
		t.Errorf("with a link: %s", got)
	}
	if got := b.get("/login"); got.to() != "/" {
		t.Errorf("who is signed in is asked again: %d", got.code)
	}
}

func TestALinkOpensOnceAndForTenMinutes(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	now.Store(time.Now().UnixNano())
	var said testkit.Transcript
	s := serving(t, Options{Now: func() time.Time { return time.Unix(0, now.Load()) }, Log: slog.New(slog.NewTextHandler(&said, nil))})
	path := func(link string) string { return "/" + strings.TrimPrefix(link, s.URL()) }
	old, last, used, kept := s.Link(), s.Link(), s.Link(), s.Link()
	if got := old.ValidUntil.Sub(time.Unix(0, now.Load())); got != 10*time.Minute {
		t.Errorf("it is good for %v", got)
	}
	first := stranger(t, s)
	if r, err := http.NewRequest(http.MethodHead, used.URL, nil); err != nil {
		t.Fatal(err)
	} else if got := first.do(r); got.code != http.StatusOK || got.header.Get("Set-Cookie") != "" {
		t.Errorf("HEAD: %d %v", got.code, got.header)
	}
	first.open(used.URL)
	if got := first.get(path(used.URL)); got.to() != "/" {
		t.Errorf("the browser that it signed in loads it anew: %d", got.code)
	}
	refused := func(what, link, want string) {
		t.Helper()
		b := stranger(t, s)
		got := b.get(link)
		if got.code != http.StatusForbidden || !strings.Contains(got.body, want) || !strings.Contains(got.body, "<code>hinged dashboard</code>") {
			t.Errorf("%s: %d\n%s", what, got.code, got.body)
		}
		if got := b.get("/a/ann/mail"); got.code != http.StatusSeeOther {
			t.Errorf("%s signs in: %d", what, got.code)
		}
	}
	refused("used", path(used.URL), "was used already")
	refused("unknown", "/link/ABCDEFGHIJKLMNOPQRSTUVWXYZ", "doesn’t know this link")
	refused("cut", path(kept.URL[:len(kept.URL)-1]), "doesn’t know this link")
	now.Add(int64(10 * time.Minute))
	stranger(t, s).open(last.URL)
	now.Add(1)
	refused("old", path(old.URL), "is too old")
	now.Add(int64(2 * linkMemory))
	s.Link()
	refused("long ago", path(old.URL), "doesn’t know this link")
	if !said.Has("had been used was opened again") {
		t.Errorf("the log says nothing of the link that was opened twice:\n%s", said.String())
	}
	for _, link := range []string{old.URL, last.URL, used.URL, kept.URL} {
		if said.Has(link[len(link)-26:]) {
			t.Error("the log has a link")
		}
	}
	// What it signed in has not ended meanwhile.
	if got := first.get("/a/ann/mail"); got.code != http.StatusOK {
		t.Errorf("after two hours: %d", got.code)
	}
}

func TestOneOfManyWhoOpenALinkAtOnceGetsIn(t *testing.T) {
	t.Parallel()
	s := serving(t, Options{})
	secret := strings.TrimPrefix(s.Link().URL, s.URL()+"link/")
	var in atomic.Int32
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			if s.links.use(secret) == linkGood {
				in.Add(1)
			}
		})
	}
	all.Wait()
	if in.Load() != 1 {
		t.Errorf("%d got in", in.Load())
	}
}

func TestALinkCanBePasted(t *testing.T) {
	t.Parallel()
	s := serving(t, Options{})
	for name, c := range map[string]struct {
		typed func(link string) string
		want  int
	}{
		"the link":                {func(l string) string { return " " + l + "\n" }, http.StatusSeeOther},
		"with another address":    {func(l string) string { return strings.Replace(l, s.URL(), "http://localhost:9999/", 1) }, http.StatusSeeOther},
		"its secret, in any case": {func(l string) string { return strings.ToLower(l[len(l)-26:]) }, http.StatusSeeOther},
		"nothing":                 {func(string) string { return "" }, http.StatusForbidden},
		"something else":          {func(string) string { return "hinged dashboard" }, http.StatusForbidden},
	} {
		b := stranger(t, s)
		got := b.post("/link", url.Values{"csrf": {csrf(t, b.get("/login").body)}, "link": {c.typed(s.Link().URL)}})
		if in := b.get("/a/ann/mail").code == http.StatusOK; got.code != c.want || in != (c.want == http.StatusSeeOther) {
			t.Errorf("%s: %d, signed in: %t", name, got.code, in)
		}
	}
	b := stranger(t, s)
	if got := b.post("/link", url.Values{"csrf": {"none"}, "link": {s.Link().URL}}); got.code != http.StatusForbidden || b.get("/a/ann/mail").code == http.StatusOK {
		t.Errorf("the form of another page: %d", got.code)
	}
}

func TestLinksAreBounded(t *testing.T) {
	t.Parallel()
	s := serving(t, Options{})
	first := s.Link()
	for range maxLinks - 1 {
		s.Link()
	}
	if got := stranger(t, s).get("/" + strings.TrimPrefix(first.URL, s.URL())); got.to() != "/" {
		t.Errorf("the first of %d: %d", maxLinks, got.code)
	}
	second := s.Link()
	for range maxLinks {
		s.Link()
	}
	if got := stranger(t, s).get("/" + strings.TrimPrefix(second.URL, s.URL())); got.code != http.StatusForbidden || len(s.links.kept) != maxLinks {
		t.Errorf("the first of %d: %d; %d are kept", maxLinks+1, got.code, len(s.links.kept))
	}
}

func TestWhereUsersHavePasswordsThereAreNoLinks(t *testing.T) {
	t.Parallel()
	s := serving(t, Options{Users: people(t)})
	if got := s.Link(); got.URL != s.URL() || got.ValidUntil != nil {
		t.Errorf("got %+v", got)
	}
	secret, _ := s.links.add()
	if got := stranger(t, s).get("/link/" + secret); got.code != http.StatusForbidden || !strings.Contains(got.body, `type="password"`) {
		t.Errorf("a link: %d\n%s", got.code, got.body)
	}
	robots := serving(t, Options{Users: people(t)[3:]})
	b := stranger(t, robots)
	b.open(robots.Link().URL)
	if got := b.get("/a/ann/mail"); got.code != http.StatusOK {
		t.Errorf("where users have tokens alone, a link sees %d", got.code)
	}
}

func TestSigningOutEndsWhatALinkBegan(t *testing.T) {
	t.Parallel()
	for everywhere, others := range map[string]int{"": http.StatusOK, "1": http.StatusSeeOther} {
		s := serving(t, Options{})
		one, two := browse(t, s), browse(t, s)
		if got := one.leave(everywhere); got.to() != "/login" {
			t.Fatalf("led to %s: %d", got.to(), got.code)
		}
		if got := fmt.Sprint(one.get("/a/ann/mail").code, two.get("/a/ann/mail").code); got != fmt.Sprint(http.StatusSeeOther, others) {
			t.Errorf("everywhere %q: they see %s", everywhere, got)
		}
		three := browse(t, s)
		if got := three.get("/a/ann/mail"); got.code != http.StatusOK {
			t.Errorf("after that, a link: %d", got.code)
		}
	}
}
