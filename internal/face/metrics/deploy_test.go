// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

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
