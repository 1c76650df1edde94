// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// Promtool runs promtool in dir and returns what it printed. Its failure fails the test.
func Promtool(tb testing.TB, dir string, args ...string) string {
	tb.Helper()
	root, err := Prometheus()
	Need(tb, err)
	cmd := exec.CommandContext(tb.Context(), filepath.Join(root, "bin", "promtool"), args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("promtool %v: %v\n%s", args, err, out)
	}
	return string(out)
}
