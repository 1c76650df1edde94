// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"io"
	"testing"
	"time"

	goimap "github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
)

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
