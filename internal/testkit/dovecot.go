// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	goimap "github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"github.com/hinged/hinged/internal/host/loopback"
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

// BelowInbox is DovecotOptions.Config that keeps all folders below INBOX and tells the use
// of none, as Courier and older Cyrus do.
const BelowInbox = `
namespace inbox {
  prefix = INBOX.
  separator = .
  mailbox Sent {
    special_use =
  }
  mailbox Junk {
    special_use =
  }
  mailbox Trash {
    special_use =
  }
  mailbox Drafts {
    special_use =
  }
  mailbox Archive {
    special_use =
  }
}
`

// WantsCertificates is DovecotOptions.Config, with TLS, of a server that lets nobody in
// without a certificate by the authority in this file. With the mechanism EXTERNAL it takes
// the certificate in the place of a password, and its common name for the user's.
func WantsCertificates(authority string) string {
	return "ssl_ca = <" + authority + `
ssl_require_crl = no
ssl_verify_client_cert = yes
auth_ssl_require_client_cert = yes
auth_ssl_username_from_cert = yes
auth_mechanisms = plain external
passdb {
  driver = static
  args = nopassword=y
  mechanisms = external
}
`
}

// Restart stops the server and starts it again on the same port, with the same
// mail.
func (d *Dovecot) Restart() {
	d.tb.Helper()
	d.Stop()
	d.Start()
}

// Fill puts many messages into the first user's INBOX, as Drop does.
func (d *Dovecot) Fill(n int, next func() Message) {
	d.tb.Helper()
	d.FillOf(d.User, n, next)
}

// FillOf does it to the INBOX of one of the users.
func (d *Dovecot) FillOf(user string, n int, next func() Message) {
	d.tb.Helper()
	d.Drop(user, "INBOX", func(yield func(Dropped) bool) {
		for range n {
			if m := next(); !yield(Dropped{Raw: m.Raw, Date: m.Date}) {
				return
			}
		}
	})
}

// Dropped is a message for Drop.
type Dropped struct {
	Raw   []byte
	Date  time.Time // of its arrival, which IMAP calls INTERNALDATE
	Flags string    // letters of Maildir, in order of the alphabet: R answered, S seen
}

// Drop puts many messages into a mailbox of a user, a Maildir, as a delivery agent
// beside the server would: hundreds of times faster than APPEND. Their UIDs ascend in
// the order given.
func (d *Dovecot) Drop(user, mailbox string, messages iter.Seq[Dropped]) {
	d.tb.Helper()
	box := d.Mail(user)
	if mailbox != "INBOX" {
		box = filepath.Join(box, "."+mailbox)
	}
	if _, err := os.Stat(filepath.Join(box, "tmp")); err != nil {
		first := d.OwnerOf(d.tb, user)
		first.Select(mailbox) // makes the Maildir
		first.Close()
	}
	owner := -1
	if info, err := os.Stat(box); err != nil {
		d.tb.Fatalf("drop: no Maildir at %s: %v", box, err)
	} else if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		owner = int(stat.Uid)
	}
	for m := range messages {
		path := filepath.Join(box, "new", d.nextFile())
		if m.Flags != "" {
			path = filepath.Join(box, "cur", filepath.Base(path)+":2,"+m.Flags)
		}
		// It appears at once, with all that it has.
		draft := filepath.Join(box, "tmp", filepath.Base(path))
		if err := os.WriteFile(draft, m.Raw, 0o600); err != nil {
			d.tb.Fatal(err)
		}
		if err := os.Chtimes(draft, m.Date, m.Date); err != nil {
			d.tb.Fatal(err)
		}
		if os.Geteuid() == 0 {
			if err := os.Chown(draft, owner, -1); err != nil {
				d.tb.Fatal(err)
			}
		}
		if err := os.Rename(draft, path); err != nil {
			d.tb.Fatal(err)
		}
	}
}

// nextFile names a file of a Maildir. Dovecot numbers new files in the order of the
// first part of their names.
func (d *Dovecot) nextFile() string {
	d.dropped++
	return fmt.Sprintf("%d.M%06dP1.testkit", 1700000000+d.dropped, d.dropped%1000000)
}

// FetchAll sends the FETCH commands of a first scan of INBOX, throws the messages
// away, and returns how long that took, the login included: what a scan costs
// without us. INBOX must have the messages 1 to n; each command asks for chunk of
// them, and for at most this many bytes of each.
func (d *Dovecot) FetchAll(tb testing.TB, n, chunk int, bytes int64) time.Duration {
	tb.Helper()
	c, err := imapclient.DialInsecure(d.Addr, nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer c.Close()
	began := time.Now()
	if err := c.Login(d.User, d.Password).Wait(); err != nil {
		tb.Fatal(err)
	}
	if _, err := c.Select("INBOX", &goimap.SelectOptions{CondStore: true}).Wait(); err != nil {
		tb.Fatal(err)
	}
	got := 0
	for first := 1; first <= n; first += chunk {
		cmd := c.Fetch(goimap.UIDSet{{Start: goimap.UID(first), Stop: goimap.UID(min(first+chunk-1, n))}}, &goimap.FetchOptions{
			UID: true, Flags: true, InternalDate: true, RFC822Size: true, ModSeq: true,
			BodySection: []*goimap.FetchItemBodySection{{Peek: true, Partial: &goimap.SectionPartial{Size: bytes}}},
		})
		for m := cmd.Next(); m != nil; m = cmd.Next() {
			for item := m.Next(); item != nil; item = m.Next() {
				if body, ok := item.(imapclient.FetchItemDataBodySection); ok {
					if _, err := io.Copy(io.Discard, body.Literal); err != nil {
						tb.Fatal(err)
					}
					got++
				}
			}
		}
		if err := cmd.Close(); err != nil {
			tb.Fatal(err)
		}
	}
	if got != n {
		tb.Fatalf("fetched %d of %d messages", got, n)
	}
	return time.Since(began)
}
