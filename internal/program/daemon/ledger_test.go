// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/run/stream"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// TestTheLedgerSaysWhoMarkedAMessage plays one message of every fate.
func TestTheLedgerSaysWhoMarkedAMessage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, s, stop := began(t, dir)
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

// TestOneMarkCanBeTakenBack asks for the mark of one message back, by its number in the
// ledger and by its message; all others stay.
func TestOneMarkCanBeTakenBack(t *testing.T) {
	t.Parallel()
	s := newScript()
	s.onMark = func(r ingest.MarkRequest) {
		done := ingest.MarkResult{ID: r.ID, Place: r.Place, Clear: r.Clear, Outcome: ingest.MarkDone}
		if !r.Clear {
			done.Flags = []string{"$important"}
		}
		s.events <- done
	}
	d, _ := start(t, t.TempDir(), s)
	teach(s)
	for n := 3; n <= 5; n++ {
		s.events <- arrival(uint32(n), mail(n, "boss@example.com", fmt.Sprint("urgent thing ", n)))
	}
	until(t, d, "three marks", func(a desk.AccountStatus) bool { return a.MarksConfirmed == 3 })
	ctx := t.Context()
	undo := func(q desk.UndoMarksRequest) desk.UndoneMarks {
		t.Helper()
		return must(t, d, desk.UndoMarks, q)
	}
	confirmed := func() (out []uint64) {
		t.Helper()
		l := must(t, d, desk.GetLedger, desk.LedgerRequest{State: "confirmed"})
		for _, e := range l.Entries {
			out = append(out, e.Number)
		}
		slices.Sort(out)
		return out
	}
	all := confirmed()
	if len(all) != 3 {
		t.Fatalf("confirmed: %v, want three", all)
	}

	if u := undo(desk.UndoMarksRequest{Numbers: all[1:2], DryRun: true}); u.Undone != 1 || u.Marks[0].Number != all[1] {
		t.Errorf("the dry run says %+v", u)
	}
	if got := confirmed(); len(got) != 3 {
		t.Errorf("the dry run changed something: %v", got)
	}
	if u := undo(desk.UndoMarksRequest{Numbers: all[1:2]}); u.Undone != 1 || len(u.Marks) != 1 {
		t.Errorf("undo said %+v", u)
	}
	if got := confirmed(); !slices.Equal(got, []uint64{all[0], all[2]}) {
		t.Errorf("confirmed after undo of %d: %v", all[1], got)
	}
	if u := undo(desk.UndoMarksRequest{Numbers: all[1:2]}); len(u.Marks) != 0 {
		t.Errorf("undone again: %+v", u)
	}
	// Another message has the Message-ID of the third: a key means its own message alone.
	twin := mail(5, "crook@example.net", "another text")
	s.events <- arrival(6, twin)
	key, err := desk.KeyOf(twin, len(twin))
	testkit.OK(t, err)
	until(t, d, "the other message", func(desk.AccountStatus) bool {
		_, err := do(ctx, d, desk.GetLedger, "", desk.LedgerRequest{Message: key[:8]})
		return err == nil
	})
	if u := undo(desk.UndoMarksRequest{Message: key}); len(u.Marks) != 0 {
		t.Errorf("undo by the key of an unmarked message said %+v", u)
	}
	if l, err := do(ctx, d, desk.GetLedger, "", desk.LedgerRequest{Message: key}); err != nil || len(l.Entries) > 0 || !strings.Contains(l.Verdict, "did not mark it") {
		t.Errorf("the ledger says of an unmarked message %+v, %v", l, err)
	}
	if u := undo(desk.UndoMarksRequest{Message: "m5@x"}); u.Undone != 1 || len(u.Marks) != 1 || u.Marks[0].Number != all[2] {
		t.Errorf("undo of a message said %+v", u)
	}
	// A message without marks has none to take back, and that is not all of them.
	if u := undo(desk.UndoMarksRequest{Message: "m2@x"}); len(u.Marks) != 0 {
		t.Errorf("undo of a message without marks said %+v", u)
	}
	if u := undo(desk.UndoMarksRequest{Message: "m5@x", Numbers: all[:1]}); len(u.Marks) != 0 {
		t.Errorf("undo of a message and of another's entry said %+v", u)
	}
	if got := confirmed(); !slices.Equal(got, all[:1]) {
		t.Errorf("confirmed at the end: %v, want %v", got, all[:1])
	}
	if _, err := do(ctx, d, desk.UndoMarks, "", desk.UndoMarksRequest{Numbers: []uint64{99}}); !errors.Is(err, desk.ErrNoEntry) {
		t.Errorf("an entry that is not there: %v", err)
	}
	if _, err := do(ctx, d, desk.UndoMarks, "", desk.UndoMarksRequest{Message: "0123456789"}); !errors.Is(err, desk.ErrNoMessage) {
		t.Errorf("a message that is not known: %v", err)
	}
	sound(t, d)
}

// taken is a store without a daemon of which another process has the file by the time
// that it is to be scrubbed.
type taken struct{ *StoreHost }

func (t taken) Store(write bool, fn func(*boltfile.Store, *stream.Files) error) error {
	if write {
		return store.ErrRunning
	}
	return t.StoreHost.Store(write, fn)
}

// taughtStore returns the store, and its path, of a daemon that has learnt and stopped.
func taughtStore(t *testing.T) (h *StoreHost, path string) {
	t.Helper()
	dir := t.TempDir()
	d, s, stop := began(t, dir)
	teach(s)
	until(t, d, "both lessons", func(a desk.AccountStatus) bool { return a.Messages == 2 })
	stop()
	path = filepath.Join(dir, "store.db")
	h, err := OpenStore(path, "test", boltfile.Options{NoSync: true})
	testkit.OK(t, err)
	return h, path
}

// What is forgotten is forgotten, also if its traces must stay in the file for now.
func TestForgettingIsDoneWhetherOrNotTheFileCanBeScrubbed(t *testing.T) {
	t.Parallel()
	h, _ := taughtStore(t)
	defer h.Close()
	q := desk.ForgetRequest{Sender: "boss@example.com"}
	got, err := desk.Forget.Do(context.Background(), taken{h}, "me", q)
	if err != nil || got.Messages != 1 || got.Scrubbed || got.Why != store.ErrRunning.Error() {
		t.Errorf("got %+v, %v; want one message forgotten, and why it is not scrubbed", got, err)
	}
	got, err = desk.Forget.Do(context.Background(), h, "me", q)
	if err != nil || got.Messages != 0 || !got.Scrubbed || got.Why != "" {
		t.Errorf("again: got %+v, %v; want nothing left to forget, and a scrubbed file", got, err)
	}
}

// A verb that writes twice, as forgetting does to scrub, opens the file once, sees what it
// wrote, and leaves the file to others when it ends.
func TestAStoreIsOpenedForWritingOnce(t *testing.T) {
	t.Parallel()
	h, path := taughtStore(t)
	var opened []*boltfile.Store
	testkit.OK(t, h.Store(true, func(s *boltfile.Store, _ *stream.Files) error { opened = append(opened, s); return nil }))
	before := time.Now().Add(1000 * time.Hour)
	if out, err := do(t.Context(), h, desk.Forget, "", desk.ForgetRequest{Before: &before}); err != nil || out.Messages != 2 || !out.Scrubbed {
		t.Fatalf("forgetting: %+v, %v", out, err)
	}
	testkit.OK(t, h.Store(true, func(s *boltfile.Store, _ *stream.Files) error { opened = append(opened, s); return nil }))
	if opened[0] != opened[1] {
		t.Error("the file was opened for writing twice")
	}
	if out, err := do(t.Context(), h, desk.Forget, "", desk.ForgetRequest{Before: &before, DryRun: true}); err != nil || out.Messages != 0 {
		t.Errorf("looking after that: %+v, %v", out, err)
	}
	testkit.OK(t, h.Close())
	again, err := boltfile.Open(path, boltfile.Options{NoSync: true})
	if err != nil {
		t.Fatalf("after the verb: %v", err)
	}
	testkit.OK(t, again.Close())
}

// TestAStarThatIsTakenBackIsUnlearnt: in the store, too, and a replay of the journal gives it.
func TestAStarThatIsTakenBackIsUnlearnt(t *testing.T) {
	t.Parallel()
	s := newScript()
	dir := t.TempDir()
	d, stop := start(t, dir, s)
	teach(s)
	var places []ingest.Place
	for n := range 4 {
		a := arrival(uint32(10+n), mail(10+n, "ann@example.org", "watches offer"))
		places = append(places, a.Place)
		s.events <- a
	}
	model := func() string {
		var of string
		testkit.OK(t, d.all()[0].Look(t.Context(), func(d *desk.Desk) error { of, _ = store.Digest(d.Filter.State()); return nil }))
		return of
	}
	until(t, d, "the mail", func(a desk.AccountStatus) bool { return a.Messages == 6 && a.Important == 1 })
	before := model()
	for _, p := range places {
		s.events <- ingest.FlagsChanged{Place: p, Flags: []string{`\flagged`}}
	}
	until(t, d, "the stars", func(a desk.AccountStatus) bool { return a.Important == 5 })
	if model() == before {
		t.Error("the stars taught nothing")
	}
	for _, p := range places {
		s.events <- ingest.FlagsChanged{Place: p}
	}
	until(t, d, "them gone", func(a desk.AccountStatus) bool { return a.Important == 1 && a.Pending == 0 })
	if after := model(); after != before {
		t.Errorf("the model is %s, want %s", after, before)
	}
	sound(t, d)
	stop()
	file, err := boltfile.Open(dir+"/store.db", boltfile.Options{})
	testkit.OK(t, err)
	defer file.Close()
	st, err := file.Load("me")
	testkit.OK(t, err)
	if after, _ := store.Digest(st); after != before {
		t.Errorf("the store has the model %s, want %s", after, before)
	}
}
