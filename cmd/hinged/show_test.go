// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/control"
	"github.com/hinged/hinged/internal/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// shown is a mailbox whose owner has marks shown to them. The mark is the star alone,
// without a companion: nothing tells it from the owner's word.
type shown struct {
	t     *testing.T
	dir   string
	owner *testkit.Owner
}

func (s *shown) config() string { return filepath.Join(s.dir, "hinged.toml") }

// daemon runs hinged until stop is called.
func (s *shown) daemon() (stop func()) {
	s.t.Helper()
	cmd := exec.Command("hinged", "run", "--config", s.config())
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			s.t.Errorf("the daemon ended with %v", err)
		}
	}
	s.t.Cleanup(stop)
	s.until("all mail read", func(a desk.AccountStatus) bool { return a.Connected && a.Messages == 3 && a.Remaining == 0 })
	return stop
}

// until waits until the running daemon's status is as wanted.
func (s *shown) until(what string, ok func(desk.AccountStatus) bool) desk.AccountStatus {
	s.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		at, err := control.Dial(context.Background(), filepath.Join(s.dir, "state", "hinged.sock"))
		var st desk.Status
		if err == nil {
			st, err = control.Ask(context.Background(), at, desk.GetStatus, "", desk.None{})
			_ = at.Close()
		}
		if err == nil && ok(st.Accounts[0]) {
			return st.Accounts[0]
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("not in time: %s; %v, %+v", what, err, st)
		}
	}
}

func (s *shown) flags() string { return fmt.Sprint(s.owner.All("INBOX")) }

// taught is all that the owner's deeds left in the state.
func (s *shown) taught(a desk.AccountStatus) string {
	text, err := json.Marshal([]any{a.Important, a.Ordinary, a.Pending, a.Mistakes, a.MarksRefused, a.Judged})
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

func TestAShownMarkTeachesNothing(t *testing.T) {
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	s := &shown{t: t, dir: t.TempDir(), owner: d.Owner(t)}
	for i, flags := range [][]string{{`\Seen`}, {`\Seen`}, {}} {
		s.owner.Append("INBOX", fmt.Appendf(nil, "From: a@example.net\r\nTo: %s\r\nSubject: number %d\r\nMessage-ID: <n%d@example.net>\r\n\r\nx\r\n", d.User, i, i), time.Now().Add(-time.Hour), flags...)
	}
	text := fmt.Sprintf("state_dir = 'state'\n[[account]]\nname = 'me'\nowner = [%q]\nmark = ['\\Flagged']\ncompanion = ''\nshadow = 'on'\nsettle = '1s'\n"+
		"[account.imap]\naddress = %q\ntls = 'none'\nusername = %q\npassword_file = 'password'\n", d.User, d.Addr, d.User)
	for name, data := range map[string]string{"hinged.toml": text, "password": d.Password + "\n"} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stop := s.daemon()
	before := s.flags()
	was := s.taught(s.until("a status", func(desk.AccountStatus) bool { return true }))
	starred := func(what string) {
		t.Helper()
		if s.flags() == before {
			t.Errorf("%s: nothing was shown", what)
		}
	}
	unstarred := func(what string) {
		t.Helper()
		if got := s.flags(); got != before {
			t.Errorf("%s: the flags were %s and are %s", what, before, got)
		}
	}
	const question, look = "[y/N] ", "press Enter. "

	// Beside a daemon that watches, nothing is shown.
	c := sit(t, "check", "--show-mark", "--config", s.config())
	if code := c.end(); code != cli.ExitOK || !strings.Contains(c.screen(), "not shown: hinged is running") {
		t.Errorf("exit code %d:\n%s", code, c.screen())
	}
	// Paused, it is; whoever resumes meanwhile takes it off.
	pause := func(verb string) {
		t.Helper()
		if out, err := exec.Command("hinged", verb, "--config", s.config()).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", verb, err, out)
		}
	}
	pause("pause")
	c = sit(t, "check", "--show-mark", "--config", s.config())
	c.answer(question, 1, "y\r")
	c.answer(look, 1, "")
	starred("paused")
	pause("resume")
	s.until("watching again", func(a desk.AccountStatus) bool { return a.Connected && !a.Paused })
	unstarred("resumed")
	c.answer(look, 1, "\r")
	if code := c.end(); code != cli.ExitOK || strings.Contains(c.screen(), "FAIL") {
		t.Errorf("exit code %d:\n%s", code, c.screen())
	}
	stop()

	// Ctrl-C takes it off.
	c = sit(t, "check", "--show-mark=<n2@example.net>", "--config", s.config())
	c.answer("number 2", 1, "")
	c.answer(question, 1, "y\r")
	c.answer(look, 1, "")
	starred("Ctrl-C")
	c.answer(look, 1, "\x03")
	if code := c.end(); code != cli.ExitOK || !strings.Contains(c.screen(), "is off again") {
		t.Errorf("exit code %d:\n%s", code, c.screen())
	}
	unstarred("Ctrl-C")

	// After a kill, the next start does, before it watches.
	c = sit(t, "check", "--show-mark", "--config", s.config())
	c.answer(question, 1, "y\r")
	c.answer(look, 1, "")
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.end()
	starred("killed")
	stop = s.daemon()
	unstarred("started after a kill")
	// A star of the owner's is heard. When it has taught, all before it would have, too.
	s.owner.Set("INBOX", 1, `\Flagged`)
	last := s.until("the owner's star learnt", func(a desk.AccountStatus) bool { return a.Important > 0 && a.Pending == 0 })
	if got := s.taught(last); was != "[0,0,0,0,0,0]" || last.Important != 1 || last.Ordinary != 0 || last.MarksRefused != 0 {
		t.Errorf("it had learnt %s, and %s afterwards, of which one star is the owner's", was, got)
	}
	stop()
	if left, err := filepath.Glob(filepath.Join(s.dir, "state", "shown-*")); err != nil || !slices.Equal(left, nil) {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

func TestShowMarkNeedsSomebodyWhoLooks(t *testing.T) {
	for args, want := range map[string]string{
		"--show-mark":            "needs a terminal",
		"--show-mark --no-write": "--no-write forbids",
		"--show-mark --json":     "needs a terminal, and no --json",
	} {
		code, _, stderr := hinged(t, append([]string{"check"}, strings.Fields(args)...)...)
		if code != cli.ExitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, %s", args, code, stderr)
		}
	}
}
