// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/loopback"
)

// DovecotOptions configure StartDovecot. The zero value is a plain-text server for one
// user, on Maildir.
type DovecotOptions struct {
	Users  []string // default: owner@example.org
	Format string   // maildir (default), mbox, mdbox or sdbox
	TLS    bool     // implicit TLS instead of plain text, with a certificate made for it
	// StartTLS offers the upgrade on the plain-text port and refuses passwords
	// before it. Not together with TLS.
	StartTLS bool
	Config   string // more lines for dovecot.conf
}

// Dovecot is a running server. Its mail is gone with the test. Its methods are not safe for
// concurrent use.
type Dovecot struct {
	Addr      string // host:port, on loopback
	User      string // the first user
	Password  string // of every user
	Users     []string
	TLSConfig *tls.Config // trusts the server; nil without TLS
	// Certificate is the server's, PEM; nil without TLS.
	Certificate []byte

	tb      testing.TB
	binary  string
	dir     string
	conf    string
	port    *loopback.Ports
	cmd     *exec.Cmd
	done    chan struct{} // closed when cmd has ended
	made    bool          // the users' INBOX
	dropped int           // files that Drop made
}

// findDovecot returns the path of the dovecot program; "": there is none. PATH need not
// hold the administrator's programs.
func findDovecot() string {
	if path, err := exec.LookPath("dovecot"); err == nil {
		return path
	}
	for _, path := range []string{"/usr/sbin/dovecot", "/usr/local/sbin/dovecot"} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// NeedDovecot skips the test where there is no Dovecot.
func NeedDovecot(tb testing.TB) {
	tb.Helper()
	var err error
	if findDovecot() == "" {
		err = errors.New("no dovecot program is on this machine (on Debian and Ubuntu: apt install dovecot-imapd)")
	}
	Need(tb, err)
}

// StartDovecot starts a Dovecot of its own for this test on a free port of
// loopback, with the mailboxes INBOX, Sent, Junk, Trash, Drafts and Archive for each
// user. It is stopped when the test ends.
func StartDovecot(tb testing.TB, o DovecotOptions) *Dovecot {
	tb.Helper()
	NeedDovecot(tb)
	if len(o.Users) == 0 {
		o.Users = []string{"owner@example.org"}
	}
	secret := make([]byte, 12)
	_, _ = rand.Read(secret) // never fails
	// Short, since Unix sockets in it allow 107 bytes.
	base := os.TempDir()
	if os.Geteuid() == 0 && !passable(base) {
		base = "/tmp" // Dovecot's own users must get to it
	}
	d := &Dovecot{User: o.Users[0], Users: o.Users, Password: hex.EncodeToString(secret), tb: tb, binary: findDovecot()}
	var err error
	if d.dir, err = os.MkdirTemp(base, "dovecot"); err != nil { //nolint:usetesting // a short path
		tb.Fatal(err)
	}
	tb.Cleanup(d.close)
	if d.port, err = loopback.Hold(1); err != nil {
		tb.Fatal(err)
	}
	d.Addr, d.conf = fmt.Sprint("127.0.0.1:", d.port.Numbers[0]), filepath.Join(d.dir, "dovecot.conf")
	if err := d.configure(o); err != nil {
		tb.Fatalf("dovecot: %v", err)
	}
	d.Start()
	return d
}

// passable reports whether every user may pass through dir.
func passable(dir string) bool {
	for ; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&1 == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}

// dovecotPatience is how long close waits for the server's helpers.
const dovecotPatience = time.Minute

// Start starts the server, also again after Stop, and waits until it answers.
func (d *Dovecot) Start() {
	d.tb.Helper()
	// A file, not a buffer: its children keep a pipe open after the master ended.
	output, err := os.Create(filepath.Join(d.dir, "output"))
	if err != nil {
		d.tb.Fatal(err)
	}
	defer output.Close()
	cmd := exec.Command(d.binary, "-F", "-c", d.conf) //nolint:noctx // Stop ends it, in its own way
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = groupAttributes()
	if err := cmd.Start(); err != nil {
		d.tb.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // ends with the signal that Stop sends
		close(done)
	}()
	d.cmd, d.done = cmd, done
	awaitAnswer(d.tb, "dovecot", d.Addr, done, func() string {
		said, _ := os.ReadFile(output.Name())
		return string(said)
	})
	if err := d.makeInboxes(); err != nil {
		d.tb.Fatal(err)
	}
}

// makeInboxes has INBOX made for the first few users, by one process each. If the
// first two sessions of a user make it side by side, Dovecot 2.3 may abort one of them
// for a deadlock (mdbox), or refuse what it asks.
func (d *Dovecot) makeInboxes() error {
	if d.made {
		return nil
	}
	admin, err := exec.LookPath("doveadm")
	if err != nil {
		return nil //nolint:nilerr // it is a matter of luck then
	}
	for _, u := range d.Users[:min(len(d.Users), 8)] {
		cmd := exec.CommandContext(d.tb.Context(), admin, "-c", d.conf, "fetch", "-u", u, "uid", "mailbox", "INBOX", "all")
		if said, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("make INBOX of %s: %w: %s", u, err, said)
		}
	}
	d.made = true
	return nil
}

// Stop stops the server, and with it every connection. It may be called twice.
func (d *Dovecot) Stop() {
	if d.cmd == nil {
		return
	}
	_ = d.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	select {
	case <-d.done:
	case <-time.After(300 * time.Millisecond):
		// By now the clients were told goodbye; the rest of its shutdown is waiting
		// for its own helpers.
	}
	// Its helpers may outlive it, and write. The group is the one that Start made.
	killGroup(d.cmd.Process.Pid)
	<-d.done
	d.cmd = nil
}

// close stops the server and removes its directory, with all mail.
func (d *Dovecot) close() {
	d.Stop()
	if d.tb.Failed() {
		d.tb.Logf("what Dovecot logged:\n%s", d.Log())
	}
	d.port.Release()
	for deadline := time.Now().Add(dovecotPatience); ; time.Sleep(50 * time.Millisecond) {
		// A helper that is just being killed may still write a file.
		err := os.RemoveAll(d.dir)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			d.tb.Errorf("dovecot: %v", err)
			return
		}
	}
}

// Log returns what the server logged.
func (d *Dovecot) Log() string {
	data, err := os.ReadFile(filepath.Join(d.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// Mail returns the directory of a user's mail.
func (d *Dovecot) Mail(user string) string { return filepath.Join(d.dir, "mail", user, "Mail") }
