// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	goimap "github.com/emersion/go-imap/v2"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/ingest/imap"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/face/dashboard"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/program/daemon"
	"github.com/hinged/hinged/internal/program/demo"
	"github.com/hinged/hinged/internal/testkit"
)

// The accounts of a household. Each is in a state that pages must show well.
const (
	nora   = "nora"   // four weeks of mail, and marked
	novice = "novice" // in shadow: it has learnt a little
	fresh  = "fresh"  // an empty mailbox
	cutOff = "cut-off"
	paused = "paused"
)

const (
	householdPassword = "correct horse battery"
	weeks             = 4
	messagesADay      = 14
	novicesDays       = 3
)

// household is a daemon with accounts in several states, and its dashboard, both in this
// process and by a clock of their own. It is the same at each run: the mail is made up,
// and every step waits for the one before.
type household struct {
	t    testing.TB
	imap *testkit.Dovecot
	web  *dashboard.Server
	// alone is a second dashboard, without users: links sign in there.
	alone *dashboard.Server
	dir   string

	daemon *daemon.Daemon
	mu     sync.Mutex
	at     time.Time
}

// now is the household's clock.
func (h *household) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at
}

func (h *household) set(at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = at
}

// address is that of an account's owner.
func address(account string) string {
	if account == nora {
		return demo.OwnerAddress
	}
	return account + "@larkfield.example"
}

// noIdle has Dovecot offer no IDLE, of whose news it thinks for up to a second.
const noIdle = `
protocol imap {
  imap_capability = IMAP4rev1 SASL-IR ID ENABLE LITERAL+ NAMESPACE UNSELECT CHILDREN UIDPLUS MOVE CONDSTORE ESEARCH LIST-EXTENDED LIST-STATUS SPECIAL-USE
}`

// newHousehold lives through four weeks, and is then at work, until the test ends.
func newHousehold(t testing.TB) *household {
	t.Helper()
	h := &household{t: t, dir: t.TempDir(), at: time.Date(2026, 2, 2, 6, 0, 0, 0, time.UTC)}
	var users []string
	for _, account := range []string{nora, novice, fresh, paused} {
		users = append(users, address(account))
	}
	h.imap = testkit.StartDovecot(t, testkit.DovecotOptions{Users: users, Config: noIdle})
	away := testkit.StartDovecot(t, testkit.DovecotOptions{Users: []string{address(cutOff)}, Config: noIdle})

	o := daemon.Options{StorePath: filepath.Join(h.dir, "hinged.db"), Now: h.now, Logger: h.logger()}
	for _, account := range []string{nora, novice, fresh, cutOff, paused} {
		server := h.imap
		if account == cutOff {
			server = away
		}
		o.Accounts = append(o.Accounts, h.account(account, server))
	}
	o.Show = func(d desk.Shown) {
		if h.web != nil {
			h.web.Show(d)
		}
	}
	var err error
	if h.daemon, err = daemon.New(o); err != nil {
		t.Fatal(err)
	}
	h.listen()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.daemon.Run(ctx) }()
	for _, web := range []*dashboard.Server{h.web, h.alone} {
		web.Start(ctx, func() { t.Error("a dashboard can't go on") })
	}
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(h.web.Stop(), h.alone.Stop(), <-ended, h.web.Close(), h.alone.Close(), h.daemon.Close()); err != nil {
			t.Error(err)
		}
	})
	h.live(away)
	return h
}

// account is how an account is watched.
func (h *household) account(name string, server *testkit.Dovecot) daemon.AccountOptions {
	o := filter.DefaultOptions()
	o.Settle = 80 * time.Millisecond
	o.Featurize.Owner = []string{address(name)}
	if name == nora || name == cutOff {
		o.Shadow = filter.ShadowOff
	}
	source := imap.Options{
		Address: server.Addr, TLS: imap.TLSNone, Username: address(name), Logger: h.logger(),
		Password:     func(context.Context) (string, error) { return server.Password, nil },
		PollInterval: 20 * time.Millisecond, BackoffMin: 10 * time.Millisecond, BackoffMax: time.Second,
		LoginEvery: time.Millisecond, RecheckInterval: 200 * time.Millisecond,
	}
	return daemon.AccountOptions{Name: name, Filter: o, NewSource: func(known []ingest.Known) (ingest.Source, error) {
		s, err := imap.New(source, known)
		if err != nil {
			return nil, err
		}
		return timed{s, h}, nil
	}}
}

// timed is a source that tells the household's time.
type timed struct {
	*imap.Source
	h *household
}

// Status implements ingest.Source.
func (s timed) Status() ingest.Status {
	st := s.Source.Status()
	back := time.Since(s.h.now())
	if !st.DownSince.IsZero() {
		st.DownSince = st.DownSince.Add(-back)
	}
	for name, l := range st.Looks {
		l.At = l.At.Add(-back)
		st.Looks[name] = l
	}
	return st
}

func (h *household) logger() *slog.Logger { return slog.New(slog.NewTextHandler(testWriter{h.t}, nil)) }

// testWriter writes to the log of a test.
type testWriter struct{ testing.TB }

func (w testWriter) Write(b []byte) (int, error) {
	w.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}

func (h *household) listen() {
	h.t.Helper()
	hash, err := dashboard.HashPassword(householdPassword)
	if err != nil {
		h.t.Fatal(err)
	}
	h.web, err = dashboard.Listen(dashboard.Options{
		Listen: "127.0.0.1:0", Host: h.daemon, Now: h.now, Several: true, Version: "test", Log: h.logger(),
		Users: []dashboard.User{
			{Name: "nora", PasswordHash: hash, Accounts: []string{nora, novice, fresh, cutOff, paused}, Operator: true},
			{Name: "guest", PasswordHash: hash, Accounts: []string{fresh}},
		},
		Owner: func(account string) string { return address(account) },
	})
	if err != nil {
		h.t.Fatal(err)
	}
	h.alone, err = dashboard.Listen(dashboard.Options{Listen: "127.0.0.1:0", Host: h.daemon, Now: h.now, Several: true, Version: "test", Log: h.logger()})
	if err != nil {
		h.t.Fatal(err)
	}
}

// live lets four weeks go by.
func (h *household) live(away *testkit.Dovecot) {
	h.t.Helper()
	start := h.now()
	plan := demo.NewPlan(7, start, weeks*7*messagesADay, weeks*7*24*time.Hour)
	lives := map[string]*roomer{}
	for _, account := range []string{nora, novice, cutOff, paused} {
		server := h.imap
		if account == cutOff {
			server = away
		}
		lives[account] = newRoomer(h, account, server)
	}
	for day := range weeks * 7 {
		today := plan.Live[day*messagesADay : (day+1)*messagesADay]
		left := weeks*7 - day
		if left > 2 {
			lives[nora].day(today, 1)
		} else {
			lives[nora].day(today, messagesADay)
		}
		// The others see some of Nora's mail.
		if left <= novicesDays {
			lives[novice].day(today, 1)
		}
		if left == 1 {
			lives[cutOff].day(today, 1)
			lives[paused].day(today, 1)
		}
	}
	h.set(start.AddDate(0, 0, weeks*7).Add(8*time.Hour + 30*time.Minute))
	away.Stop()
	if _, err := desk.Pause.Do(context.Background(), h.daemon, paused, desk.SwitchRequest{}); err != nil {
		h.t.Fatal(err)
	}
	h.until(cutOff, "its server gone", func(a desk.AccountStatus) bool { return !a.Connected && a.Problem != "" })
}

// until waits for the status of an account to satisfy ok.
func (h *household) until(account, what string, ok func(desk.AccountStatus) bool) desk.AccountStatus {
	h.t.Helper()
	for began := time.Now(); ; testkit.Pause(began) {
		a, err := desk.GetAccount.Do(context.Background(), h.daemon, account, desk.None{})
		if err != nil {
			h.t.Fatal(err)
		}
		if ok(a) {
			return a
		}
		if time.Since(began) > patience {
			h.t.Fatalf("%s: never saw %s; the last status is %+v", account, what, a)
		}
	}
}

// roomer is the owner of an account, who treats Nora's mail as she would.
type roomer struct {
	*household
	account string
	server  *testkit.Dovecot
	owner   *testkit.Owner
	status  *testkit.Owner // looks at mailboxes from outside
	next    uint32         // the UID of the next message in INBOX
	come    uint64         // messages that the daemon is to know
}

func newRoomer(h *household, account string, server *testkit.Dovecot) *roomer {
	l := &roomer{household: h, account: account, server: server, next: 1}
	l.owner, l.status = server.OwnerOf(h.t, address(account)), server.OwnerOf(h.t, address(account))
	h.t.Cleanup(l.owner.Close)
	h.t.Cleanup(l.status.Close)
	return l
}

// day has a day's mail come, in so many deliveries, and the owner see to it in the evening.
func (l *roomer) day(mail []*demo.Message, deliveries int) {
	first := l.next
	for part := range slices.Chunk(mail, (len(mail)+deliveries-1)/deliveries) {
		at := part[len(part)-1].Date.Add(time.Minute)
		l.set(maxTime(l.now(), at))
		var drops []testkit.Dropped
		for _, m := range part {
			drops = append(drops, testkit.Dropped{Raw: m.Raw, Date: m.Date})
		}
		l.server.Drop(address(l.account), "INBOX", slices.Values(drops))
		l.next += uint32(len(part))
		l.come += uint64(len(part))
		l.caughtUp()
	}
	l.set(l.now().Add(20 * time.Minute))
	l.act(mail, first)
	l.caughtUp()
	l.set(l.now().Add(20 * time.Minute))
	l.until(l.account, "nothing pending", func(a desk.AccountStatus) bool { return a.Pending == 0 && a.MarksIntended == 0 })
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// act is what the owner does about a day's mail, which begins at a UID of INBOX.
func (l *roomer) act(mail []*demo.Message, first uint32) {
	l.t.Helper()
	l.owner.Select("INBOX")
	var seen, starred, junked, discarded, refused []uint32
	for i, m := range mail {
		uid := first + uint32(i)
		flags, _ := l.owner.Flags("INBOX", uid)
		marked := slices.Contains(flags, "$important")
		if m.Overlooks {
			continue
		}
		if m.Reads || m.Important || m.Junks || marked {
			seen = append(seen, uid)
		}
		switch {
		case m.Junks:
			junked = append(junked, uid)
		case m.Reply != nil:
			l.server.Drop(address(l.account), "Sent", slices.Values([]testkit.Dropped{{Raw: m.Reply.Raw, Date: l.now(), Flags: "S"}}))
			l.come++
		case m.Important && (m.Stars || !marked):
			starred = append(starred, uid)
		case marked && !m.Important:
			refused = append(refused, uid)
		case m.Discards:
			discarded = append(discarded, uid)
		}
	}
	// Mailbox by mailbox, so that lessons come in one order.
	for _, uid := range refused {
		l.owner.Clear("INBOX", uid, "$Important")
	}
	if len(seen) > 0 {
		l.owner.SetAll("INBOX", seen, `\Seen`)
	}
	if len(starred) > 0 {
		l.owner.SetAll("INBOX", starred, `\Flagged`)
	}
	l.caughtUp()
	l.set(l.now().Add(3 * time.Minute))
	if len(junked) > 0 {
		l.owner.MoveAll("INBOX", junked, "Junk")
		l.caughtUp()
	}
	if len(discarded) > 0 {
		l.owner.MoveAll("INBOX", discarded, "Trash")
	}
}

// caughtUp waits until the daemon has seen all that there is on the server, and has set
// its marks.
func (l *roomer) caughtUp() {
	l.t.Helper()
	look := func(mailbox string) stand {
		d, err := l.status.Client().Status(mailbox, &goimap.StatusOptions{UIDNext: true, UIDValidity: true, NumMessages: true, HighestModSeq: true}).Wait()
		if err != nil {
			l.t.Fatal(err)
		}
		return stand{d.UIDValidity, uint32(d.UIDNext), int(*d.NumMessages), d.HighestModSeq}
	}
	l.until(l.account, "all that there is", func(a desk.AccountStatus) bool {
		if a.Messages < l.come || a.MarksIntended != 0 {
			return false
		}
		for _, b := range a.Mailboxes {
			// Asked each time: Dovecot may be late to see what was dropped.
			if s := look(b.Mailbox); b.UIDNext < s.next || b.Messages != s.messages || b.HighestModSeq < s.modseq {
				return false
			}
		}
		return len(a.Mailboxes) > 0
	})
}
