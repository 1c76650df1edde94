// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/hinged/hinged/internal/testkit"
)

// TestRunShowsOnATerminalWhatItDoes, with names and subjects, whatever these hold; and
// keeps none of that, and logs none of it elsewhere.
func TestRunShowsOnATerminalWhatItDoes(t *testing.T) {
	t.Parallel()
	testkit.NeedDovecot(t)
	imap := testkit.StartDovecot(t, testkit.DovecotOptions{})
	owner := imap.Owner(t)
	defer owner.Close()
	lived(owner, 21, 800)
	s := siteAt(t, imap, imap.Addr, t.TempDir(), "shadow = \"off\"\nsettle = \"0s\"\n")
	s.bootstrap()
	config, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	config = bytes.Replace(bytes.Replace(config, []byte(`log_format = "text"`), []byte(`log_format = "auto"`), 1), []byte(`"debug"`), []byte(`"info"`), 1)
	if err := os.WriteFile(s.config, config, 0o600); err != nil {
		t.Fatal(err)
	}
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "run", "--config", s.config)
	cmd.Env = append(os.Environ(), "TERM=xterm")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 120})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var said bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			mu.Lock()
			said.Write(buf[:n])
			mu.Unlock()
			if err != nil {
				return // the other end is closed
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = tty.Close()
		<-read
	})
	screen := func() string { mu.Lock(); defer mu.Unlock(); return said.String() }
	await := func(want string) string {
		t.Helper()
		re := regexp.MustCompile(want)
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if found := re.FindString(screen()); found != "" {
				return found
			}
		}
		t.Fatalf("%q was not shown:\n%q", want, screen())
		return ""
	}
	await(`watching`)

	// From people whom the owner answers, and with a subject that would clear the screen
	// and turn the direction of the line.
	const subject = "Zanzibar \x1b[2J\u202e\u2066\u9b5a Quagga"
	encoded := "=?utf-8?b?" + base64.StdEncoding.EncodeToString([]byte(subject)) + "?="
	mail := testkit.NewMail(21)
	sent := 0
	for i := 0; sent < 12; i++ {
		m := mail.Next()
		if !m.Important && i%4 > 0 {
			continue
		}
		raw := regexp.MustCompile(`(?m)^Subject: .*\r$`).ReplaceAll(m.Raw, []byte(fmt.Sprintf("Subject: %s\r", encoded)))
		raw = regexp.MustCompile(`(?m)^Message-ID: <`).ReplaceAll(raw, []byte("Message-ID: <again."))
		owner.Append("INBOX", raw, time.Now())
		sent++
	}
	line := await(`\d\d:\d\d  marked +[^\r\n]+: Zanzibar  \[2J  \x{9b5a} Quagga \([^\r\n]+\)\r\n`)
	t.Logf("shown: %s", line)
	await(`\d+ ordinary since \d\d:\d\d`)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the daemon ended with %v", err)
	}
	<-read
	if raw := strings.ReplaceAll(screen(), "\r\x1b[K", ""); strings.ContainsAny(raw, "\x1b\u202e\u2066") {
		t.Errorf("what a subject holds reached the terminal: %q", raw)
	}
	err = filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err == nil && (bytes.Contains(b, []byte("Zanzibar")) || bytes.Contains(b, []byte("Quagga"))) {
			t.Errorf("%s has a subject", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}

	// Elsewhere it is a log, without subjects and names.
	log := new(testkit.Transcript)
	piped := exec.Command(path, "run", "--config", s.config)
	piped.Stderr = log
	if err := piped.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = piped.Process.Kill() }()
	for deadline := time.Now().Add(patience); !strings.Contains(log.String(), "watching") && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
	}
	if err := piped.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := piped.Wait(); err != nil {
		t.Error(err)
	}
	if out := log.String(); !strings.Contains(out, `"msg":"watching"`) || strings.Contains(strings.ToLower(out), "zanzibar") {
		t.Errorf("a pipe got %s", out)
	}
}
