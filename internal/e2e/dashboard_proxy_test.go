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
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

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
	text := testkit.Read(t, filepath.Join("..", "..", page))
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
	s := newSite(t, quick)
	addr := s.withDashboard(fmt.Sprintf("public_url = %q", proxiedSite), "")
	s.start()
	owner := s.imap.Owner(t)
	teach(s, owner)
	here := func(text string) string { return strings.ReplaceAll(text, "127.0.0.1:7425", addr) }
	for name, start := range map[string]func(*testing.T) string{
		"Caddy": func(t *testing.T) string {
			return startCaddy(t, "hinged.example.org", here(recipe(t, "docs/dashboard.md", "hinged.example.org {")))
		},
		"nginx": func(t *testing.T) string {
			return startNginx(t, here(recipe(t, "docs/dashboard.md", "server {")))
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
		return p.send(http.MethodPost, "/login", origin, url.Values{"csrf": {proof[1]}, "name": {"me"}, "password": {password}})
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

// startCaddy starts a Caddy for this test on a free port of loopback, with a certificate
// that it signs itself, and returns its address. site is the part of a Caddyfile about the
// site host.
func startCaddy(tb testing.TB, host, site string) string {
	tb.Helper()
	dir, ports := tb.TempDir(), testkit.FreePorts(tb, 2)
	global := fmt.Sprintf("{\n\tadmin off\n\tlocal_certs\n\tskip_install_trust\n\thttp_port %d\n\thttps_port %d\n\tdefault_bind 127.0.0.1\n}\n", ports[0], ports[1])
	addr := startWebProxy(tb, dir, "caddy", global+site, fmt.Sprint("127.0.0.1:", ports[1]), func(root, file string) *exec.Cmd {
		cmd := exec.CommandContext(context.Background(), filepath.Join(root, "bin", "caddy"), "run", "--adapter", "caddyfile", "--config", file)
		cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
		return cmd
	})
	// It listens before it has signed its certificate.
	dialer := tls.Dialer{Config: &tls.Config{ServerName: host, InsecureSkipVerify: true}} // Caddy signed it for this test
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		conn, err := dialer.DialContext(tb.Context(), "tcp", addr)
		if err == nil {
			_ = conn.Close()
			return addr
		}
		if time.Now().After(deadline) {
			tb.Fatalf("Caddy has no certificate: %v", err)
		}
	}
}

// startNginx starts an nginx for this test on a free port of loopback, and returns its
// address. server is a section of its configuration that listens on port 443 and names its
// certificate and key hinged.example.org.pem and .key in /etc/ssl.
func startNginx(tb testing.TB, server string) string {
	tb.Helper()
	dir, port := tb.TempDir(), testkit.FreePorts(tb, 1)[0]
	cert, key := testkit.NewAuthority(tb, "test").Issue("hinged.example.org", time.Now().Add(time.Hour))
	for name, content := range map[string][]byte{"hinged.example.org.pem": cert, "hinged.example.org.key": key} {
		testkit.Write(tb, filepath.Join(dir, name), content)
	}
	here := strings.NewReplacer("/etc/ssl/", dir+"/", "listen 443 ", fmt.Sprintf("listen 127.0.0.1:%d ", port))
	whole := fmt.Sprintf("daemon off;\nmaster_process off;\npid %[1]s/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n", dir)
	for _, what := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		whole += fmt.Sprintf("%s_temp_path %s;\n", what, filepath.Join(dir, what))
	}
	return startWebProxy(tb, dir, "nginx", whole+here.Replace(server)+"}\n", fmt.Sprint("127.0.0.1:", port), func(root, file string) *exec.Cmd {
		return exec.CommandContext(context.Background(), filepath.Join(root, "bin", "nginx"), "-p", dir, "-e", "stderr", "-c", file)
	})
}

// startWebProxy writes a configuration and starts a program with it.
func startWebProxy(tb testing.TB, dir, name, config, addr string, command func(root, file string) *exec.Cmd) string {
	tb.Helper()
	root, err := testkit.Proxies()
	testkit.Need(tb, err)
	file := filepath.Join(dir, name+".conf")
	testkit.Write(tb, file, config)
	testkit.Serve(tb, name, addr, command(root, file))
	return addr
}
