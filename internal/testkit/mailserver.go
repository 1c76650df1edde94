// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/loopback"
)

// mailboxNames are the mailboxes beside INBOX that the servers of tests have.
var mailboxNames = []string{"Sent", "Junk", "Trash", "Drafts", "Archive"}

// MailServer is a running IMAP server of some make with one mailbox, whose folders
// are INBOX, Sent, Junk, Trash, Drafts and Archive.
type MailServer struct {
	Login
	// Prefix comes before the names of all folders but INBOX, as in "INBOX.".
	Prefix string

	log func() string
}

// Folder returns the server's name of a folder, which is given as "INBOX" or "Sent".
func (m *MailServer) Folder(name string) string {
	if name == "INBOX" {
		return name
	}
	return m.Prefix + name
}

// Log returns what the server logged.
func (m *MailServer) Log() string { return m.log() }

// MailServer returns the server, with its first user, as one among others.
func (d *Dovecot) MailServer() *MailServer {
	return &MailServer{Login: d.login(d.User), log: d.Log}
}

// needServer skips the test, saying so, when err says that a server cannot run
// here, and with -short. In CI, where CI=true, that is a failure.
func needServer(tb testing.TB, err error) {
	tb.Helper()
	noServers(tb)
	if err == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		tb.Fatalf("CI must test against this server: %v", err)
	}
	tb.Skipf("SKIPPED: %v", err)
}

// newMailServer chooses a port, which is kept until the test ends, and a password.
func newMailServer(tb testing.TB, prefix string) (m *MailServer, port int) {
	tb.Helper()
	held, err := loopback.Hold(1)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(held.Release)
	port = held.Numbers[0]
	return &MailServer{Login: Login{Addr: fmt.Sprint("127.0.0.1:", port), User: "owner@example.org", Password: rand.Text()}, Prefix: prefix}, port
}

// logFile makes the file that the server is to log to.
func (m *MailServer) logFile(tb testing.TB) *os.File {
	tb.Helper()
	output, err := os.Create(filepath.Join(tb.TempDir(), "log"))
	if err != nil {
		tb.Fatal(err)
	}
	m.log = func() string {
		data, err := os.ReadFile(output.Name())
		if err != nil {
			return err.Error()
		}
		return string(data)
	}
	return output
}

// serve runs the server cmd, which is ended with the test, and waits until it answers on
// addr; log tells why it does not.
func serve(tb testing.TB, what, addr string, cmd *exec.Cmd, log func() string) {
	tb.Helper()
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // ends with the signal below
		close(ended)
	}()
	tb.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended by itself
		select {
		case <-ended:
		case <-time.After(killPatience):
			tb.Errorf("%s was killed and has not ended within %v", what, killPatience)
		}
	})
	awaitAnswer(tb, what, addr, ended, log)
}

// awaitAnswer waits until something listens on addr. It fails the test when ended
// is closed, or nothing listens within startPatience; log tells why.
func awaitAnswer(tb testing.TB, what, addr string, ended <-chan struct{}, log func() string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), startPatience)
	defer cancel()
	for {
		if conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", addr); err == nil {
			conn.Close()
			return
		}
		select {
		case <-ended:
			tb.Fatalf("%s ended at once:\n%s", what, log())
		case <-ctx.Done():
			tb.Fatalf("%s does not answer on %s: %v\n%s", what, addr, ctx.Err(), log())
		case <-time.After(20 * time.Millisecond):
		}
	}
}
