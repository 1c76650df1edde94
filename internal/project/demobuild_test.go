// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
)

// TestTheDemoLinksNoBroker: what `make demo` compiles, and nothing else, leaves out the
// broker of `hinged demo --kafka`, a fifth of all that there is to compile.
func TestTheDemoLinksNoBroker(t *testing.T) {
	for tags, want := range map[string]bool{"nobroker": false, "": true} {
		out, err := exec.Command("go", "list", "-tags", tags, "-deps", "github.com/hinged/hinged/cmd/hinged").Output()
		if err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(string(out), "github.com/twmb/franz-go/"); has != want {
			t.Errorf("with tags %q it links franz-go: %v, want %v", tags, has, want)
		}
	}
	if out, err := exec.Command("go", "vet", "-tags", "nobroker", "github.com/hinged/hinged/internal/demo").CombinedOutput(); err != nil {
		t.Errorf("without the broker: %v\n%s", err, out)
	}
}

// TestTheDemosBuildSaysHowFarItIs, says at once what takes so long, shows what the
// compiler has to say, and fails with it.
func TestTheDemosBuildSaysHowFarItIs(t *testing.T) {
	fake := filepath.Join(t.TempDir(), "go")
	const script = `#!/bin/sh
case $1 in
list) echo "go: downloading example.org/a v1.0.0" >&2; for i in $(seq 200); do echo "p$i"; done ;;
build) for i in $(seq 150); do echo "p$i" >&2; done; [ -z "$BROKEN" ] || { echo "# p151" >&2; echo "a.go:1:2: undefined: x" >&2; exit 1; } ;;
esac
`
	testkit.WriteProgram(t, fake, []byte(script), 0o700)
	for _, broken := range []string{"", "1"} {
		cmd := exec.Command("sh", "../../scripts/build-demo.sh", "nowhere")
		cmd.Env = append(os.Environ(), "GO="+fake, "BROKEN="+broken)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if (err == nil) != (broken == "") {
			t.Errorf("broken %q: it ended with %v", broken, err)
		}
		if got := string(out); !strings.HasPrefix(got, "Compiling hinged") || !strings.HasSuffix(got, "100 of 200 packages compiled\n") {
			t.Errorf("it says %q", got)
		}
		if got := stderr.String(); strings.Contains(got, "a.go:1:2: undefined: x") != (broken != "") || strings.Contains(got, "downloading") {
			t.Errorf("broken %q: on standard error is %q", broken, got)
		}
	}
}
