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

// replayed replays in memory the sequence that a victim commits to a file.
type replayed struct {
	st      *State
	tw      *twin
	commits uint64
}

func newReplayed() *replayed { return &replayed{st: NewState(), tw: newTwin()} }

// compare goes on to where the file stands, which must be the commit that the
// victim said last or the one after it, and demands that both hold the same.
func (r *replayed) compare(t *testing.T, s *Store, said uint64) *State {
	t.Helper()
	loaded, err := s.Load("ann")
	if err != nil {
		t.Fatal(err)
	}
	if loaded.at.commit < said || loaded.at.commit > said+1 {
		t.Fatalf("the file has commit %d, the process had said %d", loaded.at.commit, said)
	}
	for ; r.commits < loaded.at.commit; r.commits++ {
		r.tw.committed(sequence(r.st, r.tw, r.commits+1))
	}
	r.tw.compare(t, loaded)
	r.tw.compareLogs(t, s, "ann")
	return loaded
}
