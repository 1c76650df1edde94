// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/mail"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/testkit"
)

// fieldsOf are the fields that are read of a message, by the standard library.
func fieldsOf(t *testing.T, raw []byte) [3]string {
	t.Helper()
	m, err := mail.ReadMessage(io.MultiReader(bytes.NewReader(raw), strings.NewReader("\r\n\r\n")))
	if err != nil {
		t.Fatalf("%v in %q", err, raw)
	}
	for name := range m.Header {
		if !slices.Contains([]string{"Subject", "From", "To", "Cc", "Message-Id"}, name) {
			t.Errorf("%s came, want Subject, From, To, Cc and Message-ID alone", name)
		}
	}
	return [3]string{m.Header.Get("Subject"), m.Header.Get("From"), m.Header.Get("Message-Id")}
}

// sentFields are those of a message as it was sent.
func sentFields(t *testing.T, raw []byte) [3]string {
	t.Helper()
	m, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return [3]string{m.Header.Get("Subject"), m.Header.Get("From"), m.Header.Get("Message-Id")}
}

// headers asks until all is there that can be.
func headers(t *testing.T, r *running, places ...ingest.Place) map[ingest.Place][]byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	found, err := r.source.Headers(ctx, places)
	if err != nil {
		t.Fatalf("Headers: %v", err)
	}
	return found
}

func TestHeadersAreThoseOfTheMessagesAndChangeNothing(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	p := testkit.StartProxy(t, d.Addr)
	owner := d.Owner(t)
	mail := testkit.NewMail(3)
	want := map[ingest.Place][3]string{}
	var places []ingest.Place
	for i := range 210 {
		m, box := mail.Next(), "INBOX"
		if i >= 200 {
			box = "Archive"
		}
		uid := owner.Append(box, m.Raw, m.Date)
		place := ingest.Place{Mailbox: box, UID: uid}
		places = append(places, place)
		want[place] = sentFields(t, m.Raw)
	}
	inbox, archive := owner.Select("INBOX"), owner.Select("Archive")
	byPlace := map[ingest.Place][3]string{}
	for i, at := range places {
		places[i].UIDValidity = inbox
		if at.Mailbox == "Archive" {
			places[i].UIDValidity = archive
		}
		byPlace[places[i]] = want[at]
	}
	o := dovecotOptions(d)
	o.Address = p.Addr
	r := startSource(t, o)
	awaitConnected(t, r)
	all := func() string { return fmt.Sprint(owner.All("INBOX"), owner.All("Archive")) }
	before, seq := all(), owner.ModSeq("INBOX")
	commands := p.Commands()

	found := headers(t, r, places...)
	if len(found) != len(places) {
		t.Errorf("got %d headers, want %d", len(found), len(places))
	}
	for at, raw := range found {
		if got := fieldsOf(t, raw); got != byPlace[at] {
			t.Errorf("%v: got %q, want %q", at, got, byPlace[at])
		}
	}
	if after := all(); after != before {
		t.Errorf("flags changed from\n%s\nto\n%s", before, after)
	}
	if after := owner.ModSeq("INBOX"); after != seq {
		t.Errorf("the last change of INBOX was %d, now it is %d", seq, after)
	}
	now := p.Commands()
	if got := now["AUTHENTICATE"] - commands["AUTHENTICATE"]; got != 1 {
		t.Errorf("%d logins for the headers, want 1", got)
	}
	if got := now["FETCH"] - commands["FETCH"]; got != 2 {
		t.Errorf("%d FETCH commands for 210 headers in two mailboxes, want 2", got)
	}
	if again := headers(t, r, places...); len(again) != len(places) || p.Commands()["FETCH"] != now["FETCH"] {
		t.Errorf("asked again, %d headers came with %d more commands; want all of them with none", len(again), p.Commands()["FETCH"]-now["FETCH"])
	}
}

func TestHeadersOfWhatIsNotThereAnyMoreAreMissing(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	owner := d.Owner(t)
	mail := testkit.NewMail(4)
	add := func(box string) ingest.Place {
		m := mail.Next()
		uid := owner.Append(box, m.Raw, m.Date)
		return ingest.Place{Mailbox: box, UIDValidity: owner.Select(box), UID: uid}
	}
	stays, moved, deleted := add("INBOX"), add("INBOX"), add("INBOX")
	owner.Create("Projects")
	renewed := add("Projects")
	r := startSource(t, dovecotOptions(d))
	awaitConnected(t, r)
	owner.Move("INBOX", moved.UID, "Archive")
	owner.Expunge("INBOX", deleted.UID)
	owner.Select("INBOX")
	owner.Delete("Projects")
	nowhere := ingest.Place{Mailbox: "Nowhere", UIDValidity: 1, UID: 1}
	if found := headers(t, r, renewed, stays); len(found) != 1 || found[stays] == nil {
		t.Errorf("with the mailbox deleted: got %d headers, want that of %v alone", len(found), stays)
	}
	// Another message under the same name and number.
	owner.Create("Projects")
	again := add("Projects")
	if again.UID != renewed.UID || again.UIDValidity == renewed.UIDValidity {
		t.Fatalf("the server gave %v after %v; want the same UID under another UIDVALIDITY", again, renewed)
	}
	found := headers(t, r, stays, moved, deleted, renewed, nowhere, ingest.Place{Mailbox: "INBOX", UIDValidity: stays.UIDValidity}, ingest.Place{})
	if len(found) != 1 || found[stays] == nil {
		t.Errorf("got headers of %d messages, want that of %v alone", len(found), stays)
	}
	if found := headers(t, r, again); len(found) != 1 {
		t.Error("the new message has no header")
	}
}

func TestTheConnectionForHeadersIsKeptForAWhileAndThenClosed(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	p := testkit.StartProxy(t, d.Addr)
	owner := d.Owner(t)
	mail := testkit.NewMail(5)
	var places []ingest.Place
	for range 3 {
		m := mail.Next()
		places = append(places, ingest.Place{Mailbox: "INBOX", UID: owner.Append("INBOX", m.Raw, m.Date)})
	}
	validity := owner.Select("INBOX")
	for i := range places {
		places[i].UIDValidity = validity
	}
	o := dovecotOptions(d)
	o.Address = p.Addr
	o.linger = 300 * time.Millisecond
	r := startSource(t, o)
	awaitConnected(t, r)
	watching := p.Commands()["AUTHENTICATE"]
	headers(t, r, places[0])
	headers(t, r, places[1])
	testkit.Until(t, func() bool { return p.Commands()["LOGOUT"] > 0 }, "no LOGOUT came")
	if found := headers(t, r, places[2]); len(found) != 1 {
		t.Error("after the logout no header came")
	}
	if got := p.Commands()["AUTHENTICATE"] - watching; got > 3 || got < 2 { // a slow machine may need one for each
		t.Errorf("%d logins for three requests of which two came together", got)
	}
	r.stop()
	if _, err := r.source.Headers(t.Context(), places); err == nil || !strings.Contains(err.Error(), "not connected") {
		t.Errorf("after the end of Run: got error %v, want that it is not connected", err)
	}
	if found, _ := r.source.headers.get(places); len(found) > 0 {
		t.Errorf("%d headers are still in memory after the end of Run", len(found))
	}
}

func TestHeadersOfADeadConnectionComeOverANewOne(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	p := testkit.StartProxy(t, d.Addr)
	owner := d.Owner(t)
	m := testkit.NewMail(6).Next()
	at := ingest.Place{Mailbox: "INBOX", UID: owner.Append("INBOX", m.Raw, m.Date)}
	at.UIDValidity = owner.Select("INBOX")
	o := dovecotOptions(d)
	o.Address = p.Addr
	r := startSource(t, o)
	awaitConnected(t, r)
	headers(t, r, at)
	r.source.headers.clear()
	p.Freeze() // the server is mute: what is there is given, and why there is no more
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	found, err := r.source.Headers(ctx, []ingest.Place{at})
	if err == nil || len(found) != 0 {
		t.Errorf("of a mute server: %d headers and error %v", len(found), err)
	}
	p.Thaw()
	awaitHeader(t, r, at)
	r.source.headers.clear()
	p.Bye("restarting")
	awaitHeader(t, r, at)
}

// awaitHeader asks for a header until it is there.
func awaitHeader(t *testing.T, r *running, at ingest.Place) {
	t.Helper()
	testkit.Until(t, func() bool {
		found, err := r.source.Headers(t.Context(), []ingest.Place{at})
		return err == nil && len(found) == 1
	}, "no header came any more")
}

// TestHeadersNeverHammerAServer asks again and again while the server refuses the login of
// the third connection, or hangs up on it.
func TestHeadersNeverHammerAServer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, words string
		handle      func(*testkit.FakeConn, testkit.FakeCommand) bool
	}{
		{"a refused login", "the next attempt is in", func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
			if c.N > 2 && cmd.Name == "AUTHENTICATE" {
				c.Line("%s NO [AUTHENTICATIONFAILED] no", cmd.Tag)
				return true
			}
			return false
		}},
		{"a closed connection", "closed the connection", func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
			if c.N > 2 {
				c.Close()
				return true
			}
			return false
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := testkit.StartFake(t, func(f *testkit.Fake) { f.Handle = test.handle })
			uid := f.Add("Subject: quiet\r\nFrom: a@example.org\r\nMessage-ID: <1@example.org>\r\n\r\nhello", "")
			o := only(f)
			o.AuthBackoffMin, o.AuthBackoffMax, o.BackoffMin, o.BackoffMax = time.Hour, time.Hour, time.Hour, time.Hour
			r := startSource(t, o)
			awaitConnected(t, r)
			at := ingest.Place{Mailbox: "INBOX", UIDValidity: 1, UID: uid}
			for range 20 {
				found, err := r.source.Headers(t.Context(), []ingest.Place{at})
				if err == nil || !strings.Contains(err.Error(), test.words) || len(found) > 0 {
					t.Fatalf("got %d headers and error %v, want none and %q", len(found), err, test.words)
				}
			}
			if n := f.Connections(); n != 3 {
				t.Errorf("20 requests made %d connections, want 3: two that watch and one attempt", n)
			}
		})
	}
}

func TestHeadersRespectTheLimitOfLogins(t *testing.T) {
	t.Parallel()
	var log testkit.Transcript
	f := testkit.StartFake(t, nil)
	o := only(f)
	o.LoginEvery, o.linger = time.Hour, time.Millisecond
	o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for i := range 2 {
		f.Add(fmt.Sprintf("Subject: quiet harbour\r\nFrom: secret.friend@example.org\r\nMessage-ID: <%d@example.org>\r\n\r\nhello", i), "")
	}
	r := startSource(t, o)
	awaitConnected(t, r)
	place := func(uid uint32) ingest.Place { return ingest.Place{Mailbox: "INBOX", UIDValidity: 1, UID: uid} }
	found := headers(t, r, place(1))
	if got := fieldsOf(t, found[place(1)]); got != [3]string{"quiet harbour", "secret.friend@example.org", "<0@example.org>"} {
		t.Errorf("the header is %q", got)
	}
	testkit.Until(t, func() bool {
		r.source.headers.clear()
		_, err := r.source.Headers(t.Context(), []ingest.Place{place(2)})
		return err != nil && strings.Contains(err.Error(), "often enough")
	}, "a fourth login within the hour was not refused")
	if n := f.Connections(); n != 3 {
		t.Errorf("%d connections, want 3", n)
	}
	r.stop()
	for _, words := range []string{"quiet harbour", "secret.friend"} {
		if log.Has(words) {
			t.Errorf("%q is in the log", words)
		}
	}
}

func TestHeaderCacheKeepsToItsBound(t *testing.T) {
	t.Parallel()
	var c headerCache
	const half = cacheBytes/2 - 1000
	at := func(uid uint32) ingest.Place { return ingest.Place{Mailbox: "INBOX", UIDValidity: 1, UID: uid} }
	for uid := range uint32(3) {
		c.put(at(uid), make([]byte, half))
		found, missing := c.get([]ingest.Place{at(0), at(1), at(2)})
		if want := []int{1, 2, 1}[uid]; len(found) != want || len(missing) != 3-want || len(found[at(uid)]) != half {
			t.Errorf("after %d it has %d, and %d are missing", uid, len(found), len(missing))
		}
	}
	c.clear()
	if found, _ := c.get([]ingest.Place{at(2)}); len(found) > 0 {
		t.Error("cleared, it has a header")
	}
}
