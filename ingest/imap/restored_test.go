// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"testing"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/testkit"
)

// A state that was restored does not know what of the mailbox was marked since:
// all that is there now is backlog, also on a server that does not say UIDNEXT,
// and what comes later is not.
func TestWhatIsThereAfterARestoreIsBacklog(t *testing.T) {
	t.Parallel()
	for name, setup := range map[string]func(*testkit.Fake){
		"UIDNEXT known": nil,
		"UIDNEXT not said": func(f *testkit.Fake) {
			f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool { return withoutUIDNEXT(f, c, cmd) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := testkit.StartFake(t, setup)
			for range 5 {
				f.Add(plainMail, "")
			}
			// The state knows the first two; the mailbox was empty when it was first opened.
			known := ingest.Known{
				Mailbox: "INBOX", UIDValidity: 1, UIDNext: 3, BacklogBefore: 1, Restored: true,
				Flags: map[uint32][]string{1: nil, 2: nil},
			}
			r := startSource(t, only(f), known)
			r.await("scan", 0, cursorOf("INBOX", 6))
			f.Add(plainMail, "")
			f.Tell("* 6 EXISTS")
			r.await("the next one", 0, cursorOf("INBOX", 7))
			backlog := map[uint32]bool{}
			var end uint32
			for _, e := range r.all() {
				switch e := e.(type) {
				case ingest.Arrival:
					backlog[e.UID] = e.Backlog
				case ingest.Cursor:
					if end == 0 && e.BacklogBefore != 6 {
						t.Errorf("the first position says that the backlog ends at %d", e.BacklogBefore)
					}
					end = e.BacklogBefore
				}
			}
			if len(backlog) != 4 || !backlog[3] || !backlog[4] || !backlog[5] || backlog[6] || end != 6 {
				t.Errorf("backlog: %v, its end is reported as %d; want 3, 4 and 5 to be, not 6", backlog, end)
			}
		})
	}
}

// withoutUIDNEXT opens a Fake's mailbox as a server does that does not say UIDNEXT, and has
// no CONDSTORE.
func withoutUIDNEXT(f *testkit.Fake, c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
	if cmd.Name != "SELECT" && cmd.Name != "EXAMINE" {
		return false
	}
	f.Lock()
	exists := len(f.Messages)
	f.Unlock()
	c.Line("* %d EXISTS", exists)
	c.Line("* OK [UIDVALIDITY 1] valid")
	c.Line("* OK [PERMANENTFLAGS (\\Seen \\*)] keep")
	c.Line("%s OK [READ-WRITE] open", cmd.Tag)
	return true
}

// TestABrokenFirstConnectionLeavesTheBacklogOld: the server does not say UIDNEXT, and the
// connection breaks before the first comparison is through. What was there is backlog all
// the same, and what comes later is not.
func TestABrokenFirstConnectionLeavesTheBacklogOld(t *testing.T) {
	t.Parallel()
	for name, known := range map[string][]ingest.Known{
		"first look":      nil,
		"new UIDVALIDITY": {{Mailbox: "INBOX", UIDValidity: 99, UIDNext: 3, BacklogBefore: 1, Flags: map[uint32][]string{1: nil, 2: nil}}},
	} {
		t.Run(name, func(t *testing.T) {
			f := testkit.StartFake(t, func(f *testkit.Fake) {
				broken := once(on("UID SEARCH", func(c *testkit.FakeConn, _ testkit.FakeCommand) { c.Close() }))
				f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
					return withoutUIDNEXT(f, c, cmd) || broken(c, cmd)
				}
			})
			f.Add(plainMail, "")
			f.Add(plainMail, "")
			r := startSource(t, only(f), known...)
			r.await("scan", 0, cursorOf("INBOX", 3))
			f.Add(plainMail, "")
			f.Tell("* 3 EXISTS")
			r.await("the next one", 0, cursorOf("INBOX", 4))
			for uid := uint32(1); uid <= 3; uid++ {
				e, _ := r.await("arrival", 0, arrivalOf("INBOX", uid))
				if got := e.(ingest.Arrival).Backlog; got != (uid < 3) {
					t.Errorf("UID %d is backlog: %v", uid, got)
				}
			}
			for _, e := range r.all() {
				if c, ok := e.(ingest.Cursor); ok && c.BacklogBefore != 3 {
					t.Errorf("a position says that the backlog ends at %d", c.BacklogBefore)
				}
			}
		})
	}
}
