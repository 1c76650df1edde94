// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
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

// newMailServer chooses a port, which is kept until the test ends, and a password.
func newMailServer(tb testing.TB, prefix string) (m *MailServer, port int) {
	tb.Helper()
	port = FreePorts(tb, 1)[0]
	return &MailServer{Login: Login{Addr: fmt.Sprint("127.0.0.1:", port), User: "owner@example.org", Password: rand.Text()}, Prefix: prefix}, port
}

// makeFolders makes the folders of a server that has INBOX alone.
func (m *MailServer) makeFolders(tb testing.TB, what string) {
	tb.Helper()
	o := m.Owner(tb)
	for _, name := range mailboxNames {
		o.Create(m.Folder(name))
	}
	tb.Logf("%s at %s", what, m.Addr)
	o.Close()
}

// StartMaddy starts a maddy of its own for this test on a free port of loopback, in the
// clear. It keeps mail in SQLite and takes any password. It is stopped when the test ends.
func StartMaddy(tb testing.TB) *MailServer {
	tb.Helper()
	binary, err := maddyBinary()
	Need(tb, err)
	m, _ := newMailServer(tb, "")
	dir := tb.TempDir()
	config := fmt.Sprintf(`state_dir %[1]s/state
runtime_dir %[1]s/run
storage.imapsql mailboxes {
	driver sqlite3
	dsn imapsql.db
}
imap tcp://%[2]s {
	tls off
	insecure_auth yes
	auth dummy
	storage &mailboxes
}
`, dir, m.Addr)
	if err := os.WriteFile(filepath.Join(dir, "maddy.conf"), []byte(config), 0o600); err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), binary, "--config", filepath.Join(dir, "maddy.conf"), "run")
	m.log = Serve(tb, "maddy", m.Addr, cmd)
	m.makeFolders(tb, "maddy")
	return m
}

// StartGreenMail starts a GreenMail of its own for this test on a free port of
// loopback, in the clear. It keeps mail in memory, and tells no special use. It is
// stopped when the test ends.
func StartGreenMail(tb testing.TB) *MailServer {
	tb.Helper()
	jar, err := greenmailJar()
	Need(tb, err)
	m, port := newMailServer(tb, "")
	// Little memory and quick to start: the tests have few messages.
	cmd := exec.CommandContext(context.Background(), "java", "-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Dgreenmail.imap.hostname=127.0.0.1", fmt.Sprint("-Dgreenmail.imap.port=", port),
		fmt.Sprintf("-Dgreenmail.users=owner:%s@example.org", m.Password), "-Dgreenmail.users.login=email", "-jar", jar)
	m.log = Serve(tb, "GreenMail", m.Addr, cmd)
	m.makeFolders(tb, "GreenMail")
	return m
}
