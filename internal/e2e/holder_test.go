// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
)

// TestVerbsSayThatTheirStoreIsBusy: beside a bootstrap, which has the store for long, every
// verb says at once what has it.
func TestVerbsSayThatTheirStoreIsBusy(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells which process has a file locked")
	}
	// A server that falls silent in the middle.
	reading := make(chan struct{}, 1)
	f := testkit.StartFake(t, func(f *testkit.Fake) {
		f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
			if cmd.Name != "UID FETCH" {
				return false
			}
			select {
			case reading <- struct{}{}:
			default:
			}
			c.Mute()
			return true
		}
	})
	f.Add(string(letter(1, boss, "owner@example.org", "urgent matter")), "")
	s := siteFor(t, testkit.Login{Addr: f.Addr, User: "owner@example.org", Password: "secret"}, t.TempDir(), "debug", "", "tls = \"none\"\n")
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "bootstrap", "--config", s.config, "--json")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	select {
	case <-reading:
	case <-time.After(patience):
		t.Fatal("bootstrap read nothing")
	}
	want := fmt.Sprintf("another hinged has the store open: hinged bootstrap is at work (process %d)", cmd.Process.Pid)
	for _, verb := range []string{"status", "digest", "words", "run", "compact"} {
		out, err := s.hinged(verb, "--config", s.config)
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v, want %q in\n%s", verb, err, want, out)
		}
	}
}
