// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/face/desk"
)

// TestTheLedgerSaysWhoMarkedAMessage plays one message of every fate.
func TestTheLedgerSaysWhoMarkedAMessage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newScript()
	d, stop := start(t, dir, s)
	teach(s)
	until(t, d, "two lessons", func(a desk.AccountStatus) bool { return a.Important+a.Ordinary == 2 })
	messages := uint64(2)
	marks := 0
	urgent := func(n int) ingest.MarkRequest {
		t.Helper()
		s.events <- arrival(uint32(n), mail(n, "boss@example.com", fmt.Sprint("urgent thing ", n)))
		messages++
		marks++
		until(t, d, "the mark's request", func(a desk.AccountStatus) bool { return a.Messages == messages && len(s.requests()) == marks })
		return s.requests()[marks-1]
	}
	dull := func(n int, flags ...string) ingest.Place {
		t.Helper()
		a := arrival(uint32(n), mail(n, "news@example.net", "newsletter"), flags...)
		s.events <- a
		messages++
		until(t, d, "the message", func(a desk.AccountStatus) bool { return a.Messages == messages })
		return a.Place
	}
	done := func(r ingest.MarkRequest, o ingest.MarkOutcome, flags ...string) {
		s.events <- ingest.MarkResult{ID: r.ID, Place: r.Place, Outcome: o, Flags: flags}
	}
	change := func(p ingest.Place, flags ...string) {
		s.events <- ingest.FlagsChanged{Place: p, Flags: ingest.CanonicalFlags(flags)}
	}

	requests := map[int]ingest.MarkRequest{}
	for n := 10; n <= 14; n++ { // all, before any of them teaches something
		requests[n] = urgent(n)
	}
	dull(15)
	p16, p17 := dull(16, `\Seen`), dull(17, `\Seen`)
	done(requests[10], ingest.MarkDone, "$important")
	done(requests[11], ingest.MarkDone, "$important")
	change(requests[11].Place)
	done(requests[13], ingest.MarkConflict, "$important") // and 12 stays intended
	done(requests[14], ingest.MarkGone)
	change(p16, `\Seen`, "$Important")
	change(p17, `\Seen`, "$Important")
	change(p17, `\Seen`)
	own := arrival(18, []byte("From: "+owner+"\r\nMessage-ID: <m18@x>\r\n\r\nmine\r\n"))
	own.Mailbox = "Sent"
	s.events <- ingest.MailboxOpened{Mailbox: "Sent", Role: ingest.RoleSent, UIDValidity: own.UIDValidity, Keywords: true}
	s.events <- own
	until(t, d, "everything", func(a desk.AccountStatus) bool {
		return a.MarksIntended == 1 && a.MarksRefused == 1 && a.Messages == messages+1 && a.Ordinary >= 2
	})

	ctx := context.Background()
	learnt := must(t, d, desk.Label, desk.LabelRequest{Label: "ordinary", Messages: []desk.Message{{Name: "m10@x"}, {Name: "m11@x"}, {Name: "m12@x"}, {Name: "m15@x"}}})
	for i, want := range []bool{true, false, true, false} { // set, taken off, on its way, never
		if l := learnt.Lessons[i]; l.MarkChanged != want || l.Marked {
			t.Errorf("%s: its mark changed: %v, want %v; marked: %v", l.Name, l.MarkChanged, want, l.Marked)
		}
	}
	ask := func(b answerer) string {
		t.Helper()
		var out []string
		for n, want := range map[int]string{
			10: "hinged marked it: $Important in INBOX on ",
			11: "; you removed the mark on ",
			12: "and has been taking the mark back since ",
			13: "but somebody else had set it first. The mark that is on it in INBOX was set by you or by another program.",
			14: "hinged did not mark it. It tried to set $Important in INBOX on ",
			15: "hinged did not mark it: ordinary, score -",
			16: "The mark that is on it in INBOX was set by you or by another program.",
			17: "You removed a mark that hinged had not set, so hinged will never mark this message.",
			18: "hinged did not mark it: it is your own mail.",
			19: "hinged did not mark it: hinged doesn't know this message.",
		} {
			l := must(t, b, desk.GetLedger, desk.LedgerRequest{Message: fmt.Sprintf("m%d@x", n)})
			if !strings.Contains(l.Verdict, want) {
				t.Errorf("message %d: %q, want %q", n, l.Verdict, want)
			}
			if entries := map[bool]int{true: 1}[n <= 14 || n == 17]; len(l.Entries) != entries {
				t.Errorf("message %d has the entries %+v", n, l.Entries)
			}
		}
		for _, q := range []desk.LedgerRequest{{}, {Most: 2}, {State: "refused"}, {State: "abandoned"}} {
			l := must(t, b, desk.GetLedger, q)
			var states []string
			for i, e := range l.Entries {
				states = append(states, e.State)
				if i > 0 && touched(e).After(touched(l.Entries[i-1])) {
					t.Error("the entries are not the newest first")
				}
			}
			out = append(out, fmt.Sprint(len(states), " and ", l.Older, " older"))
			if q.State != "" {
				out = append(out, fmt.Sprint(states))
			}
		}
		later := time.Now().Add(time.Hour)
		l, err := do(ctx, b, desk.GetLedger, "", desk.LedgerRequest{Since: &later})
		out = append(out, fmt.Sprint(len(l.Entries), err))
		_, err = do(ctx, b, desk.GetLedger, "", desk.LedgerRequest{State: "lost"})
		out = append(out, fmt.Sprint(err))
		_, err = do(ctx, b, desk.GetLedger, "", desk.LedgerRequest{Message: "0123456789"})
		return strings.Join(append(out, fmt.Sprint(err)), "\n")
	}
	want := strings.Join([]string{
		"6 and 0 older", "2 and 4 older", "3 and 0 older", "[refused refused refused]", "2 and 0 older", "[abandoned abandoned]", "0 <nil>",
		`state "lost" is not one of intended, confirmed, abandoned, refused, undoing, undone, gone, sending, sent, unsent`,
		"no such message: 0123456789 is neither a Message-ID nor the key of a known message",
	}, "\n")
	if got := sameOnAllFaces(t, dir, d, stop, ask); got != want {
		t.Errorf("the daemon said\n%s\nwant\n%s", got, want)
	}
}

func touched(e desk.LedgerEntry) time.Time {
	if e.Settled != nil {
		return *e.Settled
	}
	return *e.Intended
}
