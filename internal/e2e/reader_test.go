// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
)

// reader is somebody who follows a page.
type reader struct {
	*mailbox
	t    *testing.T
	dir  string // where the shell is now
	home string
	// machine stands for the root of the machine's file system, where a page
	// writes there. Other users, such as Dovecot's, can look into it.
	machine string
	env     []string
	kafka   *testkit.Kafka // nil: the page has none
}

// write puts a file of a page where it belongs.
func (r *reader) write(c command) {
	r.t.Helper()
	path := placeholders(r).Replace(strings.Replace(c.path, "~", r.home, 1))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(placeholders(r).Replace(c.text)), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// keep starts a command that goes on beside those that follow it.
func (r *reader) keep(c command, until string) {
	r.t.Helper()
	log, err := os.Create(filepath.Join(r.home, ".meanwhile"))
	if err != nil {
		r.t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command("bash", "-c", "exec "+placeholders(r).Replace(c.text))
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = r.dir, r.env, log, log
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	shown := func() string {
		text := testkit.Read(r.t, log.Name())
		return string(text)
	}
	r.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended by itself, which is told below
		select {
		case err := <-ended:
			if err != nil {
				r.t.Errorf("%s\n%v\n%s", c.at(), err, tail(shown()))
			}
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			r.t.Errorf("%s\ndoes not end\n%s", c.at(), tail(shown()))
		}
	})
	for began := time.Now(); !regexp.MustCompile(until).MatchString(shown()); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > patience {
			r.t.Fatalf("%s\ndid not print %s\n%s", c.at(), until, tail(shown()))
		}
	}
	r.t.Logf("%s\ngoes on", c.at())
}

// follow runs one command and fails the test when it fails.
func (r *reader) follow(c command) {
	r.t.Helper()
	place, exported := filepath.Join(r.home, ".place"), filepath.Join(r.home, ".exported")
	script := fmt.Sprintf("set -eu -o pipefail\n[ ! -f %[1]s ] || . %[1]s\ncd '%[2]s'\n%[3]s\npwd > %[4]s\nexport -p > %[1]s\n",
		exported, r.dir, placeholders(r).Replace(c.text), place)
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	var keyboard *os.File
	answers, asks := typed[c.text]
	if asks {
		// On a terminal of its own.
		file := filepath.Join(r.home, ".script")
		testkit.Write(r.t, file, script)
		cmd = exec.CommandContext(ctx, "script", "-qec", "bash "+file, "/dev/null")
		hands, keys, err := os.Pipe()
		if err != nil {
			r.t.Fatal(err)
		}
		defer keys.Close()
		defer hands.Close()
		cmd.Stdin, keyboard = hands, keys
	}
	cmd.Env = r.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// With all that it started: they hold the pipe that is read here.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var seen bytes.Buffer
	read, write, err := os.Pipe()
	if err != nil {
		r.t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = write, write
	began := time.Now()
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	write.Close()
	stop := regexp.MustCompile("a^") // nothing
	pattern, goesOn := endless[c.text]
	if goesOn {
		stop = regexp.MustCompile(pattern)
	}
	stopped := false
	for buffer := make([]byte, 4096); ; {
		n, err := read.Read(buffer)
		seen.Write(buffer[:n])
		if len(answers) > 0 && strings.HasSuffix(seen.String(), answers[0].question) {
			if _, err := io.WriteString(keyboard, strings.ReplaceAll(answers[0].text, "PASSWORD", r.imap.Password)+"\r"); err != nil {
				r.t.Fatal(err)
			}
			answers = answers[1:]
		}
		if !stopped && stop.Match(seen.Bytes()) {
			stopped = true
			time.Sleep(time.Second) // so long the reader looks at it
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				r.t.Error(err)
			}
			break
		}
	}
	read.Close()
	err = cmd.Wait()
	shown := tail(seen.String())
	if ctx.Err() != nil {
		r.t.Fatalf("%s\nwas not done in time\n%s", c.at(), shown)
	}
	if goesOn {
		if !stopped {
			r.t.Fatalf("%s\nended before it printed %s (%v)\n%s", c.at(), pattern, err, shown)
		}
	} else if err != nil {
		r.t.Fatalf("%s\n%v\n%s", c.at(), err, shown)
	} else {
		if want := prints[c.text]; !regexp.MustCompile(want).MatchString(seen.String()) {
			r.t.Errorf("%s\nwant %s in\n%s", c.at(), want, shown)
		}
		where := testkit.Read(r.t, place)
		r.dir = strings.TrimSpace(string(where))
	}
	r.t.Logf("%s (%.1f s)\n%s", c.at(), time.Since(began).Seconds(), shown)
}
