// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// BenchmarkAccounts measures what an account costs a daemon that has read its
// mail and waits for more: memory, connections, disk and processor. Run with
// -benchtime 1x.
func BenchmarkAccounts(b *testing.B) {
	for _, c := range []struct {
		accounts, messages int // messages of each account
		tls                bool
	}{
		{1, 1000, false},
		{10, 1000, false},
		{50, 1000, false},
		{1, 10, false},
		{1000, 10, false},
		{1, 10, true},
		{1000, 10, true},
	} {
		protection := "plain"
		if c.tls {
			protection = "TLS"
		}
		b.Run(fmt.Sprintf("%d with %d messages, %s", c.accounts, c.messages, protection), func(b *testing.B) {
			for range b.N {
				manyAccounts(b, c.accounts, c.messages, c.tls)
			}
		})
	}
}

// manyLogins has Dovecot serve thousands of connections with few processes.
const manyLogins = `
default_client_limit = 10000
default_process_limit = 200
service imap-login {
  service_count = 0
  client_limit = 5000
  process_limit = 2
}
service imap {
  service_count = 0
  client_limit = 100
  process_limit = 200
}
`

func manyAccounts(b *testing.B, n, messages int, encrypted bool) {
	var users []string
	for i := range n {
		users = append(users, fmt.Sprintf("user%d@example.org", i))
	}
	imap := testkit.StartDovecot(b, testkit.DovecotOptions{Users: users, TLS: encrypted, Config: manyLogins})
	dir := b.TempDir()
	protection := `tls = "none"`
	if encrypted {
		protection = `ca_file = "ca.pem"`
	}
	var conf strings.Builder
	fmt.Fprintf(&conf, "state_dir = %q\nsocket = %q\nlog_level = \"warn\"\n", dir, filepath.Join(dir, "socket"))
	for i, user := range users {
		mail := testkit.NewMail(uint64(i))
		mail.Owner = user
		imap.FillOf(user, messages, mail.Next)
		fmt.Fprintf(&conf, "[[account]]\nname = \"user%d\"\nowner = [%q]\nimap = {address = %q, %s, username = %q, password_file = \"password\"}\n", i, user, imap.Addr, protection, user)
	}
	for name, text := range map[string]string{"hinged.toml": conf.String(), "password": imap.Password, "ca.pem": string(imap.Certificate)} {
		testkit.Write(b, filepath.Join(dir, name), text)
	}
	path := program(b)
	cmd := exec.Command(path, "run", "--config", filepath.Join(dir, "hinged.toml"))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}()
	began := time.Now()
	waitRead(b, filepath.Join(dir, "socket"), n, messages)
	read := time.Since(began)
	time.Sleep(5 * time.Second) // what was garbage while reading is given back
	before := ticks(b, cmd.Process.Pid)
	const idle = 150 * time.Second // in which the runtime gives back what reading took, and every account looks at its folders
	time.Sleep(idle)
	busy := float64(ticks(b, cmd.Process.Pid)-before) / 100 / idle.Seconds()
	sockets := 0
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", cmd.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range entries {
		if to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", cmd.Process.Pid, e.Name())); err == nil && strings.HasPrefix(to, "socket:") {
			sockets++
		}
	}
	file, err := os.Stat(filepath.Join(dir, "hinged.db"))
	if err != nil {
		b.Fatal(err)
	}
	size := file.Size()
	b.ReportMetric(float64(memoryOf(b, cmd.Process.Pid, "VmRSS:"))/(1<<20), "MiB")
	b.ReportMetric(float64(sockets), "sockets")
	b.ReportMetric(float64(size)/(1<<20), "store-MiB")
	b.ReportMetric(busy*100, "idle-%cpu")
	b.ReportMetric(read.Seconds(), "s-to-read")
	b.ReportMetric(0, "ns/op")
}

// waitRead waits until every account has seen all of its messages.
func waitRead(b *testing.B, socket string, accounts, messages int) {
	b.Helper()
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		c, err := control.Dial(context.Background(), socket)
		if err != nil {
			continue
		}
		s, err := control.Ask(context.Background(), c, desk.GetStatus, "", desk.None{})
		_ = c.Close()
		done := 0
		for _, a := range s.Accounts {
			if a.Messages >= uint64(messages) && a.Remaining == 0 && a.Connected {
				done++
			}
		}
		if err == nil && done == accounts {
			return
		}
	}
	b.Fatal("the mail was not read within 5 minutes")
}

// ticks is the processor time that a process has had, in hundredths of a second.
func ticks(b *testing.B, pid int) int {
	b.Helper()
	text := testkit.Read(b, fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return user + system
}
