// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/d--j/go-milter"

	"github.com/hinged/hinged/internal/testkit"
)

const milterConfig = `state_dir = "DIR/state"
socket = "DIR/hinged.sock"
[milter]
socket = "DIR/milter.sock"
deadline = "1m"
[[account]]
name = "ann"
owner = ["ann@example.org"]
[account.imap]
address = "127.0.0.1:1"
tls = "none"
username = "me"
password_command = ["echo", "none"]
`

// TestAMilterGoesOnWithWhatWasReadAgain gives an account another address at SIGHUP, while a
// mail server is connected. The socket stays.
func TestAMilterGoesOnWithWhatWasReadAgain(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "m") //nolint:usetesting // the names of t.TempDir are too long
	testkit.OK(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path, text := filepath.Join(dir, "hinged.toml"), strings.ReplaceAll(milterConfig, "DIR", dir)
	testkit.Write(t, path, text)
	log := new(testkit.Transcript)
	cmd := exec.Command("hinged", "run", "--config", path)
	cmd.Stderr = log
	testkit.OK(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("it ended with %v\n%s", err, log)
		}
	})
	testkit.Until(t, func() bool { return strings.Contains(log.String(), "answering mail servers") }, "it answers no mail server")
	c, err := milter.NewClient("unix", filepath.Join(dir, "milter.sock"), milter.WithReadTimeout(patience)).Session(milter.NewMacroBag())
	testkit.OK(t, err)
	defer c.Close()
	fieldsFor := func(to string) int {
		_, err1 := c.Mail("sender@example.net", "")
		_, err2 := c.Rcpt(to, "")
		_, err3 := c.DataStart()
		_, err4 := c.HeaderField("From", " sender@example.net", nil)
		_, err5 := c.HeaderEnd()
		acts, _, err := c.BodyReadFrom(strings.NewReader("Hello\r\n"))
		if err != nil {
			t.Fatal(err1, err2, err3, err4, err5, err)
		}
		return len(acts)
	}
	_, err = c.Conn("host", milter.FamilyInet, 25, "127.0.0.1")
	testkit.OK(t, err)
	_, err = c.Helo("host")
	testkit.OK(t, err)
	if ann, sales := fieldsFor("ann@example.org"), fieldsFor("sales@example.org"); ann != 2 || sales != 0 {
		t.Errorf("%d fields for ann, %d for sales, want 2 and 0\n%s", ann, sales, log)
	}
	again := func(change ...string) {
		testkit.Write(t, path, strings.NewReplacer(change...).Replace(text))
		n := strings.Count(log.String(), "the configuration was read again")
		testkit.OK(t, cmd.Process.Signal(syscall.SIGHUP))
		testkit.Until(t, func() bool { return strings.Count(log.String(), "the configuration was read again") > n }, "it is not read again: ", fmt.Sprint(change))
	}
	again("[account.imap]", "recipients = [\"sales@example.org\"]\n[account.imap]")
	if ann, sales := fieldsFor("ann@example.org"), fieldsFor("sales@example.org"); ann != 0 || sales != 2 {
		t.Errorf("after the reload %d fields for ann, %d for sales, want 0 and 2\n%s", ann, sales, log)
	}
	again("milter.sock", "other.sock")
	testkit.Until(t, func() bool { return strings.Contains(log.String(), "milter.socket") }, "that the socket needs a restart is not told")
	if n := fieldsFor("ann@example.org"); n != 2 {
		t.Errorf("with another socket in the file, %d fields for ann, want 2\n%s", n, log)
	}
}
