// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// Copies as the mark (mark_copy), on real Dovecot.

const copyToo = "mark_copy = \"Important\"\n"

// copies returns the UIDs in Important, ascending.
func (o *resident) copies() (uids []uint32) {
	o.Helper()
	o.Select("Important")
	for _, m := range o.All("Important") {
		uids = append(uids, m.UID)
	}
	return uids
}

// TestR4CopiesAreTakenBackExactly: copies of important messages are put into a folder and
// teach nothing (R3). The owner reads, stars, deletes and moves some of them. Undo deletes
// those that are as they were put there, and nothing else in either folder.
func TestR4CopiesAreTakenBackExactly(t *testing.T) {
	onEveryServer(t, func(o *resident) {
		s := o.daemon(copyToo + quick + still)
		text := testkit.Read(o, s.config)
		text = append(text, "important = \"Important\"\n"...) // so that it is watched
		testkit.Write(o, s.config, text)
		s.start()
		messages, lessons := teach(s, o.Owner)
		if u := s.undo(); u.Failed+u.Waiting != 0 {
			o.Fatalf("undo says %+v", u)
		}
		if left := o.copies(); len(left) != 0 {
			o.Errorf("of the copies of teaching %d are left", left)
		}
		clean := asStored(o.Owner)
		own := o.Append("Important", letter(90, boss, o.user, "the owner's own"), time.Now(), `\Seen`, `\Deleted`) // nor is this expunged
		messages++

		var uids []uint32
		for range 8 {
			uids = append(uids, o.urgent("INBOX"))
		}
		messages += 8
		all := s.until("the copies", func(a desk.AccountStatus) bool {
			return a.Messages == messages && a.MarksIntended == 0 && holds(a, "Important", 9)
		})
		if n := all.Important + all.Ordinary; n != lessons {
			o.Errorf("the copies taught: %d lessons, want %d", n, lessons)
		}
		copies := o.copies()[1:]
		if len(copies) != 8 || o.copies()[0] != own {
			o.Fatalf("Important has %d, of which %d is the owner's", o.copies(), own)
		}
		model := s.model()
		raw := o.All("Important")
		of := func(uid uint32) uint32 { // the copy of a message
			text := o.All("INBOX")
			m := text[slices.IndexFunc(text, func(m testkit.Stored) bool { return m.UID == uid })]
			return raw[slices.IndexFunc(raw, func(c testkit.Stored) bool { return string(c.Raw) == string(m.Raw) })].UID
		}
		o.Set("Important", of(uids[0]), `\Seen`)
		o.Set("INBOX", uids[1], `\Seen`)
		lone := of(uids[3])
		deleted, trashed, kept := of(uids[4]), of(uids[5]), of(uids[6])
		o.Set("Important", kept, "Later")
		o.Set("INBOX", uids[2], `\Seen`) // unread, to put it aside would be a lesson
		moved := o.Move("INBOX", uids[2], "Archive")
		o.Set("INBOX", uids[3], `\Seen`)
		o.Expunge("INBOX", uids[3])
		o.Expunge("Important", deleted)
		thrown := o.Move("Important", trashed, "Trash")
		// Until INBOX has lost it, the moved one is not known to lie in Archive.
		inbox := len(o.All("INBOX"))
		s.until("what the owner did", func(a desk.AccountStatus) bool {
			return holds(a, "INBOX", inbox) && holds(a, "Archive", 1) && holds(a, "Trash", 1) && holds(a, "Important", 7) && a.Pending == 0
		})
		if got := s.model(); got != model {
			o.Errorf("what the owner did with the copies moved the model from %s to %s", model, got)
		}

		out, err := s.hinged("undo", "--marks", "--config", s.config, "--json")
		var u desk.UndoneMarks
		if jerr := json.NewDecoder(strings.NewReader(out)).Decode(&u); jerr != nil || err == nil {
			o.Fatalf("undo, which leaves some, says (%v)\n%s", err, out)
		}
		if u.Failed != 2 || u.Waiting != 0 {
			o.Errorf("undo left %d copies, want 2: %+v", u.Failed, u)
		}
		var why []string
		for _, m := range u.Marks {
			if m.Result == desk.UndoneFailed {
				why = append(why, m.Why)
			}
		}
		if said := strings.Join(why, "; "); !strings.Contains(said, "the only one left") || !strings.Contains(said, "the flags later") {
			o.Errorf("undo says of what it left: %s", said)
		}
		want := append(clean, fmt.Sprintf(`Archive %d ["\\Seen"]`, moved), fmt.Sprintf(`Trash %d []`, thrown))
		for i, uid := range uids {
			switch i {
			case 1:
				want = append(want, fmt.Sprintf(`INBOX %d ["\\Seen"]`, uid))
			case 2, 3:
			default:
				want = append(want, fmt.Sprintf("INBOX %d []", uid))
			}
		}
		slices.Sort(want)
		if got := asStored(o.Owner); !slices.Equal(got, want) {
			o.Errorf("the flags are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		left := []uint32{own, lone, kept}
		slices.Sort(left)
		if got := o.copies(); !slices.Equal(got, left) {
			o.Errorf("in Important are %d, want %d", got, left)
		}
		if flags, _ := o.Flags("Important", kept); !slices.Equal(flags, []string{"later"}) {
			o.Errorf("the copy that the owner changed has the flags %q", flags)
		}
		if got := s.model(); got != model {
			o.Errorf("undo moved the model from %s to %s", model, got)
		}
		if out := s.must("ledger", "--config", s.config, "-n", "0"); !strings.Contains(out, "copy in Important") || strings.Contains(out, " refused ") {
			o.Errorf("the owner took no mark off; the ledger says\n%s", out)
		}
		s.wantReplay("at the end")
	})
}

// TestACopyIsNotMadeTwiceByAKill (R9): between COPY and its answer, and between the deletion
// of a copy and its answer.
func TestACopyIsNotMadeTwiceByAKill(t *testing.T) {
	t.Parallel()
	server := testkit.StartDovecot(t, testkit.DovecotOptions{})
	wire := testkit.StartProxy(t, server.Addr)
	s := siteAt(t, server, wire.Addr, t.TempDir(), "mark = []\n"+copyToo+quick+still)
	owner := server.Owner(t)
	s.start()
	messages, _ := teach(s, owner)
	s.undo()
	copies := func() int {
		owner.Select("Important")
		return len(owner.All("Important"))
	}
	for i := range 3 {
		wire.FreezeAfter("COPY", 1)
		owner.Append("INBOX", letter(100+i, boss, s.imap.User, "urgent matter"), time.Now())
		messages++
		frozen(t, wire)
		testkit.Until(t, func() bool { return copies() == i+1 }, "there are not so many copies: ", i+1)
		s.kill()
		wire.Thaw()
		s.wantReplay("after the kill")
		s.start()
		st := s.until("the copy", func(a desk.AccountStatus) bool { return a.Messages == messages && a.MarksIntended == 0 && a.Connected })
		if n := copies(); n != i+1 {
			t.Fatalf("after kill %d there are %d copies", i+1, n)
		}
		if st.MarksRefused != 0 {
			t.Errorf("%d refused", st.MarksRefused)
		}
	}
	wire.FreezeAfter("EXPUNGE", 2)
	cmd := s.begin("undo", "--marks", "--config", s.config)
	frozen(t, wire)
	s.kill()
	_ = cmd.Wait() // it failed, for its daemon is gone
	wire.Thaw()
	if u := s.undo(); u.Failed+u.Waiting != 0 { // with no daemon
		t.Errorf("undo says %+v", u)
	}
	if n := copies(); n != 0 {
		t.Errorf("%d copies are left", n)
	}
	s.wantReplay("at the end")
}
