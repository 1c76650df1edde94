// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// must runs a verb that has to succeed.
func (s *site) must(args ...string) string {
	s.t.Helper()
	out, err := s.hinged(append(args, "--config", s.config)...)
	if err != nil {
		s.t.Fatalf("hinged %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// inbox returns the flags of all messages in INBOX, by UID.
func inbox(owner *testkit.Owner) map[uint32][]string {
	out := map[uint32][]string{}
	for _, m := range owner.All("INBOX") {
		out[m.UID] = m.Flags
	}
	return out
}

// A backup is older than the mailbox. The daemon that goes on with it marks
// nothing that came since, whether the mark is there or was taken off, learns
// nothing from its own marks of that time, and does all that it does with what
// comes after.
func TestRestoreOfABackupOlderThanTheMailbox(t *testing.T) {
	t.Parallel()
	s := newSite(t, quick)
	s.start()
	owner := s.imap.Owner(t)
	messages, _ := teach(s, owner)
	deliver := func(n int, from, words string) uint32 {
		t.Helper()
		uid := owner.Append("INBOX", letter(n, from, s.imap.User, words), time.Now().Add(-time.Hour))
		messages++
		s.until("the message", func(a desk.AccountStatus) bool { return a.Messages == messages && a.MarksIntended == 0 })
		return uid
	}
	isMarked := func(uid uint32) bool { return slices.Contains(inbox(owner)[uid], "$important") }

	backup := filepath.Join(s.dir, "backup.db")
	s.must("backup", backup)
	then := s.digests()
	was := s.until("a status", func(desk.AccountStatus) bool { return true })
	lessons := was.Important + was.Ordinary

	// Life goes on, and is lost.
	read := deliver(200, boss, "urgent matter")
	owner.Set("INBOX", read, `\Seen`)
	refused := deliver(201, boss, "urgent matter")
	unread := deliver(202, boss, "urgent matter")
	for _, uid := range []uint32{read, refused, unread} {
		if !isMarked(uid) {
			t.Fatalf("message %d has the flags %q, want a mark", uid, inbox(owner)[uid])
		}
	}
	owner.Clear("INBOX", refused, "$Important")
	starred := deliver(203, news, "weekly newsletter")
	owner.Set("INBOX", starred, `\Flagged`)
	s.until("two lessons", func(a desk.AccountStatus) bool { return a.Important+a.Ordinary == lessons+2 })
	s.end()
	away := owner.Append("INBOX", letter(204, boss, s.imap.User, "urgent matter"), time.Now().Add(-time.Minute))
	messages++
	before := inbox(owner)

	s.must("restore", backup)
	if now := s.digests(); now != then {
		t.Fatalf("the digests after the restore are\n%s\nat the backup they were\n%s", now, then)
	}
	s.start()
	// The star is on the server and learnt again; the mark taken off is not.
	now := s.until("all mail, and one lesson", func(a desk.AccountStatus) bool {
		return a.Messages == messages && a.Important+a.Ordinary >= lessons+1 && a.Pending == 0
	})
	if now.Important != was.Important+1 || now.Ordinary != was.Ordinary || now.MarksIntended != 0 {
		t.Errorf("learnt %d important and %d ordinary, want %d and %d; %d marks intended", now.Important, now.Ordinary, was.Important+1, was.Ordinary, now.MarksIntended)
	}

	// What comes from now on is marked, and the owner is heard.
	fresh := deliver(205, boss, "urgent matter")
	if !isMarked(fresh) {
		t.Errorf("a new message has the flags %q, want a mark", inbox(owner)[fresh])
	}
	after := inbox(owner)
	for uid, flags := range before {
		if !slices.Equal(after[uid], flags) {
			t.Errorf("message %d had the flags %q, has %q", uid, flags, after[uid])
		}
	}
	if slices.Contains(after[refused], "$important") || slices.Contains(after[away], "$important") {
		t.Error("a message of the lost time was marked")
	}
	total := now.Important + now.Ordinary
	owner.Clear("INBOX", read, "$Important") // one of the lost marks
	s.until("a lesson from it", func(a desk.AccountStatus) bool {
		return a.Ordinary == now.Ordinary+1 && a.Important+a.Ordinary == total+1
	})
	s.kill()
	s.wantReplay("killed after the restore")
	s.start()
	deliver(206, boss, "urgent matter")
	s.end()
	s.wantReplay("at the end")
}
