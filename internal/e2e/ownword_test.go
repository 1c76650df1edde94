// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// TestTheOwnersWordSetsAndTakesOffTheMark: important, said of a message that hinged left
// unmarked, sets its mark on the server, and ordinary takes it off, also if the daemon is
// killed while the command is on its way; the ledger has both, and undo takes back what was
// set so.
func TestTheOwnersWordSetsAndTakesOffTheMark(t *testing.T) {
	t.Parallel()
	server := testkit.StartDovecot(t, testkit.DovecotOptions{})
	wire := testkit.StartProxy(t, server.Addr)
	s := siteAt(t, server, wire.Addr, t.TempDir(), "mark = ['$Important', '$label1']\n"+quick+still)
	owner := server.Owner(t)
	s.start()
	messages, _ := teach(s, owner)
	marked := owner.Append("INBOX", letter(100, boss, s.imap.User, "urgent matter"), time.Now().Add(-time.Minute))
	plain := owner.Append("INBOX", letter(101, news, s.imap.User, "weekly newsletter"), time.Now().Add(-time.Minute), `\Seen`)
	messages += 2
	s.until("the mark", func(a desk.AccountStatus) bool { return a.Messages == messages && a.MarksIntended == 0 && a.Connected })
	has := func(uid uint32, n int) {
		t.Helper()
		var flags []string
		for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
			flags, _ = owner.Flags("INBOX", uid)
			found := 0
			for _, f := range []string{"$Important", "$label1"} {
				if ingest.HasFlag(ingest.CanonicalFlags(flags), f) {
					found++
				}
			}
			if found == n {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("message %d has %v, want %d of the mark's flags", uid, flags, n)
			}
		}
	}
	has(marked, 2)
	has(plain, 0)
	ledger := func(n int, want string) {
		t.Helper()
		id := fmt.Sprintf("l%d@example.com", n)
		for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
			out := s.must("ledger", "--config", s.config, id)
			if strings.Count(out, want) == 1 {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("the ledger says\n%s\nwant one mark that is %s", out, want)
			}
		}
	}
	if out := s.must("learn", "--config", s.config, "--ordinary", "l100@example.com"); !strings.Contains(out, "hinged takes its mark off") {
		t.Errorf("learn says %q", out)
	}
	has(marked, 0)
	ledger(100, " refused ")
	if out := s.must("learn", "--config", s.config, "--important", "l101@example.com"); !strings.Contains(out, "hinged marks it") {
		t.Errorf("learn says %q", out)
	}
	has(plain, 2)
	ledger(101, " confirmed ")
	s.wantReplay("after both")

	// The last word holds, whenever the daemon is killed.
	wire.FreezeAfter("STORE", 1)
	s.must("learn", "--config", s.config, "--ordinary", "l101@example.com")
	frozen(t, wire)
	s.kill()
	wire.Thaw()
	s.start()
	has(plain, 0)
	ledger(101, " refused ")
	wire.FreezeAfter("STORE", 1)
	s.must("learn", "--config", s.config, "--important", "l101@example.com")
	frozen(t, wire)
	s.kill()
	wire.Thaw()
	s.start()
	has(plain, 2)
	s.until("its confirmation", func(a desk.AccountStatus) bool { return a.MarksIntended == 0 })
	if u := s.undo("--message", "l101@example.com"); u.Undone != 1 {
		t.Errorf("undo says %+v", u)
	}
	has(plain, 0)
	s.wantReplay("at the end")
}
