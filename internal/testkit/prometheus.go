// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/loopback"
)

// prometheusRoot returns the directory with Prometheus' programs and fetches it if need be.
// `make setup` has done so already.
var prometheusRoot = sync.OnceValues(func() (string, error) { return download("prometheus.sh") })

// Prometheus is a running Prometheus.
type Prometheus struct {
	tb  testing.TB
	url string
}

// StartPrometheus starts a Prometheus of its own for this test on a free port of loopback.
// config is its configuration; what it names is looked for below dir. It is stopped when the
// test ends.
func StartPrometheus(tb testing.TB, dir, config string) *Prometheus {
	tb.Helper()
	root, err := prometheusRoot()
	needServer(tb, err)
	held, err := loopback.Hold(1)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(held.Release)
	addr := fmt.Sprint("127.0.0.1:", held.Numbers[0])
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		tb.Fatal(err)
	}
	Promtool(tb, dir, "check", "config", "prometheus.yml")
	log, err := os.Create(filepath.Join(dir, "prometheus.log"))
	if err != nil {
		tb.Fatal(err)
	}
	defer log.Close()
	cmd := exec.CommandContext(context.Background(), filepath.Join(root, "bin", "prometheus"),
		"--config.file="+file, "--storage.tsdb.path="+filepath.Join(tb.TempDir(), "data"), "--web.listen-address="+addr,
		"--web.external-url=http://"+addr+"/")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = childAttributes()
	serve(tb, "Prometheus", addr, cmd, func() string {
		data, err := os.ReadFile(log.Name())
		if err != nil {
			return err.Error()
		}
		return string(data)
	})
	p := &Prometheus{tb, "http://" + addr}
	p.awaitReady()
	return p
}

// awaitReady waits until queries are answered: first it replays what it has stored.
func (p *Prometheus) awaitReady() {
	p.tb.Helper()
	for deadline := time.Now().Add(startPatience); ; time.Sleep(50 * time.Millisecond) {
		var now any
		err := p.Ask(&now, "query", "query", "1")
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			p.tb.Fatalf("Prometheus is not ready: %v", err)
		}
	}
}

// Promtool runs promtool in dir and returns what it printed. Its failure fails the test.
func Promtool(tb testing.TB, dir string, args ...string) string {
	tb.Helper()
	root, err := prometheusRoot()
	needServer(tb, err)
	cmd := exec.CommandContext(tb.Context(), filepath.Join(root, "bin", "promtool"), args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("promtool %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// Ask asks the HTTP API of Prometheus, as in Ask("query", "query", "up"), and decodes the
// data of the answer into out. An error is what Prometheus refuses, such as a query that
// can't be parsed.
func (p *Prometheus) Ask(out any, what string, keysAndValues ...string) error {
	p.tb.Helper()
	q := url.Values{}
	for i := 0; i < len(keysAndValues); i += 2 {
		q.Add(keysAndValues[i], keysAndValues[i+1])
	}
	req, err := http.NewRequestWithContext(p.tb.Context(), http.MethodGet, p.url+"/api/v1/"+what+"?"+q.Encode(), nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return fmt.Errorf("%s: %w", resp.Status, err)
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s: %s", resp.Status, answer.Error)
	}
	return json.Unmarshal(answer.Data, out)
}
