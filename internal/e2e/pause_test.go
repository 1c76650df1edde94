// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/desk"
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
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", s.cmd.Process.Pid, table))
		if err != nil {
			s.t.Fatal(err)
		}
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

// TestR14APausedAccountLeavesTheServerAlone (R14): no connection, no login, no flag
// and no lesson, also over a restart; afterwards, what the owner did meanwhile is
// learnt and what arrived is marked.
func TestR14APausedAccountLeavesTheServerAlone(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: counting a process's connections needs Linux")
	}
	s := newSite(t, quick)
	s.start()
	owner := s.imap.Owner(t)
	defer owner.Close()
	messages, lessons := teach(s, owner)
	read := owner.Append("INBOX", letter(100, news, s.imap.User, "weekly newsletter"), time.Now().Add(-time.Minute))
	marked := owner.Append("INBOX", letter(101, boss, s.imap.User, "urgent matter"), time.Now().Add(-time.Minute))
	messages += 2
	s.until("both", func(a desk.AccountStatus) bool {
		return a.Messages == messages && a.MarksIntended == 0 && a.Connected
	})
	if n := s.sockets(); n == 0 {
		t.Fatal("the daemon is connected and has no socket: this test can't see them")
	}

	if out, err := s.hinged("pause", "--config", s.config); err != nil || !strings.Contains(out, "me is paused") {
		t.Fatalf("pause: %v\n%s", err, out)
	}
	logins := s.logins()
	if logins == 0 {
		t.Fatal("the server logged no login: this test can't see them")
	}
	if n := s.sockets(); n != 0 {
		t.Errorf("%d TCP connections after the pause, want none", n)
	}
	owner.Set("INBOX", read, `\Flagged`)
	owner.Clear("INBOX", marked, "$Important")
	missed := owner.Append("INBOX", letter(102, boss, s.imap.User, "urgent matter"), time.Now().Add(-time.Minute))
	before := flagsOf(owner)
	for range 3 {
		if err := s.stop(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		s.start()
		for range 20 {
			st, up := s.status()
			if !up || !st.Paused || st.Connected || st.Messages != messages || st.Important+st.Ordinary != lessons {
				t.Fatalf("while paused: up %v, %+v", up, st)
			}
		}
		if n := s.sockets(); n != 0 {
			t.Errorf("%d TCP connections while paused, want none", n)
		}
	}
	if n := s.logins(); n != logins {
		t.Errorf("%d logins while paused, want none", n-logins)
	}
	for uid, f := range flagsOf(owner) {
		if f != before[uid] {
			t.Errorf("message %d went from %q to %q while paused", uid, before[uid], f)
		}
	}
	s.wantReplay("while paused")

	if out, err := s.hinged("resume", "--config", s.config); err != nil || !strings.Contains(out, "Resumed account me") {
		t.Fatalf("resume: %v\n%s", err, out)
	}
	st := s.until("the catching up", func(a desk.AccountStatus) bool {
		return a.Messages == messages+1 && a.Important+a.Ordinary == lessons+2 && a.MarksIntended == 0 && a.Pending == 0
	})
	if st.MarksRefused != 1 {
		t.Errorf("%d refused marks, want the one taken back during the pause", st.MarksRefused)
	}
	flags := flagsOf(owner)
	if flags[missed] != "$hinged $important" {
		t.Errorf("what arrived during the pause has the flags %q, want the mark", flags[missed])
	}
	if strings.Contains(flags[marked], "$important") {
		t.Error("the mark that the owner took back during the pause came back")
	}
	for id, want := range map[string]string{
		"l102@example.com": "hinged marked it: $Important in INBOX on ",
		"l101@example.com": "; you removed the mark on ",
		"l100@example.com": "hinged did not mark it: ordinary, score ",
	} {
		if out, err := s.hinged("ledger", "--config", s.config, id); err != nil || !strings.Contains(out, want) {
			t.Errorf("who marked %s? %v, %s\nwant %q", id, err, out, want)
		}
	}
	s.wantReplay("after the pause")
}
