// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFetched fetches or builds each server and tool that no package installs. scripts/setup.sh
// runs its parts with HINGED_FETCH=1, so that no test waits for them, and to know which
// can't be had.
func TestFetched(t *testing.T) {
	for name, c := range map[string]struct {
		fetch func() (string, error)
		files []string // below what was fetched
	}{
		"kafka":        {kafkaJars, []string{"kafka_*.jar"}},
		"greenmail":    {greenmailJar, []string{""}},
		"maddy":        {maddyBinary, []string{""}},
		"mailservers":  {debianRoot, []string{"usr/lib/cyrus/bin/imapd", "usr/bin/imapd"}},
		"prometheus":   {Prometheus, []string{"bin/prometheus", "bin/promtool"}},
		"proxies":      {Proxies, []string{"bin/caddy", "bin/nginx"}},
		"schemathesis": {Schemathesis, []string{"schemathesis/__init__.py"}},
		"axe":          {axe, []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			path, err := c.fetch()
			if err != nil && os.Getenv("HINGED_FETCH") == "1" {
				t.Fatal(err)
			}
			Need(t, err)
			for _, file := range c.files {
				if found, err := filepath.Glob(filepath.Join(path, file)); err != nil || len(found) != 1 {
					t.Errorf("%s in %s: %q, %v", file, path, found, err)
				}
			}
		})
	}
}
