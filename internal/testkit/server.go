// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/host/loopback"
)

// Need skips the test, saying so, when err says that something cannot run here, and with
// -short, which asks for tests without servers. In CI, where CI=true, that is a failure.
func Need(tb testing.TB, err error) {
	tb.Helper()
	switch {
	case testing.Short():
		tb.Skip("SKIPPED: -short asks for tests without servers")
	case err == nil:
	case os.Getenv("CI") == "true":
		tb.Fatalf("CI must test against this server: %v", err)
	default:
		tb.Skipf("SKIPPED: %v", err)
	}
}

// FreePorts holds free ports of loopback until the test ends.
func FreePorts(tb testing.TB, n int) []int {
	tb.Helper()
	held, err := loopback.Hold(n)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(held.Release)
	return held.Numbers
}

// Serve runs the server cmd, which is ended with the test, and waits until it answers on
// addr. It returns what tells what the server said so far, and after it what more tells.
func Serve(tb testing.TB, what, addr string, cmd *exec.Cmd, more ...func() string) (log func() string) {
	tb.Helper()
	// A file, not a buffer: its children may keep a pipe open.
	output, err := os.Create(filepath.Join(tb.TempDir(), "output"))
	if err != nil {
		tb.Fatal(err)
	}
	defer output.Close()
	log = func() string {
		said, err := os.ReadFile(output.Name())
		if err != nil {
			said = []byte(err.Error())
		}
		for _, m := range more {
			said = append(said, m()...)
		}
		return string(said)
	}
	cmd.Stdout, cmd.Stderr = output, output
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = childAttributes()
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // ends with the signal below
		close(ended)
	}()
	tb.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended by itself
		select {
		case <-ended:
		case <-time.After(killPatience):
			tb.Errorf("%s was killed and has not ended within %v", what, killPatience)
		}
	})
	awaitAnswer(tb, what, addr, ended, log)
	return log
}

// awaitAnswer waits until something listens on addr. It fails the test when ended
// is closed, or nothing listens within startPatience; log tells why.
func awaitAnswer(tb testing.TB, what, addr string, ended <-chan struct{}, log func() string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), startPatience)
	defer cancel()
	for {
		if conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", addr); err == nil {
			conn.Close()
			return
		}
		select {
		case <-ended:
			tb.Fatalf("%s ended at once:\n%s", what, log())
		case <-ctx.Done():
			tb.Fatalf("%s does not answer on %s: %v\n%s", what, addr, ctx.Err(), log())
		case <-time.After(20 * time.Millisecond):
		}
	}
}
