// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/testkit"
)

const plainMail = "From: a@example.org\r\nSubject: hello\r\n\r\nhello\r\n"

// only watches INBOX alone, on a server that may have nothing else.
func only(f *testkit.Fake) Options {
	o := options(f.Addr, "owner", "not to be seen")
	o.Mailboxes = []string{"INBOX"}
	o.PollInterval = time.Hour // the second connection has nothing to look at
	return o
}

// TestBadDays lets a server go wrong once, in every way that ends a connection.
// Each time the source must notice, come back, and report the message that
// waits, once.
func TestBadDays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		timeout time.Duration
		bad     func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool // true: it went wrong here
		why     error
	}{
		{"mute at login", 500 * time.Millisecond, on("AUTHENTICATE", func(c *testkit.FakeConn, _ testkit.FakeCommand) { c.Mute() }), ErrMute},
		{"mute at SELECT", 500 * time.Millisecond, on("SELECT", func(c *testkit.FakeConn, _ testkit.FakeCommand) { c.Mute() }), ErrMute},
		{"mute in the middle of a message", 500 * time.Millisecond, on("UID FETCH", func(c *testkit.FakeConn, _ testkit.FakeCommand) {
			c.Raw("* 1 FETCH (UID 1 FLAGS () BODY[]<0> {1000}\r\nFrom: a@exam")
			c.Mute()
		}), ErrMute},
		{"mute at IDLE", 500 * time.Millisecond, on("IDLE", func(c *testkit.FakeConn, _ testkit.FakeCommand) { c.Mute() }), ErrMute},
		{"BYE at login", 0, on("AUTHENTICATE", bye), errClosed},
		{"BYE at SELECT", 0, on("SELECT", bye), errClosed},
		{"BYE in the middle of a message", 0, on("UID FETCH", func(c *testkit.FakeConn, cmd testkit.FakeCommand) {
			c.Raw("* 1 FETCH (UID 1 FLAGS () BODY[]<0> {1000}\r\nFrom: a@exam")
			bye(c, cmd)
		}), errClosed},
		{"BYE in IDLE", 0, on("IDLE", func(c *testkit.FakeConn, cmd testkit.FakeCommand) {
			c.Line("+ idling")
			bye(c, cmd)
		}), errClosed},
		{"VANISHED of more than a mailbox has", 0, on("IDLE", func(c *testkit.FakeConn, _ testkit.FakeCommand) {
			c.Line("+ idling")
			c.Line("* VANISHED 1:4000000000")
			c.Mute()
		}), errGone},
		{"not IMAP at all", 0, on("SELECT", func(c *testkit.FakeConn, _ testkit.FakeCommand) { c.Line("HTTP/1.1 400 Bad Request") }), errProtocol},
		{"a text larger than asked for", 0, on("UID FETCH", func(c *testkit.FakeConn, _ testkit.FakeCommand) {
			c.Raw("* 1 FETCH (UID 1 FLAGS () BODY[]<0> {9999999999}\r\nFrom: a@example.org\r\n")
			c.Mute()
		}), errProtocol},
		{"a flag of 3 MB", 0, on("UID FETCH", func(c *testkit.FakeConn, _ testkit.FakeCommand) {
			c.Raw("* 1 FETCH (UID 1 FLAGS (" + strings.Repeat("x", 3<<20) + "))\r\n")
			c.Mute()
		}), errBudget},
		{"chatter without end in IDLE", 0, on("IDLE", func(c *testkit.FakeConn, _ testkit.FakeCommand) {
			c.Line("+ idling")
			for range 1000 { // 11 MB
				c.Raw("* OK " + strings.Repeat("still here ", 1000) + "\r\n")
			}
			c.Mute()
		}), errBudget},
		{"100,000 parentheses", 0, on("UID FETCH", func(c *testkit.FakeConn, _ testkit.FakeCommand) {
			c.Raw("* 1 FETCH (UID 1 BODYSTRUCTURE " + strings.Repeat("(", 100_000) + "\r\n")
			c.Mute()
		}), errDepth},
		{"a search that finds four thousand million", 0, on("UID SEARCH", func(c *testkit.FakeConn, cmd testkit.FakeCommand) {
			c.Line("* ESEARCH (TAG %q) UID ALL 1:4000000000", cmd.Tag)
			c.OK(cmd)
		}), errProtocol},
		{"a mailbox without UIDVALIDITY", 0, on("SELECT", func(c *testkit.FakeConn, cmd testkit.FakeCommand) {
			c.Line("* 1 EXISTS")
			c.OK(cmd)
		}), errProtocol},
		{"SELECT refused", 0, on("SELECT", func(c *testkit.FakeConn, cmd testkit.FakeCommand) { c.Line("%s NO [INUSE] busy", cmd.Tag) }), nil},
		{"FETCH refused", 0, on("UID FETCH", func(c *testkit.FakeConn, cmd testkit.FakeCommand) { c.Line("%s NO [SERVERBUG] oops", cmd.Tag) }), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			went := make(chan struct{}, 100)
			f := testkit.StartFake(t, func(f *testkit.Fake) {
				f.Handle = func(conn *testkit.FakeConn, cmd testkit.FakeCommand) bool {
					f.Lock()
					gone := len(went) > 0
					f.Unlock()
					if gone || !c.bad(nil, cmd) {
						return false
					}
					went <- struct{}{}
					return c.bad(conn, cmd)
				}
			})
			f.Add(plainMail, "")
			o := only(f)
			var log testkit.Transcript
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			if c.timeout != 0 {
				o.CommandTimeout = c.timeout
			}
			r := startSource(t, o)
			r.await("the waiting message", 0, arrivalOf("INBOX", 1))
			// After the bad day, a new message and a mark must work.
			deadline := time.Now().Add(patience)
			for len(went) == 0 || !r.source.Status().Connected {
				if time.Now().After(deadline) {
					t.Fatalf("it went wrong %d times, and the status is %+v", len(went), r.source.Status())
				}
				time.Sleep(5 * time.Millisecond)
			}
			r.source.Mark(ingest.MarkRequest{ID: 9, Flag: "$Important", Place: ingest.Place{Mailbox: "INBOX", UIDValidity: 1, UID: 1}})
			e, _ := r.await("mark", 0, resultOf(9))
			if got := e.(ingest.MarkResult).Outcome; got != ingest.MarkDone {
				t.Errorf("the mark afterwards is %v, want done", got)
			}
			n := 0
			for _, e := range r.all() {
				if a, ok := e.(ingest.Arrival); ok {
					n++
					if string(a.Raw) != plainMail {
						t.Errorf("got %q", a.Raw)
					}
				}
			}
			if n != 1 {
				t.Errorf("the message arrived %d times:\n%s", n, describeEvents(r.all()))
			}
			if c.why != nil && !log.Has(c.why.Error()) {
				t.Errorf("the log says nothing of %q:\n%s", c.why, log.String())
			}
			// What broke before the login was through had not been a connection.
			if n, again := r.source.Status().Reconnects, !strings.HasSuffix(c.name, "at login"); (n > 0) != again {
				t.Errorf("%d reconnects were counted", n)
			}
		})
	}
}

// TestTriesThatReachNoServerAreNoReconnects: readiness takes a reconnect for a sign that the
// server was reached once.
func TestTriesThatReachNoServerAreNoReconnects(t *testing.T) {
	t.Parallel()
	o := options("mail.invalid:993", "owner", "not to be seen")
	o.BackoffMin, o.BackoffMax = time.Millisecond, 2*time.Millisecond
	var tries atomic.Int32
	o.Dial = func(context.Context, string, string) (net.Conn, error) {
		tries.Add(1)
		return nil, errors.New("nothing listens there")
	}
	r := startSource(t, o)
	testkit.Until(t, func() bool { return tries.Load() >= 10 }, "10 tries never came")
	if n := r.source.Status().Reconnects; n != 0 {
		t.Errorf("%d reconnects after %d tries", n, tries.Load())
	}
}

// on makes something go wrong at one command. Called without a connection it
// tells whether this is the one.
func on(name string, bad func(*testkit.FakeConn, testkit.FakeCommand)) func(*testkit.FakeConn, testkit.FakeCommand) bool {
	return func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
		if cmd.Name != name {
			return false
		}
		if c != nil {
			bad(c, cmd)
		}
		return true
	}
}

func bye(c *testkit.FakeConn, _ testkit.FakeCommand) {
	c.Line("* BYE going down")
	c.Close()
}

func TestR10HalfOpenConnectionIsFoundAndReplaced(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	p := testkit.StartProxy(t, d.Addr)
	o := dovecotOptions(d)
	o.Address = p.Addr
	o.CommandTimeout, o.IdleRestart = 4*time.Second, 500*time.Millisecond
	r := startSource(t, o)
	_, at := r.await("INBOX", 0, cursorOf("INBOX", 1))
	p.Freeze()
	m := testkit.NewMail(1).Next()
	uid := d.Owner(t).Append("INBOX", m.Raw, m.Date)
	awaitProblem(t, r, ErrMute.Error())
	p.Thaw()
	e, _ := r.await("arrival of meanwhile", at, arrivalOf("INBOX", uid))
	if e.(ingest.Arrival).Backlog {
		t.Error("what came while the connection was dead is called backlog")
	}
}

func TestR10ServerRestart(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	r := startSource(t, dovecotOptions(d))
	_, at := r.await("INBOX", 0, cursorOf("INBOX", 1))
	awaitConnected(t, r)
	d.Stop()
	awaitProblem(t, r, "connect to")
	d.Start()
	m := testkit.NewMail(1).Next()
	uid := d.Owner(t).Append("INBOX", m.Raw, m.Date)
	r.await("arrival after the restart", at, arrivalOf("INBOX", uid))
	awaitConnected(t, r)
	if p := r.source.Status().Problem; p != "" {
		t.Errorf("all is well, yet the status says %q", p)
	}
}

func TestWrongPasswordIsNotHammeredAndHealsByItself(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	var mu sync.Mutex
	var asked []time.Time
	current := "wrong password one"
	o := dovecotOptions(d)
	o.AuthBackoffMin, o.AuthBackoffMax = 200*time.Millisecond, 800*time.Millisecond
	o.Password = func(context.Context) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, time.Now())
		return current, nil
	}
	r := startSource(t, o)
	problem := awaitProblem(t, r, ErrRefused.Error())
	if strings.Contains(problem, "wrong password one") {
		t.Errorf("the problem tells the password: %q", problem)
	}
	if !r.source.Status().LoginRefused {
		t.Error("the status does not say that the login is refused")
	}
	slower(t, &mu, &asked, 200*time.Millisecond, 400*time.Millisecond, 800*time.Millisecond)
	mu.Lock()
	current = d.Password
	mu.Unlock()
	r.await("INBOX", 0, cursorOf("INBOX", 1))
	awaitConnected(t, r)
	if r.source.Status().LoginRefused {
		t.Error("the login is still said to be refused")
	}
}

// slower waits until something was tried once more than there are gaps, and
// checks that at least those lay between the tries, less the jitter, which takes
// 30 % at most. How much longer they were is the machine's business.
func slower(t *testing.T, mu *sync.Mutex, tries *[]time.Time, gaps ...time.Duration) {
	t.Helper()
	var at []time.Time
	for deadline := time.Now().Add(patience); len(at) <= len(gaps); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("tried only %d times in %v", len(at), patience)
		}
		mu.Lock()
		at = slices.Clone(*tries)
		mu.Unlock()
	}
	for i, want := range gaps {
		if gap := at[i+1].Sub(at[i]); gap < want*7/10 {
			t.Errorf("try %d came %v after the one before, want about %v", i+2, gap, want)
		}
	}
}

// TestServerRestoredFromAnOldBackup has UIDNEXT and HIGHESTMODSEQ go back under
// the same UIDVALIDITY, which is not allowed and happens: UIDs are given anew.
func TestServerRestoredFromAnOldBackup(t *testing.T) {
	t.Parallel()
	f := testkit.StartFake(t, nil)
	for range 4 {
		f.Add(plainMail, `\Flagged`)
	}
	r := startSource(t, only(f))
	_, at := r.await("scan", 0, cursorOf("INBOX", 5))
	f.Lock()
	f.Messages = f.Messages[:2]
	f.Messages[0].Flags = "" // with an old MODSEQ
	f.UIDNext = 3
	f.Unlock()
	f.Bye("restored")
	r.await("flags of then", at, flagsOf("INBOX", 1))
	r.await("loss of what came later", at, func(e ingest.Event) bool {
		v, ok := e.(ingest.Vanished)
		return ok && slices.Equal(v.UIDs, []uint32{3, 4})
	})
	f.Add("Subject: new\r\n\r\n", "")
	f.Tell("* 3 EXISTS")
	e, _ := r.await("a new message under an old UID", at, arrivalOf("INBOX", 3))
	if got := string(e.(ingest.Arrival).Raw); got != "Subject: new\r\n\r\n" {
		t.Errorf("got %q", got)
	}
}

func TestUIDVALIDITYChangeOfInboxReadsEverythingAnew(t *testing.T) {
	t.Parallel()
	f := testkit.StartFake(t, nil)
	f.Add(plainMail, "")
	f.Add(plainMail+"2", `\Flagged`)
	r := startSource(t, only(f))
	_, at := r.await("scan", 0, cursorOf("INBOX", 3))
	f.Lock()
	f.UIDValidity = 77
	f.Messages = f.Messages[1:]
	f.Messages[0].UID, f.UIDNext = 1, 2
	f.Unlock()
	f.Bye("mailbox was replaced")
	r.await("the new position", at, func(e ingest.Event) bool {
		c, ok := e.(ingest.Cursor)
		return ok && c.UIDValidity == 77 && c.UIDNext == 2
	})
	var got []string
	for _, e := range r.all()[at:] {
		switch e := e.(type) {
		case ingest.MailboxOpened:
			got = append(got, fmt.Sprint("opened ", e.UIDValidity))
		case ingest.Arrival:
			got = append(got, fmt.Sprint("arrival ", e.UIDValidity, e.UID, e.Backlog))
		case ingest.Cursor:
			got = append(got, fmt.Sprint("cursor ", e.UIDValidity, e.UIDNext))
		default:
			got = append(got, fmt.Sprintf("%T", e))
		}
	}
	want := []string{"opened 77", "cursor 77 1", "arrival 77 1 true", "cursor 77 2"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	// A mark that was meant for the old mailbox must not hit the new message.
	r.source.Mark(ingest.MarkRequest{ID: 1, Flag: "$Important", Place: ingest.Place{Mailbox: "INBOX", UIDValidity: 1, UID: 1}})
	e, _ := r.await("mark", at, resultOf(1))
	if got := e.(ingest.MarkResult).Outcome; got != ingest.MarkGone {
		t.Errorf("a mark for the old UIDVALIDITY is %v, want gone", got)
	}
}

func TestMailboxDeletedAndRecreated(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	owner := d.Owner(t)
	owner.Create("Lists")
	o := dovecotOptions(d)
	o.Mailboxes = []string{"INBOX", "Lists"}
	var log testkit.Transcript
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	mail := testkit.NewMail(4)
	m := mail.Next()
	owner.Append("Lists", m.Raw, m.Date)
	r := startSource(t, o)
	e, at := r.await("scan", 0, arrivalOf("Lists", 1))
	old := e.(ingest.Arrival).UIDValidity
	awaitConnected(t, r)
	owner.Delete("Lists")
	testkit.Until(t, func() bool { return log.Has("can't examine a mailbox") }, "it never looked for what is gone:\n", &log)
	// It comes with its message: one that arrived while it was looked at would be no backlog.
	owner.Create("Made")
	m = mail.Next()
	owner.Append("Made", m.Raw, m.Date)
	owner.Select("INBOX")
	if err := owner.Client().Rename("Made", "Lists", nil).Wait(); err != nil {
		t.Fatal(err)
	}
	e, _ = r.await("the new mailbox", at, func(e ingest.Event) bool {
		a, ok := e.(ingest.Arrival)
		return ok && a.Mailbox == "Lists" && a.UIDValidity != old
	})
	if a := e.(ingest.Arrival); !bytes.Equal(a.Raw, m.Raw) || !a.Backlog {
		t.Errorf("got %d bytes, backlog=%v", len(a.Raw), a.Backlog)
	}
	for _, e := range r.all() {
		if v, ok := e.(ingest.Vanished); ok {
			t.Errorf("a mailbox that was away for a moment gave %+v", v)
		}
	}
}

func TestExpungeDuringFetchIsSkipped(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	d.Fill(60, testkit.NewMail(9).Next)
	owner := d.Owner(t)
	o := dovecotOptions(d)
	o.chunk = 10
	r := newRecorder(t)
	n := 0
	r.hook = func(e ingest.Event) {
		if _, ok := e.(ingest.Arrival); !ok {
			return
		}
		if n++; n == 5 { // the first chunk is under way
			owner.Expunge("INBOX", 3, 8, 15, 31, 60)
		}
	}
	run := startWith(t, o, r)
	run.await("scan", 0, cursorOf("INBOX", 61))
	m := testkit.NewMail(10).Next()
	uid := owner.Append("INBOX", m.Raw, m.Date)
	run.await("arrival after it", 0, arrivalOf("INBOX", uid))
	run.await("what vanished of the reported", 0, func(e ingest.Event) bool {
		v, ok := e.(ingest.Vanished)
		return ok && v.Mailbox == "INBOX" && v.UIDs[0] == 3
	})
	run.stop()
	checkTwin(t, owner, "INBOX", known(nil, run.all()))
}
