// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

func letter(n int, from, to, words string, headers ...string) []byte {
	more := ""
	for _, h := range headers {
		more += h + "\r\n"
	}
	return fmt.Appendf(nil, "From: %s\r\nTo: %s\r\nSubject: %s\r\nMessage-ID: <l%d@example.com>\r\n%s\r\nThis is about %s and nothing else, number %d.\r\n",
		from, to, words, n, more, words, n)
}

const (
	boss = "boss@example.com"
	news = "news@example.net"
)

// teach delivers and labels mail until the daemon marks what the boss writes.
func teach(s *site, owner *testkit.Owner) (messages, lessons uint64) {
	s.t.Helper()
	return teachDated(s, owner, time.Now())
}

// teachDated does so with messages of a date.
func teachDated(s *site, owner *testkit.Owner, date time.Time) (messages, lessons uint64) {
	s.t.Helper()
	for i := range 6 {
		urgent := owner.Append("INBOX", letter(2*i, boss, s.user, "urgent matter"), date)
		dull := owner.Append("INBOX", letter(2*i+1, news, "list@example.net", "weekly newsletter"), date)
		messages += 2
		s.until("the messages", func(a desk.AccountStatus) bool { return a.Messages == messages })
		owner.Set("INBOX", urgent, `\Flagged`)
		owner.Set("INBOX", dull, "$Junk")
		lessons += 2
		s.until("the lessons", func(a desk.AccountStatus) bool {
			return a.Important+a.Ordinary == lessons && a.MarksIntended == 0
		})
	}
	return messages, lessons
}

const quick = "shadow = \"off\"\nsettle = \"50ms\"\nsilence = \"0d\"\n[account.threshold]\nmode = \"fixed\"\nvalue = 0.0\nunsure_share = 0.0\n"

// still has nothing but lessons move the weights: no replay before each arrival.
const still = "[account.learner]\nsteps = 0\n"

func flagsOf(owner *testkit.Owner) map[uint32]string {
	out := map[uint32]string{}
	for _, m := range owner.All("INBOX") {
		out[m.UID] = strings.Join(m.Flags, " ")
	}
	return out
}

// TestDiskFull: nothing is marked or lost while the disk is full, status says so,
// and the daemon goes on by itself when there is room again.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	small := filepath.Join(dir, "state")
	mountSmall(t, small)
	s := siteOn(t, testkit.StartDovecot(t, testkit.DovecotOptions{}), dir, quick)
	s.start()
	owner := s.imap.Owner(t)
	messages, _ := teach(s, owner)

	filler := filepath.Join(small, "filler")
	f, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	block := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(block)
	}
	_ = f.Close()
	var uids []uint32
	for i := range 300 {
		uids = append(uids, owner.Append("INBOX", letter(200+i, boss, s.imap.User, fmt.Sprint("urgent matter ", strings.Repeat(fmt.Sprint("word", i, " "), 40))), time.Now()))
		messages++
	}
	full := s.until("the full disk in the status", func(a desk.AccountStatus) bool { return a.Problem != "" })
	if !strings.Contains(full.Problem, "space") && !strings.Contains(full.Problem, "full") {
		t.Errorf("the problem is said to be %q; it should speak of space on the disk", full.Problem)
	}
	if full.Messages == messages {
		t.Error("everything was committed; the disk was not full")
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	s.until("everything decided and marked once there is room", func(a desk.AccountStatus) bool {
		return a.Messages == messages && a.MarksIntended == 0 && a.Problem == ""
	})
	marked := flagsOf(owner)
	for _, uid := range uids {
		if marked[uid] != "$hinged $important" {
			t.Fatalf("message %d has the flags %q, want the mark", uid, marked[uid])
		}
	}
	s.end()
	s.wantReplay("after the full disk")
}

// mountSmall mounts a file system of 2 MiB, or skips, which CI may not.
func mountSmall(t *testing.T, dir string) {
	t.Helper()
	skip := t.Skipf
	if os.Getenv("CI") == "true" {
		skip = t.Fatalf
	}
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		skip("SKIPPED: a full disk needs root on Linux, to mount a small file system")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=2m,mode=0700", "tmpfs", dir).CombinedOutput(); err != nil {
		skip("SKIPPED: cannot mount a small file system: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
}

// TestTwoSignalsInARow: the second ends the daemon without further ado, and
// whichever it was that ended it, the store is whole.
func TestTwoSignalsInARow(t *testing.T) {
	t.Parallel()
	s := newSite(t, quick)
	owner := s.imap.Owner(t)
	mail := testkit.NewMail(4)
	for range 300 {
		owner.Append("INBOX", mail.Next().Raw, time.Now())
	}
	for range 5 {
		s.start() // into the first scan, at first
		if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := s.stop(syscall.SIGINT); errors.Is(err, errStuck) { // or ended by the signal, or by itself
			t.Fatal(err)
		}
		s.wantReplay("after two signals")
	}
}

// TestTheQuickStarIsHeard: where the star is the mark, an unread message that is starred as
// soon as it has come teaches at once, and so do stars that are set while hinged is stopped
// and reach the server all together, as mbsync brings them.
func TestTheQuickStarIsHeard(t *testing.T) {
	t.Parallel()
	s := newSite(t, "mark = ['\\Flagged']\n"+strings.Replace(quick, "value = 0.0", "value = 99.0", 1)) // nothing is marked by us
	s.start()
	owner := s.imap.Owner(t)
	var uids []uint32
	for i := range 31 {
		uids = append(uids, owner.Append("INBOX", letter(i, fmt.Sprintf("a%d@example.net", i), s.user, fmt.Sprint("matter", i)), time.Now()))
	}
	s.until("the mail", func(a desk.AccountStatus) bool { return a.Messages == 31 })
	owner.Set("INBOX", uids[30], `\Flagged`)
	s.until("the lesson of a quick star", func(a desk.AccountStatus) bool { return a.Important == 1 })
	s.end()
	for _, uid := range uids[:30] {
		owner.Set("INBOX", uid, `\Flagged`)
	}
	s.start()
	st := s.until("the lessons of 30 stars", func(a desk.AccountStatus) bool { return a.Important == 31 })
	if slices.ContainsFunc(st.Warnings, func(w string) bool { return strings.Contains(w, "program") }) {
		t.Errorf("warned of %q", st.Warnings)
	}
}
