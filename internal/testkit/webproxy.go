// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/loopback"
)

// proxiesRoot returns the directory with Caddy's and nginx' programs and fetches them if need
// be. `make setup` has done so already.
var proxiesRoot = sync.OnceValues(func() (string, error) { return download("proxies.sh") })

// StartCaddy starts a Caddy for this test on a free port of loopback, with a certificate
// that it signs itself, and returns its address. site is the part of a Caddyfile about the
// site host.
func StartCaddy(tb testing.TB, host, site string) string {
	tb.Helper()
	dir, ports := tb.TempDir(), freePorts(tb, 2)
	global := fmt.Sprintf("{\n\tadmin off\n\tlocal_certs\n\tskip_install_trust\n\thttp_port %d\n\thttps_port %d\n\tdefault_bind 127.0.0.1\n}\n", ports[0], ports[1])
	addr := startWebProxy(tb, dir, "caddy", global+site, fmt.Sprint("127.0.0.1:", ports[1]), func(root, file string) *exec.Cmd {
		cmd := exec.CommandContext(context.Background(), filepath.Join(root, "bin", "caddy"), "run", "--adapter", "caddyfile", "--config", file)
		cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
		return cmd
	})
	// It listens before it has signed its certificate.
	dialer := tls.Dialer{Config: &tls.Config{ServerName: host, InsecureSkipVerify: true}} //nolint:gosec // Caddy has signed it for this test alone
	for deadline := time.Now().Add(startPatience); ; time.Sleep(20 * time.Millisecond) {
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

// StartNginx starts an nginx for this test on a free port of loopback, and returns its
// address. server is a section of its configuration that listens on port 443 and names its
// certificate and key hinged.example.org.pem and .key in /etc/ssl.
func StartNginx(tb testing.TB, server string) string {
	tb.Helper()
	dir, port := tb.TempDir(), freePorts(tb, 1)[0]
	cert, key := NewAuthority(tb, "test").Issue("hinged.example.org", time.Now().Add(time.Hour))
	for name, content := range map[string][]byte{"hinged.example.org.pem": cert, "hinged.example.org.key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			tb.Fatal(err)
		}
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
	root, err := proxiesRoot()
	needServer(tb, err)
	file, log := filepath.Join(dir, name+".conf"), filepath.Join(dir, name+".log")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		tb.Fatal(err)
	}
	out, err := os.Create(log)
	if err != nil {
		tb.Fatal(err)
	}
	defer out.Close()
	cmd := command(root, file)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = childAttributes()
	serve(tb, name, addr, cmd, func() string {
		said, err := os.ReadFile(log)
		if err != nil {
			return err.Error()
		}
		return string(said)
	})
	return addr
}

// freePorts holds free ports of loopback until the test ends.
func freePorts(tb testing.TB, n int) []int {
	tb.Helper()
	held, err := loopback.Hold(n)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(held.Release)
	return held.Numbers
}
