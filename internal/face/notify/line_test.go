// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// bench is a target whose time and whose receiver a test plays.
type bench struct {
	t    *testing.T
	dir  string
	to   Target
	l    *line
	now  time.Time
	fail error
	sent []Notification
}

func newBench(t *testing.T, change func(*Target)) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir(), now: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)}
	b.to = Target{Account: "me", Ntfy: "https://ntfy.example.org/topic", Title: "Important mail", Priority: 3, Zone: time.UTC, Sender: true}
	if change != nil {
		change(&b.to)
	}
	b.restart()
	return b
}

// restart is a start after a kill.
func (b *bench) restart() {
	b.t.Helper()
	b.l = New(Options{Targets: []Target{b.to}, Dir: b.dir, Now: func() time.Time { return b.now }}).lines["me"][0]
	b.l.load()
	b.l.send = func(_ context.Context, _ *Target, n *Notification) error {
		if b.fail != nil {
			return b.fail
		}
		b.sent = append(b.sent, *n)
		return nil
	}
}

// at sets the time of the day.
func (b *bench) at(day, hour, minute int) {
	b.now = time.Date(2026, 3, day, hour, minute, 0, 0, b.to.Zone)
}

func (b *bench) mark(n int, from string) {
	b.l.take(desk.Shown{Account: "me", Deed: desk.DeedMarked, Message: key(n), From: from, Subject: fmt.Sprint("secret ", n), Why: []string{"“secret” in the subject"}})
}

func key(n int) string { return fmt.Sprintf("%032x", n) }

// settle tells what is due until nothing is, and returns when it is to be asked again.
func (b *bench) settle() (again time.Time) {
	b.t.Helper()
	for range 100 {
		n, batch, again := b.l.due(b.now)
		if n == nil {
			return again
		}
		b.l.tell(b.t.Context(), n, batch)
	}
	b.t.Fatal("it tells without end")
	return again
}

// told returns the texts that were sent, and forgets them.
func (b *bench) told() (texts []string) {
	for _, n := range b.sent {
		texts = append(texts, n.Text)
	}
	b.sent = nil
	return texts
}

func (b *bench) want(texts ...string) {
	b.t.Helper()
	if got := b.told(); !slices.Equal(got, texts) {
		b.t.Errorf("told %q, want %q", got, texts)
	}
}

func TestAMessageIsToldOnceAMomentAfterItIsMarked(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.mark(1, "Théo")
	if again := b.settle(); !again.Equal(b.now.Add(gather)) {
		t.Errorf("asks again at %v, want %v", again, b.now.Add(gather))
	}
	b.now = b.now.Add(gather - 1)
	b.settle()
	b.want()
	b.now = b.now.Add(1)
	if again := b.settle(); !again.IsZero() {
		t.Errorf("asks again at %v, though nothing waits", again)
	}
	b.want("From Théo")
	b.mark(1, "Théo") // a copy, or the same mark confirmed once more
	b.now = b.now.Add(time.Hour)
	b.settle()
	b.want()
}

func TestUpToThreeMessagesAreToldOneByOneAndMoreTogether(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	for i := range 3 {
		b.mark(i, fmt.Sprint("Sender ", i))
	}
	b.now = b.now.Add(gather)
	b.settle()
	b.want("From Sender 0", "From Sender 1", "From Sender 2")
	for i := range 4 {
		b.mark(10+i, []string{"Ann", "Ben"}[i/3])
	}
	b.now = b.now.Add(gather)
	b.settle()
	b.want("4 messages since 09:00, from Ann (3), Ben")
	for i := range 9 {
		b.mark(20+i, fmt.Sprint("S", i))
	}
	b.now = b.now.Add(gather)
	b.settle()
	b.want("9 messages since 09:00, from S0, S1, S2, S3, S4 and 4 more")
}

func TestNamesSubjectsAndReasonsAreToldAsConfigured(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		sender, subject bool
		want            Notification
	}{
		{false, false, Notification{Text: "A new message"}},
		{true, false, Notification{Text: "From Théo", From: "Théo"}},
		{false, true, Notification{Text: "A new message: secret 1 (“secret” in the subject)", Subject: "secret 1", Why: []string{"“secret” in the subject"}}},
		{true, true, Notification{Text: "From Théo: secret 1 (“secret” in the subject)", From: "Théo", Subject: "secret 1", Why: []string{"“secret” in the subject"}}},
	} {
		b := newBench(t, func(to *Target) { to.Sender, to.Subject = test.sender, test.subject })
		b.mark(1, "Théo")
		b.now = b.now.Add(gather)
		b.settle()
		if len(b.sent) != 1 {
			t.Fatalf("%d were sent", len(b.sent))
		}
		got, want := b.sent[0], test.want
		want.Kind, want.Account, want.Title, want.Count, want.Message = KindMessage, "me", "Important mail", 1, key(1)
		want.At = b.now.Add(-gather)
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Errorf("sender %v, subject %v: sent\n%+v, want\n%+v", test.sender, test.subject, got, want)
		}
		for i := range 5 {
			b.mark(10+i, "Théo")
		}
		b.now = b.now.Add(gather)
		b.settle()
		text := fmt.Sprintf("%+v", b.sent[1])
		if strings.Contains(text, "secret") || strings.Contains(text, "Théo") != test.sender {
			t.Errorf("sender %v: the summary is %s", test.sender, text)
		}
	}
}

func TestQuietHoursHoldBackAndSumUp(t *testing.T) {
	t.Parallel()
	zurich, err := time.LoadLocation("Europe/Zurich")
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, func(to *Target) { to.QuietFrom, to.QuietTo, to.Zone = 22*time.Hour, 7*time.Hour, zurich })
	b.at(2, 21, 59)
	b.mark(1, "Ann")
	b.now = b.now.Add(gather)
	b.settle()
	b.want("From Ann")
	b.at(2, 22, 0)
	b.mark(2, "Ann")
	want := time.Date(2026, 3, 3, 7, 0, 0, 0, zurich)
	if again := b.settle(); !again.Equal(want) {
		t.Errorf("asks again at %v, want %v", again, want)
	}
	b.at(3, 3, 30)
	b.mark(3, "Ben")
	b.mark(4, "Ben")
	if again := b.settle(); !again.Equal(want) {
		t.Errorf("after midnight it asks again at %v, want %v", again, want)
	}
	// The owner takes one mark off, and hinged another.
	b.l.take(desk.Shown{Account: "me", Deed: desk.DeedCorrected, Message: key(3)})
	b.at(3, 6, 59)
	b.settle()
	b.want()
	b.at(3, 7, 0)
	b.settle()
	b.want("2 messages since 22:00, from Ann, Ben")

	// One message needs no sum.
	b.at(3, 23, 0)
	b.mark(5, "Ann")
	b.at(4, 7, 0)
	b.settle()
	b.want("From Ann")

	// Just before and after: 07:00 is no quiet hour, 22:00 is one.
	for _, test := range []struct {
		hour, minute int
		quiet        bool
	}{{6, 59, true}, {7, 0, false}, {21, 59, false}, {22, 0, true}, {0, 0, true}} {
		b.at(5, test.hour, test.minute)
		if _, quiet := b.l.quiet(b.now); quiet != test.quiet {
			t.Errorf("%d:%02d: quiet is %v", test.hour, test.minute, quiet)
		}
	}

	// The night when clocks go forward (29 March) ends at 07:00 of the new time.
	b.at(28, 22, 30)
	b.mark(6, "Ann")
	if again, want := b.settle(), time.Date(2026, 3, 29, 5, 0, 0, 0, time.UTC); !again.Equal(want) {
		t.Errorf("in the night of the summer time it asks again at %v, want %v", again, want)
	}

	day := newBench(t, func(to *Target) { to.QuietFrom, to.QuietTo = 9*time.Hour, 17*time.Hour })
	if end, quiet := day.l.quiet(day.now); !quiet || end.Hour() != 17 || end.Day() != 2 {
		t.Errorf("at nine, quiet from 9 to 17: %v until %v", quiet, end)
	}
}

func TestNoMoreThanPerDayAreToldInTheOwnersDay(t *testing.T) {
	t.Parallel()
	tokyo := time.FixedZone("UTC+9", 9*3600)
	b := newBench(t, func(to *Target) { to.PerDay, to.Zone = 2, tokyo })
	b.at(2, 23, 0)
	for i := range 4 {
		b.mark(i, fmt.Sprint("S", i))
		b.now = b.now.Add(gather)
		b.settle()
		if i == 1 {
			b.restart() // what was told today is known after a restart
		}
	}
	b.want("From S0", "From S1. This is the last one today.")
	b.at(3, 0, 0) // midnight there, afternoon in UTC
	b.mark(9, "S9")
	b.now = b.now.Add(gather)
	b.settle()
	b.want("From S9")
}

func TestAFailureIsTriedAgainEverLaterAndLosesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(to *Target) { to.PerDay = 1 })
	b.fail = errors.New("no network")
	b.mark(1, "Ann")
	b.now = b.now.Add(gather)
	var last time.Duration
	for range 20 {
		again := b.settle()
		if !again.After(b.now) {
			t.Fatalf("after a failure it asks again at %v, at %v", again, b.now)
		}
		last = again.Sub(b.now)
		if last > retryLast*13/10 {
			t.Fatalf("the wait is %v", last)
		}
		b.now = again
	}
	if last < retryLast/2 {
		t.Errorf("after 20 failures the wait is %v", last)
	}
	b.want()
	b.fail = fmt.Errorf("at host: %w", &pauseError{"429 Too Many Requests", 10 * time.Hour})
	if again := b.settle(); again.Sub(b.now) > retryLast*13/10 {
		t.Errorf("a server may ask for a wait of %v", again.Sub(b.now))
	} else {
		b.now = again
	}
	b.fail = nil
	b.settle()
	b.want("From Ann. This is the last one today.") // the failures did not count
	if pause := b.l.wait.NextBackOff(); pause > 2*retryFirst {
		t.Errorf("after a success the next wait would be %v", pause)
	}
}

func TestARestartTellsWhatWaitsAndNothingTwice(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(to *Target) { to.QuietFrom, to.QuietTo, to.Subject = 22*time.Hour, 7*time.Hour, true })
	b.mark(1, "Ann")
	b.now = b.now.Add(gather)
	b.settle()
	b.want("From Ann: secret 1 (“secret” in the subject)")
	b.at(2, 23, 0)
	b.mark(2, "Ben")
	b.mark(3, "Ben")
	b.restart()
	b.mark(1, "Ann")
	b.mark(2, "Ben") // confirmed once more
	b.at(3, 1, 0)
	b.mark(4, "Dan")
	b.at(3, 7, 0)
	b.settle()
	b.want("3 messages since 23:00, from Dan and 2 more")

	// Killed after it was noted and before it was sent, or after that: it can't be told
	// which, so it is not told again.
	b.mark(5, "Eve")
	b.now = b.now.Add(gather)
	n, batch, _ := b.l.due(b.now)
	killed := false
	b.l.send = func(context.Context, *Target, *Notification) error {
		b.restart()
		killed = true
		return nil
	}
	b.l.tell(t.Context(), n, batch)
	b.mark(5, "Eve")
	b.now = b.now.Add(time.Hour)
	b.settle()
	if b.want(); !killed {
		t.Error("nothing was sent")
	}
	err := filepath.WalkDir(b.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, words := range []string{"secret", "Ann", "Ben", "topic"} {
			if strings.Contains(string(text), words) || strings.Contains(path, "topic") {
				t.Errorf("%q is in %s", words, path)
			}
		}
		if info, _ := d.Info(); info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestQueuesAreBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(to *Target) { to.QuietFrom, to.QuietTo = 8*time.Hour, 10*time.Hour })
	b.l.path = filepath.Join(b.dir, "not", "written", "each", "time") // 1,000 files are slow
	testkit.Write(t, filepath.Join(b.dir, "not"), "")
	for i := range mostWaiting {
		b.mark(i, "")
	}
	if len(b.l.mem.Waiting) != mostWaiting || b.l.mem.More != 0 {
		t.Fatalf("at the bound %d wait and %d more", len(b.l.mem.Waiting), b.l.mem.More)
	}
	b.mark(mostWaiting, "")
	b.mark(mostWaiting, "") // known
	if len(b.l.mem.Waiting) != mostWaiting || b.l.mem.More != 1 || len(b.l.items) != mostWaiting {
		t.Fatalf("one above the bound, %d wait and %d more", len(b.l.mem.Waiting), b.l.mem.More)
	}
	b.at(2, 10, 0)
	b.settle()
	b.want(fmt.Sprintf("%d messages since 09:00", mostWaiting+1))
	if len(b.l.mem.Told) != mostTold || len(b.l.items) != 0 || b.l.mem.More != 0 {
		t.Errorf("then %d are known as told, and %d in memory", len(b.l.mem.Told), len(b.l.items))
	}

	// Show never blocks, and counts what found the queue full.
	n := &Notifier{lines: map[string][]*line{"me": {b.l}}}
	for i := range queueLength + 7 {
		n.Show(desk.Shown{Account: "me", Deed: desk.DeedMarked, Message: key(5000 + i)})
		n.Show(desk.Shown{Account: "me", Deed: desk.DeedOrdinary, Message: key(1)})
		n.Show(desk.Shown{Account: "you", Deed: desk.DeedMarked, Message: key(1)})
	}
	if len(b.l.in) != queueLength || b.l.missed.Load() != 7 {
		t.Errorf("%d are queued, %d were missed; want %d and 7", len(b.l.in), b.l.missed.Load(), queueLength)
	}
	b.l.take(<-b.l.in)
	if b.l.mem.More != 7 {
		t.Errorf("%d more are told of, want 7", b.l.mem.More)
	}
}

func TestADamagedFileIsSetAside(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{", `{"version": 2}`} {
		b := newBench(t, nil)
		b.mark(1, "Ann")
		testkit.Write(t, b.l.path, text)
		b.restart()
		if kept, err := os.ReadFile(b.l.path + ".damaged"); err != nil || string(kept) != text {
			t.Errorf("%s: set aside is %q, %v", text, kept, err)
		}
		b.mark(2, "Ben")
		b.now = b.now.Add(gather)
		b.settle()
		b.want("From Ben")
	}
	b := newBench(t, nil) // where nothing can be read or written, the owner is told all the same
	b.l.path = filepath.Join(b.dir, "x\x00", "y")
	b.l.load()
	b.mark(1, "Ann")
	b.now = b.now.Add(gather)
	b.settle()
	b.want("From Ann")
}

func TestAClockThatIsSetBackHoldsNothingUp(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.mark(1, "Ann")
	b.now = b.now.Add(-24 * time.Hour)
	b.settle()
	b.want("From Ann")
}

func TestNothingOfTheMailIsLogged(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	b := newBench(t, func(to *Target) { to.Subject = true })
	b.l.log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b.fail = errors.New("no network")
	b.mark(1, "Ann")
	b.now = b.now.Add(gather)
	b.settle()
	b.fail, b.now = nil, b.now.Add(time.Hour)
	b.settle()
	for _, words := range []string{"Ann", "secret", key(1)} {
		if strings.Contains(log.String(), words) {
			t.Errorf("%q is in the log:\n%s", words, log.String())
		}
	}
	if !strings.Contains(log.String(), "no network") {
		t.Errorf("the failure is not in the log:\n%s", log.String())
	}
}

// TestNeedOfConsentIsToldOnceUntilMailIsReadAgain over restarts, and though nothing shows the
// end of a need that ended while hinged did not run.
func TestNeedOfConsentIsToldOnceUntilMailIsReadAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	tell := func(deed desk.Deed) {
		b.l.take(desk.Shown{Account: "me", Deed: deed, Message: desk.AboutConsent, Why: []string{"log in"}})
		b.settle()
	}
	const need = "hinged can no longer read the mail of me: log in"
	tell(desk.DeedBarred)
	b.restart()
	tell(desk.DeedBarred)
	b.want(need)
	tell(desk.DeedConsented)
	b.restart()
	tell(desk.DeedBarred)
	b.want(need)
	b.restart()
	b.mark(1, "Ann")
	b.now = b.now.Add(gather)
	b.settle()
	tell(desk.DeedBarred)
	b.want("From Ann", need)
	b.to.QuietFrom, b.to.QuietTo = 22*time.Hour, 7*time.Hour
	b.at(2, 23, 0)
	b.restart()
	tell(desk.DeedConsented)
	tell(desk.DeedBarred)
	tell(desk.DeedConsented)
	b.at(3, 7, 0)
	b.settle()
	b.want()
}
