// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/face/dashboard"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

const (
	ownersToken    = "the-token-of-the-owner"
	operatorsToken = "the-token-of-an-operator"
)

// withDashboard adds a dashboard to a site's configuration, with more settings of its own and
// more TOML behind it, and returns its address. The owner of the account me has
// householdPassword and a token, an operator has a token.
func (s *site) withDashboard(settings, more string) (addr string) {
	s.t.Helper()
	addr = fmt.Sprint("127.0.0.1:", testkit.FreePorts(s.t, 1)[0])
	hash, err := dashboard.HashPassword(householdPassword)
	if err != nil {
		s.t.Fatal(err)
	}
	owner, operator := filepath.Join(s.dir, "owner.token"), filepath.Join(s.dir, "operator.token")
	testkit.Write(s.t, owner, ownersToken+"\n")
	testkit.Write(s.t, operator, operatorsToken+"\n")
	testkit.Write(s.t, s.config, fmt.Appendf(testkit.Read(s.t, s.config), `
[dashboard]
listen = %q
%s
[[dashboard.user]]
name = "me"
accounts = ["me"]
password_hash = %q
token_file = %q
[[dashboard.user]]
name = "prometheus"
token_file = %q
operator = true
%s`, addr, settings, hash, owner, operator, more))
	return addr
}

// get asks for a path with a token, or without one if it is "".
func (s *site) get(addr, path, token string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+addr+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestTheAPIHoldsAgainstSchemathesis(t *testing.T) {
	t.Parallel()
	s := newSite(t, quick)
	addr := s.withDashboard("", "")
	s.start()
	owner := s.imap.Owner(t)
	teach(s, owner)
	for path, want := range map[string][3]int{ // by nobody, by the owner, by an operator
		"/api/v1/openapi.json": {401, 200, 200},
		"/api/v1/status":       {401, 200, 200},
		"/api/v1/account":      {401, 200, 200},
		"/api/v1/messages":     {401, 200, 403},
		"/metrics":             {401, 403, 200},
		"/healthz":             {200, 200, 200},
		"/readyz":              {200, 200, 200},
	} {
		for i, token := range []string{"", ownersToken, operatorsToken} {
			if code, body := s.get(addr, path, token); code != want[i] {
				t.Errorf("%s with %q: %d, want %d\n%s", path, token, code, want[i], tail(body))
			}
		}
	}
	testAPI(t, "http://"+addr+"/api/v1/openapi.json", `
[checks.positive_data_acceptance]
expected-statuses = ["2xx", 401, 403, 404, 409, 422]
`, map[string]string{"Authorization": "Bearer " + ownersToken}, "--max-examples", "6", "--phases", "coverage,fuzzing")
	if err := s.stop(syscall.SIGINT); err != nil {
		t.Errorf("the daemon ended with %v", err)
	}
}

// apiPage is the page whose commands the next test runs.
const apiPage = "docs/api.md"

// Each command is run as printed, in one shell after another, and prints what the page says.
func TestTheCommandsOfTheAPIPageRunAsPrinted(t *testing.T) {
	t.Parallel()
	need(t, "bash", "curl", "jq")
	s := newSite(t, quick)
	addr := s.withDashboard("", "")
	s.start()
	owner := s.imap.Owner(t)
	teach(s, owner)
	owner.Append("INBOX", letter(100, boss, s.imap.User, "urgent matter"), time.Now())
	s.until("the mark", func(a desk.AccountStatus) bool { return a.MarksConfirmed > 0 })

	text := testkit.Read(t, filepath.Join("../..", apiPage))
	as := strings.NewReplacer("127.0.0.1:7425", addr, "/etc/hinged/scripts.token", filepath.Join(s.dir, "owner.token"))
	script := "set -eu -o pipefail\ncd \"$DIR\"\n"
	n := 0
	for _, block := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```").FindAllStringSubmatch(string(text), -1) {
		n++
		script += "echo \"== " + fmt.Sprint(n) + "\"\n" + as.Replace(block[1])
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Env = append(os.Environ(), "DIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	printed := strings.Split(string(out), "== ")[1:]
	want := []string{
		`^1\nmarking important mail, and learning`,
		`^2\n\{\s*"outcome": "(important|unsure|ordinary)",\s*"reason": "[^"]+",\s*"score": [-0-9.e]+,\s*"threshold": 0\s*\}`,
		`^3\n20\d\d-.*\t` + regexp.QuoteMeta(boss) + `\t[-0-9.e]+\n[\s\S]*\[\s*"`,
		`^4\n"learnt"\nimportant\n[0-9]+\n`,
		`^5\n\{"title":"Unprocessable Entity","status":422,"error":"parameter most: want a whole number","kind":"invalid"\}\n`,
	}
	if len(printed) != len(want) {
		t.Fatalf("%d blocks of commands, want %d\n%s", len(printed), len(want), out)
	}
	for i, w := range want {
		if !regexp.MustCompile(w).MatchString(printed[i]) {
			t.Errorf("block %s\nwant %s", printed[i], w)
		}
	}
}

// deployed reads a file below deploy.
func deployed(t *testing.T, path string) string {
	t.Helper()
	text := testkit.Read(t, filepath.Join("../../deploy", path))
	return string(text)
}

// scraping is a Prometheus with the configuration and the alerts of deploy, hurried: it
// scrapes each second, and alerts wait for nothing.
func scraping(t *testing.T, addr string) *prometheus {
	t.Helper()
	dir := t.TempDir()
	config := strings.NewReplacer(
		"localhost:7425", addr, "# authorization:", "authorization:", "#   credentials_file:", "  credentials_file:",
		"/etc/prometheus/hinged.token", "hinged.token",
	).Replace(deployed(t, "prometheus/prometheus.yml"))
	if !strings.Contains(config, addr) || !strings.Contains(config, "\n    authorization:\n      credentials_file: hinged.token\n") {
		t.Fatalf("deploy/prometheus/prometheus.yml is not what this test knows:\n%s", config)
	}
	alerts := regexp.MustCompile(`(?m)^ +for: .*\n`).ReplaceAllString(deployed(t, "prometheus/alerts.yml"), "")
	for name, text := range map[string]string{"alerts.yml": alerts, "hinged.token": operatorsToken} {
		testkit.Write(t, filepath.Join(dir, name), text)
	}
	return startPrometheus(t, dir, "global:\n  scrape_interval: 1s\n  evaluation_interval: 1s\n"+config)
}

// found is the answer to a query.
type found struct {
	Result []struct {
		Metric map[string]string
		Value  [2]any
	}
}

// await asks until there is an answer that satisfies ok.
func await(t *testing.T, p *prometheus, query string, ok func(found) bool) found {
	t.Helper()
	var got found
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		got = found{}
		if err := p.ask(&got, "query", "query", query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		if ok(got) {
			return got
		}
	}
	t.Fatalf("%s: the last answer is %v", query, got)
	return got
}

func some(f found) bool { return len(f.Result) > 0 }

// A real Prometheus with the configuration of deploy scrapes a real run: every metric that
// is described is there, the queries of the dashboard and of the alerts are answered, and
// an alert fires for an account whose password is wrong.
func TestPrometheusScrapesARealRun(t *testing.T) {
	t.Parallel()
	s := newSite(t, quick)
	wrong := filepath.Join(s.dir, "wrong")
	testkit.Write(t, wrong, "not the password\n")
	in := newTopic(t, testkit.StartKafka(t, testkit.KafkaOptions{}), "in", 2)
	addr := s.withDashboard("", in.section("pages", "")+fmt.Sprintf(`
[[account]]
name = "locked"
owner = ["locked@example.org"]
[account.imap]
address = %q
username = %q
password_file = %q
tls = "none"
`, s.imap.Addr, s.imap.User, wrong))
	s.start()
	p := scraping(t, addr)
	await(t, p, `up{job="hinged"} == 1`, some)

	owner := s.imap.Owner(t)
	teach(s, owner)
	owner.Append("INBOX", letter(100, boss, s.imap.User, "urgent matter"), time.Now())
	mail := testkit.NewMail(12)
	var records []kafka.Record
	for i := range 10 {
		m := mail.Next()
		records = append(records, kafka.Encode(kafka.Message{Raw: m.Raw}, mail.Owner, fmt.Sprint("m", i), "test", m.Date))
	}
	in.produce(append(records, kafka.Record{Key: []byte(mail.Owner)})) // an empty one: a dead letter
	in.done(patience, s)
	await(t, p, `hinged_marks_set_total{account="me"} > 0`, some)
	await(t, p, `sum(hinged_kafka_dead_letters_total) > 0`, some)
	await(t, p, `sum(hinged_kafka_decisions_total) == 10 and sum(hinged_kafka_lag) == 0`, some)

	alerts := await(t, p, `ALERTS{alertstate="firing", alertname="HingedLoginRefused"}`, some)
	if got := alerts.Result[0].Metric["account"]; len(alerts.Result) != 1 || got != "locked" {
		t.Errorf("an alert fires for %q: %v", got, alerts)
	}
	for _, name := range described(t) {
		await(t, p, name, some)
	}
	for _, q := range queries(t) {
		// Shares of what did not happen within the test have no value.
		if !strings.Contains(q, "> 0") && !strings.Contains(q, "hinged_baseline_f1") && !strings.Contains(q, "hinged_decision_f1") {
			await(t, p, q, some) // not at once: on a busy machine Prometheus gives some scrapes up
		} else if err := p.ask(new(found), "query", "query", q); err != nil {
			t.Errorf("%s: %v", q, err)
		}
	}
	var ours struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	if err := p.ask(&ours, "rules"); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, g := range ours.Groups {
		for _, r := range g.Rules {
			if n++; r.Health != "ok" {
				t.Errorf("rule %s is %s: %s", r.Name, r.Health, r.LastError)
			}
		}
	}
	if n < 15 {
		t.Errorf("Prometheus knows %d rules", n)
	}
}

// described are the metrics of docs/metrics.md, as series. What needs labels on real
// decisions is absent in a short run.
func described(t *testing.T) (out []string) {
	t.Helper()
	text := testkit.Read(t, "../../docs/metrics.md")
	for _, m := range regexp.MustCompile("(?m)^\\| `(hinged_[a-z0-9_]+)` \\| ([a-z]+) \\|").FindAllStringSubmatch(string(text), -1) {
		name := m[1]
		if m[2] == "summary" || m[2] == "histogram" {
			name += "_count"
		}
		out = append(out, name)
	}
	if len(out) < 40 {
		t.Fatalf("docs/metrics.md describes %d metrics", len(out))
	}
	return out
}

// queries are those of the Grafana dashboard, with its variables as Grafana fills them in.
func queries(t *testing.T) (out []string) {
	t.Helper()
	var board struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(deployed(t, "grafana/hinged.json")), &board); err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("$instance", ".*", "$account", ".*", "$__rate_interval", "1m")
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			out = append(out, fill.Replace(target.Expr))
		}
	}
	if len(out) < 20 || slices.Contains(out, "") {
		t.Fatalf("the dashboard has %d queries", len(out))
	}
	return out
}

// prometheus is a running Prometheus.
type prometheus struct {
	tb  testing.TB
	url string
}

// startPrometheus starts a Prometheus of its own for this test on a free port of loopback.
// config is its configuration; what it names is looked for below dir. It is stopped when the
// test ends.
func startPrometheus(tb testing.TB, dir, config string) *prometheus {
	tb.Helper()
	root, err := testkit.Prometheus()
	testkit.Need(tb, err)
	addr := fmt.Sprint("127.0.0.1:", testkit.FreePorts(tb, 1)[0])
	file := filepath.Join(dir, "prometheus.yml")
	testkit.Write(tb, file, config)
	testkit.Promtool(tb, dir, "check", "config", "prometheus.yml")
	cmd := exec.CommandContext(context.Background(), filepath.Join(root, "bin", "prometheus"),
		"--config.file="+file, "--storage.tsdb.path="+filepath.Join(tb.TempDir(), "data"), "--web.listen-address="+addr,
		"--web.external-url=http://"+addr+"/")
	testkit.Serve(tb, "Prometheus", addr, cmd)
	p := &prometheus{tb, "http://" + addr}
	p.awaitReady()
	return p
}

// awaitReady waits until queries are answered: first it replays what it has stored.
func (p *prometheus) awaitReady() {
	p.tb.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		var now any
		err := p.ask(&now, "query", "query", "1")
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			p.tb.Fatalf("Prometheus is not ready: %v", err)
		}
	}
}

// ask asks the HTTP API of Prometheus, as in ask("query", "query", "up"), and decodes the
// data of the answer into out. An error is what Prometheus refuses, such as a query that
// can't be parsed.
func (p *prometheus) ask(out any, what string, keysAndValues ...string) error {
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

// serializers tell Schemathesis how bodies are sent that are no JSON.
const serializers = `import schemathesis


@schemathesis.serializer("message/rfc822")
def mail(context, value):
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
`

// testAPI tests an HTTP API by the OpenAPI document at url: what it asks is chosen by
// the document and by a fixed seed, and what is answered must be as the document says. The
// config is a schemathesis.toml; header is sent with every request. What it found fails the
// test.
func testAPI(tb testing.TB, url, config string, header map[string]string, args ...string) {
	tb.Helper()
	packages, err := testkit.Schemathesis()
	testkit.Need(tb, err)
	dir := tb.TempDir()
	for name, text := range map[string]string{"schemathesis.toml": "hooks = \"serializers.py\"\n" + config, "serializers.py": serializers} {
		testkit.Write(tb, filepath.Join(dir, name), text)
	}
	all := []string{
		"-m", "schemathesis.cli", "--config-file", "schemathesis.toml", "--no-color", "run", url,
		"--seed", "1", "--workers", "1", "--checks", "all", "--continue-on-failure", "--generation-database", "none",
		// How fast the machine is says nothing of the API.
		"--suppress-health-check", "too_slow", "--request-timeout", "60",
	}
	for name, value := range header {
		all = append(all, "-H", name+": "+value)
	}
	cmd := exec.CommandContext(tb.Context(), "python3", append(all, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PYTHONPATH="+packages, "PYTHONDONTWRITEBYTECODE=1", "NO_COLOR=1", "COLUMNS=120")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		tb.Fatalf("schemathesis: %v\n%s", err, out.Bytes())
	}
	if !strings.Contains(out.String(), "API Operations") {
		tb.Fatalf("schemathesis tested nothing:\n%s", out.Bytes())
	}
	tb.Log(out.String())
}
