// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"github.com/hinged/hinged/internal/testkit"
)

func startServer(t *testing.T) *embedded {
	t.Helper()
	e, err := startEmbedded(t.Context(), slog.New(slog.DiscardHandler))
	testkit.OK(t, err)
	t.Cleanup(func() { testkit.OK(t, e.close()) })
	return e
}

// client is a mail client that has a mailbox open.
func client(t *testing.T, e *embedded, mailbox string) (*hand, *testkit.Transcript) {
	t.Helper()
	w := new(testkit.Transcript)
	c, err := imapclient.DialInsecure(e.Addr, &imapclient.Options{DebugWriter: w})
	testkit.OK(t, err)
	h := &hand{c: c, unhook: func() bool { return true }}
	t.Cleanup(h.close)
	testkit.OK(t, c.Login(e.User, e.Password).Wait())
	_, err = c.Select(mailbox, nil).Wait()
	testkit.OK(t, err)
	return h, w
}

func (h *hand) mustPut(t *testing.T, mailbox string) imap.UID {
	t.Helper()
	uid, err := h.put(mailbox, []byte("From: a@b.example\r\nSubject: x\r\n\r\ntext\r\n"), time.Now())
	testkit.OK(t, err)
	return uid
}

func TestAWrongPasswordIsRefused(t *testing.T) {
	e := startServer(t)
	c, err := imapclient.DialInsecure(e.Addr, nil)
	testkit.OK(t, err)
	defer c.Close()
	if err := c.Login(e.User, "guess").Wait(); err == nil {
		t.Error("a wrong password was taken")
	}
	if f := startServer(t); f.Password == e.Password {
		t.Error("two servers have one password")
	}
}

func TestKeywordsAreKept(t *testing.T) {
	e := startServer(t)
	h, _ := client(t, e, inbox)
	data, err := h.c.Select(inbox, nil).Wait()
	testkit.OK(t, err)
	for _, want := range []imap.Flag{imap.FlagWildcard, imap.FlagSeen, imap.FlagFlagged, imap.FlagAnswered} {
		if !has(data.PermanentFlags, string(want)) {
			t.Errorf("PERMANENTFLAGS %v lack %s", data.PermanentFlags, want)
		}
	}
	uid := h.mustPut(t, inbox)
	testkit.OK(t, h.c.Noop().Wait())
	testkit.OK(t, h.set(imap.StoreFlagsAdd, uid, "$Important", `\Seen`, "$label1"))
	testkit.OK(t, h.set(imap.StoreFlagsDel, uid, "$label1"))
	other, _ := client(t, e, inbox)
	flags, there, err := other.flags(uid)
	testkit.OK(t, err)
	if !there || !has(flags, "$important") || !has(flags, `\seen`) || has(flags, "$label1") {
		t.Errorf("flags are %v (there: %v)", flags, there)
	}
}

func TestOnlyWhatWasAnnouncedIsSpokenOf(t *testing.T) {
	e := startServer(t)
	reader, w := client(t, e, inbox)
	postman, _ := client(t, e, "Archive")
	uid := postman.mustPut(t, inbox)
	// The reader's session has not told it of the message yet: FETCH, SEARCH and
	// STORE must not either. At their end it may.
	found, err := reader.c.Fetch(imap.UIDSetNum(uid), &imap.FetchOptions{UID: true, Flags: true}).Collect()
	testkit.OK(t, err)
	if len(found) != 0 {
		t.Errorf("a message that was not announced was fetched: %+v", found[0])
	}
	testkit.OK(t, reader.c.Noop().Wait())
	if found, err = reader.c.Fetch(imap.UIDSet{{Start: 1, Stop: 0}}, &imap.FetchOptions{UID: true, Flags: true}).Collect(); err != nil || len(found) != 1 || found[0].SeqNum != 1 {
		t.Errorf("after NOOP: %v, %v", found, err)
	}
	postman.mustPut(t, inbox)
	search, err := reader.c.UIDSearch(&imap.SearchCriteria{}, nil).Wait()
	testkit.OK(t, err)
	if got := search.AllUIDs(); !slices.Equal(got, []imap.UID{uid}) {
		t.Errorf("search finds %v, want what was announced, %d", got, uid)
	}
	if n := strings.Count(w.String(), "* 0 FETCH"); n != 0 {
		t.Errorf("%d lines about message number 0", n)
	}
}

func TestIdleTellsOfWhatCameBeforeIt(t *testing.T) {
	e := startServer(t)
	postman, _ := client(t, e, "Archive")
	for range 5 {
		reader, w := client(t, e, inbox)
		before := strings.Count(w.String(), "EXISTS")
		postman.mustPut(t, inbox)
		idle, err := reader.c.Idle()
		testkit.OK(t, err)
		deadline := time.Now().Add(time.Minute)
		for strings.Count(w.String(), "EXISTS") == before {
			if time.Now().After(deadline) {
				t.Fatal("IDLE says nothing of a message that came before it")
			}
			time.Sleep(5 * time.Millisecond)
		}
		testkit.OK(t, idle.Close())
		testkit.OK(t, idle.Wait())
	}
}

func TestAMoveIsToldOnceToEverybody(t *testing.T) {
	e := startServer(t)
	mover, mine := client(t, e, inbox)
	_, _ = mover.mustPut(t, inbox), mover.mustPut(t, inbox)
	uid := mover.mustPut(t, inbox)
	testkit.OK(t, mover.c.Noop().Wait())
	other, theirs := client(t, e, inbox)
	testkit.OK(t, mover.move(uid-1, "Junk"))
	testkit.OK(t, mover.c.Noop().Wait())
	testkit.OK(t, other.c.Noop().Wait())
	for who, w := range map[string]*testkit.Transcript{"the mover": mine, "another": theirs} {
		if n := strings.Count(w.String(), "* 2 EXPUNGE"); n != 1 || strings.Count(w.String(), "EXPUNGE\r\n") != n {
			t.Errorf("%s was told %d times", who, strings.Count(w.String(), "EXPUNGE\r\n"))
		}
	}
	if strings.Count(mine.String(), "COPYUID") != 1 {
		t.Error("the mover was not told where the message went")
	}
	junk, _ := client(t, e, "Junk")
	if flags, there, err := junk.flags(1); err != nil || !there || has(flags, `\Deleted`) {
		t.Errorf("in Junk: flags %v, there %v, %v", flags, there, err)
	}
	if err := mover.move(uid, "Nowhere"); err == nil {
		t.Error("a move to a mailbox that is not there went well")
	}
}

func TestMovesBothWaysAtOnceGoOn(t *testing.T) {
	e := startServer(t)
	var wg sync.WaitGroup
	errs := make(chan error, 2)
	for from, to := range map[string]string{inbox: "Archive", "Archive": inbox} {
		h, _ := client(t, e, from)
		var uids []imap.UID
		for range 40 {
			uids = append(uids, h.mustPut(t, from))
		}
		testkit.OK(t, h.c.Noop().Wait())
		wg.Go(func() {
			for _, uid := range uids {
				if err := h.move(uid, to); err != nil {
					errs <- fmt.Errorf("%s to %s: %w", from, to, err)
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatal("two moves wait for each other")
	}
	select {
	case err := <-errs:
		t.Fatal(err)
	default:
	}
}

func TestCloseEndsEveryConnection(t *testing.T) {
	e, err := startEmbedded(t.Context(), slog.New(slog.DiscardHandler))
	testkit.OK(t, err)
	h, _ := client(t, e, inbox)
	testkit.OK(t, e.close())
	select {
	case <-h.c.Closed():
	case <-time.After(time.Minute):
		t.Error("a connection outlives the server")
	}
	for range 20 { // also when it had no time to begin
		e, err := startEmbedded(t.Context(), slog.New(slog.DiscardHandler))
		testkit.OK(t, err)
		testkit.OK(t, e.close())
		if c, err := new(net.Dialer).DialContext(t.Context(), "tcp", e.Addr); err == nil {
			t.Error("the port is still open")
			c.Close()
		}
	}
}
