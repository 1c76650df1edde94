// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/dashboard"
	"github.com/hinged/hinged/internal/loopback"
	"github.com/hinged/hinged/internal/testkit"
)

// proxied is a browser that reaches a dashboard as https://hinged.example.org.
type proxied struct {
	t    *testing.T
	http *http.Client
}

const proxiedSite = "https://hinged.example.org"

// behind returns a browser at 127.0.0.2 that reaches the proxy at addr.
func behind(t *testing.T, addr string) *proxied {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	tr := &http.Transport{
		ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return from.DialContext(ctx, "tcp", addr) },
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &proxied{t, &http.Client{Jar: jar, Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// reply is what came back.
type reply struct {
	code   int
	header http.Header
	body   string
}

// send sends what a browser would.
func (p *proxied) send(method, path, origin string, form url.Values) reply {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, proxiedSite+path, strings.NewReader(form.Encode()))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("X-Forwarded-For", "203.0.113.9") // made up
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", origin)
	}
	resp, err := p.http.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(body)}
}

// recipe returns the block of a page that begins with a line.
func recipe(t *testing.T, page, first string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", page))
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(text), "```text\n"+first)
	block, _, ended := strings.Cut(block, "```\n")
	if !found || !ended {
		t.Fatalf("%s has no block that begins with %q", page, first)
	}
	return first + block
}

// TestTheDashboardBehindTheProxiesOfItsPage has a browser sign in through Caddy and nginx,
// each with what docs/dashboard.md says, and watch mail arrive.
func TestTheDashboardBehindTheProxiesOfItsPage(t *testing.T) {
	t.Parallel()
	held, err := loopback.Hold(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(held.Release)
	addr := fmt.Sprint("127.0.0.1:", held.Numbers[0])
	hash, err := dashboard.HashPassword(householdPassword)
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, quick)
	config, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	config = fmt.Appendf(config, "\n[dashboard]\nlisten = %q\npublic_url = %q\n[[dashboard.user]]\nname = \"ann\"\npassword_hash = %q\naccounts = [\"me\"]\n", addr, proxiedSite, hash)
	if err := os.WriteFile(s.config, config, 0o600); err != nil {
		t.Fatal(err)
	}
	s.start()
	owner := s.imap.Owner(t)
	defer owner.Close()
	teach(s, owner)
	here := func(text string) string { return strings.ReplaceAll(text, "127.0.0.1:7425", addr) }
	for name, start := range map[string]func(*testing.T) string{
		"Caddy": func(t *testing.T) string {
			return testkit.StartCaddy(t, "hinged.example.org", here(recipe(t, "docs/dashboard.md", "hinged.example.org {")))
		},
		"nginx": func(t *testing.T) string {
			return testkit.StartNginx(t, here(recipe(t, "docs/dashboard.md", "server {")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			behind(t, start(t)).visit(s, owner)
		})
	}
	if err := s.stop(syscall.SIGINT); err != nil {
		t.Errorf("the daemon ended with %v", err)
	}
}

var csrfOfForm = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// visit signs in and watches.
func (p *proxied) visit(s *site, owner *testkit.Owner) {
	t := p.t
	t.Helper()
	if got := p.send(http.MethodGet, "/a/me/", "", nil); got.header.Get("Location") != "/login?next=%2Fa%2Fme%2F" || got.header.Get("Strict-Transport-Security") == "" {
		t.Fatalf("a stranger is led to %q: %d", got.header.Get("Location"), got.code)
	}
	page := p.send(http.MethodGet, "/login", "", nil).body
	proof := csrfOfForm.FindStringSubmatch(page)
	if proof == nil {
		t.Fatalf("no form:\n%s", page)
	}
	enter := func(password, origin string) reply {
		return p.send(http.MethodPost, "/login", origin, url.Values{"csrf": {proof[1]}, "name": {"ann"}, "password": {password}})
	}
	if got := enter(householdPassword, "https://example.com"); got.code != http.StatusForbidden {
		t.Errorf("the form of another site: %d", got.code)
	}
	if got := enter("a wrong password", proxiedSite); got.code != http.StatusForbidden {
		t.Errorf("a wrong password: %d", got.code)
	}
	s.untilLogged("wrong name or password", "client=127.0.0.2")
	if s.logged("203.0.113.9") > 0 {
		t.Error("the log has the address that the browser made up")
	}
	in := enter(householdPassword, proxiedSite)
	cookie := in.header.Get("Set-Cookie")
	if in.code != http.StatusSeeOther || !strings.HasPrefix(cookie, "__Host-hinged-") || !strings.Contains(cookie, "Secure") {
		t.Fatalf("signing in: %d, cookie %s", in.code, cookie)
	}
	if got := p.send(http.MethodGet, "/a/me/", "", nil); got.code != http.StatusOK || !strings.Contains(got.body, `id="verdict"`) {
		t.Fatalf("the overview: %d\n%s", got.code, got.body)
	}
	p.watch(owner, s)
}

// watch expects to be told of a message while the connection stays open: a proxy that keeps
// answers back would tell when it ends, which it does not.
func (p *proxied) watch(owner *testkit.Owner, s *site) {
	t := p.t
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, proxiedSite+"/a/me/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	resp, err := p.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	if !lines.Scan() || lines.Text() != "retry: 3000" {
		t.Fatalf("watching: %s, %q", resp.Status, lines.Text())
	}
	owner.Append("INBOX", letter(int(time.Now().UnixNano()%1e9), boss, s.user, "behind a proxy"), time.Now())
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "data: message") {
			return
		}
	}
	t.Fatalf("the connection ended before the message was told of: %v", lines.Err())
}
