// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
)

// people are the owner of ann, an operator, and somebody who is both for bob.
func people(t *testing.T) []User {
	t.Helper()
	hash := quickHash(t, "correct horse")
	return []User{
		{Name: "ann", PasswordHash: hash, Token: "ann's token, which is long", Accounts: []string{"ann"}},
		{Name: "op", PasswordHash: hash, Token: "op's token, which is long", Operator: true},
		{Name: "boss", PasswordHash: hash, Accounts: []string{"bob"}, Operator: true},
		{Name: "robot", Token: "robot's token, which is long", Accounts: []string{"bob"}},
	}
}

// who answers with who may do what, as the API and the metrics would ask.
var who = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "ann %t bob %t all %t", MayUse(r, "ann"), MayUse(r, "bob"), MayUse(r, ""))
})

// whose answers with the accounts of whoever asks.
var whose = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	names, all := AccountsOf(r)
	fmt.Fprint(w, names, all)
})

func TestTheAPIFindsOutWhoseAccountsItIsAskedAbout(t *testing.T) {
	t.Parallel()
	s := serving(t, Options{Users: people(t), API: whose})
	for user, want := range map[string]string{"ann": "[ann] false", "op": "[] false", "boss": "[bob] false"} {
		b := browse(t, s)
		b.signIn(user, "correct horse", "/")
		if got := b.get("/api/v1/status").body; got != want {
			t.Errorf("%s: %q, want %q", user, got, want)
		}
	}
	s = serving(t, Options{API: whose})
	b := browse(t, s)
	b.get(strings.TrimPrefix(s.Link().URL, strings.TrimSuffix(s.URL(), "/")))
	if got := b.get("/api/v1/status").body; got != "[] true" {
		t.Errorf("by a link: %q", got)
	}
}

func TestWhoMaySeeWhat(t *testing.T) {
	t.Parallel()
	s := serving(t, Options{Users: people(t), API: who, Metrics: who, Healthz: who})
	const (
		no, gone, not, yes = http.StatusSeeOther, http.StatusNotFound, http.StatusForbidden, http.StatusOK
	)
	for _, c := range []struct {
		user                                string
		annFigures, annMail, annDo          int
		bobFigures, bobMail, bobDo, nobody  int
		api, metrics                        int
		usesAnn, usesBob, sees, hasAccounts bool
	}{
		{"", no, no, no, no, no, no, no, http.StatusUnauthorized, http.StatusUnauthorized, false, false, false, false},
		{"ann", yes, yes, http.StatusSeeOther, gone, gone, gone, gone, yes, not, true, false, false, true},
		{"op", yes, not, not, yes, not, not, yes, yes, yes, false, false, true, false},
		{"boss", yes, not, not, yes, yes, http.StatusSeeOther, yes, yes, yes, false, true, true, true},
	} {
		t.Run("as "+c.user, func(t *testing.T) {
			b := browse(t, s)
			proof := "none"
			if c.user != "" {
				b.signIn(c.user, "correct horse", "/")
				for _, account := range []string{"ann", "bob"} {
					if got := b.get("/a/" + account + "/figures"); got.code == http.StatusOK {
						proof = csrf(t, got.body)
					}
				}
			}
			form := url.Values{"csrf": {proof}}
			for what, got := range map[string][2]int{
				"ann's figures": {b.get("/a/ann/figures").code, c.annFigures},
				"ann's mail":    {b.get("/a/ann/mail").code, c.annMail},
				"change ann":    {b.post("/a/ann/do", form).code, c.annDo},
				"bob's figures": {b.get("/a/bob/figures").code, c.bobFigures},
				"bob's mail":    {b.get("/a/bob/mail").code, c.bobMail},
				"change bob":    {b.post("/a/bob/do", form).code, c.bobDo},
				"the API":       {b.get("/api/v1/status").code, c.api},
				"the metrics":   {b.get("/metrics").code, c.metrics},
				"health":        {b.get("/healthz").code, yes},
			} {
				if got[0] != got[1] {
					t.Errorf("%s: got %d, want %d", what, got[0], got[1])
				}
			}
			if got, want := b.get("/api/v1/status").body, fmt.Sprintf("ann %t bob %t all %t", c.usesAnn, c.usesBob, c.sees); c.api == yes && got != want {
				t.Errorf("the API finds %q, want %q", got, want)
			}
		})
	}
}

// What is somebody else's can't be told from what is not there.
func TestAnAccountOfSomebodyElseLooksLikeNone(t *testing.T) {
	t.Parallel()
	s := serving(t, Options{Users: people(t)})
	b := browse(t, s)
	b.signIn("ann", "correct horse", "/")
	for _, path := range []string{"/figures", "/mail", "/", "/live", "/nonsense"} {
		other, none := b.get("/a/bob"+path), b.get("/a/nobody"+path)
		if other.code != http.StatusNotFound || none.code != other.code || none.body != other.body {
			t.Errorf("%s: %d and %d\n%s\n%s", path, other.code, none.code, other.body, none.body)
		}
	}
}

func TestATokenIsForProgramsAlone(t *testing.T) {
	t.Parallel()
	s := serving(t, Options{Users: people(t), API: who, Metrics: who})
	with := func(path, token string) answer {
		r, err := http.NewRequest(http.MethodGet, strings.TrimSuffix(s.URL(), "/")+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		return browse(t, s).do(r)
	}
	if got := with("/api/v1/status", "robot's token, which is long"); got.body != "ann false bob true all false" {
		t.Errorf("robot: %d %s", got.code, got.body)
	}
	if got := with("/metrics", "op's token, which is long"); got.code != http.StatusOK {
		t.Errorf("op: %d %s", got.code, got.body)
	}
	if got := with("/metrics", "robot's token, which is long"); got.code != http.StatusForbidden {
		t.Errorf("robot reads the metrics: %d", got.code)
	}
	if got := with("/a/bob/mail", "robot's token, which is long"); got.code != http.StatusSeeOther {
		t.Errorf("a page for a token: %d", got.code)
	}
	for range narrowTries {
		if got := with("/api/v1/status", "x"); got.code != http.StatusUnauthorized || got.header.Get("WWW-Authenticate") == "" {
			t.Errorf("an unknown token: %d", got.code)
		}
	}
	if got := with("/api/v1/status", "y"); got.code != http.StatusTooManyRequests || got.header.Get("Retry-After") == "" {
		t.Errorf("one more: %d", got.code)
	}
	// A script with a wrong one keeps out neither Prometheus beside it nor a password.
	if got := with("/metrics", "op's token, which is long"); got.code != http.StatusOK {
		t.Errorf("a right token after many wrong ones: %d", got.code)
	}
	if got := browse(t, s).try("ann", "correct horse"); got.code != http.StatusSeeOther {
		t.Errorf("a right password after many wrong tokens: %d", got.code)
	}
}

func TestEveryAnswerHasItsHeaders(t *testing.T) {
	t.Parallel()
	s := serving(t, Options{Users: people(t), Healthz: who})
	b := browse(t, s)
	b.signIn("ann", "correct horse", "/")
	for path, cache := range map[string]string{
		"/": "no-store", "/a/ann/figures": "no-store", "/a/bob/": "no-store", "/login": "no-store", "/nonsense": "no-store", "/healthz": "no-store",
		"/api/v1/x": "no-store", "/static/none.css": "no-store",
		"/static/hinged.css": "no-cache", assetPath("hinged.css"): "public, max-age=31536000, immutable",
		"/static/live.js?v=old": "no-cache",
	} {
		h := b.get(path).header
		for name, want := range map[string]string{
			"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"X-Frame-Options": "DENY", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
		if got := h.Values("Cache-Control"); got[0] != cache {
			t.Errorf("%s: Cache-Control is %q", path, got)
		}
		if h.Get("Strict-Transport-Security") != "" {
			t.Errorf("%s: without TLS there is no strict transport", path)
		}
	}
	for _, need := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
		if !strings.Contains(policy, need) {
			t.Errorf("the policy lacks %s", need)
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Errorf("the policy is %s", policy)
	}
}

func TestAFileThatABrowserHasIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s := serving(t, Options{})
	b := browse(t, s)
	first := b.get("/static/hinged.css")
	r, err := http.NewRequest(http.MethodGet, b.base+"/static/hinged.css", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("If-None-Match", first.header.Get("ETag"))
	if got := b.do(r); got.code != http.StatusNotModified || got.body != "" {
		t.Errorf("got %d, %d bytes", got.code, len(got.body))
	}
	if kind := first.header.Get("Content-Type"); kind != "text/css; charset=utf-8" {
		t.Errorf("it is %s", kind)
	}
	if got := b.post("/static/hinged.css", nil); got.code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", got.code)
	}
}

// DNS rebinding: a site leads its own name to this address.
func TestOnlyNamesOfThisMachineAreAnswered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pair := Options{Users: people(t), CertFile: filepath.Join(dir, "c.pem"), KeyFile: filepath.Join(dir, "k.pem")}
	cert, key := testkit.NewAuthority(t, "ours").Issue("client", time.Now().Add(time.Hour))
	for name, content := range map[string][]byte{pair.CertFile: cert, pair.KeyFile: key} {
		testkit.Write(t, name, content)
	}
	for _, c := range []struct {
		name      string
		o         Options
		yes, less []string // less: refused
	}{
		{"without users", Options{}, []string{"127.0.0.1", "127.9.9.9:1", "localhost:PORT", "LOCALHOST", "localhost.", "[::1]:PORT", "[::1]", "hinged.localhost"},
			[]string{"example.org", "example.org:PORT", "localhost.example.org", "127.0.0.1.example.org", "192.168.1.7", "notlocalhost", "0.0.0.0", "[::]", "x@localhost"}},
		{"with users", Options{Users: people(t)}, []string{"127.0.0.1:PORT", "localhost", "192.168.1.7", "[2001:db8::1]:PORT", "nas", "nas.local:PORT", "NAS.home.arpa."},
			[]string{"example.org", "example.org:PORT", "localhost.example.org", "127.0.0.1.example.org", "nas.local.example.org", "mail.example.org"}},
		{"behind a proxy", Options{Users: people(t), PublicURL: "https://Mail.example.org"}, []string{"mail.example.org", "MAIL.example.org:443", "127.0.0.1:PORT"},
			[]string{"example.org", "x.mail.example.org"}},
		{"with a certificate", pair, []string{"hinged.test:PORT", "127.0.0.1"}, []string{"example.org", "x.hinged.test"}},
	} {
		s := serving(t, c.o)
		if s.certificate != nil {
			s.certificate.last.Leaf.DNSNames = []string{"hinged.test"}
		}
		_, port, err := net.SplitHostPort(s.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		ask := func(host, token string) int {
			r := httptest.NewRequest(http.MethodGet, "/login", nil)
			r.Host = strings.ReplaceAll(host, "PORT", port)
			r.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			s.handler().ServeHTTP(w, r)
			return w.Code
		}
		for _, host := range c.yes {
			if got := ask(host, ""); got == http.StatusMisdirectedRequest {
				t.Errorf("%s: %s: got %d", c.name, host, got)
			}
		}
		for _, host := range c.less {
			if got := ask(host, ""); got != http.StatusMisdirectedRequest {
				t.Errorf("%s: %s: got %d", c.name, host, got)
			}
			// Whoever has a token is no browser that was led astray.
			if got := ask(host, "op's token, which is long"); (got == http.StatusMisdirectedRequest) != (c.o.Users == nil) {
				t.Errorf("%s: %s with a token: got %d", c.name, host, got)
			}
		}
	}
}

func TestAChangeNeedsAFormOfThisBrowser(t *testing.T) {
	t.Parallel()
	s := serving(t, Options{})
	b, other := browse(t, s), browse(t, s)
	mine, theirs := csrf(t, b.get("/a/ann/figures").body), csrf(t, other.get("/a/ann/figures").body)
	if mine == theirs {
		t.Fatal("two browsers have one proof")
	}
	for name, c := range map[string]struct {
		proof string
		want  int
	}{"its own": {mine, 303}, "that of another": {theirs, 403}, "none": {"", 403}, "cut": {mine[1:], 403}} {
		got := b.post("/a/ann/do", url.Values{"csrf": {c.proof}, "back": {"/a/ann/messages?q=1#m-7"}})
		if got.code != c.want {
			t.Errorf("%s: got %d, want %d", name, got.code, c.want)
		}
		if c.want == 303 && got.to() != "/a/ann/messages?q=1#m-7" {
			t.Errorf("led to %s", got.to())
		}
	}
	if got := browse(t, s).post("/a/ann/do", url.Values{"csrf": {mine}}); got.code != 403 {
		t.Errorf("without a cookie: %d", got.code)
	}
	// A query is no form: it would be in logs.
	if got := b.post("/a/ann/do?csrf="+mine, nil); got.code != 403 {
		t.Errorf("in the query: %d", got.code)
	}
	if got := b.get("/a/ann/do?csrf=" + mine); got.code != 404 {
		t.Errorf("GET: %d", got.code)
	}
}

func TestAnotherSiteCantSendARequest(t *testing.T) {
	t.Parallel()
	s := serving(t, Options{})
	b := browse(t, s)
	proof := csrf(t, b.get("/a/ann/figures").body)
	for name, c := range map[string]struct {
		key, value string
		want       int
	}{
		"cross-site":      {"Sec-Fetch-Site", "cross-site", 403},
		"another port":    {"Sec-Fetch-Site", "same-site", 403},
		"the page itself": {"Sec-Fetch-Site", "same-origin", 303},
		"typed":           {"Sec-Fetch-Site", "none", 303},
		"old browser":     {"Origin", "http://example.org", 403},
		"an old one here": {"Origin", b.base, 303},
	} {
		r, err := http.NewRequest(http.MethodPost, b.base+"/a/ann/do", strings.NewReader(url.Values{"csrf": {proof}}.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set(c.key, c.value)
		if got := b.do(r); got.code != c.want {
			t.Errorf("%s: got %d, want %d", name, got.code, c.want)
		}
	}
}

func TestAFormIsBounded(t *testing.T) {
	t.Parallel()
	s := serving(t, Options{})
	b := browse(t, s)
	proof := csrf(t, b.get("/a/ann/figures").body)
	room := maxForm - len(url.Values{"csrf": {proof}, "x": {""}}.Encode())
	for more, want := range map[int]int{0: 303, 1: 413} {
		form := url.Values{"csrf": {proof}, "x": {strings.Repeat("a", room+more)}}.Encode()
		r := httptest.NewRequest(http.MethodPost, b.base+"/a/ann/do", strings.NewReader(form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for _, c := range b.http.Jar.Cookies(r.URL) {
			r.AddCookie(c)
		}
		w := httptest.NewRecorder() // a connection would be cut while the form is sent
		s.handler().ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%d bytes: got %d, want %d", len(form), w.Code, want)
		}
	}
}

func TestTheAddressOfAClient(t *testing.T) {
	t.Parallel()
	direct := preparing(t, Options{Users: people(t)})
	proxied := preparing(t, Options{Users: people(t), PublicURL: "https://mail.example.org"})
	for name, c := range map[string]struct {
		s         *Server
		remote    string
		forwarded []string
		want      string
	}{
		"direct":                      {direct, "192.0.2.7:99", nil, "192.0.2.7"},
		"made up without a proxy":     {direct, "192.0.2.7:99", []string{"198.51.100.1"}, "192.0.2.7"},
		"of a proxy":                  {proxied, "127.0.0.1:99", []string{"198.51.100.1"}, "198.51.100.1"},
		"made up in front of a proxy": {proxied, "127.0.0.1:99", []string{"203.0.113.9, 198.51.100.1"}, "198.51.100.1"},
		"in two lines":                {proxied, "127.0.0.1:99", []string{"203.0.113.9", "198.51.100.1"}, "198.51.100.1"},
		"a proxy that tells nothing":  {proxied, "127.0.0.1:99", nil, "127.0.0.1"},
		"IPv6":                        {direct, "[2001:db8:1:2:3:4:5:6]:99", nil, "2001:db8:1:2::/64"},
		"IPv4 in IPv6":                {direct, "[::ffff:192.0.2.7]:99", nil, "192.0.2.7"},
		"nonsense":                    {proxied, "127.0.0.1:99", []string{"unknown"}, "?"},
	} {
		r := &http.Request{RemoteAddr: c.remote, Header: http.Header{"X-Forwarded-For": c.forwarded}}
		if got := c.s.client(r); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

func TestWhatBrowsersReachByHTTPSHasStricterCookies(t *testing.T) {
	t.Parallel()
	s := serving(t, Options{Users: people(t), PublicURL: "https://mail.example.org"})
	if s.URL() != "https://mail.example.org/" {
		t.Errorf("it is at %s", s.URL())
	}
	address := "http://" + s.listener.Addr().String()
	r, err := http.NewRequest(http.MethodGet, address+"/login", nil)
	if err != nil {
		t.Fatal(err)
	}
	b := browse(t, s)
	got := b.do(r)
	cookie := got.header.Get("Set-Cookie")
	for _, want := range []string{"__Host-hinged-form-", "Secure", "HttpOnly", "SameSite=Lax", "Path=/"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("the cookie %s lacks %s", cookie, want)
		}
	}
	if strings.Contains(cookie, "Domain") || got.header.Get("Strict-Transport-Security") == "" {
		t.Errorf("got %v", got.header)
	}
}

func TestListenRefusesWhatIsNotSafe(t *testing.T) {
	t.Parallel()
	good := people(t)[:1]
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"every network, nobody signs in": {Options{Listen: "0.0.0.0:0"}, "add a [[dashboard.user]]"},
		"every network by IPv6":          {Options{Listen: "[::]:0"}, "add a [[dashboard.user]]"},
		"no host":                        {Options{Listen: ":0"}, "add a [[dashboard.user]]"},
		"a proxy, nobody signs in":       {Options{Listen: "127.0.0.1:0", PublicURL: "https://x.org"}, "add a [[dashboard.user]]"},
		"a password as its hash":         {Options{Listen: "127.0.0.1:0", Users: []User{{Name: "ann", PasswordHash: "hunter2hunter2"}}}, "user ann: the password's hash is none of argon2id; `hinged init --user` prints one"},
		"a hash without work":            {Options{Listen: "127.0.0.1:0", Users: []User{{Name: "ann", PasswordHash: "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHRzYWx0c2FsdA$bm8gcGFzc3dvcmQgaGFzaGVzIHRvIHRoaXMgdGV4dCE"}}}, "too easy to guess"},
		"a hash without threads":         {Options{Listen: "127.0.0.1:0", Users: []User{{Name: "ann", PasswordHash: "$argon2id$v=19$m=8192,t=1,p=0$c2FsdHNhbHRzYWx0c2FsdA$bm8gcGFzc3dvcmQgaGFzaGVzIHRvIHRoaXMgdGV4dCE"}}}, "can't be computed (p=0"},
		"a hash without passes":          {Options{Listen: "127.0.0.1:0", Users: []User{{Name: "ann", PasswordHash: "$argon2id$v=19$m=8192,t=0,p=1$c2FsdHNhbHRzYWx0c2FsdA$bm8gcGFzc3dvcmQgaGFzaGVzIHRvIHRoaXMgdGV4dCE"}}}, "too easy to guess"},
		"a hash that stops the machine":  {Options{Listen: "127.0.0.1:0", Users: []User{{Name: "ann", PasswordHash: "$argon2id$v=19$m=4000000,t=9,p=1$c2FsdHNhbHRzYWx0c2FsdA$bm8gcGFzc3dvcmQgaGFzaGVzIHRvIHRoaXMgdGV4dCE"}}}, "takes too much to compute"},
		"a short token":                  {Options{Listen: "127.0.0.1:0", Users: []User{{Name: "ann", Token: "0123456789abcde"}}}, "the token has 15 bytes; it needs 16"},
		"neither":                        {Options{Listen: "127.0.0.1:0", Users: []User{{Name: "ann"}}}, "neither a password nor a token"},
		"twice":                          {Options{Listen: "127.0.0.1:0", Users: []User{good[0], good[0]}}, "user ann is there twice"},
		"no certificate":                 {Options{Listen: "127.0.0.1:0", CertFile: "/nowhere/c.pem", KeyFile: "/nowhere/k.pem"}, "/nowhere/c.pem"},
		"no such address":                {Options{Listen: "192.0.2.1:0", Users: good}, "192.0.2.1"},
	} {
		s, err := Listen(c.o)
		if err == nil {
			t.Errorf("%s: it listens", name)
			_ = s.Close()
			continue
		}
		if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
	taken := preparing(t, Options{})
	if _, err := Listen(Options{Listen: taken.listener.Addr().String()}); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a port that is taken: %v", err)
	}
}
