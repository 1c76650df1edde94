// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	goimap "github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
)

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
