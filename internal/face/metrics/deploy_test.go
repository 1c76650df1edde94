// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v3"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

const deploy = "../../../deploy"

func TestPromtoolFindsNothingWrongWithTheAlerts(t *testing.T) {
	dir := filepath.Join(deploy, "prometheus")
	testkit.Promtool(t, dir, "check", "rules", "--lint-fatal", "alerts.yml")
	testkit.Promtool(t, dir, "check", "config", "prometheus.yml")
	// Each alert fires for its fault, and none where all is well.
	testkit.Promtool(t, dir, "test", "rules", "alerts_test.yml")
}

// rule is one alert.
type rule struct {
	Alert, Expr         string
	Labels, Annotations map[string]string
}

func alerts(t *testing.T) (out []rule) {
	t.Helper()
	var file struct {
		Groups []struct{ Rules []rule }
	}
	if err := yaml.Unmarshal(read(t, "prometheus/alerts.yml"), &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		out = append(out, g.Rules...)
	}
	return out
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text := testkit.Read(t, filepath.Join(deploy, path))
	return text
}

func TestEveryAlertSaysWhatToDoAndIsTried(t *testing.T) {
	tried := string(read(t, "prometheus/alerts_test.yml"))
	seen := map[string]bool{}
	for _, r := range alerts(t) {
		if seen[r.Alert] || !strings.HasPrefix(r.Alert, "Hinged") {
			t.Errorf("%q is no name for it, or is there twice", r.Alert)
		}
		seen[r.Alert] = true
		if !slices.Contains([]string{"page", "warning", "info"}, r.Labels["severity"]) {
			t.Errorf("%s: severity %q", r.Alert, r.Labels["severity"])
		}
		if r.Annotations["summary"] == "" || len(r.Annotations["description"]) < 60 {
			t.Errorf("%s does not say what to do: %q", r.Alert, r.Annotations)
		}
		if !strings.Contains(tried, `{alertname="`+r.Alert+`",`) {
			t.Errorf("alerts_test.yml does not try %s", r.Alert)
		}
	}
	if len(seen) < 15 {
		t.Errorf("there are %d alerts", len(seen))
	}
}

// panel is one of the Grafana dashboard.
type panel struct {
	ID          int
	Type, Title string
	GridPos     struct{ H, W, X, Y int }
	Targets     []struct{ Expr, RefID string }
}

func panels(t *testing.T) []panel {
	t.Helper()
	var board struct{ Panels []panel }
	if err := json.Unmarshal(read(t, "grafana/hinged.json"), &board); err != nil {
		t.Fatal(err)
	}
	return board.Panels
}

func TestTheDashboardsPanelsAreSound(t *testing.T) {
	ids := map[int]bool{}
	cells := map[[2]int]string{}
	for _, p := range panels(t) {
		if ids[p.ID] || p.Title == "" || p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %d %q: a number twice, no title, or nothing to show", p.ID, p.Title)
		}
		ids[p.ID] = true
		if g := p.GridPos; g.W < 1 || g.H < 1 || g.X < 0 || g.X+g.W > 24 {
			t.Errorf("panel %q lies at %+v", p.Title, g)
		}
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if other := cells[at]; other != "" {
					t.Fatalf("panels %q and %q overlap", p.Title, other)
				}
				cells[at] = p.Title
			}
		}
	}
}

// A query for what there is not shows nothing and never fires.
func TestAlertsAndDashboardUseMetricsThatThereAre(t *testing.T) {
	m := New(Options{Host: newHost(t)})
	m.Show(desk.Shown{Account: "ann", Deed: desk.DeedLearnt, Source: "mark", Label: "important"})
	there := map[string]bool{"process_cpu_seconds_total": true}
	families, err := prometheus.Gatherers{m.registry}.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		there[f.GetName()] = true
	}
	queries := map[string]string{}
	for _, r := range alerts(t) {
		queries["alert "+r.Alert] = r.Expr
	}
	for _, p := range panels(t) {
		for _, target := range p.Targets {
			queries["panel "+p.Title+" "+target.RefID] = target.Expr
		}
	}
	used := 0
	for where, q := range queries {
		for _, name := range regexp.MustCompile(`\b(?:hinged|process|go)_[a-z0-9_]+`).FindAllString(q, -1) {
			used++
			base := name
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				base = strings.TrimSuffix(base, suffix)
			}
			if !there[name] && !there[base] {
				t.Errorf("%s uses %s, which there is not", where, name)
			}
		}
	}
	if used < 50 {
		t.Errorf("only %d metrics are used", used)
	}
}
