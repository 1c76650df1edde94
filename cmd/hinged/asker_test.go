// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/term"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/testkit"
)

// sitting is a person at a terminal in which hinged runs.
type sitting struct {
	t    *testing.T
	tty  *os.File
	cmd  *exec.Cmd
	done chan struct{} // closed when the terminal has said its last
	said testkit.Transcript
}

func sit(t *testing.T, args ...string) *sitting {
	t.Helper()
	s := &sitting{t: t, cmd: exec.Command("hinged", args...), done: make(chan struct{})}
	var err error
	if s.tty, err = pty.Start(s.cmd); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.done)
		_, _ = io.Copy(&s.said, s.tty) // until the other end is closed
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.tty.Close()
		<-s.done
	})
	return s
}

func (s *sitting) screen() string { return s.said.String() }

// answer waits for a question, the nth time it is asked, and types.
func (s *sitting) answer(question string, nth int, typed string) {
	s.t.Helper()
	testkit.Until(s.t, func() bool { return strings.Count(s.screen(), question) >= nth }, question+" was not asked so often:\n", &s.said)
	if _, err := s.tty.WriteString(typed); err != nil {
		s.t.Fatal(err)
	}
}

// end waits for the end and returns the exit code.
func (s *sitting) end() int {
	s.t.Helper()
	err := s.cmd.Wait()
	<-s.done
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return s.cmd.ProcessState.ExitCode()
}

func TestInitAsksForAddressAndPasswordAndShowsNoPassword(t *testing.T) {
	tries := 0 // one connection after the other
	f := testkit.StartFake(t, func(f *testkit.Fake) {
		f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
			if cmd.Name != "AUTHENTICATE" {
				return false
			}
			// The first password is refused for both names that are tried.
			if tries++; tries > 2 {
				return false
			}
			c.Line("%s NO [AUTHENTICATIONFAILED] no", cmd.Tag)
			return true
		}
	})
	path := filepath.Join(t.TempDir(), "conf", "hinged.toml")
	s := sit(t, "init", "--server", f.Addr, "--tls", "none", "--config", path)
	s.answer("E-mail address: ", 1, "owner@exampel\x7f\x7fle.org\r")
	s.answer("(not shown): ", 1, "daffodil\r")
	s.answer("Try the name owner with the same password? [y/N] ", 1, "y\r")
	s.answer("(not shown): ", 2, "tulip\r")
	s.answer("Where do you read your mail? ", 1, "abacus\r")
	s.answer("Where do you read your mail? ", 2, "\r")
	s.answer("Where do you read your mail? ", 3, "phone, Thunderbird\r")
	s.answer("May it ask you by letter? [y/N] ", 1, "y\r")
	if code := s.end(); code != cli.ExitOK {
		t.Fatalf("exit code %d:\n%s", code, s.screen())
	}
	screen := strings.Join(strings.Fields(s.screen()), " ") // long lines are broken
	if strings.Contains(screen, "tulip") || strings.Contains(screen, "daffodil") {
		t.Errorf("a password is on the screen:\n%s", screen)
	}
	for _, want := range []string{"Password for owner@example.org", "the server refused the login", "Wrote " + path + " and password beside it", "hinged check", `"abacus" is not a mail program`, `\Flagged, $label1. The star is seen in phone`} {
		if !strings.Contains(screen, want) {
			t.Errorf("%q is not on the screen:\n%s", want, screen)
		}
	}
	c, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	a := c.Accounts[0]
	secret, err := a.IMAP.ReadPassword(t.Context())
	if err != nil || secret != "tulip" || a.IMAP.Username != "owner@example.org" || a.Name != "owner" || !slices.Equal(a.Mark, []string{`\Flagged`, "$label1"}) || a.Digest == nil || a.Digest.Questions != 3 {
		t.Errorf("got %+v, password read: %v", a, err)
	}
	for _, file := range []string{path, a.IMAP.File} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", file, info.Mode(), err)
		}
	}
	if filepath.Dir(a.IMAP.File) != filepath.Dir(path) {
		t.Errorf("the password is in %s", a.IMAP.File)
	}
}

// TestTheTerminalIsLeftAsItWas looks at the terminal's modes, echo among them.
func TestTheTerminalIsLeftAsItWas(t *testing.T) {
	f := testkit.StartFake(t, nil)
	for name, end := range map[string]func(*exec.Cmd, *os.File) error{
		"answered":  func(_ *exec.Cmd, keys *os.File) error { _, err := keys.WriteString("tulip\r"); return err },
		"Ctrl-C":    func(_ *exec.Cmd, keys *os.File) error { _, err := keys.WriteString("tul\x03"); return err },
		"Ctrl-D":    func(_ *exec.Cmd, keys *os.File) error { _, err := keys.WriteString("\x04"); return err },
		"interrupt": func(c *exec.Cmd, _ *os.File) error { return c.Process.Signal(os.Interrupt) },
	} {
		t.Run(name, func(t *testing.T) {
			keys, terminal, err := pty.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer keys.Close()
			defer terminal.Close()
			before, err := term.GetState(int(terminal.Fd()))
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("hinged", "init", "--address", "owner@example.org", "--reads", "phone", "--letters=false", "--server", f.Addr, "--tls", "none", "--config", filepath.Join(t.TempDir(), "hinged.toml"))
			cmd.Stdin = terminal
			screen, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			said := ""
			for buf := make([]byte, 256); !strings.Contains(said, "(not shown): "); {
				n, err := screen.Read(buf)
				if said += string(buf[:n]); err != nil {
					t.Fatalf("%v after %q", err, said)
				}
			}
			if during, err := term.GetState(int(terminal.Fd())); err != nil || reflect.DeepEqual(during, before) {
				t.Errorf("the terminal shows what is typed: %v", err)
			}
			if err := end(cmd, keys); err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, screen)
			if err := cmd.Wait(); (err == nil) != (name == "answered") {
				t.Errorf("it ended with %v", err)
			}
			if after, err := term.GetState(int(terminal.Fd())); err != nil || !reflect.DeepEqual(after, before) {
				t.Errorf("the terminal was %+v and is %+v, %v", before, after, err)
			}
		})
	}
}

func TestInitGivesUpCleanly(t *testing.T) {
	var logins atomic.Int64
	f := testkit.StartFake(t, func(f *testkit.Fake) {
		f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
			if cmd.Name == "AUTHENTICATE" {
				logins.Add(1)
				c.Line("%s NO [AUTHENTICATIONFAILED] no", cmd.Tag)
			}
			return cmd.Name == "AUTHENTICATE"
		}
	})
	start := func(t *testing.T) (s *sitting, dir string) {
		dir = filepath.Join(t.TempDir(), "conf")
		return sit(t, "init", "--address", "owner@example.org", "--server", f.Addr, "--tls", "none", "--config", filepath.Join(dir, "hinged.toml")), dir
	}
	gone := func(t *testing.T, s *sitting, dir string, code int, words string) {
		t.Helper()
		if got := s.end(); got != code || !strings.Contains(s.screen(), words) {
			t.Errorf("exit code %d, want %d and %q:\n%s", got, code, words, s.screen())
		}
		if _, err := os.Stat(dir); err == nil {
			t.Error("something was written")
		}
	}
	t.Run("Ctrl-C", func(t *testing.T) {
		s, dir := start(t)
		s.answer("(not shown): ", 1, "tul\x03")
		gone(t, s, dir, exitStopped, "hinged: stopped; nothing was written")
	})
	t.Run("a signal, and the terminal is as it was", func(t *testing.T) {
		s, dir := start(t)
		s.answer("(not shown): ", 1, "tul")
		if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		gone(t, s, dir, exitStopped, "hinged: stopped; nothing was written")
	})
	t.Run("two wrong passwords", func(t *testing.T) {
		s, dir := start(t)
		for n := 1; n <= 2; n++ {
			s.answer("(not shown): ", n, "daffodil\r")
			s.answer("Try the name owner with the same password? [y/N] ", n, "\r")
		}
		gone(t, s, dir, cli.ExitFailed, "app password")
		if got := logins.Load(); got != 2 {
			t.Errorf("%d logins with two passwords and no second name", got)
		}
	})
	t.Run("Ctrl-C where the second name is asked for", func(t *testing.T) {
		s, dir := start(t)
		s.answer("(not shown): ", 1, "daffodil\r")
		s.answer("Try the name owner with the same password? [y/N] ", 1, "\x03")
		gone(t, s, dir, exitStopped, "hinged: stopped; nothing was written")
	})
}

func TestEveryNextStepCanBeTaken(t *testing.T) {
	for _, step := range nextSteps {
		words := strings.Fields(step.command)
		c, rest, err := rootCommand().Find(words)
		if err != nil || c.Name() != words[0] {
			t.Errorf("%s is no verb: %v", words[0], err)
			continue
		}
		if err := c.ParseFlags(rest); err != nil || c.Flags().Lookup("config") == nil {
			t.Errorf("%s: %v", step.command, err)
		}
	}
}

// TestWhatIsTypedDuringALoginIsNeitherShownNorLeft types what looks like a password while
// the server takes its time, as people do who think that they are still asked.
func TestWhatIsTypedDuringALoginIsNeitherShownNorLeft(t *testing.T) {
	for name, tt := range map[string]struct {
		answer string // the server's
		typed  string
		code   int
		words  string
	}{
		"taken":   {"", "hunter2\r", cli.ExitOK, "Wrote "},
		"refused": {"NO [AUTHENTICATIONFAILED] no", "hunter2\r", cli.ExitFailed, "the server refused the login"},
		"stopped": {"", "hunter2\r\x03", exitStopped, "hinged: stopped; nothing was written"},
	} {
		t.Run(name, func(t *testing.T) {
			asked, goOn := make(chan struct{}, 1), make(chan struct{})
			f := testkit.StartFake(t, func(f *testkit.Fake) {
				f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
					if cmd.Name != "AUTHENTICATE" {
						return false
					}
					asked <- struct{}{}
					<-goOn
					if tt.answer != "" {
						c.Line("%s %s", cmd.Tag, tt.answer)
					}
					return tt.answer != ""
				}
			})
			secret := filepath.Join(t.TempDir(), "secret")
			testkit.Write(t, secret, "tulip\n")
			keys, terminal, err := pty.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer keys.Close()
			cmd := exec.Command("hinged", "init", "--address", "owner@example.org", "--username", "owner", "--reads", "phone", "--letters=false", "--password-file", secret,
				"--server", f.Addr, "--tls", "none", "--config", filepath.Join(t.TempDir(), "hinged.toml"))
			cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			<-asked
			if _, err := keys.WriteString(tt.typed); err != nil {
				t.Fatal(err)
			}
			if name != "stopped" {
				// The terminal takes in what was typed when it gets to it, which may be after
				// the end of a quick program.
				testkit.Until(t, func() bool { return unread(t, terminal) == len(tt.typed) }, "the terminal has not all that was typed")
				close(goOn)
			} else {
				defer close(goOn)
			}
			_ = cmd.Wait() // the exit code tells
			if got := cmd.ProcessState.ExitCode(); got != tt.code {
				t.Errorf("exit code %d, want %d", got, tt.code)
			}
			if n := unread(t, terminal); n != 0 {
				t.Errorf("%d bytes are left for the shell", n)
			}
			terminal.Close() // so that what was shown has an end
			screen, _ := io.ReadAll(keys)
			if !strings.Contains(string(screen), tt.words) && tt.code != cli.ExitOK {
				t.Errorf("%q is not on the screen:\n%s", tt.words, screen)
			}
			if strings.Contains(string(screen), "hunter2") {
				t.Errorf("what was typed is on the screen:\n%s", screen)
			}
		})
	}
}

func TestPasswordAsksTwiceAndShowsNone(t *testing.T) {
	s := sit(t, "init", "--user", "ann")
	s.answer("Password: ", 1, "correct horse\r")
	s.answer("The same again: ", 1, "correct horse\r")
	if code := s.end(); code != cli.ExitOK {
		t.Fatalf("exit code %d:\n%s", code, s.screen())
	}
	if screen := s.screen(); strings.Contains(screen, "horse") || !strings.Contains(screen, "$argon2id$v=19$") {
		t.Errorf("the screen shows\n%s", screen)
	}
	s = sit(t, "init", "--user", "ann")
	s.answer("Password: ", 1, "correct horse\r")
	s.answer("The same again: ", 1, "corrct horse\r")
	if code := s.end(); code != cli.ExitFailed || strings.Contains(s.screen(), "$argon2id$") || !strings.Contains(s.screen(), "the two passwords differ") {
		t.Errorf("exit code %d:\n%s", code, s.screen())
	}
}
