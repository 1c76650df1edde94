// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	goimap "github.com/emersion/go-imap/v2"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// The size of the month: messages of others that come, the owner's replies not counted,
// and how often the daemon is killed. In `make soak` 5,000 messages come.
var (
	monthMessages = testkit.FromEnv("HINGED_MONTH_MESSAGES", 1500)
	monthKills    = testkit.FromEnv("HINGED_MONTH_KILLS", 10)
)

const (
	monthDays     = 30
	monthSessions = 3   // a day
	monthPast     = 400 // messages that bootstrap reads
	lookAt        = 1   // the UID of a message that stays in INBOX
)

// TestAMonthOfAnOwner plays a month of an owner with three mail programs to two daemons,
// each with a Dovecot of its own: replies, stars, marks taken off, junk and rescued
// mail, deleted mail, a nightly move of what is read to Archive, a holiday, everything
// marked read, many starred by one command, Archive renamed and made anew, a new
// UIDVALIDITY of INBOX and of Sent. One daemon is left alone; the other is killed with
// -9, and stays away for a while. In the end both must have the same state, the same
// flags on every message, and no mark where the owner took one off.
func TestAMonthOfAnOwner(t *testing.T) {
	t.Parallel()
	begin := time.Now().Add(-time.Minute) // bootstrap goes by the machine's clock
	calm, shaken := newMonth(t, 61, begin), newMonth(t, 61, begin)
	rng := rand.New(rand.NewPCG(61, 2))
	for kills := 0; kills < monthKills; {
		if n := rng.IntN(monthDays * monthSessions); !shaken.killed[n] {
			shaken.killed[n] = true
			kills++
		}
	}
	ended := make(chan []string, 1)
	go func() {
		defer close(ended) // also when the month fails the test
		ended <- calm.live()
	}()
	shakenFlags := shaken.live()
	calmFlags := <-ended
	if t.Failed() {
		return
	}
	sameEnd(t, calm.site, shaken.site, calmFlags, shakenFlags)
	t.Logf("%d messages; the owner: %+v; %+v", len(calmFlags), calm.did, shaken.last)
	if a := shaken.last; a.MarksConfirmed == 0 || a.MarksRefused == 0 {
		t.Errorf("%d marks were set and %d refused: the test says nothing about marks", a.MarksConfirmed, a.MarksRefused)
	}
}

// month is one owner and their daemon.
type month struct {
	t      *testing.T
	site   *site
	mail   *testkit.Mail
	rng    *rand.Rand
	killed map[int]bool // in these sessions the daemon is killed

	desktop, phone, web *testkit.Owner // the three programs
	status              *testkit.Owner // looks at mailboxes from outside

	known map[uint32]monthMail // by the UID in INBOX
	fresh []uint32             // in INBOX, not looked at by the owner
	next  uint32               // the UID of the next message in INBOX
	come  uint64               // messages that the daemon is to know
	last  desk.AccountStatus
	// refused are the Message-IDs of what the owner took a mark off.
	refused map[string]bool
	did     struct{ replies, stars, refusals, junked, rescued, deleted, archived int }
}

// monthMail is what the owner thinks of a message, and when it came.
type monthMail struct {
	testkit.Message
	came time.Time
}

func newMonth(t *testing.T, seed uint64, begin time.Time) *month {
	t.Helper()
	m := &month{
		t: t, mail: testkit.NewMail(seed), rng: rand.New(rand.NewPCG(seed, 1)), killed: map[int]bool{},
		known: map[uint32]monthMail{}, refused: map[string]bool{},
	}
	server := testkit.StartDovecot(t, testkit.DovecotOptions{Users: []string{m.mail.Owner}, Config: noIdle})
	past := generatedLife(t, seed+1, monthPast)
	past.past = len(past.mail)
	past.shift(past.past-1, begin)
	past.dropPast(server)
	m.site = siteLogging(t, server, server.Addr, t.TempDir(), "info", "settle = \"400ms\"\nshadow = \"off\"")
	if r := m.site.bootstrap(); !r.Complete {
		t.Fatalf("bootstrap: %+v", r)
	}
	m.site.clock = newClock(t, m.site.dir, begin.Add(8*time.Hour))
	m.come = uint64(past.past)
	m.next = 1
	for _, p := range past.mail {
		if !p.own {
			m.next++
		}
	}
	return m
}

// live plays the month and returns the flags of every message at the end.
func (m *month) live() []string {
	m.t.Helper()
	m.login()
	m.site.start()
	m.settled("begun")
	sessions := monthDays * monthSessions
	for n := range sessions {
		day, session := n/monthSessions, n%monthSessions
		var away <-chan struct{}
		if m.killed[n] {
			away = m.kill(n)
		}
		m.site.clock.pass(8 * time.Hour)
		m.deliver(fmt.Sprintf("day %d, session %d", day, session), monthMessages*(n+1)/sessions-monthMessages*n/sessions)
		if day == 14 && session == 0 && away != nil {
			// After the holiday the owner stars more messages than Bulk, one by one: seen live
			// that is a clean-up, found after an absence it is not. So the daemon must see it.
			<-away
			away = nil
		}
		if day < 9 || day > 13 { // the owner is on holiday
			m.site.clock.pass(10 * time.Minute)
			m.act(day, session)
			m.site.clock.pass(time.Hour)
			// Time alone is noticed when a tick comes, which may be after more of it. So is
			// that a new day has made silences due: the second change has them heard.
			m.phone.Set("INBOX", lookAt, "Session")
			m.heard("session over")
			m.phone.Clear("INBOX", lookAt, "Session")
			m.heard("session over, and what follows")
			m.settled(fmt.Sprintf("day %d, session %d over", day, session))
		}
		if away != nil {
			<-away
		}
		m.wantNoneAgain()
	}
	var out []string
	for _, mailbox := range []string{"INBOX", "Sent", "Junk", "Trash", "Archive", "Archive-2025"} {
		for _, s := range m.desktop.All(mailbox) {
			out = append(out, fmt.Sprintf("%s %d %s", mailbox, s.UID, strings.Join(s.Flags, " ")))
		}
	}
	return out
}

// kill kills the daemon some time into a session and starts it again some time later.
func (m *month) kill(n int) <-chan struct{} {
	rng := rand.New(rand.NewPCG(uint64(n), 7))
	done := make(chan struct{})
	go func() {
		defer close(done)
		time.Sleep(time.Duration(rng.IntN(800)) * time.Millisecond)
		m.site.kill()
		time.Sleep(time.Duration(rng.IntN(400)) * time.Millisecond)
		m.site.wantReplay(fmt.Sprintf("after the kill in session %d", n))
		m.site.start()
	}()
	return done
}

func (m *month) login() {
	for _, program := range []**testkit.Owner{&m.desktop, &m.phone, &m.web, &m.status} {
		*program = m.site.imap.Owner(m.t)
	}
}

// deliver has so many messages come, and waits until they are decided and marked.
func (m *month) deliver(when string, n int) {
	m.t.Helper()
	came := m.site.clock.now
	var all []testkit.Dropped
	for range n {
		msg := m.mail.Next()
		all = append(all, testkit.Dropped{Raw: msg.Raw, Date: came})
		m.known[m.next] = monthMail{msg, came}
		m.fresh = append(m.fresh, m.next)
		m.next++
	}
	m.site.imap.Drop(m.mail.Owner, "INBOX", slices.Values(all))
	m.come += uint64(n)
	m.caughtUp(when, nil)
	if next := m.server()["INBOX"].next; next != m.next {
		m.t.Fatalf("%s: the next UID of INBOX is %d, want %d", when, next, m.next)
	}
}

// act is what the owner does in a session.
func (m *month) act(day, session int) {
	m.t.Helper()
	switch {
	case day == 8 && session == 1:
		m.renumber("INBOX")
	case day == 21 && session == 1:
		m.renumber("Sent")
	case day == 17 && session == 0:
		m.rename("Archive", "Archive-2025")
	}
	for _, program := range []*testkit.Owner{m.desktop, m.phone, m.web} {
		program.Select("INBOX") // a session knows no message that came since it looked last
	}
	flags := m.flagsOf(m.fresh)
	for _, uid := range m.fresh {
		if _, there := flags[uid]; !there {
			m.t.Fatalf("day %d, session %d: UID %d is not in INBOX, of %d", day, session, uid, m.fresh)
		}
	}
	var starred, refused, replied, junked, rescued, deleted, read []uint32
	for _, uid := range m.fresh {
		msg, marked := m.known[uid], slices.Contains(flags[uid], "$important")
		chance := m.rng.IntN(100)
		switch {
		case chance < 10 && !msg.Important:
			if chance < 4 {
				deleted = append(deleted, uid)
			}
			continue // unread
		case msg.Important && chance < 40:
			replied = append(replied, uid)
		case msg.Important && !marked:
			starred = append(starred, uid)
		case marked && chance >= 85:
			refused = append(refused, uid)
		case !msg.Important && chance < 16:
			junked = append(junked, uid)
		case !msg.Important && chance < 18:
			rescued = append(rescued, uid)
		}
		read = append(read, uid)
	}
	m.fresh = nil
	m.desktop.SetAll("INBOX", read, `\Seen`)
	m.heard("read")
	for _, uid := range starred {
		m.phone.Set("INBOX", uid, `\Flagged`)
		m.did.stars++
	}
	m.heard("starred")
	for _, uid := range refused {
		m.desktop.Clear("INBOX", uid, "$Important")
		m.refused[m.known[uid].MessageID] = true
		m.did.refusals++
	}
	m.heard("refused")
	m.reply(replied)
	for _, uid := range junked {
		m.desktop.Move("INBOX", uid, "Junk")
		m.did.junked++
	}
	m.heard("junked")
	for _, uid := range deleted { // as clients do that know no MOVE
		m.copy(m.phone, "INBOX", uid, "Trash")
		m.phone.Expunge("INBOX", uid)
		m.did.deleted++
	}
	m.heard("deleted")
	m.rescue(rescued)
	switch {
	case day == 14 && session == 0:
		m.web.SetAll("INBOX", m.inbox(), `\Seen`)
		m.heard("all marked read")
	case day == 15 && session == 1:
		m.web.SetAll("INBOX", m.inbox()[:80], `\Flagged`)
		m.heard("many starred")
	case session == 2:
		m.archive()
	}
}

// rescue moves mail to Junk by mistake, and back at once.
func (m *month) rescue(uids []uint32) {
	m.t.Helper()
	for _, uid := range uids {
		there := m.web.Move("INBOX", uid, "Junk")
		back := m.web.Move("Junk", there, "INBOX")
		m.known[back] = m.known[uid]
		m.next = max(m.next, back+1)
		m.did.rescued++
	}
	m.heard("rescued")
}

// reply answers: the web mail puts a copy into Sent and says of the message that it is
// answered.
func (m *month) reply(uids []uint32) {
	m.t.Helper()
	now := m.site.clock.now
	for _, uid := range uids {
		answer := m.mail.Reply(m.known[uid].Message)
		m.site.imap.Drop(m.mail.Owner, "Sent", slices.Values([]testkit.Dropped{{Raw: answer.Raw, Date: now, Flags: "S"}}))
		m.come++
		m.did.replies++
	}
	m.caughtUp("replies sent", nil)
	for _, uid := range uids {
		m.web.Set("INBOX", uid, `\Answered`)
	}
	m.heard("answered")
}

// archive moves what is read and two days old to Archive, in one go.
func (m *month) archive() {
	m.t.Helper()
	var old []uint32
	for uid, flags := range m.flagsOf(m.inbox()) {
		if uid != lookAt && slices.Contains(flags, `\seen`) && m.known[uid].came.Before(m.site.clock.now.Add(-48*time.Hour)) {
			old = append(old, uid)
		}
	}
	if len(old) == 0 {
		return
	}
	m.desktop.Select("INBOX")
	if _, err := m.desktop.Client().Move(uidSet(old), "Archive").Wait(); err != nil {
		m.t.Fatal(err)
	}
	m.did.archived += len(old)
	m.heard("archived")
}

func uidSet(uids []uint32) (set goimap.UIDSet) {
	for _, uid := range uids {
		set.AddNum(goimap.UID(uid))
	}
	return set
}
