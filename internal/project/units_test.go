// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
)

// units are the files of deploy/ with the highest exposure that they may have, in tenths.
// systemd 252 gives the first 1.5 and the second 1.1; other versions count some settings
// differently.
var units = []struct {
	name      string
	manager   string
	threshold string
}{
	{"hinged-user.service", "--user", "--threshold=18"},
	{"hinged.service", "--system", "--threshold=13"},
}

func TestTheUnitsConfineTheDaemon(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		absent(t, "no systemd-analyze here (package systemd)")
	}
	for _, unit := range units {
		t.Run(unit.name, func(t *testing.T) {
			text := testkit.Read(t, filepath.Join(root, "deploy", unit.name))
			dir := t.TempDir()
			run := func(file string, args ...string) []byte {
				t.Helper()
				cmd := exec.Command("systemd-analyze", append(append([]string{unit.manager, "--no-pager"}, args...), file)...)
				// A user's manager keeps its files there.
				cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Errorf("systemd-analyze %v: %v\n%s", args, err, out)
				}
				return out
			}
			file := filepath.Join(dir, unit.name)
			// verify wants the program to be there.
			installed := bytes.ReplaceAll(text, []byte("/usr/local/bin/hinged"), []byte("/bin/true"))
			testkit.Write(t, file, installed)
			out := run(file, "security", "--offline=yes", unit.threshold)
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			t.Log(lines[len(lines)-1])
			// systemd ignores a misspelt setting and only mentions it.
			if out := run(file, "verify", "--man=no"); bytes.Contains(out, []byte(unit.name)) {
				t.Errorf("systemd-analyze verify: %s", out)
			}
		})
	}
}

// The sandbox of a user's unit can make a directory writable only if it exists before.
func TestTheUsersUnitCreatesWhatItMayWrite(t *testing.T) {
	text := testkit.Read(t, filepath.Join(root, "deploy/hinged-user.service"))
	made := regexp.MustCompile(`(?m)^ExecStartPre=\+/bin/mkdir -p -m 0700 (.*)$`).FindSubmatch(text)
	writable := regexp.MustCompile(`(?m)^ReadWritePaths=-(.*)$`).FindSubmatch(text)
	if made == nil || writable == nil || !bytes.Equal(made[1], writable[1]) {
		t.Errorf("it creates %q and may write %q", made, writable)
	}
}
