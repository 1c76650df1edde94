// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// asStored returns the flags of every message exactly as the server writes them,
// but for \Recent, which is about sessions.
func asStored(owner *testkit.Owner) []string {
	var out []string
	for _, box := range []string{"INBOX", "Archive", "Junk", "Trash", "Sent", "Drafts"} {
		owner.All(box) // selects it, and sees what others changed
		all, err := owner.Client().Fetch(imap.UIDSet{{Start: 1, Stop: 0}}, &imap.FetchOptions{UID: true, Flags: true}).Collect()
		if err != nil {
			panic(err)
		}
		for _, m := range all {
			var flags []string
			for _, f := range m.Flags {
				if f != `\Recent` {
					flags = append(flags, string(f))
				}
			}
			slices.Sort(flags)
			out = append(out, fmt.Sprintf("%s %d %q", box, m.UID, flags))
		}
	}
	slices.Sort(out)
	return out
}

func (s *site) undo(args ...string) (u desk.UndoneMarks) {
	s.t.Helper()
	out, err := s.hinged(append([]string{"undo", "--marks", "--config", s.config, "--json"}, args...)...)
	if jerr := json.Unmarshal([]byte(out), &u); err != nil || jerr != nil {
		s.t.Fatalf("undo: %v, %v\n%s\n%s", err, jerr, out, tail(s.log.String()))
	}
	return u
}

// model returns the digest of the weights.
func (s *site) model() string {
	s.t.Helper()
	var d []desk.Digest
	if err := json.Unmarshal([]byte(s.digests()), &d); err != nil || len(d) != 1 {
		s.t.Fatal(err)
	}
	return d[0].Model
}

// TestUndoLeavesTheMailboxAsItWas (R4): after `hinged undo --marks` every message has exactly
// the flags that its owner gave it, also if the account is paused or a process is killed, and
// nothing is learnt from it. A daemon that runs or is stopped: TestR4UndoRestoresTheFlagsExactly.
func TestUndoLeavesTheMailboxAsItWas(t *testing.T) {
	t.Parallel()
	const bare = "imap_capability = IMAP4rev1 LITERAL+ SASL-IR ENABLE IDLE UIDPLUS MOVE UNSELECT SPECIAL-USE LIST-EXTENDED"
	for _, tt := range []struct {
		name, dovecot, marks string
		many                 int
		undo                 func(s *site, wire *testkit.Proxy, owner *testkit.Owner, marked int)
	}{
		{"the account is paused, no CONDSTORE", bare, "['$Important']", 5, func(s *site, _ *testkit.Proxy, _ *testkit.Owner, marked int) {
			s.must("pause", "--config", s.config)
			if u := s.undo(); u.Undone != marked || !u.Paused {
				s.t.Errorf("took back %d of %d: %+v", u.Undone, marked, u)
			}
			if st := s.until("the pause", func(a desk.AccountStatus) bool { return !a.Connected }); !st.Paused {
				s.t.Error("the pause has ended")
			}
			s.wantReplay("in the pause")
			s.must("resume", "--config", s.config)
		}},
		{"the daemon is killed", "", "['$Important', '$label1']", 100, func(s *site, wire *testkit.Proxy, owner *testkit.Owner, marked int) {
			for i := range 4 {
				before := marksOn(owner)
				wire.FreezeAfter("STORE", 30)
				if i > 0 {
					s.start() // which goes on by itself
				}
				cmd := s.begin("undo", "--marks", "--config", s.config)
				frozen(s.t, wire)
				s.kill()
				_ = cmd.Wait() // it failed, for its daemon is gone
				if left := marksOn(owner); left <= 0 || left >= before {
					s.t.Errorf("killed with %d of %d marks left, want it in the middle", left, before)
				}
				s.wantReplay("after the kill")
				wire.Thaw()
			}
			s.start()
			s.undo()
		}},
		{"undo itself is killed", "", "['$Important', '$label1']", 100, func(s *site, wire *testkit.Proxy, owner *testkit.Owner, marked int) {
			s.end()
			before := marksOn(owner)
			wire.FreezeAfter("STORE", 70)
			cmd := s.begin("undo", "--marks", "--config", s.config)
			frozen(s.t, wire)
			if err := cmd.Process.Kill(); err != nil {
				s.t.Fatal(err)
			}
			_ = cmd.Wait()
			wire.Thaw()
			if left := marksOn(owner); left == 0 || left == before {
				s.t.Errorf("killed with %d of %d marks left, want it in the middle", left, before)
			}
			s.wantReplay("after the kill")
			s.start() // which goes on by itself
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := testkit.StartDovecot(t, testkit.DovecotOptions{Config: tt.dovecot})
			wire := testkit.StartProxy(t, server.Addr)
			s := siteAt(t, server, wire.Addr, t.TempDir(), "mark = "+tt.marks+"\n"+quick+still)
			owner := server.Owner(t)
			// Mail and what its owner does with it, without hinged: so it must be.
			s.start()
			messages, _ := teach(s, owner)
			s.undo() // what teaching had it mark is the owner's, too, by now
			clean := asStored(owner)
			if joined := strings.Join(clean, "\n"); strings.Contains(joined, "$Important") || strings.Contains(joined, "$label1") {
				t.Fatalf("marks stayed:\n%s", joined)
			}
			var uids []uint32
			for i := range tt.many {
				uids = append(uids, owner.Append("INBOX", letter(100+i, boss, s.imap.User, "urgent matter"), time.Now().Add(-time.Minute)))
				owner.Append("INBOX", letter(300+i, news, s.imap.User, "weekly newsletter"), time.Now().Add(-time.Minute), `\Seen`)
			}
			messages += uint64(2 * tt.many)
			s.until("the marks", func(a desk.AccountStatus) bool {
				return a.Messages == messages && a.MarksIntended == 0 && a.Connected
			})
			marks := strings.Count(tt.marks, "'") / 2
			if n := marksOn(owner); n != marks*tt.many {
				t.Fatalf("%d marks on the server, want %d", n, marks*tt.many)
			}
			// Two are read, and one of them is moved: unread, that would be a lesson.
			owner.Set("INBOX", uids[0], `\Seen`)
			moved := owner.Move("INBOX", uids[0], "Archive")
			owner.Set("INBOX", uids[1], `\Seen`)
			s.until("the move", func(a desk.AccountStatus) bool {
				return slices.ContainsFunc(a.Mailboxes, func(m desk.MailboxStatus) bool { return m.Mailbox == "Archive" && m.Messages == 1 })
			})
			want := append([]string{}, clean...)
			for i, uid := range uids {
				switch i {
				case 0:
					want = append(want, fmt.Sprintf(`Archive %d ["\\Seen"]`, moved))
				case 1:
					want = append(want, fmt.Sprintf(`INBOX %d ["\\Seen"]`, uid))
				default:
					want = append(want, fmt.Sprintf("INBOX %d []", uid))
				}
				want = append(want, fmt.Sprintf(`INBOX %d ["\\Seen"]`, uid+1))
			}
			slices.Sort(want)
			model := s.model()

			tt.undo(s, wire, owner, tt.many)

			s.until("the end", func(a desk.AccountStatus) bool { return a.Connected && a.Pending == 0 && marksOn(owner) == 0 })
			if got := asStored(owner); !slices.Equal(got, want) {
				t.Errorf("the flags are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			// More than the settle window later, all of it has been heeded.
			owner.Append("INBOX", letter(500, news, s.imap.User, "weekly newsletter"), time.Now().Add(-time.Minute))
			messages++
			st := s.until("more mail", func(a desk.AccountStatus) bool { return a.Messages == messages && a.Pending == 0 })
			time.Sleep(200 * time.Millisecond)
			if after := s.model(); after != model {
				t.Errorf("the model went from %s to %s", model, after)
			}
			if st.MarksUndone == 0 || st.MarksUndone != st.MarksConfirmed {
				t.Errorf("%d marks were confirmed and %d taken back", st.MarksConfirmed, st.MarksUndone)
			}
			if st.MarksRefused != 0 {
				t.Errorf("%d marks count as refused", st.MarksRefused)
			}
			if out := s.must("ledger", "--config", s.config, "-n", "0"); strings.Contains(out, " confirmed ") || strings.Contains(out, " undoing ") {
				t.Errorf("the ledger says\n%s", out)
			}
			s.wantReplay("at the end")
		})
	}
}

// frozen waits until nothing comes through any more.
func frozen(t testing.TB, wire *testkit.Proxy) {
	t.Helper()
	testkit.Until(t, func() bool { return wire.Frozen() }, "what was to be interrupted never began")
}

// begin starts a verb.
func (s *site) begin(args ...string) *exec.Cmd {
	s.t.Helper()
	path := program(s.t)
	cmd := exec.Command(path, args...)
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	return cmd
}

// marksOn counts the marks in INBOX and Archive.
func marksOn(owner *testkit.Owner) int {
	n := 0
	for _, box := range []string{"INBOX", "Archive"} {
		for _, m := range owner.All(box) {
			for _, f := range m.Flags {
				if f == "$important" || f == "$label1" {
					n++
				}
			}
		}
	}
	return n
}
