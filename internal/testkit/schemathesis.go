// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// schemathesis returns the directory with Schemathesis' packages and fetches them if need
// be. `make setup` has done so already.
var schemathesis = sync.OnceValues(func() (string, error) {
	if err := needPrograms("python3-pip", "python3"); err != nil {
		return "", err
	}
	return download("schemathesis.sh")
})

// serializers tell Schemathesis how bodies are sent that are no JSON.
const serializers = `import schemathesis


@schemathesis.serializer("message/rfc822")
def mail(context, value):
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
`

// Schemathesis tests an HTTP API by the OpenAPI document at url: what it asks is chosen by
// the document and by a fixed seed, and what is answered must be as the document says. The
// config is a schemathesis.toml; header is sent with every request. What it found fails the
// test.
func Schemathesis(tb testing.TB, url, config string, header map[string]string, args ...string) {
	tb.Helper()
	packages, err := schemathesis()
	needServer(tb, err)
	dir := tb.TempDir()
	for name, text := range map[string]string{"schemathesis.toml": "hooks = \"serializers.py\"\n" + config, "serializers.py": serializers} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
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
