// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/testkit"
)

// TestWhatIsGoneUnreadMayLieWhereNobodyLooks: where mail came into a mailbox that is not
// watched, or the source was away, nobody can tell what became of it.
func TestWhatIsGoneUnreadMayLieWhereNobodyLooks(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	owner := d.Owner(t)
	mail := testkit.NewMail(4)
	var uids []uint32
	for range 6 {
		m := mail.Next()
		uids = append(uids, owner.Append("INBOX", m.Raw, m.Date))
	}
	owner.Create("Lists")
	o := dovecotOptions(d)
	o.moment = time.Nanosecond
	proxy := testkit.StartProxy(t, d.Addr)
	o.Address = proxy.Addr
	r := startSource(t, o)
	_, at := r.await("scan", 0, cursorOf("INBOX", uids[5]+1))
	awaitConnected(t, r)
	for i, c := range []struct {
		name string
		do   func(uid uint32)
		want bool
	}{
		{"expunged", func(uid uint32) { owner.Expunge("INBOX", uid) }, false},
		{"moved where nobody looks", func(uid uint32) { owner.Move("INBOX", uid, "Lists") }, true},
		{"expunged after that", func(uid uint32) { owner.Expunge("INBOX", uid) }, false},
		{"moved to a new mailbox", func(uid uint32) { owner.Create("New"); owner.Move("INBOX", uid, "New") }, true},
		{"moved where somebody looks", func(uid uint32) { owner.Move("INBOX", uid, "Archive") }, false},
		{"expunged while we were away", func(uid uint32) { proxy.Freeze(); owner.Expunge("INBOX", uid); proxy.Thaw() }, true},
	} {
		c.do(uids[i])
		var e ingest.Event
		e, at = r.await(c.name, at, func(e ingest.Event) bool { v, is := e.(ingest.Vanished); return is && v.Mailbox == "INBOX" })
		if got := e.(ingest.Vanished).Unclear; got != c.want {
			t.Errorf("%s: unclear is %v", c.name, got)
		}
	}
}

// TestWhatOneCommandDidSharesItsNumber: on Dovecot a STORE and a MOVE give one MODSEQ to
// all messages that they change, single commands each its own. A server that stops for
// a moment was not away; one that was gone for longer was.
func TestWhatOneCommandDidSharesItsNumber(t *testing.T) {
	t.Parallel()
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
