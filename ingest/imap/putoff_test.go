// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/testkit"
)

// TestAMarkThatAlwaysFailsKeepsNoOtherWaiting: on one message the server has an internal
// error at every STORE, as Dovecot has in a damaged mailbox, or closes the connection. The
// other message is marked, and the first one's mark given up.
func TestAMarkThatAlwaysFailsKeepsNoOtherWaiting(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(c *testkit.FakeConn, cmd testkit.FakeCommand){
		"internal error": func(c *testkit.FakeConn, cmd testkit.FakeCommand) {
			c.Line("%s NO [SERVERBUG] Internal error occurred. Refer to server log for more information.", cmd.Tag)
		},
		"asked too much": func(c *testkit.FakeConn, cmd testkit.FakeCommand) { c.Line("%s NO [OVERQUOTA] full", cmd.Tag) },
		"closed":         func(c *testkit.FakeConn, _ testkit.FakeCommand) { c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tried atomic.Int32
			f := testkit.StartFake(t, func(f *testkit.Fake) {
				f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
					if cmd.Name != "UID STORE" || !strings.HasPrefix(cmd.Args, "1 ") {
						return false
					}
					tried.Add(1)
					fail(c, cmd)
					return true
				}
			})
			f.Add(plainMail, "")
			f.Add(plainMail+"2", "")
			o := only(f)
			o.markPause = 10 * time.Millisecond
			r := startSource(t, o)
			_, at := r.await("scan", 0, cursorOf("INBOX", 3))
			r.source.Mark(mark(1, 1), mark(2, 2))
			e, other := r.await("the other's mark", at, resultOf(2))
			if got := e.(ingest.MarkResult); got.Outcome != ingest.MarkDone {
				t.Errorf("the other's mark: %+v", got)
			}
			e, failed := r.await("the failing mark", at, resultOf(1))
			if got := e.(ingest.MarkResult); got.Outcome != ingest.MarkImpossible || !strings.Contains(got.Detail, "given up after 5 attempts: ") {
				t.Errorf("the failing mark: %+v", got)
			}
			if failed < other {
				t.Error("the other one waited until the first was given up")
			}
			if n := tried.Load(); n != maxFailed {
				t.Errorf("%d STOREs were tried, want %d", n, maxFailed)
			}
		})
	}
}

// TestAMailboxInTroubleKeepsNoOtherWaiting: one mailbox, in which a mark waits, can't be
// selected for an internal error. The connection stays, and the others are watched.
func TestAMailboxInTroubleKeepsNoOtherWaiting(t *testing.T) {
	t.Parallel()
	f := testkit.StartFake(t, func(f *testkit.Fake) {
		f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
			if (cmd.Name == "SELECT" || cmd.Name == "EXAMINE") && strings.Contains(cmd.Args, "Lists") {
				c.Line("%s NO [SERVERBUG] Internal error occurred. Refer to server log for more information.", cmd.Tag)
				return true
			}
			return boxes(f, c, cmd, "Alpha", "Lists", "Sent")
		}
	})
	f.Add(plainMail, "")
	o := only(f)
	o.Mailboxes, o.PollInterval, o.markPause = []string{"Alpha", "Lists", "Sent"}, 100*time.Millisecond, 10*time.Millisecond
	known := ingest.Known{Mailbox: "Lists", UIDValidity: 1, UIDNext: 2, BacklogBefore: 1, HighestModSeq: 1, Flags: map[uint32][]string{1: nil}}
	r := startSource(t, o, known)
	req := mark(7, 1)
	req.Place.Mailbox = "Lists"
	r.source.Mark(req)
	r.await("the first message of Sent", 0, arrivalOf("Sent", 1))
	uid := f.Add(plainMail+"2", "")
	r.await("the owner's answer in Sent", 0, arrivalOf("Sent", uid))
	e, _ := r.await("the mark", 0, resultOf(7))
	if got := e.(ingest.MarkResult); got.Outcome != ingest.MarkImpossible || !strings.Contains(got.Detail, "SERVERBUG") {
		t.Errorf("the mark: %+v", got)
	}
	awaitConnected(t, r)
	if n := r.source.Status().Reconnects; n != 0 {
		t.Errorf("it reconnected %d times", n)
	}
}

// TestAFolderForCopiesInTroubleKeepsTheConnection: it can't be opened for an internal error.
func TestAFolderForCopiesInTroubleKeepsTheConnection(t *testing.T) {
	t.Parallel()
	var none atomic.Bool // no mailbox is open
	f := testkit.StartFake(t, func(f *testkit.Fake) {
		f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
			switch {
			case cmd.Name == "EXAMINE" && strings.Contains(cmd.Args, "Important"):
				none.Store(true)
				c.Line("%s NO [SERVERBUG] Internal error occurred.", cmd.Tag)
			case cmd.Name == "UNSELECT" && none.Load():
				c.Line("%s BAD No mailbox selected.", cmd.Tag)
			case cmd.Name == "UID FETCH" && strings.Contains(cmd.Args, "HEADER.FIELDS"):
				c.Line("* 1 FETCH (UID 1 FLAGS () RFC822.SIZE 100 BODY[HEADER.FIELDS (Message-ID Date From Subject)]<0> {26}\r\nMessage-ID: <one@a.test>\r\n)")
				c.OK(cmd)
			default:
				return boxes(f, c, cmd, "INBOX", "Important")
			}
			return true
		}
	})
	f.Add(plainMail, "")
	o := only(f)
	o.markPause = time.Millisecond
	r := startSource(t, o)
	e, _ := r.await("the message", 0, arrivalOf("INBOX", 1))
	awaitConnected(t, r)
	r.source.Mark(ingest.MarkRequest{ID: 1, Place: e.(ingest.Arrival).Place, CopyTo: "Important"})
	e, _ = r.await("the answer", 0, resultOf(1))
	if got := e.(ingest.MarkResult); got.Outcome != ingest.MarkImpossible || !strings.Contains(got.Detail, "SERVERBUG") {
		t.Errorf("the copy: %+v", got)
	}
	if n := r.source.Status().Reconnects; n != 0 {
		t.Errorf("it reconnected %d times", n)
	}
}

// TestAMarkWhoseAnswerIsLostIsNotSetAgain: the connection breaks when the server has carried out
// the STORE. The mark is seen on the next one, and its owner takes it off.
func TestAMarkWhoseAnswerIsLostIsNotSetAgain(t *testing.T) {
	t.Parallel()
	var stores atomic.Int32
	f := testkit.StartFake(t, func(f *testkit.Fake) {
		f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
			if cmd.Name != "UID STORE" {
				return false
			}
			if stores.Add(1) == 1 {
				f.Lock()
				f.Messages[0].Flags, f.Messages[0].ModSeq = "$Important", f.Messages[0].ModSeq+10
				f.Unlock()
				c.Close()
				return true
			}
			return false
		}
	})
	f.Add(plainMail, "")
	o := only(f)
	o.BackoffMin, o.BackoffMax = 10*time.Millisecond, 20*time.Millisecond
	o.LoginEvery = time.Millisecond
	r := startSource(t, o)
	_, at := r.await("scan", 0, cursorOf("INBOX", 2))
	r.source.Mark(mark(1, 1))
	_, at = r.await("our mark, seen", at, flagsOf("INBOX", 1, "$Important"))
	time.Sleep(300 * time.Millisecond) // nobody takes a mark off more quickly
	ownerSays(f, "")
	r.await("the owner's word", at, flagsOf("INBOX", 1))
	e, _ := r.await("result", 0, resultOf(1))
	f.Lock()
	defer f.Unlock()
	if got := f.Messages[0].Flags; got != "" {
		t.Errorf("the owner took the mark off; now the message has %q (result %+v)", got, e)
	}
}

// TestAMarkTakenBackIsLeftIfTheOwnerSetsIt is the same for a mark that is taken back.
func TestAMarkTakenBackIsLeftIfTheOwnerSetsIt(t *testing.T) {
	t.Parallel()
	var stores atomic.Int32
	f := testkit.StartFake(t, func(f *testkit.Fake) {
		f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
			if cmd.Name == "UID STORE" && stores.Add(1) == 1 {
				f.Lock()
				f.Messages[0].Flags, f.Messages[0].ModSeq = "", f.Messages[0].ModSeq+10
				f.Unlock()
				c.Close()
				return true
			}
			return false
		}
	})
	f.Add(plainMail, "$Important")
	o := only(f)
	o.BackoffMin, o.BackoffMax, o.LoginEvery = 10*time.Millisecond, 20*time.Millisecond, time.Millisecond
	r := startSource(t, o)
	_, at := r.await("scan", 0, cursorOf("INBOX", 2))
	req := mark(1, 1, "$important")
	req.Clear = true
	r.source.Mark(req)
	_, at = r.await("gone", at, flagsOf("INBOX", 1))
	time.Sleep(300 * time.Millisecond)
	ownerSays(f, "$Important")
	r.await("the owner's word", at, flagsOf("INBOX", 1, "$Important"))
	e, _ := r.await("result", 0, resultOf(1))
	f.Lock()
	defer f.Unlock()
	if got := f.Messages[0].Flags; got != "$Important" {
		t.Errorf("the owner set the mark; now the message has %q (result %+v)", got, e)
	}
}

// TestARequestIsGivenUpAfterItsMailboxWasCompared: the connection breaks at each STORE, and the
// last one was carried out. Given up before, our own mark would look like the owner's.
func TestARequestIsGivenUpAfterItsMailboxWasCompared(t *testing.T) {
	t.Parallel()
	var stores atomic.Int32
	f := testkit.StartFake(t, func(f *testkit.Fake) {
		f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
			if cmd.Name == "UID STORE" {
				if stores.Add(1) == maxFailed {
					f.Lock()
					f.Messages[0].Flags, f.Messages[0].ModSeq = "$Important", f.Messages[0].ModSeq+10
					f.Unlock()
				}
				c.Close()
				return true
			}
			return boxes(f, c, cmd, "Alpha", "Lists")
		}
	})
	f.Add(plainMail, "")
	o := only(f)
	o.Mailboxes, o.PollInterval, o.markPause = []string{"Alpha", "Lists"}, time.Hour, time.Millisecond
	o.BackoffMin, o.BackoffMax, o.LoginEvery = 50*time.Millisecond, 60*time.Millisecond, time.Millisecond
	r := startSource(t, o)
	r.await("scan", 0, cursorOf("Lists", 2))
	req := mark(7, 1)
	req.Place.Mailbox = "Lists"
	r.source.Mark(req)
	_, seen := r.await("our mark", 0, flagsOf("Lists", 1, "$Important"))
	e, answered := r.await("the answer", 0, resultOf(7))
	if m := e.(ingest.MarkResult); answered < seen {
		t.Errorf("%v %q at event %d, before the mark was seen at event %d", m.Outcome, m.Detail, answered, seen)
	}
}

// TestAThrottledMarkIsNotGivenUp: that the server was asked too much says nothing about it.
func TestAThrottledMarkIsNotGivenUp(t *testing.T) {
	t.Parallel()
	start := time.Now()
	f := testkit.StartFake(t, func(f *testkit.Fake) {
		f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
			if cmd.Name == "UID STORE" && time.Since(start) < 2*time.Second {
				c.Line("%s NO [THROTTLED] slow down", cmd.Tag)
				return true
			}
			return false
		}
	})
	f.Add(plainMail, "")
	o := only(f)
	o.BackoffMin, o.BackoffMax, o.LoginEvery = 10*time.Millisecond, 50*time.Millisecond, time.Millisecond
	o.markPause = 10 * time.Millisecond
	r := startSource(t, o)
	_, at := r.await("scan", 0, cursorOf("INBOX", 2))
	r.source.Mark(mark(1, 1))
	e, _ := r.await("result", at, resultOf(1))
	if got := e.(ingest.MarkResult); got.Outcome != ingest.MarkDone {
		t.Errorf("%+v after %v", got, time.Since(start))
	}
}

// TestAMarkThatWaitsIsAskedForAnewIfItsOwnerSpoke: in the pause before it is tried again, the
// owner sets the mark and takes it off.
func TestAMarkThatWaitsIsAskedForAnewIfItsOwnerSpoke(t *testing.T) {
	t.Parallel()
	for name, attempt := range map[string]int{"refused for a moment": 0, "its message had changed": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var refused atomic.Bool
			refused.Store(attempt > 0)
			f := testkit.StartFake(t, func(f *testkit.Fake) {
				f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
					if cmd.Name != "UID STORE" || refused.Swap(true) {
						return false
					}
					c.Line("%s NO [SERVERBUG] Internal error occurred.", cmd.Tag)
					return true
				}
			})
			f.Add(plainMail, "")
			o := only(f)
			o.markPause = 2 * time.Second // long enough for a busy machine
			r := startSource(t, o)
			_, at := r.await("scan", 0, cursorOf("INBOX", 2))
			req := mark(1, 1)
			req.Attempt = attempt
			r.source.Mark(req)
			for !refused.Load() {
				time.Sleep(time.Millisecond)
			}
			for _, flags := range []string{"$Important", ""} {
				ownerSays(f, flags)
				_, at = r.await("the owner's word: "+flags, at, flagsOf("INBOX", 1, strings.Fields(flags)...))
			}
			e, _ := r.await("the answer", at, resultOf(1))
			if got := e.(ingest.MarkResult); got.Outcome != ingest.MarkConflict {
				t.Errorf("the mark: %+v", got)
			}
		})
	}
}

// ownerSays has the owner give the first message these flags elsewhere.
func ownerSays(f *testkit.Fake, flags string) {
	f.Lock()
	m := &f.Messages[0]
	m.Flags, m.ModSeq = flags, m.ModSeq+10
	seq := m.ModSeq
	f.Unlock()
	f.Tell("* 1 FETCH (UID 1 FLAGS (%s) MODSEQ (%d))", flags, seq)
}
