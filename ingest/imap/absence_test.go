// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/testkit"
)

// TestWhatOneCommandDidSharesItsNumber: on Dovecot a STORE and a MOVE give one MODSEQ to
// all messages that they change, single commands each its own. A server that stops for
// a moment was not away; one that was gone for longer was.
func TestWhatOneCommandDidSharesItsNumber(t *testing.T) {
	for _, format := range []string{"maildir", "mdbox"} {
		for name, moment := range map[string]time.Duration{"a moment": time.Hour, "longer": time.Nanosecond} {
			t.Run(format+"/"+name, func(t *testing.T) {
				t.Parallel()
				d := testkit.StartDovecot(t, testkit.DovecotOptions{Format: format})
				owner := d.Owner(t)
				mail := testkit.NewMail(3)
				var uids []uint32
				for range 12 {
					m := mail.Next()
					uids = append(uids, owner.Append("INBOX", m.Raw, m.Date))
				}
				o := dovecotOptions(d)
				o.moment = moment
				proxy := testkit.StartProxy(t, d.Addr)
				o.Address = proxy.Addr
				r := startSource(t, o)
				_, at := r.await("scan", 0, cursorOf("INBOX", uids[11]+1))
				awaitConnected(t, r)

				proxy.Freeze() // the connections still stand and carry nothing
				owner.SetAll("INBOX", uids[:4], `\Flagged`)
				owner.Set("INBOX", uids[4], `\Flagged`)
				owner.Set("INBOX", uids[5], `\Flagged`)
				owner.MoveAll("INBOX", uids[6:10], "Junk")
				moved := []uint32{owner.Move("INBOX", uids[10], "Junk"), owner.Move("INBOX", uids[11], "Junk")}
				proxy.Thaw()

				numbers := map[uint64]int{}
				note := func(modseq uint64, away bool) {
					t.Helper()
					numbers[modseq]++
					if want := name == "longer"; away != want {
						t.Errorf("away is %v, want %v", away, want)
					}
				}
				for _, uid := range uids[:6] {
					e, _ := r.await("star", at, flagsOf("INBOX", uid, `\Flagged`))
					note(e.(ingest.FlagsChanged).ModSeq, e.(ingest.FlagsChanged).Away)
				}
				if len(numbers) != 3 || numbers[0] != 0 {
					t.Errorf("three commands gave %d numbers: %v", len(numbers), numbers)
				}
				clear(numbers)
				for uid := moved[0] - 4; uid <= moved[1]; uid++ {
					e, _ := r.await("arrival in Junk", at, arrivalOf("Junk", uid))
					note(e.(ingest.Arrival).ModSeq, e.(ingest.Arrival).Away)
				}
				if len(numbers) != 3 || numbers[0] != 0 {
					t.Errorf("three moves gave %d numbers: %v", len(numbers), numbers)
				}
			})
		}
	}
}
