// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

const owner = "owner@example.org"

// script is a source that plays what a test tells it and carries out marks on a
// mailbox of its own.
type script struct {
	mu     sync.Mutex
	events chan ingest.Event
	marked []ingest.MarkRequest
	onMark func(ingest.MarkRequest)
	known  []ingest.Known
	fail   error
}

func newScript() *script { return &script{events: make(chan ingest.Event, 10000)} }

func (s *script) Run(ctx context.Context, emit ingest.Emit) error {
	if s.fail != nil {
		return s.fail
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, open := <-s.events:
			if !open {
				<-ctx.Done()
				return nil
			}
			if err := emit(ctx, e); err != nil {
				return nil //nolint:nilerr // emit fails only when ctx is done
			}
		}
	}
}

func (s *script) Mark(requests ...ingest.MarkRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range requests {
		s.marked = append(s.marked, r)
		if s.onMark != nil {
			s.onMark(r)
		}
	}
}

func (s *script) Status() ingest.Status { return ingest.Status{Connected: true} }

func (s *script) requests() []ingest.MarkRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]ingest.MarkRequest(nil), s.marked...)
}

func mail(n int, from, words string) []byte {
	return fmt.Appendf(nil, "From: %s\r\nTo: %s\r\nSubject: %s\r\nMessage-ID: <m%d@x>\r\n\r\nAbout %s, number %d.\r\n", from, owner, words, n, words, n)
}

// arrival is a message that came an hour ago. One with a star or junk was there before us, so that
// those are the owner's word.
func arrival(uid uint32, raw []byte, flags ...string) ingest.Arrival {
	return ingest.Arrival{
		Backlog: slices.ContainsFunc(flags, func(f string) bool { return f == `\Flagged` || f == "$Junk" }),
		Place:   ingest.Place{Mailbox: "INBOX", UIDValidity: 1, UID: uid}, Internal: time.Now().Add(-time.Hour),
		Raw: raw, Size: int64(len(raw)), Flags: ingest.CanonicalFlags(flags),
	}
}

var opened = ingest.MailboxOpened{Mailbox: "INBOX", Role: ingest.RoleInbox, UIDValidity: 1, Keywords: true}

func testOptions() filter.Options {
	o := filter.DefaultOptions()
	o.Featurize.Owner = []string{owner}
	o.Settle, o.Shadow = 0, filter.ShadowOff
	o.Threshold = filter.Threshold{Mode: filter.ModeFixed}
	return o
}

// options are those of a daemon with its store and its socket in dir.
func options(dir string, accounts ...AccountOptions) Options {
	return Options{
		StorePath: filepath.Join(dir, "store.db"), Socket: filepath.Join(dir, "s"), Version: "test",
		Store: boltfile.Options{NoSync: true}, Accounts: accounts,
	}
}

// from are the options of an account with a source, which is told what is known if it wants to be.
func from(name string, o filter.Options, s ingest.Source) AccountOptions {
	return AccountOptions{Name: name, Filter: o, NewSource: func(known []ingest.Known) (ingest.Source, error) {
		switch s := s.(type) {
		case *script:
			s.known = known
		case *server:
			s.known = known
		}
		return s, nil
	}}
}

// launch runs a daemon until the test ends or stop is called. It must end well, unless mayFail
// points at an error by then.
func launch(tb testing.TB, o Options, mayFail *error) (d *Daemon, stop func()) {
	tb.Helper()
	d, err := New(o)
	testkit.OK(tb, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil && (mayFail == nil || *mayFail == nil) {
			tb.Errorf("Run: %v", err)
		}
		if err := d.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	tb.Cleanup(stop)
	return d, stop
}

// start launches a daemon over one scripted account.
func start(t *testing.T, dir string, s *script) (d *Daemon, stop func()) {
	t.Helper()
	return launch(t, options(dir, from("me", testOptions(), s)), &s.fail)
}

// began launches a daemon over one account, whose script is yet to be written.
func began(t *testing.T, dir string) (d *Daemon, s *script, stop func()) {
	t.Helper()
	s = newScript()
	d, stop = start(t, dir, s)
	return d, s, stop
}

// stored opens the store that a daemon has left, until the test ends.
func stored(t *testing.T, dir string) *StoreHost {
	t.Helper()
	h, err := OpenStore(filepath.Join(dir, "store.db"), "test", boltfile.Options{NoSync: true})
	testkit.OK(t, err)
	t.Cleanup(func() { testkit.OK(t, h.Close()) })
	return h
}

// dialled is a client of the daemon in dir, until the test ends.
func dialled(t *testing.T, dir string) *control.At {
	t.Helper()
	c, err := control.Dial(t.Context(), filepath.Join(dir, "s"))
	testkit.OK(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// await looks until it sees what is wanted.
func await(tb testing.TB, what string, look func() (saw any, ok bool)) {
	tb.Helper()
	for began := time.Now(); ; testkit.Pause(began) {
		saw, ok := look()
		if ok {
			return
		}
		if time.Since(began) > patience {
			tb.Fatalf("never saw %s, but %+v", what, saw)
		}
	}
}

// patience is how long a test waits for what must come, on the slowest machine.
const patience = 2 * time.Minute

// until waits for the status of the only account to satisfy ok.
func until(t *testing.T, d answerer, what string, ok func(desk.AccountStatus) bool) (got desk.AccountStatus) {
	t.Helper()
	await(t, what, func() (any, bool) {
		s := must(t, d, desk.GetStatus, desk.None{})
		if len(s.Accounts) != 1 {
			return s, false
		}
		got = s.Accounts[0]
		return got, ok(got)
	})
	return got
}

// sound demands that the state is what the journal gives.
func sound(t *testing.T, b answerer) {
	t.Helper()
	if v := must(t, b, desk.Verify, desk.VerifyRequest{}); !v.OK {
		t.Errorf("verify: %+v", v)
	}
}

func teach(s *script) {
	s.events <- opened
	// Ordinary first: after an important label alone, whatever comes is important.
	s.events <- arrival(2, mail(2, "news@example.net", "newsletter"), "$Junk")
	s.events <- arrival(1, mail(1, "boss@example.com", "urgent matter"), `\Flagged`)
}

func TestAMarkIsRequestedOnlyAfterItsIntentIsCommitted(t *testing.T) {
	t.Parallel()
	s := newScript()
	var d *Daemon
	committed := make(chan error, 1)
	s.onMark = func(r ingest.MarkRequest) {
		// In the writer goroutine: the store must know the intent already.
		st, err := d.store.Load("me")
		if err == nil {
			if e, ok := st.Ledger.Get(string([]byte{0, 0, 0, 0, 0, 0, 0, byte(r.ID)})); !ok || e.State != store.MarkIntended {
				err = fmt.Errorf("ledger entry %d is %v (there: %v)", r.ID, e.State, ok)
			}
		}
		committed <- err
	}
	d, _ = start(t, t.TempDir(), s)
	teach(s)
	s.events <- arrival(3, mail(3, "boss@example.com", "urgent thing"))
	select {
	case err := <-committed:
		testkit.OK(t, err)
	case <-time.After(patience):
		t.Fatal("no mark was requested")
	}
}

func TestSIGTERMDrainsWhatTheSourceHasReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, s, stop := began(t, dir)
	s.events <- opened
	for i := range 500 {
		s.events <- arrival(uint32(i+1), mail(i, "a@example.com", fmt.Sprint("words ", i)))
	}
	until(t, d, "the first messages", func(a desk.AccountStatus) bool { return a.Messages > 0 })
	stop()
	sound(t, stored(t, dir))
}

func TestARestartResumesFromTheStoreAndAsksForOpenMarksAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, s, stop := began(t, dir)
	teach(s)
	s.events <- arrival(3, mail(3, "boss@example.com", "urgent thing"))
	s.events <- ingest.Cursor{Mailbox: "INBOX", UIDValidity: 1, UIDNext: 4, HighestModSeq: 9, BacklogBefore: 1}
	until(t, d, "one intended mark and the cursor", func(a desk.AccountStatus) bool {
		return a.MarksIntended == 1 && len(a.Mailboxes) == 1 && a.Mailboxes[0].UIDNext == 4
	})
	before, err := digestsOf(context.Background(), d)
	testkit.OK(t, err)
	stop()

	d2, s2, _ := began(t, dir)
	until(t, d2, "the status", func(a desk.AccountStatus) bool { return len(s2.requests()) == 1 })
	if got, want := s2.requests()[0].ID, s.requests()[0].ID; got != want {
		t.Fatalf("mark %d was requested after the restart, want %d", got, want)
	}
	k := s2.known
	if len(k) != 1 || k[0].UIDNext != 4 || k[0].HighestModSeq != 9 || len(k[0].Flags) != 3 {
		t.Fatalf("the source resumes from %+v", k)
	}
	after, err := digestsOf(context.Background(), d2)
	testkit.OK(t, err)
	if fmt.Sprint(before) != fmt.Sprint(after) {
		t.Fatalf("digests changed over a restart: %v, then %v", before, after)
	}
	s2.events <- ingest.MarkResult{ID: s2.requests()[0].ID, Place: s2.requests()[0].Place, Outcome: ingest.MarkDone, Flags: []string{"$important"}}
	until(t, d2, "the mark confirmed", func(a desk.AccountStatus) bool { return a.MarksConfirmed == 1 && a.MarksIntended == 0 })
}

func TestAMailboxKilledBeforeItsFirstPositionIsStillBacklog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, s, stop := began(t, dir)
	s.events <- opened
	until(t, d, "the mailbox", func(a desk.AccountStatus) bool { return len(a.Mailboxes) == 1 })
	stop()
	s2 := newScript()
	start(t, dir, s2)
	if len(s2.known) != 0 {
		t.Fatalf("the source was told %+v; it must take the mailbox for new, so that what lies in it is not marked", s2.known)
	}
}

func TestTheSocketAnswersLikeTheStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, s, stop := began(t, dir)
	teach(s)
	for i := range 40 {
		s.events <- arrival(uint32(10+i), mail(10+i, "boss@example.com", fmt.Sprint("urgent thing ", i)))
	}
	until(t, d, "all messages", func(a desk.AccountStatus) bool { return a.Messages == 42 })
	ctx := context.Background()
	ask := func(b answerer) string {
		var out []string
		digests, err := digestsOf(ctx, b)
		out = append(out, fmt.Sprint(digests, err))
		ex, err := do(ctx, b, desk.Explain, "", desk.ExplainRequest{Message: desk.Message{Name: "<m12@x>"}})
		out = append(out, fmt.Sprint(ex.Score, ex.Outcome, len(ex.Parts) > 0, err))
		ex, err = do(ctx, b, desk.Explain, "me", desk.ExplainRequest{Message: desk.Message{Name: ex.Message[:10]}})
		out = append(out, fmt.Sprint(ex.Score, err))
		cl, err := do(ctx, b, desk.Classify, "", desk.ClassifyRequest{Mail: mail(99, "boss@example.com", "urgent question")})
		out = append(out, fmt.Sprintf("%+v %v", cl, err))
		_, err = do(ctx, b, desk.Explain, "", desk.ExplainRequest{Message: desk.Message{Name: "<nobody@x>"}})
		out = append(out, fmt.Sprint(errors.Is(err, desk.ErrNoMessage), err))
		_, err = do(ctx, b, desk.Explain, "you", desk.ExplainRequest{Message: desk.Message{Name: "<m12@x>"}})
		out = append(out, fmt.Sprint(errors.Is(err, desk.ErrNoAccount), err))
		v, err := do(ctx, b, desk.Verify, "", desk.VerifyRequest{})
		out = append(out, fmt.Sprint(v.OK, v.Problems, err))
		return strings.Join(out, "\n")
	}
	live := sameOnAllFaces(t, dir, d, stop, ask)
	if !strings.Contains(live, "true [] <nil>") || strings.Count(live, "true no such") != 2 {
		t.Fatalf("not the answers that were meant:\n%s", live)
	}
	if _, err := control.Dial(ctx, filepath.Join(dir, "s")); !errors.Is(err, control.ErrNotRunning) {
		t.Fatalf("after the end, control.Dial gave %v, want control.ErrNotRunning", err)
	}
}

// How long it waits for the first is the store's to say; see there.
func TestASecondDaemonIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start(t, dir, newScript())
	if _, err := New(Options{StorePath: filepath.Join(dir, "store.db")}); !errors.Is(err, store.ErrRunning) {
		t.Fatalf("a second daemon got %v, want ErrRunning", err)
	}
}

func TestAnAccountThatCannotGoOnStopsAloneAndSaysWhy(t *testing.T) {
	t.Parallel()
	s := newScript()
	s.fail = errors.New("the account is closed for good")
	d, _ := start(t, t.TempDir(), s)
	until(t, d, "the problem", func(a desk.AccountStatus) bool { return strings.Contains(a.Problem, "closed for good") })
}

func TestAnArrivalFromTheFutureDoesNotRunTheClockAhead(t *testing.T) {
	t.Parallel()
	d, s, _ := began(t, t.TempDir())
	s.events <- opened
	a := arrival(1, mail(1, "a@example.com", "words"))
	a.Internal = time.Now().AddDate(50, 0, 0)
	s.events <- a
	got := until(t, d, "the message", func(a desk.AccountStatus) bool { return a.Messages == 1 })
	if got.LastArrival.After(time.Now().Add(time.Minute)) {
		t.Fatalf("the clock ran to %v", got.LastArrival)
	}
}

func TestTheClockGoesOnWhenTheWallClockIsSetBack(t *testing.T) {
	t.Parallel()
	wall := time.Now()
	c := newClock(func() time.Time { return wall }, 0)
	rng := rand.New(rand.NewPCG(1, 1))
	last := c.now()
	for range 100 {
		wall = wall.Add(time.Duration(rng.IntN(2000)) * time.Millisecond)
		if n := c.now(); n < last {
			t.Fatalf("the clock went from %d back to %d", last, n)
		} else {
			last = n
		}
	}
	// Set back by a year, as the wall clock shows it, while the monotonic
	// reading goes on.
	back := -365 * 24 * time.Hour
	c.wall = func() time.Time { return wall.Round(0).Add(back) }
	if n := c.now(); n != last {
		t.Fatalf("set back: %d, want it to stay at %d for the moment", n, last)
	}
	c.wall = func() time.Time { return wall.Round(0).Add(back + 10*time.Second) }
	if n := c.now(); n < last.Add(9*time.Second) || n > last.Add(11*time.Second) {
		t.Fatalf("ten seconds after it was set back the clock stands at %+d ms, want about +10000", n-last)
	}
}

// TestTheOwnerIsWarned of a server that keeps no keywords, and of another program
// that sets the same mark; each once.
func TestTheOwnerIsWarned(t *testing.T) {
	t.Parallel()
	s, log := newScript(), new(testkit.Transcript)
	o := options(t.TempDir(), from("me", testOptions(), s))
	o.Logger = slog.New(slog.NewTextHandler(log, nil))
	d, stop := launch(t, o, nil)
	s.events <- ingest.MailboxOpened{Mailbox: "INBOX", Role: ingest.RoleInbox, UIDValidity: 1, Flags: []string{`\flagged`, `\seen`}}
	const many = 12 // so many show a program
	for i := range many {
		a := arrival(uint32(i+1), mail(i, "a@example.com", "words"), "$Important")
		a.Internal = time.Now()
		s.events <- a
	}
	until(t, d, "the messages", func(a desk.AccountStatus) bool { return a.Messages == many })
	stop()
	for _, want := range []string{"keeps no such keyword", "another program sets the same mark"} {
		if n := strings.Count(log.String(), want); n != 1 {
			t.Errorf("%q was logged %d times, want once:\n%s", want, n, log.String())
		}
	}
}

// TestNoSubjectEndsTheDaemon: the lower case of these letters has more bytes. They once made
// reading panic or never end.
func TestNoSubjectEndsTheDaemon(t *testing.T) {
	t.Parallel()
	d, s, _ := began(t, t.TempDir())
	s.events <- opened
	for i, subject := range []string{"[]" + strings.Repeat("\u023a", 8), "[]\u023a\u023a", "=?utf-8?B?W13Iusi6yLrIusi6yLo=?="} {
		s.events <- arrival(uint32(i+1), mail(i+1, "a@example.org", subject))
	}
	until(t, d, "the mail", func(a desk.AccountStatus) bool { return a.Messages == 3 })
}
