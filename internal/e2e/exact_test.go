// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// deed is what an owner does with one urgent message, in the mailbox that hinged watches
// and in the other.
type deed struct {
	name  string
	flags []string // that the message arrives with
	do    func(owner *testkit.Owner, uid uint32, t *testing.T)
	// then is done once hinged has seen that the owner took the mark off; nil: nothing is.
	then func(owner *testkit.Owner, uid uint32)
}

func deeds() []deed {
	takeOff := func(owner *testkit.Owner, uid uint32, _ *testing.T) { owner.Clear("INBOX", uid, "$Important") }
	return []deed{
		{"nothing", nil, nil, nil},
		{"keywords of the owner's", []string{"Work", "$label2", "$Forwarded"}, nil, nil},
		{"answered when it came", []string{`\Answered`}, nil, nil},
		{"starred when it came", []string{`\Flagged`}, nil, nil},
		{"a companion when it came", []string{"$Hinged"}, nil, nil},
		{"read", nil, func(owner *testkit.Owner, uid uint32, _ *testing.T) { owner.Set("INBOX", uid, `\Seen`) }, nil},
		{"answered", nil, func(owner *testkit.Owner, uid uint32, _ *testing.T) { owner.Set("INBOX", uid, `\Seen`, `\Answered`) }, nil},
		{"starred", nil, func(owner *testkit.Owner, uid uint32, _ *testing.T) { owner.Set("INBOX", uid, `\Flagged`) }, nil},
		{"labelled", nil, func(owner *testkit.Owner, uid uint32, _ *testing.T) { owner.Set("INBOX", uid, "$label1", "Home") }, nil},
		{"taken off", nil, takeOff, nil},
		{"taken off a message with keywords", []string{"Work"}, takeOff, nil},
		{"taken off and moved", nil, func(owner *testkit.Owner, uid uint32, _ *testing.T) {
			owner.Clear("INBOX", uid, "$Important")
			owner.Move("INBOX", uid, "Archive")
		}, nil},
		{"taken off and set again", nil, takeOff, func(owner *testkit.Owner, uid uint32) {
			owner.Set("INBOX", uid, `\Seen`, "$Important")
		}},
		{"all flags replaced", nil, func(owner *testkit.Owner, uid uint32, t *testing.T) {
			if err := replaceFlags(owner, uid, imap.FlagSeen, "Work"); err != nil {
				t.Fatal(err)
			}
		}, nil},
		{"moved", nil, func(owner *testkit.Owner, uid uint32, _ *testing.T) { owner.Move("INBOX", uid, "Archive") }, nil},
		{"moved to Junk", nil, func(owner *testkit.Owner, uid uint32, _ *testing.T) { owner.Move("INBOX", uid, "Junk") }, nil},
		{"moved to Trash and back", nil, func(owner *testkit.Owner, uid uint32, _ *testing.T) {
			owner.Move("Trash", owner.Move("INBOX", uid, "Trash"), "INBOX")
		}, nil},
		{"copied", nil, func(owner *testkit.Owner, uid uint32, t *testing.T) {
			owner.Select("INBOX")
			if _, err := owner.Client().Copy(imap.UIDSetNum(imap.UID(uid)), "Archive").Wait(); err != nil {
				t.Fatal(err)
			}
		}, nil},
	}
}

// TestR4UndoRestoresTheFlagsExactly: two mailboxes get the same mail, and their owners do
// the same with it. hinged watches one of them. After `hinged undo --marks` both have the
// same flags and keywords, letter for letter, also where the owner took the mark off and
// left the companion keyword.
func TestR4UndoRestoresTheFlagsExactly(t *testing.T) {
	onEveryServer(t, func(o *resident) {
		s := o.daemon(quick + still)
		s.start()
		without := o.imap.OwnerOf(t, unwatched)
		both := []*testkit.Owner{o.Owner, without}
		messages, _ := teach(s, o.Owner)
		for i := range 6 {
			without.Set("INBOX", without.Append("INBOX", letter(2*i, boss, o.user, "urgent matter"), time.Now()), `\Flagged`)
			without.Set("INBOX", without.Append("INBOX", letter(2*i+1, news, "list@example.net", "weekly newsletter"), time.Now()), "$Junk")
		}
		n := 100
		deliver := func() (uids []uint32) {
			for _, d := range deeds() {
				n++
				for _, owner := range both {
					uid := owner.Append("INBOX", letter(n, boss, o.user, "urgent matter"), time.Now(), d.flags...)
					if owner == without {
						uids = append(uids, uid)
					}
				}
			}
			messages += uint64(len(uids))
			s.settled("the marks", messages)
			for i, uid := range uids {
				if !o.isMarked(uid) {
					o.Fatalf("%q: message %d is not marked", deeds()[i].name, uid)
				}
			}
			return uids
		}
		act := func(uids []uint32) {
			first := n - len(uids) + 1 // the number of its letter
			for i, d := range deeds() {
				if d.do != nil {
					for _, owner := range both {
						d.do(owner, uids[i], o.T)
					}
				}
				if d.then != nil {
					s.sees(fmt.Sprintf("l%d@example.com", first+i), "; you removed the mark on ")
					for _, owner := range both {
						d.then(owner, uids[i])
					}
				}
			}
		}
		same := func(when string) {
			o.Helper()
			want := asStored(without)
			var got []string
			for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
				if got = asStored(o.Owner); slices.Equal(got, want) {
					o.Logf("%s: %d messages have the same flags", when, len(got))
					return
				}
			}
			o.Errorf("%s the flags are\n%s\nwant\n%s", when, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}

		act(deliver())
		// Three marks taken off, two moves to Archive and two kinds of Junk are lessons. What went to
		// Trash and came back may be one until its return is seen.
		s.until("what the owner did", func(a desk.AccountStatus) bool {
			return a.Pending == 0 && a.Ordinary == 6+3+2+1 && holds(a, "Archive", 3) && holds(a, "Junk", 1)
		})
		model := s.model()
		if u := s.undo(); u.Companions == 0 || u.Failed != 0 {
			o.Errorf("undo says %+v", u)
		}
		same("while the daemon ran")
		if got := s.model(); got != model {
			o.Errorf("the model went from %s to %s", model, got)
		}
		if u := s.undo(); u.Undone+u.Waiting+u.Failed+u.Companions != 0 {
			o.Errorf("a second time there is nothing to do, yet got %+v", u)
		}

		// The marks that were taken off have taught that this mail is ordinary.
		for range 12 {
			n++
			var uid uint32
			for _, owner := range both {
				uid = owner.Append("INBOX", letter(n, boss, o.user, "urgent matter"), time.Now())
			}
			messages++
			s.settled("the message", messages) // a star that comes with it would be nobody's word
			before, _ := s.status()
			for _, owner := range both {
				owner.Set("INBOX", uid, `\Seen`, `\Flagged`)
			}
			s.until("the star", func(a desk.AccountStatus) bool { return a.Important > before.Important })
			s.settled("the star", messages)
		}
		s.undo()

		uids := deliver()
		s.end()
		// Of what follows the daemon knows nothing. A mark that is taken off and set
		// again between two looks is taken for one never touched.
		for i, d := range deeds() {
			if d.do != nil && d.then == nil {
				for _, owner := range both {
					d.do(owner, uids[i], o.T)
				}
			}
		}
		s.undo()
		same("by a daemon that was stopped")
		s.wantReplay("at the end")
	})
}

// sees waits until the ledger says something of a message.
func (s *site) sees(id, want string) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		out, err := s.hinged("ledger", "--config", s.config, id)
		if err == nil && strings.Contains(out, want) {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the ledger says of %s: %v, %s\nwant %q", id, err, out, want)
		}
	}
}
