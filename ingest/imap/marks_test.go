// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/testkit"
)

// stores counts the STOREs that a Fake was sent.
func stores(f *testkit.Fake, then func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool) func() int {
	n := 0
	f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
		if cmd.Name == "UID STORE" {
			f.Lock()
			n++
			f.Unlock()
		}
		return then != nil && then(c, cmd)
	}
	return func() int {
		f.Lock()
		defer f.Unlock()
		return n
	}
}

func mark(id uint64, uid uint32, knownFlags ...string) ingest.MarkRequest {
	return ingest.MarkRequest{
		ID: id, Flag: "$Important", Known: ingest.CanonicalFlags(knownFlags),
		Place: ingest.Place{Mailbox: "INBOX", UIDValidity: 1, UID: uid},
	}
}

// also gives a request a second keyword.
func also(r ingest.MarkRequest) ingest.MarkRequest {
	r.Also = "$Hinged"
	return r
}

// TestMarkOutcomes asks for marks in every situation that a server can be in.
func TestMarkOutcomes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		flags     string // before the source starts
		permanent string
		caps      string
		request   ingest.MarkRequest
		// before runs once, when the first STORE arrives and before it is carried
		// out: somebody else is faster. The Fake is locked.
		before  func(f *testkit.Fake)
		handle  func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool
		outcome ingest.MarkOutcome
		flagsIn string // among the flags of the result
		stores  int
	}{
		{name: "set", request: mark(1, 1), outcome: ingest.MarkDone, flagsIn: "$Important", stores: 1},
		{name: "set without CONDSTORE", caps: "IMAP4rev1 AUTH=PLAIN", request: mark(1, 1), outcome: ingest.MarkDone, flagsIn: "$Important", stores: 1},
		{name: "cleared", flags: `$Important \Seen`, request: func() ingest.MarkRequest {
			r := mark(1, 1, "$Important", `\Seen`)
			r.Clear = true
			return r
		}(), outcome: ingest.MarkDone, flagsIn: `\Seen`, stores: 1},
		{name: "set already, as after a crash between STORE and confirmation", flags: `\Important`, request: mark(1, 1),
			outcome: ingest.MarkDone, flagsIn: "$Important"},
		{name: "read in the meantime, which does not matter", request: mark(1, 1),
			before:  func(f *testkit.Fake) { f.Messages[0].Flags, f.Messages[0].ModSeq = `\Seen`, 50 },
			outcome: ingest.MarkDone, flagsIn: "$Important", stores: 2},
		{name: "read in the meantime, and the server says no", request: mark(1, 1),
			before:  func(f *testkit.Fake) { f.Messages[0].Flags, f.Messages[0].ModSeq = `\Seen`, 50 },
			outcome: ingest.MarkDone, flagsIn: "$Important", stores: 2,
			handle: once(on("UID STORE", func(c *testkit.FakeConn, cmd testkit.FakeCommand) {
				c.Line("%s NO [MODIFIED 1] it changed", cmd.Tag)
			}))},
		{name: "answered in the meantime", request: mark(1, 1),
			before:  func(f *testkit.Fake) { f.Messages[0].Flags, f.Messages[0].ModSeq = `\Answered`, 50 },
			outcome: ingest.MarkConflict, flagsIn: `\Answered`, stores: 1},
		{name: "marked by the owner in the meantime", request: mark(1, 1),
			before:  func(f *testkit.Fake) { f.Messages[0].Flags, f.Messages[0].ModSeq = "$Important", 50 },
			outcome: ingest.MarkConflict, flagsIn: "$Important", stores: 1},
		{name: "decided on flags that are no more", flags: `\Flagged`, request: mark(1, 1), outcome: ingest.MarkConflict, flagsIn: `\Flagged`},
		{name: "expunged in the meantime", request: mark(1, 1),
			before: func(f *testkit.Fake) { f.Messages = nil }, outcome: ingest.MarkGone, stores: 1},
		{name: "never there", request: mark(1, 99), outcome: ingest.MarkGone},
		{name: "no new keywords", permanent: `\Seen \Flagged`, request: mark(1, 1), outcome: ingest.MarkImpossible},
		{name: "refused", request: mark(1, 1), outcome: ingest.MarkImpossible, stores: 1,
			handle: on("UID STORE", func(c *testkit.FakeConn, cmd testkit.FakeCommand) {
				c.Line("%s NO [LIMIT-OF-KEYWORDS] too many", cmd.Tag)
			})},
		{name: "accepted and forgotten", request: mark(1, 1), outcome: ingest.MarkImpossible, stores: 1,
			handle: on("UID STORE", func(c *testkit.FakeConn, cmd testkit.FakeCommand) { c.OK(cmd) })},
		{name: "a flag that is no flag", request: func() ingest.MarkRequest {
			r := mark(1, 1)
			r.Flag = "Has Space"
			return r
		}(), outcome: ingest.MarkImpossible},
		{name: "with a second keyword", request: also(mark(1, 1)), outcome: ingest.MarkDone, flagsIn: "$Hinged", stores: 1},
		{name: "with a second keyword, and without CONDSTORE", caps: "IMAP4rev1 AUTH=PLAIN", request: also(mark(1, 1)),
			outcome: ingest.MarkDone, flagsIn: "$Hinged", stores: 1},
		{name: "with a second keyword that is not kept", permanent: `\Seen $Important`, request: also(mark(1, 1)),
			outcome: ingest.MarkDone, flagsIn: "$Important", stores: 1},
		{name: "with a second keyword that is one too many", request: also(mark(1, 1)), outcome: ingest.MarkDone, flagsIn: "$Important", stores: 2,
			handle: on("UID STORE", func(c *testkit.FakeConn, cmd testkit.FakeCommand) {
				if strings.Contains(cmd.Args, "$Hinged") {
					c.Line("%s NO [LIMIT-OF-KEYWORDS] too many", cmd.Tag)
				} else {
					c.Answer(cmd)
				}
			})},
		{name: "cleared with its second keyword", flags: `$Hinged $Important \Seen`, request: func() ingest.MarkRequest {
			r := also(mark(1, 1, "$Hinged", "$Important", `\Seen`))
			r.Clear = true
			return r
		}(), outcome: ingest.MarkDone, flagsIn: `\Seen`, stores: 1},
		{name: "cleared half before a crash", flags: `$Hinged \Seen`, request: func() ingest.MarkRequest {
			r := also(mark(1, 1, "$Hinged", `\Seen`))
			r.Clear = true
			return r
		}(), outcome: ingest.MarkDone, flagsIn: `\Seen`, stores: 1},
		{name: "busy for a while", request: mark(1, 1), outcome: ingest.MarkDone, flagsIn: "$Important", stores: 2,
			handle: once(on("UID STORE", func(c *testkit.FakeConn, cmd testkit.FakeCommand) { c.Line("%s NO [INUSE] later", cmd.Tag) }))},
		{name: "connection lost after the STORE was carried out", request: mark(1, 1), outcome: ingest.MarkDone, flagsIn: "$Important", stores: 1,
			handle: once(on("UID STORE", func(c *testkit.FakeConn, cmd testkit.FakeCommand) {
				c.Answer(cmd)
				c.Close()
			}))},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var count func() int
			f := testkit.StartFake(t, func(f *testkit.Fake) {
				if c.permanent != "" {
					f.Permanent = c.permanent
				}
				if c.caps != "" {
					f.Caps = c.caps
				}
				raced := c.before == nil
				count = stores(f, func(conn *testkit.FakeConn, cmd testkit.FakeCommand) bool {
					f.Lock()
					if cmd.Name == "UID STORE" && !raced {
						raced = true
						c.before(f)
					}
					f.Unlock()
					return c.handle != nil && c.handle(conn, cmd)
				})
			})
			f.Add(plainMail, c.flags)
			r := startSource(t, only(f))
			_, at := r.await("scan", 0, cursorOf("INBOX", 2))
			r.source.Mark(c.request)
			e, _ := r.await("mark result", at, resultOf(c.request.ID))
			res := e.(ingest.MarkResult)
			if res.Outcome != c.outcome || c.flagsIn != "" && !ingest.HasFlag(res.Flags, c.flagsIn) {
				t.Errorf("got %+v, want %v with %s", res, c.outcome, c.flagsIn)
			}
			if (res.Outcome == ingest.MarkGone) != (res.Flags == nil) && c.flags != "" {
				t.Errorf("flags %q of a message that is %v", res.Flags, res.Outcome)
			}
			if (res.Outcome == ingest.MarkImpossible) != (res.Detail != "") {
				t.Errorf("detail %q of %v", res.Detail, res.Outcome)
			}
			if c.request.Clear && (ingest.HasFlag(res.Flags, c.request.Flag) || ingest.HasFlag(res.Flags, c.request.Also)) {
				t.Errorf("flags %q after they were cleared", res.Flags)
			}
			if got := count(); got != c.stores {
				t.Errorf("%d STOREs were sent, want %d", got, c.stores)
			}
			// Whatever somebody else did is reported, too.
			if c.outcome == ingest.MarkConflict && c.before != nil {
				r.await("the other's change", at, flagsOf("INBOX", 1, c.flagsIn))
			}
		})
	}
}

// once lets something go wrong the first time only.
func once(bad func(*testkit.FakeConn, testkit.FakeCommand) bool) func(*testkit.FakeConn, testkit.FakeCommand) bool {
	done := make(chan struct{}, 1)
	return func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
		if !bad(nil, cmd) {
			return false
		}
		select {
		case done <- struct{}{}:
			return bad(c, cmd)
		default:
			return false
		}
	}
}

// TestConditionalStoreRacesWithTheOwner lets the owner mark, answer and read
// messages at the very moments at which the source marks them. No change of the
// owner's may get lost, and no mark may be taken for ours that was not.
func TestConditionalStoreRacesWithTheOwner(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	const n = 60
	d.Fill(n, testkit.NewMail(12).Next)
	owner := d.Owner(t)
	owner.Select("INBOX")
	r := startSource(t, dovecotOptions(d))
	e, _ := r.await("opening", 0, func(e ingest.Event) bool {
		o, ok := e.(ingest.MailboxOpened)
		return ok && o.Mailbox == "INBOX"
	})
	validity := e.(ingest.MailboxOpened).UIDValidity
	_, at := r.await("scan", 0, cursorOf("INBOX", n+1))
	owners := []string{`\Answered`, `\Seen`, "$Important", `\Flagged`}
	for uid := uint32(1); uid <= n; uid++ {
		req := mark(uint64(uid), uid)
		req.Place.UIDValidity = validity
		if uid%2 == 0 {
			r.source.Mark(req)
			owner.Set("INBOX", uid, owners[uid%4])
		} else {
			owner.Set("INBOX", uid, owners[uid%4])
			r.source.Mark(req)
		}
	}
	outcomes := map[ingest.MarkOutcome]int{}
	for uid := uint32(1); uid <= n; uid++ {
		e, _ := r.await(fmt.Sprintf("result %d", uid), at, resultOf(uint64(uid)))
		res := e.(ingest.MarkResult)
		outcomes[res.Outcome]++
		flags, _ := owner.Flags("INBOX", uid)
		if res.Outcome == ingest.MarkDone && !ingest.HasFlag(flags, "$Important") {
			t.Errorf("UID %d: done, but the server has %q", uid, flags)
		}
		if res.Outcome == ingest.MarkConflict && owners[uid%4] != "$Important" && ingest.HasFlag(flags, "$Important") {
			t.Errorf("UID %d: our STORE is said to have done nothing, but the server has %q", uid, flags)
		}
		if !ingest.HasFlag(flags, owners[uid%4]) {
			t.Errorf("UID %d: the owner's %s is lost, the server has %q", uid, owners[uid%4], flags)
		}
	}
	t.Logf("outcomes: %v", outcomes)
	if outcomes[ingest.MarkDone] == 0 || outcomes[ingest.MarkConflict] == 0 {
		t.Errorf("got %v, want both done and conflict, or this was no race", outcomes)
	}
	// In the end all of it must be known.
	deadline := time.Now().Add(patience)
	for uid := uint32(1); uid <= n; uid++ {
		want, _ := owner.Flags("INBOX", uid)
		for {
			got, _, _ := lookup(known(nil, r.all()), "INBOX", uid)
			if fmt.Sprint(withoutSeen(got)) == fmt.Sprint(withoutSeen(want)) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("UID %d is known with %q, the server has %q", uid, got, want)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

func withoutSeen(flags []string) string {
	return strings.ReplaceAll(strings.Join(flags, " "), `\seen`, "")
}

func TestMarksElsewhereThanInInbox(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	owner := d.Owner(t)
	owner.Create("Unwatched")
	mail := testkit.NewMail(13)
	var reqs []ingest.MarkRequest
	for i, box := range []string{"Archive", "Unwatched", "INBOX", "Archive", "No such mailbox"} {
		req := ingest.MarkRequest{ID: uint64(i + 1), Flag: "$Important", Place: ingest.Place{Mailbox: box, UIDValidity: 1, UID: 1}}
		if i < 4 {
			m := mail.Next()
			req.Place.UID = owner.Append(box, m.Raw, m.Date)
			req.Place.UIDValidity = owner.Select(box)
		}
		reqs = append(reqs, req)
	}
	r := startSource(t, dovecotOptions(d))
	r.source.Mark(reqs...) // before the first connection is up
	for _, req := range reqs[:4] {
		e, _ := r.await("result", 0, resultOf(req.ID))
		if res := e.(ingest.MarkResult); res.Outcome != ingest.MarkDone {
			t.Errorf("%s: got %+v", req.Place.Mailbox, res)
		}
		if flags, _ := owner.Flags(req.Place.Mailbox, req.Place.UID); !ingest.HasFlag(flags, "$Important") || ingest.HasFlag(flags, `\Seen`) {
			t.Errorf("%s: the server has %q", req.Place.Mailbox, flags)
		}
	}
	e, _ := r.await("result", 0, resultOf(5))
	if res := e.(ingest.MarkResult); res.Outcome != ingest.MarkGone {
		t.Errorf("in no mailbox: got %+v", res)
	}
	for _, e := range r.all() {
		if o, ok := e.(ingest.MailboxOpened); ok && o.Mailbox == "Unwatched" {
			t.Error("a mailbox that is not watched was reported")
		}
	}
}

// TestOurOwnChangeHidesNoOlderOne lets the server tell of a change, older than
// our STORE, only after it.
func TestOurOwnChangeHidesNoOlderOne(t *testing.T) {
	t.Parallel()
	f := testkit.StartFake(t, nil)
	f.Add(plainMail, "")
	f.Add(plainMail, "")
	r := startSource(t, only(f))
	_, at := r.await("scan", 0, cursorOf("INBOX", 3))
	f.Lock()
	f.Messages[1].Flags, f.Messages[1].ModSeq = `\Flagged`, 10 // nobody is told
	f.Unlock()
	r.source.Mark(mark(1, 1))
	_, at = r.await("mark", at, resultOf(1))
	f.Tell(`* 2 FETCH (FLAGS (\Flagged) MODSEQ (10))`)
	r.await("the older change", at, flagsOf("INBOX", 2, `\flagged`))
}

// TestChangeWithinAnAnswerHidesNoOlderOne has two changes happen while the
// server answers a CHANGEDSINCE, and the later of them alone get through: the
// client library hands over one line for each message. Were the highest MODSEQ
// of that answer believed, the other would be skipped for good.
func TestChangeWithinAnAnswerHidesNoOlderOne(t *testing.T) {
	t.Parallel()
	f := testkit.StartFake(t, func(f *testkit.Fake) {
		f.Handle = once(func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
			if cmd.Name != "UID FETCH" || !strings.Contains(cmd.Args, "CHANGEDSINCE") {
				return false
			}
			if c != nil {
				f.Lock()
				f.Messages[0].Flags, f.Messages[0].ModSeq = `\Flagged`, 12
				f.Messages[1].Flags, f.Messages[1].ModSeq = `\Answered`, 11
				f.Unlock()
				c.Line(`* 2 FETCH (UID 2 FLAGS (work) MODSEQ (10))`)
				c.Line(`* 2 FETCH (UID 2 FLAGS (\Answered) MODSEQ (11))`)
				c.Line(`* 1 FETCH (UID 1 FLAGS (\Flagged) MODSEQ (12))`)
				c.OK(cmd)
			}
			return true
		})
	})
	f.Add(plainMail, "")
	f.Add(plainMail, "")
	r := startSource(t, only(f))
	_, at := r.await("scan", 0, cursorOf("INBOX", 3))
	f.Tell(`* 2 FETCH (FLAGS (work) MODSEQ (10))`)
	r.await("the first change", at, flagsOf("INBOX", 2, "work"))
	r.await("the last change", at, flagsOf("INBOX", 1, `\flagged`))
	r.await("the one between", at, flagsOf("INBOX", 2, `\answered`))
}

// TestMarkIsTriedAgainLaterAndLater has a server that answers each conditional STORE
// as if it had lost a race, and an asker that asks again each time.
func TestMarkIsTriedAgainLaterAndLater(t *testing.T) {
	t.Parallel()
	f := testkit.StartFake(t, nil)
	f.Add(plainMail, "")
	count := stores(f, func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
		if cmd.Name != "UID STORE" {
			return false
		}
		c.Line("%s OK [MODIFIED 1] too late", cmd.Tag)
		return true
	})
	o := only(f)
	o.markPause = 50 * time.Millisecond
	r := startSource(t, o)
	_, at := r.await("scan", 0, cursorOf("INBOX", 2))
	began := time.Now()
	for try := range 4 {
		m := mark(1, 1)
		m.Attempt = try
		r.source.Mark(m)
		var e ingest.Event
		if e, at = r.await("mark", at, resultOf(1)); e.(ingest.MarkResult).Outcome != ingest.MarkConflict {
			t.Fatalf("got %+v", e)
		}
	}
	if took, least := time.Since(began), o.markPause*(1+2+4); took < least {
		t.Errorf("four attempts in %v, want pauses of %v in all", took, least)
	}
	if n := count(); n > 4*storeTries {
		t.Errorf("%d STOREs for four attempts, want at most %d", n, 4*storeTries)
	}
}

// TestAMarkInAPolledMailboxIsConditional, also at the start, before the poller has come to
// that mailbox, and where the MODSEQs known from before the start are of no use: the server
// counts anew, as after an index was rebuilt, or has CONDSTORE only now.
func TestAMarkInAPolledMailboxIsConditional(t *testing.T) {
	t.Parallel()
	for name, modseq := range map[string]uint64{"MODSEQs went on": 3, "MODSEQs began anew": 1000, "no CONDSTORE before": 0} {
		for when, c := range map[string]struct {
			away, between string // flags that are set while we are away, and before our STORE
			outcome       ingest.MarkOutcome
			stores        int
		}{
			// After a crash between our STORE and its confirmation it looks the same.
			"marked while we were away": {"$Important", "", ingest.MarkDone, 0},
			"marked by the owner first": {"", "$Important", ingest.MarkConflict, 1},
			"read in between":           {"", `\Seen`, ingest.MarkDone, 2},
		} {
			t.Run(name+", "+when, func(t *testing.T) {
				t.Parallel()
				var count func() int
				f := testkit.StartFake(t, func(f *testkit.Fake) {
					raced := false
					count = stores(f, func(conn *testkit.FakeConn, cmd testkit.FakeCommand) bool {
						f.Lock()
						if cmd.Name == "UID STORE" && !raced {
							raced = true
							f.Messages[0].Flags, f.Messages[0].ModSeq = c.between, 6
						}
						f.Unlock()
						return boxes(f, conn, cmd, "Alpha", "Lists")
					})
				})
				f.Add(plainMail, c.away)
				f.Lock()
				f.Messages[0].ModSeq = 5
				f.Unlock()
				o := only(f)
				o.Mailboxes = []string{"Alpha", "Lists"}
				s, err := New(o, []ingest.Known{{Mailbox: "Lists", UIDValidity: 1, UIDNext: 2, BacklogBefore: 1, HighestModSeq: modseq, Flags: map[uint32][]string{1: nil}}})
				if err != nil {
					t.Fatal(err)
				}
				req := mark(7, 1)
				req.Place.Mailbox = "Lists"
				s.Mark(req)
				rec := newRecorder(t)
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- s.Run(ctx, rec.emit) }()
				e, _ := rec.await("the result", 0, resultOf(7))
				cancel()
				<-done
				if got := e.(ingest.MarkResult); got.Outcome != c.outcome || count() != c.stores {
					t.Errorf("got %+v after %d STOREs, want %v after %d", got, count(), c.outcome, c.stores)
				}
			})
		}
	}
}
