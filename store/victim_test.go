package store

import (
	"bufio"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// victim is another process at work on a store, which says in lines how far it
// came until it is killed.
type victim struct {
	t      *testing.T
	cmd    *exec.Cmd
	lines  *bufio.Scanner
	stderr strings.Builder
}

func startVictim(t *testing.T, role, path string) *victim {
	t.Helper()
	v := &victim{t: t, cmd: other(role, path)}
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

// line waits for what it says next.
func (v *victim) line() string {
	v.t.Helper()
	if !v.lines.Scan() {
		v.t.Fatalf("the process stopped by itself: %s", v.stderr.String())
	}
	return v.lines.Text()
}

// killAfter kills it, waits for its end, and returns what it had said by then.
func (v *victim) killAfter(d time.Duration) (said []string) {
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

func number(line string) uint64 {
	n, _ := strconv.ParseUint(line, 10, 64)
	return n
}
