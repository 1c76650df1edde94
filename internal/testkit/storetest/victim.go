// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Role is a variable with which a test binary plays other processes: it then does
// what its value says instead of running tests.
const Role = "HINGED_STORE_TEST_ROLE"

// OtherProcess returns a command that runs this binary in a role.
func OtherProcess(role, path string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], path) //nolint:noctx // the test kills it
	cmd.Env = append(os.Environ(), Role+"="+role)
	return cmd
}

// Victim is another process at work on a store, which says in lines how far it
// came until it is killed.
type Victim struct {
	t      *testing.T
	cmd    *exec.Cmd
	lines  *bufio.Scanner
	stderr strings.Builder
}

// StartVictim begins a role on the store at path.
func StartVictim(t *testing.T, role, path string) *Victim {
	t.Helper()
	v := &Victim{t: t, cmd: OtherProcess(role, path)}
	stdout, err := v.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	v.cmd.Stderr = &v.stderr
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	v.lines = bufio.NewScanner(stdout)
	return v
}

// Line waits for what it says next.
func (v *Victim) Line() string {
	v.t.Helper()
	if !v.lines.Scan() {
		v.t.Fatalf("the process stopped by itself: %s", v.stderr.String())
	}
	return v.lines.Text()
}

// KillAfter kills it, waits for its end, and returns what it had said by then.
func (v *Victim) KillAfter(d time.Duration) (said []string) {
	v.t.Helper()
	time.Sleep(d)
	if err := v.cmd.Process.Kill(); err != nil {
		v.t.Fatal(err)
	}
	for v.lines.Scan() {
		said = append(said, v.lines.Text())
	}
	_ = v.cmd.Wait()
	return said
}

// Number is the number that a victim said.
func Number(line string) uint64 {
	n, _ := strconv.ParseUint(line, 10, 64)
	return n
}
