// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"bytes"
	"testing"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/testkit"
)

func TestArrivalsBeforeAndAfterTheStartAreReportedOnceAndNothingIsSeen(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	owner := d.Owner(t)
	mail := testkit.NewMail(1)
	var sent [][]byte
	add := func(flags ...string) uint32 {
		m := mail.Next()
		sent = append(sent, m.Raw)
		return owner.Append("INBOX", m.Raw, m.Date, flags...)
	}
	add()
	add(`\Flagged`)
	last := add()
	r := startSource(t, dovecotOptions(d))
	_, at := r.await("cursor behind the backlog", 0, cursorOf("INBOX", last+1))
	live := add("$Junk")
	_, at = r.await("live arrival", at, arrivalOf("INBOX", live))
	r.await("cursor behind it", at, cursorOf("INBOX", live+1))
	r.stop()

	i := 0
	for _, e := range r.all() {
		a, ok := e.(ingest.Arrival)
		if !ok || a.Mailbox != "INBOX" {
			continue
		}
		if i == len(sent) {
			t.Fatalf("more arrivals than messages: %v", a.Place)
		}
		if !bytes.Equal(a.Raw, sent[i]) || a.Size != int64(len(sent[i])) || a.Internal.IsZero() {
			t.Errorf("arrival %d: got %d bytes of %d at %v, want the %d sent", i, len(a.Raw), a.Size, a.Internal, len(sent[i]))
		}
		if want := a.UID != live; a.Backlog != want {
			t.Errorf("arrival %d: backlog is %v, want %v", i, a.Backlog, want)
		}
		i++
	}
	if i != len(sent) {
		t.Errorf("got %d arrivals, want %d:\n%s", i, len(sent), describeEvents(r.all()))
	}
	for _, m := range owner.All("INBOX") {
		if ingest.HasFlag(m.Flags, `\Seen`) {
			t.Errorf("UID %d became \\Seen", m.UID)
		}
	}
}

func TestMarkIsSetReadBackAndKept(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	owner := d.Owner(t)
	m := testkit.NewMail(2).Next()
	r := startSource(t, dovecotOptions(d))
	r.await("INBOX", 0, cursorOf("INBOX", 1))
	uid := owner.Append("INBOX", m.Raw, m.Date)
	e, at := r.await("arrival", 0, arrivalOf("INBOX", uid))
	r.source.Mark(ingest.MarkRequest{ID: 7, Place: e.(ingest.Arrival).Place, Flag: "$Important", Known: e.(ingest.Arrival).Flags})
	e, at = r.await("mark result", at, resultOf(7))
	if res := e.(ingest.MarkResult); res.Outcome != ingest.MarkDone || !ingest.HasFlag(res.Flags, "$Important") {
		t.Errorf("got %+v, want it done", res)
	}
	if flags, _ := owner.Flags("INBOX", uid); !ingest.HasFlag(flags, "$important") {
		t.Errorf("the owner sees flags %q, want $important", flags)
	}
	owner.Set("INBOX", uid, `\Answered`)
	e, _ = r.await("change of flags", at, flagsOf("INBOX", uid, `\answered`, "$important"))
	_ = e
	for _, e := range r.all() {
		if f, ok := e.(ingest.FlagsChanged); ok && !ingest.HasFlag(f.Flags, `\Answered`) {
			t.Errorf("our own mark came back as a change: %+v", f)
		}
	}
}
