// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// TestAMarkTakenOffDuringACrashNeverComesBack kills the daemon between the server's STORE and its
// OK. Then the owner takes the mark off, in every way there is, before the daemon runs again. A
// mark that nobody takes off stays.
func TestAMarkTakenOffDuringACrashNeverComesBack(t *testing.T) {
	t.Parallel()
	both := []string{"$Important", ingest.Companion}
	for name, off := range map[string]func(o *testkit.Owner, uid uint32){
		"the mark alone":         func(o *testkit.Owner, uid uint32) { o.Clear("INBOX", uid, both[0]) },
		"mark and companion":     func(o *testkit.Owner, uid uint32) { o.Clear("INBOX", uid, both...) },
		"one after the other":    func(o *testkit.Owner, uid uint32) { o.Clear("INBOX", uid, both[1]); o.Clear("INBOX", uid, both[0]) },
		"read, and all replaced": func(o *testkit.Owner, uid uint32) { _ = replaceFlags(o, uid, `\Seen`) },
		"starred, both off":      func(o *testkit.Owner, uid uint32) { o.Set("INBOX", uid, `\Flagged`); o.Clear("INBOX", uid, both...) },
		"moved away and back": func(o *testkit.Owner, uid uint32) {
			o.Clear("INBOX", uid, both...)
			o.Move("Archive", o.Move("INBOX", uid, "Archive"), "INBOX")
		},
		"not at all": func(*testkit.Owner, uint32) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := testkit.StartDovecot(t, testkit.DovecotOptions{})
			wire := testkit.StartProxy(t, server.Addr)
			s := siteAt(t, server, wire.Addr, t.TempDir(), quick+still)
			owner := server.Owner(t)
			owner.Create("Archive")
			s.start()
			messages, _ := teach(s, owner)
			wire.FreezeAfter("STORE", 1)
			uid := owner.Append("INBOX", letter(100, boss, s.imap.User, "urgent matter"), time.Now().Add(-time.Minute))
			frozen(t, wire)
			s.kill()
			off(owner, uid)
			wire.Thaw()
			s.start()
			messages++
			s.until("the end of the intent", func(a desk.AccountStatus) bool {
				return a.Messages >= messages && a.MarksIntended == 0 && a.Connected
			})
			found := 0
			for _, m := range owner.All("INBOX") {
				if m.UID > uid-1 && ingest.HasFlag(ingest.CanonicalFlags(m.Flags), both[0]) {
					found++
				}
			}
			if want := map[bool]int{true: 1}[name == "not at all"]; found != want {
				t.Errorf("%d messages are marked, want %d", found, want)
			}
			s.wantReplay("at the end")
		})
	}
}
