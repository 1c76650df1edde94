// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/testkit"
)

// TestMessageThatBreaksTheConnectionIsReportedWithoutItsText has a server whose
// answer for one message no client can read.
func TestMessageThatBreaksTheConnectionIsReportedWithoutItsText(t *testing.T) {
	t.Parallel()
	f := testkit.StartFake(t, nil)
	for i := range 7 {
		f.Add(fmt.Sprintf("Subject: %d\r\n\r\n", i+1), "")
	}
	f.Lock()
	f.Messages[3].Raw = "Subject: 4\r\n\r\n"
	f.Messages[3].Flags = `\Seen ( bad`
	f.Unlock()
	r := startSource(t, only(f))
	_, _ = r.await("scan to the end", 0, cursorOf("INBOX", 8))
	seen := map[uint32]int{}
	for _, e := range r.all() {
		a, ok := e.(ingest.Arrival)
		if !ok {
			continue
		}
		seen[a.UID]++
		if want := a.UID != 4; (len(a.Raw) > 0) != want {
			t.Errorf("UID %d came with %d bytes", a.UID, len(a.Raw))
		}
	}
	for uid := uint32(1); uid <= 7; uid++ {
		if seen[uid] != 1 {
			t.Errorf("UID %d arrived %d times", uid, seen[uid])
		}
	}
}

// TestMessageThatTheServerCannotReadDoesNotHoldUpTheOthers has a server that
// says no to one message, and one that dies over it.
func TestMessageThatTheServerCannotReadDoesNotHoldUpTheOthers(t *testing.T) {
	t.Parallel()
	overBadMessage(t, func(t *testing.T, o Options) []ingest.Arrival {
		r := startSource(t, o)
		r.await("scan to the end", 0, cursorOf("INBOX", 8))
		return arrivals(r.all())
	})
}

// overBadMessage has seven messages read from a server that says no to the
// fourth, and from one that dies over it. The six others must come whole, and the
// fourth with its flags and without its text.
func overBadMessage(t *testing.T, read func(*testing.T, Options) []ingest.Arrival) {
	for name, bad := range map[string]func(c *testkit.FakeConn, cmd testkit.FakeCommand){
		"NO":  func(c *testkit.FakeConn, cmd testkit.FakeCommand) { c.Line("%s NO [SERVERBUG] corrupt", cmd.Tag) },
		"BYE": bye,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := testkit.StartFake(t, func(f *testkit.Fake) {
				f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
					if cmd.Name != "UID FETCH" || !strings.Contains(cmd.Args, "BODY") || !testkit.InSet(cmd.Args, 4) {
						return false
					}
					bad(c, cmd)
					return true
				}
			})
			for i := range 7 {
				f.Add(fmt.Sprintf("Subject: %d\r\n\r\n", i+1), `\Seen`)
			}
			o := only(f)
			o.BackoffMin, o.BackoffMax = time.Millisecond, 5*time.Millisecond
			var got []string
			for _, a := range read(t, o) {
				got = append(got, fmt.Sprint(a.UID, " ", len(a.Raw) > 0, a.Flags))
			}
			var want []string
			for uid := 1; uid <= 7; uid++ {
				want = append(want, fmt.Sprint(uid, " ", uid != 4, []string{`\seen`}))
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// TestAMessageWithoutAValidDateIsReadLikeTheOthers has the least date of .NET, a date after
// its greatest, and the zero of a spreadsheet.
func TestAMessageWithoutAValidDateIsReadLikeTheOthers(t *testing.T) {
	t.Parallel()
	for _, date := range []string{"01-Jan-0001 00:00:00 +0000", "31-Dec-10000 00:00:00 +0000", "00-Jan-1900 00:00:00 +0000"} {
		f := testkit.StartFake(t, nil)
		for i := range 3 {
			f.Add(fmt.Sprintf("Subject: %d\r\n\r\n", i+1), `\Seen`)
		}
		f.Lock()
		f.Messages[1].Date = date
		f.Unlock()
		check := func(how string, got []ingest.Arrival, internal time.Time) {
			if len(got) != 3 {
				t.Errorf("%s, %s: %d messages came", date, how, len(got))
			}
			for _, a := range got {
				if len(a.Raw) == 0 || len(a.Flags) != 1 || a.UID == 2 && !a.Internal.Equal(internal) {
					t.Errorf("%s, %s: got %+v", date, how, a)
				}
			}
		}
		r := startSource(t, only(f))
		r.await("scan", 0, cursorOf("INBOX", 4))
		check("live", arrivals(r.all()), time.Time{})
		if n := r.source.Status().Reconnects; n > 0 {
			t.Errorf("%s: connected again %d times", date, n)
		}
		r.stop()
		past, _ := readPast(t, only(f), HistoryOptions{}, nil, nil)
		check("past", arrivals(past.all()), time.Unix(1, 0)) // not now, which would run the account's clock ahead
	}
}

// TestTextThatCameWithoutItselfIsAskedForAgain has a server announce a change
// of flags, with the UID, ahead of the message proper. The client library then
// drops the message as a repetition.
func TestTextThatCameWithoutItselfIsAskedForAgain(t *testing.T) {
	t.Parallel()
	f := testkit.StartFake(t, func(f *testkit.Fake) {
		f.Handle = once(on("UID FETCH", func(c *testkit.FakeConn, cmd testkit.FakeCommand) {
			c.Line(`* 1 FETCH (UID 1 FLAGS (\Seen))`)
			c.Answer(cmd)
		}))
	})
	f.Add(plainMail, "")
	f.Add(plainMail, "")
	r := startSource(t, only(f))
	r.await("scan", 0, cursorOf("INBOX", 3))
	for uid := uint32(1); uid <= 2; uid++ {
		e, _ := r.await("arrival", 0, arrivalOf("INBOX", uid))
		if got := string(e.(ingest.Arrival).Raw); got != plainMail {
			t.Errorf("UID %d came as %q", uid, got)
		}
	}
}

// TestScanResumesWhereItWasKilled stops the first scan at random events, keeps
// what came until then as a store would, and goes on.
func TestScanResumesWhereItWasKilled(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	const n = 200
	d.Fill(n, testkit.NewMail(14).Next)
	o := dovecotOptions(d)
	o.chunk = 7
	o.Mailboxes = []string{"INBOX"}
	rnd := rand.New(rand.NewPCG(3, 4))
	var all []ingest.Event
	for try := 0; ; try++ {
		enough := 1 + rnd.IntN(40)
		s, err := New(o, known(nil, all))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		err = s.Run(ctx, func(_ context.Context, e ingest.Event) error {
			if enough--; enough < 0 {
				cancel()
				return context.Canceled
			}
			all = append(all, e)
			if c, ok := e.(ingest.Cursor); ok && c.UIDNext == n+1 {
				cancel()
			}
			return nil
		})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := all[len(all)-1].(ingest.Cursor); ok && c.UIDNext == n+1 {
			t.Logf("%d runs", try+1)
			break
		}
		if try > 2*n {
			t.Fatal("the scan makes no progress")
		}
	}
	next := uint32(1)
	for _, e := range all {
		if a, ok := e.(ingest.Arrival); ok {
			if a.UID != next || !a.Backlog {
				t.Fatalf("UID %d (backlog %v) arrived, want UID %d of the backlog", a.UID, a.Backlog, next)
			}
			next++
		}
	}
	if next != n+1 {
		t.Errorf("%d messages arrived, want %d", next-1, n)
	}
}

// TestFiftyCutsLoseNothing cuts the connections after a random number of bytes,
// fifty times, while the owner adds mail and changes flags. In the end what was
// reported must be what a plain fetch of everything finds, each message having
// arrived once.
func TestFiftyCutsLoseNothing(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	mail := testkit.NewMail(11)
	const start = 300
	d.Fill(start, mail.Next)
	owner := d.Owner(t)
	owner.Select("INBOX")
	p := testkit.StartProxy(t, d.Addr)
	o := dovecotOptions(d)
	o.Address, o.chunk = p.Addr, 20
	o.BackoffMin, o.BackoffMax = time.Millisecond, 10*time.Millisecond
	rnd := rand.New(rand.NewPCG(1, 2))
	p.CutAfter(int64(rnd.IntN(40000)))
	r := startSource(t, o)
	uids := start
	for cut := 1; cut <= 50; cut++ {
		for range rnd.IntN(3) {
			m := mail.Next()
			uids = int(owner.Append("INBOX", m.Raw, m.Date))
		}
		uid := uint32(1 + rnd.IntN(uids))
		if rnd.IntN(2) == 0 {
			owner.Set("INBOX", uid, []string{"$Important", `\Flagged`, `\Answered`, "$Junk"}[rnd.IntN(4)])
		} else {
			owner.Clear("INBOX", uid, "$Important", `\Flagged`)
		}
		deadline := time.Now().Add(patience)
		for p.Cuts() < cut {
			if time.Now().After(deadline) {
				t.Fatalf("cut %d did not happen; status %+v", cut, r.source.Status())
			}
			// Something must come through for the cut to come to pass.
			owner.Set("INBOX", 1+uint32(rnd.IntN(uids)), fmt.Sprintf("n%d", rnd.IntN(3)))
			time.Sleep(10 * time.Millisecond)
		}
		p.CutAfter(int64(rnd.IntN(20000)))
	}
	p.CutAfter(-1)
	m := mail.Next()
	last := owner.Append("INBOX", m.Raw, m.Date)
	owner.Set("INBOX", last, `\Flagged`)
	r.await("the last arrival", 0, arrivalOf("INBOX", last))
	deadline := time.Now().Add(patience)
	for {
		mine, _, ok := lookup(known(nil, r.all()), "INBOX", last)
		if ok && ingest.HasFlag(mine, `\Flagged`) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the last star never came")
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.stop()
	checkTwin(t, owner, "INBOX", known(nil, r.all()))
	seen := map[uint32]int{}
	before := uint32(0)
	for _, e := range r.all() {
		if a, ok := e.(ingest.Arrival); ok && a.Mailbox == "INBOX" {
			if seen[a.UID]++; seen[a.UID] > 1 {
				t.Errorf("UID %d arrived again", a.UID)
			}
			if a.UID < before {
				t.Errorf("UID %d arrived after UID %d", a.UID, before)
			}
			before = a.UID
		}
	}
	if got := r.source.Status().Reconnects; got < 50 {
		t.Errorf("%d reconnects for 50 cuts", got)
	}
}

func lookup(all []ingest.Known, mailbox string, uid uint32) ([]string, uint32, bool) {
	for _, k := range all {
		if k.Mailbox == mailbox {
			f, ok := k.Flags[uid]
			return f, k.UIDValidity, ok
		}
	}
	return nil, 0, false
}

// TestAServerThatComesBackIsBackInSeconds: connections that were in step cost no login, so
// that drops soon after the start don't leave the mailbox unwatched for a minute.
func TestAServerThatComesBackIsBackInSeconds(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	proxy := testkit.StartProxy(t, d.Addr)
	var log testkit.Transcript
	o := dovecotOptions(d)
	o.Address, o.LoginEvery = proxy.Addr, time.Hour
	o.Logger = slog.New(slog.NewJSONHandler(&log, nil))
	r := startSource(t, o)
	for drops := range 4 {
		testkit.Until(t, func() bool { return r.source.Status().Reconnects >= 2*drops }, "drop ", drops, " is not over")
		awaitConnected(t, r)
		time.Sleep(useful + 100*time.Millisecond)
		proxy.Freeze()
		proxy.Thaw()
	}
	if !log.Has(`"wait":"`) {
		t.Errorf("the log doesn't say in words how long it waits:\n%s", log.String())
	}
}

// TestInboxGoesFirst: while INBOX is down the last login that is allowed is kept for it, and
// status says when the next attempt is.
func TestInboxGoesFirst(t *testing.T) {
	t.Parallel()
	s, err := New(options("127.0.0.1:1", "me", "secret"), nil)
	if err != nil {
		t.Fatal(err)
	}
	s.o.LoginEvery, s.limit = time.Hour, newLoginLimit(time.Hour)
	s.limit.Allow()
	s.limit.Allow()
	s.setLine(lineOther, false, "the server closed the connection")
	for _, inbox := range []bool{false, true} {
		s.setLine(lineInbox, inbox, "")
		forInbox, _ := s.loginWait(lineInbox)
		forOther, _ := s.loginWait(lineOther)
		if forInbox > 0 || forOther > 0 == inbox {
			t.Errorf("INBOX up: %v: it waits for %v, the others for %v", inbox, forInbox, forOther)
		}
	}
	s.setNext(lineOther, 54*time.Second)
	if got := s.Status().Problem; got != "the server closed the connection; the next attempt is in 54s" {
		t.Errorf("status says %q", got)
	}
}
