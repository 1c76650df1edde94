// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
)

// reloads is how often the configuration is read again in the test below.
const reloads = 25

// reloadMessages is how much mail comes meanwhile.
const reloadMessages = 400

// rewrite changes the configuration by replacing its last line, which is the
// poll_interval.
func (s *site) rewrite(change func(string) string) {
	s.t.Helper()
	text, err := os.ReadFile(s.config)
	if err == nil {
		// As an editor does it, so that nobody reads half a file.
		if err = os.WriteFile(s.config+".new", []byte(change(string(text))), 0o600); err == nil {
			err = os.Rename(s.config+".new", s.config)
		}
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// hangUp sends SIGHUP.
func (s *site) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		s.t.Error(err)
	}
}

// logged counts lines of the log that have all the words.
func (s *site) logged(words ...string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range strings.Lines(s.log.String()) {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
			n++
		}
	}
	return n
}

// untilLogged waits for a line of the log with all the words: what the daemon writes may
// come later than its answer.
func (s *site) untilLogged(words ...string) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); s.logged(words...) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("the log never has %q", words)
		}
	}
}

// TestAReloadLosesAndDoublesNothing plays the same owner against two daemons, each with a
// Dovecot of its own. One is left alone, the other is given another configuration again
// and again while mail flows. At the end both have the same digests and marks.
func TestAReloadLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	account := withoutMidnight()
	calm, shaken := newSite(t, account), newSite(t, account)
	calm.start()
	shaken.start()
	calmEnd, shakenEnd := make(chan []string, 1), make(chan []string, 1)
	for s, end := range map[*site]chan []string{calm: calmEnd, shaken: shakenEnd} {
		go func() {
			defer close(end) // also when the script fails the test
			end <- scriptedOwner(s, 11, reloadMessages, 0)
		}()
	}
	rng := rand.New(rand.NewPCG(3, 3))
	done := 0
	const before = `poll_interval = "1s"`
	reload := func(text string) {
		shaken.rewrite(func(old string) string {
			old, _, _ = strings.Cut(old, "poll_interval")
			return old + text + "\n"
		})
		shaken.hangUp()
		done++
		shaken.until(fmt.Sprintf("reload %d", done), func(desk.AccountStatus) bool {
			return shaken.logged("the configuration was read again", "unchanged=0") == done || t.Failed()
		})
	}
	var flags []string
	for flags == nil && !t.Failed() {
		pause := time.Duration(rng.IntN(400)) * time.Millisecond
		if due := 1 + reloads*int(shaken.delivered.Load())/reloadMessages; done < due {
			pause %= 20 * time.Millisecond
		}
		select {
		case flags = <-shakenEnd:
		case <-time.After(pause):
			if done < reloads {
				reload(fmt.Sprintf("%s\nidle_restart = \"%dm\"", before, 1+done%20))
			}
		}
	}
	calmFlags := <-calmEnd
	if t.Failed() {
		return
	}
	if done < reloads {
		t.Errorf("only %d reloads", done)
	}
	for _, s := range []*site{calm, shaken} {
		if err := s.stop(syscall.SIGTERM); err != nil {
			t.Errorf("SIGTERM: %v\n%s", err, tail(s.log.String()))
		}
		s.wantReplay("at the end")
	}
	if c, s := calm.digests(), shaken.digests(); c != s {
		t.Errorf("undisturbed\n%s\nafter %d reloads\n%s\n%s", c, done, s, differences(t, calm, shaken))
	}
	if !slices.Equal(calmFlags, flags) {
		t.Errorf("flags on the server differ:\n%s", firstDifference(calmFlags, flags))
	}
	calm.pin(calmFlags)
	if marks := marksIn(flags); marks == 0 {
		t.Error("nothing was marked: the test says nothing about marks")
	}
}

// TestAReloadOnDovecot goes through what an operator does: a mistake, its correction,
// what needs a restart, an account that comes and goes.
func TestAReloadOnDovecot(t *testing.T) {
	t.Parallel()
	s := newSite(t, "shadow = \"off\"\nsettle = \"100ms\"")
	s.start()
	owner := s.imap.Owner(t)
	defer owner.Close()
	messages, _ := teach(s, owner)
	good, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	put := func(text string) {
		t.Helper()
		s.rewrite(func(string) string { return text })
		s.hangUp()
	}
	warned := func(words string) desk.Status {
		t.Helper()
		var last desk.Status
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			last, _ = s.ask()
			if words == "" && last.Running && len(last.Warnings) == 0 || strings.Contains(strings.Join(last.Warnings, "\n"), words) {
				return last
			}
		}
		t.Fatalf("never warned %q: %+v\n%s", words, last.Warnings, tail(s.log.String()))
		return last
	}
	arrives := func() {
		t.Helper()
		messages++
		owner.Append("INBOX", letter(int(messages)+500, "boss@example.com", s.user, "hello"), time.Now())
		s.until("one more message", func(a desk.AccountStatus) bool { return a.Messages == messages })
	}

	// A mistake: it is reported with its place, and all goes on as before.
	put(strings.Replace(string(good), `shadow = "off"`, "shadow = \"of\"\nmarks = 3", 1))
	st := warned(s.config)
	if text := strings.Join(st.Warnings, "\n"); !strings.Contains(text, "the old one stays in force") || !strings.Contains(text, "account.shadow") || !strings.Contains(text, "account.marks") {
		t.Errorf("warnings: %s", text)
	}
	mistake := []string{"level=ERROR", "the old one stays in force", "file=" + s.config, "line=", "key=account.shadow"}
	s.untilLogged(mistake...)
	if n := s.logged(mistake...); n != 1 {
		t.Errorf("the mistake was logged %d times\n%s", n, tail(s.log.String()))
	}
	arrives()

	// Corrected, and with what needs a restart.
	stern := strings.Replace(string(good), `shadow = "off"`, "shadow = \"on\"", 1)
	put(strings.Replace(stern, "log_format = \"text\"", "log_format = \"json\"", 1))
	st = warned("only after a restart in: log_format")
	if st.Accounts[0].Shadow != "on" {
		t.Errorf("shadow = %q after the reload", st.Accounts[0].Shadow)
	}
	arrives()
	put(stern)
	warned("")
	if out, err := s.hinged("status", "--config", s.config); err != nil || strings.Contains(out, "WARNING: the configuration") {
		t.Errorf("status: %v\n%s", err, out)
	}

	// A second account comes, on the same mailbox, and goes.
	_, mine, _ := strings.Cut(stern, "[[account]]")
	put(stern + "\n[[account]]" + strings.Replace(mine, `name = "me"`, `name = "other"`, 1))
	s.until("the second account", func(desk.AccountStatus) bool {
		st, _ := s.ask()
		return len(st.Accounts) == 2 && st.Accounts[1].Messages == messages
	})
	put(stern)
	s.until("one account", func(desk.AccountStatus) bool { st, _ := s.ask(); return len(st.Accounts) == 1 })
	arrives()
	if err := s.stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	s.wantReplay("at the end")
}
