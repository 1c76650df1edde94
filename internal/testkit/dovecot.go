package testkit

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hinged/hinged/internal/dovecot"
)

// DovecotOptions configure StartDovecot. The zero value is a plain-text server
// for one user, on Maildir.
type DovecotOptions = dovecot.Options

// Dovecot is a running server. Its mail is gone with the test.
type Dovecot struct {
	*dovecot.Server
	tb testing.TB
}

// NeedDovecot skips the test where there is no Dovecot, saying so. In CI, where
// CI=true, that is a failure.
func NeedDovecot(tb testing.TB) {
	tb.Helper()
	if _, err := dovecot.Find(); err != nil {
		if os.Getenv("CI") == "true" {
			tb.Fatalf("CI must test against a real Dovecot: %v", err)
		}
		tb.Skipf("SKIPPED: %v", err)
	}
}

// StartDovecot starts a Dovecot of its own for this test on a free port of
// loopback, with the mailboxes INBOX, Sent, Junk, Trash, Drafts and Archive. It
// is stopped when the test ends.
func StartDovecot(tb testing.TB, o DovecotOptions) *Dovecot {
	tb.Helper()
	NeedDovecot(tb)
	s, err := dovecot.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	d := &Dovecot{s, tb}
	d.Start()
	return d
}

// Start starts the server again after Stop and waits until it answers.
func (d *Dovecot) Start() {
	d.tb.Helper()
	if err := d.Server.Start(d.tb.Context()); err != nil {
		d.tb.Fatal(err)
	}
}

// Restart stops the server and starts it again on the same port, with the same
// mail.
func (d *Dovecot) Restart() {
	d.tb.Helper()
	d.Stop()
	d.Start()
}

// Fill puts many messages into the first user's INBOX, a Maildir, as a delivery
// agent beside the server would: hundreds of times faster than APPEND. Their
// UIDs ascend in the order given.
func (d *Dovecot) Fill(n int, next func() Message) {
	d.tb.Helper()
	d.FillOf(d.User, n, next)
}

// FillOf does it to the INBOX of one of the users.
func (d *Dovecot) FillOf(user string, n int, next func() Message) {
	d.tb.Helper()
	box := d.Mail(user)
	first := d.OwnerOf(d.tb, user)
	first.Select("INBOX") // makes the Maildir
	first.Close()
	owner := -1
	if info, err := os.Stat(box); err != nil {
		d.tb.Fatalf("fill: no Maildir at %s: %v", box, err)
	} else if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		owner = int(stat.Uid)
	}
	// Dovecot numbers new files in the order of the first part of their names.
	for i := range n {
		m := next()
		path := filepath.Join(box, "new", fmt.Sprintf("%d.M%06dP1.testkit", 1700000000+i, i%1000000))
		if err := os.WriteFile(path, m.Raw, 0o600); err != nil {
			d.tb.Fatal(err)
		}
		if err := os.Chtimes(path, m.Date, m.Date); err != nil {
			d.tb.Fatal(err)
		}
		if os.Geteuid() == 0 {
			if err := os.Chown(path, owner, -1); err != nil {
				d.tb.Fatal(err)
			}
		}
	}
}

// SetPassword changes the password of every user, on the server alone.
func (d *Dovecot) SetPassword(password string) {
	d.tb.Helper()
	if err := d.Server.SetPassword(password); err != nil {
		d.tb.Fatal(err)
	}
}
