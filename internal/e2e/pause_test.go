// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// sockets counts the daemon's TCP connections, as the kernel has them.
func (s *site) sockets() int {
	s.t.Helper()
	fds := fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid)
	entries, err := os.ReadDir(fds)
	if err != nil {
		s.t.Fatal(err)
	}
	var inodes []string
	for _, e := range entries {
		// A descriptor may be closed in between.
		if to, err := os.Readlink(filepath.Join(fds, e.Name())); err == nil && strings.HasPrefix(to, "socket:[") {
			inodes = append(inodes, strings.TrimSuffix(strings.TrimPrefix(to, "socket:["), "]"))
		}
	}
	n := 0
	for _, table := range []string{"tcp", "tcp6"} {
		data := testkit.Read(s.t, fmt.Sprintf("/proc/%d/net/%s", s.cmd.Process.Pid, table))
		for _, line := range strings.Split(string(data), "\n") {
			if f := strings.Fields(line); len(f) > 9 && slices.Contains(inodes, f[9]) {
				n++
			}
		}
	}
	return n
}

// logins counts the logins that the server has logged.
func (s *site) logins() int { return strings.Count(s.imap.Log(), "Login: user=") }

// wakeUps counts how often a thread of the daemon began to run again after it had waited
// for something, since the daemon started.
func (s *site) wakeUps() (n int) {
	s.t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", s.cmd.Process.Pid))
	if err != nil || len(threads) == 0 {
		s.t.Fatalf("the daemon's threads: %v", err)
	}
	for _, path := range threads {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // that thread has ended
		}
		_, rest, _ := strings.Cut(string(text), "\nvoluntary_ctxt_switches:")
		line, _, _ := strings.Cut(rest, "\n")
		v, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			s.t.Fatalf("%s has %q voluntary switches", path, line)
		}
		n += v
	}
	return n
}

// A daemon that watches looks at its folders every second, which is the poll_interval of
// siteLogging.
const longSleep = 2500 * time.Millisecond

// wantWork waits until one did, or the test would not see it.
func (s *site) wantWork() {
	s.t.Helper()
	before := s.wakeUps()
	testkit.Until(s.t, func() bool { return s.wakeUps() != before }, "no thread of a daemon that watches ever woke up: this test can't see it")
}

// wantSleep waits for a stretch of longSleep in which no thread of the daemon woke up. What
// was under way before may take a while, as may the runtime's own tidying.
func (s *site) wantSleep() {
	s.t.Helper()
	var woken []int
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		before := s.wakeUps()
		time.Sleep(longSleep)
		n := s.wakeUps() - before
		if n == 0 {
			return
		}
		woken = append(woken, n)
	}
	s.t.Errorf("the daemon's threads woke up so often in %v each: %d", longSleep, woken)
}

// TestR14APausedAccountLeavesTheServerAlone: no connection, no login, no flag, no lesson
// and no turn on a processor, also over a restart; afterwards, what the owner did
// meanwhile is learnt and what arrived is marked.
func TestR14APausedAccountLeavesTheServerAlone(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: counting a process's connections needs Linux")
	}
	onEveryServer(t, leftAlone)
}

func leftAlone(o *resident) {
	s := o.daemon(quick)
	s.start()
	messages, lessons := teach(s, o.Owner)
	read := o.Append("INBOX", letter(100, news, o.user, "weekly newsletter"), time.Now().Add(-time.Minute))
	marked := o.Append("INBOX", letter(101, boss, o.user, "urgent matter"), time.Now().Add(-time.Minute))
	messages += 2
	s.until("both", func(a desk.AccountStatus) bool {
		return a.Messages == messages && a.MarksIntended == 0 && a.Connected
	})
	if n := s.sockets(); n == 0 {
		o.Fatal("the daemon is connected and has no socket: this test can't see them")
	}
	s.wantWork()

	if out, err := s.hinged("pause", "--config", s.config); err != nil || !strings.Contains(out, "me is paused") {
		o.Fatalf("pause: %v\n%s", err, out)
	}
	logins := s.logins()
	if logins == 0 {
		o.Fatal("the server logged no login: this test can't see them")
	}
	if n := s.sockets(); n != 0 {
		o.Errorf("%d TCP connections after the pause, want none", n)
	}
	o.Set("INBOX", read, `\Flagged`)
	o.Clear("INBOX", marked, "$Important")
	missed := o.Append("INBOX", letter(102, boss, o.user, "urgent matter"), time.Now().Add(-time.Minute))
	before := flagsOf(o.Owner)
	said := o.wire.Commands()
	s.wantSleep()
	for range 3 {
		s.end()
		s.start()
		for range 20 {
			st, up := s.status()
			if !up || !st.Paused || st.Connected || st.Messages != messages || st.Important+st.Ordinary != lessons {
				o.Fatalf("while paused: up %v, %+v", up, st)
			}
		}
		if n := s.sockets(); n != 0 {
			o.Errorf("%d TCP connections while paused, want none", n)
		}
	}
	s.wantSleep()
	if now := o.wire.Commands(); !maps.Equal(now, said) {
		o.Errorf("the server was given commands while paused: before %v, now %v", said, now)
	}
	if n := s.logins(); n != logins {
		o.Errorf("%d logins while paused, want none", n-logins)
	}
	for uid, f := range flagsOf(o.Owner) {
		if f != before[uid] {
			o.Errorf("message %d went from %q to %q while paused", uid, before[uid], f)
		}
	}
	s.wantReplay("while paused")

	if out, err := s.hinged("resume", "--config", s.config); err != nil || !strings.Contains(out, "Resumed account me") {
		o.Fatalf("resume: %v\n%s", err, out)
	}
	st := s.until("the catching up", func(a desk.AccountStatus) bool {
		return a.Messages == messages+1 && a.Important+a.Ordinary == lessons+2 && a.MarksIntended == 0 && a.Pending == 0
	})
	if st.MarksRefused != 1 {
		o.Errorf("%d refused marks, want the one taken back during the pause", st.MarksRefused)
	}
	flags := flagsOf(o.Owner)
	if flags[missed] != "$hinged $important" {
		o.Errorf("what arrived during the pause has the flags %q, want the mark", flags[missed])
	}
	if strings.Contains(flags[marked], "$important") {
		o.Error("the mark that the owner took back during the pause came back")
	}
	for id, want := range map[string]string{
		"l102@example.com": "hinged marked it: $Important in INBOX on ",
		"l101@example.com": "; you removed the mark on ",
		"l100@example.com": "hinged did not mark it: ordinary, score ",
	} {
		if out, err := s.hinged("ledger", "--config", s.config, id); err != nil || !strings.Contains(out, want) {
			o.Errorf("who marked %s? %v, %s\nwant %q", id, err, out, want)
		}
	}
	s.wantReplay("after the pause")
}
