// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/testkit"
)

// oldMail fills a server's mailboxes so that the order of arrival is neither that
// of UIDs nor that of mailboxes, and returns the texts in order of arrival.
func oldMail(owner *testkit.Owner, n int) (texts [][]byte, dates []time.Time) {
	mail := testkit.NewMail(6)
	boxes := []string{"INBOX", "Trash", "INBOX", "Sent", "Archive", "INBOX", "Junk"}
	type message struct {
		raw  []byte
		date time.Time
		box  string
	}
	var all []message
	for i := range n {
		m := mail.Next()
		all = append(all, message{m.Raw, m.Date.Truncate(time.Second), boxes[i%len(boxes)]})
		texts, dates = append(texts, m.Raw), append(dates, m.Date)
	}
	// Appended in another order: every third one late.
	for pass := range 2 {
		for i, m := range all {
			if (i%3 == 0) == (pass == 1) {
				owner.Append(m.box, m.raw, m.date, []string{`\Answered`, `\Flagged`, `\Seen`, "$Junk"}[i%4])
			}
		}
	}
	return texts, dates
}

// readPast runs a History to its end, or until stop says so after an arrival.
func readPast(t *testing.T, o Options, h HistoryOptions, known []ingest.Known, stop func(arrivals int) bool) (*recorder, *History) {
	t.Helper()
	src, err := NewHistory(o, h, known)
	if err != nil {
		t.Fatal(err)
	}
	r := newRecorder(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	n := 0
	err = src.Run(ctx, func(ctx context.Context, e ingest.Event) error {
		if err := r.emit(ctx, e); err != nil {
			return err
		}
		if _, ok := e.(ingest.Arrival); ok {
			if n++; stop != nil && stop(n) {
				cancel()
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("Run returned %v", err)
	}
	if stop == nil && !src.Complete() {
		t.Fatal("it ended without an error and is not complete")
	}
	return r, src
}

func arrivals(events []ingest.Event) (out []ingest.Arrival) {
	for _, e := range events {
		if a, ok := e.(ingest.Arrival); ok {
			out = append(out, a)
		}
	}
	return out
}

func wantTexts(t *testing.T, what string, got []ingest.Arrival, want [][]byte) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d arrivals, want %d", what, len(got), len(want))
	}
	for i, a := range got {
		if !bytes.Equal(a.Raw, want[i]) {
			t.Fatalf("%s: arrival %d is %v of %v, not the message that arrived as number %d", what, i, a.Place, a.Internal, i)
		}
		if !a.Backlog {
			t.Errorf("%s: arrival %d is no backlog", what, i)
		}
	}
}

func TestThePastIsReadInOrderOfArrivalAndTheSourceGoesOnFromThere(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	owner := d.Owner(t)
	texts, dates := oldMail(owner, 60)
	proxy := testkit.StartProxy(t, d.Addr)
	o := dovecotOptions(d)
	o.Address = proxy.Addr
	o.chunk = 7
	const old = 12
	r, src := readPast(t, o, HistoryOptions{Since: dates[old].Truncate(time.Second)}, nil, nil)
	wantTexts(t, "the past", arrivals(r.all()), texts[old:])
	if done, total := src.Progress(); done != 60-old || total != 60-old {
		t.Errorf("progress is %d of %d, want %d of both", done, total, 60-old)
	}
	skipped := 0
	for _, e := range r.all() {
		if s, ok := e.(ingest.Skipped); ok {
			skipped += len(s.UIDs)
			if !s.Before.Equal(dates[old].Truncate(time.Second)) || !slices.IsSorted(s.UIDs) {
				t.Errorf("skipped %+v", s)
			}
		}
	}
	if skipped != old {
		t.Errorf("%d messages were said to be skipped, want %d", skipped, old)
	}
	said := proxy.Commands()
	for _, word := range []string{"SELECT", "STORE", "COPY", "MOVE", "APPEND", "EXPUNGE", "CLOSE", "CREATE"} {
		if said[word] != 0 {
			t.Errorf("%d times %s on the wire", said[word], word)
		}
	}
	if said["EXAMINE"] < 6 || said["FETCH"] < 6 {
		t.Errorf("the proxy heard only %v", said)
	}
	for _, m := range owner.All("INBOX") {
		if ingest.HasFlag(m.Flags, `\Recent`) {
			t.Errorf("UID %d became recent", m.UID)
		}
	}

	// Read again, there is nothing.
	store := remember(nil, r.all())
	again, _ := readPast(t, o, HistoryOptions{}, store, nil)
	if got := arrivals(again.all()); len(got) != 0 {
		t.Errorf("%d arrivals when read again", len(got))
	}

	// The source goes on: neither the messages nor those left out are reported,
	// what is new is.
	o.Address = d.Addr
	live := startSource(t, o, store...)
	awaitConnected(t, live)
	uid := owner.Append("INBOX", texts[0], time.Now())
	e, _ := live.await("the new message", 0, arrivalOf("INBOX", uid))
	if e.(ingest.Arrival).Backlog {
		t.Error("the new message is backlog")
	}
	first := skippedIn(r.all(), "INBOX")
	owner.Set("INBOX", first, "$Muted")
	live.await("the flags of a message left out", 0, func(e ingest.Event) bool {
		f, ok := e.(ingest.FlagsChanged)
		return ok && f.UID == first && ingest.HasFlag(f.Flags, "$Muted")
	})
	live.stop()
	for _, e := range live.all() {
		switch e := e.(type) {
		case ingest.Arrival:
			if e.UID != uid {
				t.Errorf("the source reported %v", e.Place)
			}
		case ingest.FlagsChanged:
			if e.UID != first {
				t.Errorf("the source reported the flags %q of %v", e.Flags, e.Place)
			}
		case ingest.Vanished:
			t.Errorf("vanished: %v", e.UIDs)
		}
	}
}

// remember is known, and what it skipped too.
func remember(start []ingest.Known, events []ingest.Event) []ingest.Known {
	out := known(start, events)
	for _, e := range events {
		if s, ok := e.(ingest.Skipped); ok {
			for _, k := range out {
				for _, uid := range s.UIDs {
					if k.Mailbox == s.Mailbox {
						k.Flags[uid] = s.Flags
					}
				}
			}
		}
	}
	return out
}

func skippedIn(events []ingest.Event, mailbox string) uint32 {
	for _, e := range events {
		if s, ok := e.(ingest.Skipped); ok && s.Mailbox == mailbox {
			return s.UIDs[0]
		}
	}
	return 0
}

func TestTheNewestSoManyAreRead(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	texts, _ := oldMail(d.Owner(t), 40)
	r, _ := readPast(t, dovecotOptions(d), HistoryOptions{Max: 15}, nil, nil)
	wantTexts(t, "the newest", arrivals(r.all()), texts[25:])
}

// Ended anywhere and called again, also with new mail in between, the past is
// reported once and in order, and it ends where it did.
func TestThePastGoesOnWhereItWasEnded(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	owner := d.Owner(t)
	texts, _ := oldMail(owner, 60)
	o := dovecotOptions(d)
	o.chunk = 5
	var store []ingest.Known
	var got []ingest.Arrival
	for i := 0; ; i++ {
		r, src := readPast(t, o, HistoryOptions{}, store, func(n int) bool { return n == 11 })
		store = remember(store, r.all())
		got = append(got, arrivals(r.all())...)
		owner.Append("INBOX", fmt.Appendf(nil, "Subject: new %d\r\n\r\n", i), time.Now())
		if src.Complete() {
			break
		}
		if i > 10 {
			t.Fatal("it never ends")
		}
	}
	wantTexts(t, "in pieces", got, texts)
	live := startSource(t, o, store...)
	for i := range 6 {
		live.await("new mail", 0, func(e ingest.Event) bool {
			a, ok := e.(ingest.Arrival)
			return ok && !a.Backlog && bytes.Contains(a.Raw, fmt.Appendf(nil, "new %d\r", i))
		})
	}
	live.stop()
	if n := len(arrivals(live.all())); n != 6 {
		t.Errorf("the source reported %d messages, want the 6 new ones", n)
	}
}

func TestThePastIsReadOverCutConnections(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	texts, _ := oldMail(d.Owner(t), 80)
	proxy := testkit.StartProxy(t, d.Addr)
	o := dovecotOptions(d)
	o.Address, o.chunk = proxy.Addr, 6
	src, err := NewHistory(o, HistoryOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := newRecorder(t)
	n := 0
	err = src.Run(t.Context(), func(ctx context.Context, e ingest.Event) error {
		if _, ok := e.(ingest.Arrival); ok {
			if n++; n%9 == 0 {
				proxy.CutAfter(int64(500 * n))
			}
		}
		return r.emit(ctx, e)
	})
	if err != nil || !src.Complete() {
		t.Fatalf("Run returned %v, complete is %v", err, src.Complete())
	}
	if proxy.Cuts() < 3 {
		t.Errorf("only %d cuts", proxy.Cuts())
	}
	wantTexts(t, "over cut connections", arrivals(r.all()), texts)
}

func TestThePastIsNotWaitedForWhenNobodyAnswers(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	run := func(o Options) error {
		src, err := NewHistory(o, HistoryOptions{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return src.Run(t.Context(), newRecorder(t).emit)
	}
	o := dovecotOptions(d)
	o.Password = func(context.Context) (string, error) { return "wrong", nil }
	if err := run(o); !errors.Is(err, ErrRefused) {
		t.Errorf("with a wrong password: %v", err)
	}
	o = dovecotOptions(d)
	o.Address = "127.0.0.1:1"
	if err := run(o); err == nil || !strings.Contains(err.Error(), "connect to 127.0.0.1:1") {
		t.Errorf("without a server: %v", err)
	}
	if _, err := NewHistory(dovecotOptions(d), HistoryOptions{Max: -1}, nil); err == nil {
		t.Error("a negative number of messages was taken")
	}
	gone := errors.New("the receiver is gone")
	src, err := NewHistory(dovecotOptions(d), HistoryOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := src.Run(t.Context(), func(context.Context, ingest.Event) error { return gone }); !errors.Is(err, gone) {
		t.Errorf("when nobody takes its events: %v", err)
	}
}

func TestAMessageThatBreaksConnectionsDoesNotHoldUpThePast(t *testing.T) {
	t.Parallel()
	overBadMessage(t, func(t *testing.T, o Options) []ingest.Arrival {
		r, _ := readPast(t, o, HistoryOptions{}, nil, nil)
		past := arrivals(r.all())
		for _, a := range past {
			if a.Internal.IsZero() {
				t.Errorf("UID %d has no date: it would count as of now", a.UID)
			}
		}
		return past
	})
}
