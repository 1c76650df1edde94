// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// The size of the run: owners, and for each the messages and the kills.
// The long run for `make soak` has more of all; none of them may take killWithin.
var (
	killOwners   = testkit.FromEnv("HINGED_KILL_OWNERS", 1)
	killMessages = testkit.FromEnv("HINGED_KILL_MESSAGES", 1000)
	killTimes    = testkit.FromEnv("HINGED_KILL_TIMES", 12)
)

const perStep = 40

// killWithin: the owner's flags are dated by the machine's clock, and time is data. Calls
// gather for an hour before they move the threshold, so a slower run may mark differently.
const killWithin = 55 * time.Minute

// withoutMidnight is the account of a scripted owner. The settle window is short, so that
// pending labels are among what a kill interrupts. The day has begun an hour ago at least, and
// ends in 22 hours at the earliest: active days and marks a day count alike in all runs.
func withoutMidnight() string {
	zone := 1 - time.Now().UTC().Hour()
	if zone < -12 {
		zone += 24
	}
	return fmt.Sprintf("settle = \"100ms\"\nsilence = \"0d\"\ntime_zone = \"Etc/GMT%+d\"\n", -zone)
}

// scriptedOwner delivers mail step by step and reacts to it, waiting each time
// until status shows that the step was absorbed. Everything it does is a
// function of seed, and of what is marked on the server, which must not depend
// on crashes either. Mail comes no faster than its daemon is killed, so many times
// in all. It returns the flags of every message at the end.
func scriptedOwner(s *site, seed uint64, most, times int) []string {
	s.t.Helper()
	mail := testkit.NewMail(seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	owner := s.imap.Owner(s.t)
	base := time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)
	var lessons, messages uint64
	absorbed := func(what string) {
		s.t.Helper()
		s.until(fmt.Sprintf("%s: %d messages, %d lessons, nothing pending", what, messages, lessons), func(a desk.AccountStatus) bool {
			return a.Messages == messages && a.Important+a.Ordinary == lessons && a.Pending == 0 && a.MarksIntended == 0
		})
	}
	s.until("INBOX open", func(a desk.AccountStatus) bool {
		return slices.ContainsFunc(a.Mailboxes, func(m desk.MailboxStatus) bool { return m.Mailbox == "INBOX" })
	})
	for step := 0; messages < uint64(most); step++ {
		type delivered struct {
			uid       uint32
			important bool
		}
		var fresh []delivered
		for range perStep {
			m := mail.Next()
			uid := owner.Append("INBOX", m.Raw, base.Add(time.Duration(messages)*time.Minute))
			fresh = append(fresh, delivered{uid, m.Important})
			messages++
		}
		s.delivered.Store(int64(messages))
		for due := int64(times * int(messages) / most); s.killed.Load() < due && !s.t.Failed(); {
			time.Sleep(5 * time.Millisecond)
		}
		absorbed(fmt.Sprintf("step %d delivered", step))

		// The owner corrects what was decided wrongly, and now and then junks what
		// was rightly left alone.
		marked := map[uint32]bool{}
		for _, m := range owner.All("INBOX") {
			marked[m.UID] = slices.Contains(m.Flags, "$important")
		}
		if s.doubtful {
			s.findDoubted(fresh[0].uid)
		}
		for _, m := range fresh {
			switch {
			case s.doubted[m.uid] && !marked[m.uid] && m.important: // as one that bears its mark
				continue
			case s.doubted[m.uid] && !marked[m.uid]: // the lesson of a mark taken off, in other words
				owner.Set("INBOX", m.uid, "$Junk")
			case marked[m.uid] && !m.important:
				owner.Clear("INBOX", m.uid, "$Important")
			case !marked[m.uid] && m.important:
				owner.Set("INBOX", m.uid, `\Flagged`)
			case !marked[m.uid] && rng.IntN(8) == 0:
				owner.Set("INBOX", m.uid, "$Junk")
			default:
				continue
			}
			lessons++
			// One at a time now and then, so that lessons also come alone.
			if rng.IntN(6) == 0 {
				absorbed(fmt.Sprintf("step %d, message %d", step, m.uid))
			}
		}
		absorbed(fmt.Sprintf("step %d corrected", step))
	}
	var out []string
	for _, m := range owner.All("INBOX") {
		out = append(out, fmt.Sprintf("%d %s", m.UID, strings.Join(m.Flags, " ")))
	}
	return out
}

// findDoubted notes which messages, from a UID on, were to be marked and are not, since a kill
// came between the intent and its answer. Without MODSEQs nobody knows then whether the owner
// took the mark off, so it is abandoned.
func (s *site) findDoubted(from uint32) {
	s.t.Helper()
	var l desk.Ledger
	for asked := errStuck; asked != nil && !s.t.Failed(); { // it may be killed meanwhile
		c, err := control.Dial(s.t.Context(), s.socket)
		if asked = err; err == nil {
			l, asked = control.Ask(s.t.Context(), c, desk.GetLedger, "", desk.LedgerRequest{State: "abandoned"})
			_ = c.Close()
		}
	}
	for _, e := range l.Entries {
		if e.UID >= from {
			s.doubted[e.UID] = true
		}
	}
}

// TestR9KillAtRandomPoints plays the same owner against two daemons, each with a
// Dovecot of its own. One is left alone, the other is killed with -9 at random
// moments. After each kill the state on disk must be that of a replay of the
// input journal; at the end both must have the same digest and the same marks.
func TestR9KillAtRandomPoints(t *testing.T) {
	t.Parallel()
	killAtRandomPoints(t, "", killMessages, killTimes)
}

// TestR9KillAKernelAccount does so, on less mail, where supports are what is learnt.
func TestR9KillAKernelAccount(t *testing.T) {
	t.Parallel()
	const learner = "[account.learner]\nkernel_degree = 2\nmax_supports = 40\n"
	killAtRandomPoints(t, learner, killMessages*2/5, killTimes/3)
}

func killAtRandomPoints(t *testing.T, learner string, messages, times int) {
	for n := range killOwners {
		t.Run(fmt.Sprintf("owner %d", n+1), func(t *testing.T) {
			t.Parallel()
			killOneOwner(t, learner, 11+uint64(n), messages, times)
		})
	}
}

func killOneOwner(t *testing.T, learner string, seed uint64, messages, times int) {
	began, account := time.Now(), withoutMidnight()+learner
	calm, shaken := newSite(t, account), newSite(t, account)
	calm.start()
	shaken.start()

	calmEnd, shakenEnd := make(chan []string, 1), make(chan []string, 1)
	play := func(s *site, end chan<- []string, times int) {
		defer close(end) // also when the script fails the test
		end <- scriptedOwner(s, seed, messages, times)
	}
	go play(calm, calmEnd, 0)
	go play(shaken, shakenEnd, times)

	shakenFlags := killedUntil(shaken, shakenEnd, seed, messages, times)
	calmFlags := <-calmEnd
	if t.Failed() {
		return
	}
	if took := time.Since(began); took > killWithin {
		t.Fatalf("it took %v; beyond %v time itself makes a difference: play more owners, with less mail each", took, killWithin)
	}
	kills := shaken.killed.Load()
	if kills < int64(times) {
		t.Errorf("only %d kills; %d are wanted", kills, times)
	}
	sameEnd(t, calm, shaken, calmFlags, shakenFlags)
	calm.pin(calmFlags)
	marks := marksIn(shakenFlags)
	t.Logf("%d messages, %d kills, %d marks on the server at the end; both have %s", len(shakenFlags), kills, marks, calm.digests())
	if marks == 0 {
		t.Error("nothing was marked: the test says nothing about marks")
	}
}

// sameEnd stops two daemons whose owners did the same, of which one was left alone, and demands
// that both came to the same.
func sameEnd(t *testing.T, calm, shaken *site, calmFlags, shakenFlags []string) {
	t.Helper()
	for _, s := range []*site{calm, shaken} {
		if err := s.stop(syscall.SIGTERM); err != nil {
			t.Errorf("SIGTERM: %v\n%s", err, tail(s.log.String()))
		}
		s.wantReplay("at the end")
	}
	if c, s := calm.digests(), shaken.digests(); c != s {
		t.Errorf("undisturbed\n%s\ndisturbed\n%s\n%s", c, s, differences(t, calm, shaken))
	}
	if !slices.Equal(calmFlags, shakenFlags) {
		t.Errorf("flags on the server differ:\n%s", firstDifference(calmFlags, shakenFlags))
	}
}

// marksIn counts the marks among the flags of messages.
func marksIn(flags []string) (n int) {
	for _, f := range flags {
		if strings.Contains(f, "$important") {
			n++
		}
	}
	return n
}

// killedUntil kills a daemon at random moments, so many times within so many messages, and
// starts it again, until its owner's script has come to its end, and returns what that says.
func killedUntil(s *site, end <-chan []string, seed uint64, messages, times int) (flags []string) {
	rng := rand.New(rand.NewPCG(seed, 5))
	for flags == nil && !s.t.Failed() {
		// Often soon after the start, when a scan or unsettled intents are under
		// way; sometimes much later.
		pause := time.Duration(rng.IntN(1500)) * time.Millisecond
		if rng.IntN(4) == 0 {
			pause = time.Duration(rng.IntN(8000)) * time.Millisecond
		}
		if due := 1 + times*int(s.delivered.Load())/messages; int(s.killed.Load()) < due {
			pause %= 100 * time.Millisecond // a fast machine would be done before it was killed often enough
		}
		select {
		case flags = <-end:
			continue
		case <-time.After(pause):
		}
		frozen := s.wire != nil && s.wire.Frozen() // a STORE was carried out, and its answer does not come
		if int(s.killed.Load()) >= times && !frozen {
			continue
		}
		s.kill()
		if frozen {
			s.wire.Thaw()
		}
		kills := s.killed.Add(1)
		s.wantReplay(fmt.Sprintf("after kill %d", kills))
		s.start()
	}
	return flags
}

// TestR9KillOnEveryServer does so on every kind of server, with little mail. Whatever the
// server and whenever it was killed, the model and the marks are the same in the end. Only on
// a server without CONDSTORE a kill may cost the marks that were under way: see findDoubted.
func TestR9KillOnEveryServer(t *testing.T) {
	const messages, times = 160, 6
	type result struct {
		server, model string
		flags         []string
		lessons       []string
		doubted       map[uint32]bool
	}
	var mu sync.Mutex
	var first *result
	account := "shadow = \"off\"\n" + withoutMidnight()
	onEveryServer(t, func(o *resident) {
		s := o.daemon(account)
		s.doubtful, s.wire = !o.condstore, o.wire
		s.wire.FreezeAfter("STORE", 12) // about the middle of the first marks
		s.start()
		end := make(chan []string, 1)
		go func() {
			defer close(end) // also when the script fails the test
			end <- scriptedOwner(s, 11, messages, times)
		}()
		flags := killedUntil(s, end, 11, messages, times)
		if o.Failed() {
			return
		}
		if err := s.stop(syscall.SIGTERM); err != nil {
			o.Errorf("SIGTERM: %v\n%s", err, tail(s.log.String()))
		}
		s.wantReplay("at the end")
		now := result{server: o.Name(), model: s.model(), flags: flags, lessons: s.lessons(), doubted: s.doubted}
		marks := marksIn(flags)
		kills := s.killed.Load()
		o.Logf("%d messages, %d kills, %d marks on the server at the end, %d not set for doubt, model %.12s…",
			len(flags), kills, marks, len(s.doubted), now.model)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case kills < int64(times):
			o.Errorf("only %d kills; %d are wanted", kills, times)
		case marks == 0:
			o.Error("nothing was marked: the test says nothing about marks")
		case first == nil:
			first = &now
		case now.model != first.model:
			o.Errorf("the model is not that of %s: %s", first.server, firstDifference(first.lessons, now.lessons))
		case len(now.flags) != len(first.flags):
			o.Errorf("%d messages; %s has %d", len(now.flags), first.server, len(first.flags))
		default:
			for i, line := range now.flags {
				var uid uint32
				if _, err := fmt.Sscan(line, &uid); err != nil {
					o.Fatal(err)
				}
				if line != first.flags[i] && !now.doubted[uid] && !first.doubted[uid] {
					o.Errorf("the flags differ from those of %s: %q and %q", first.server, first.flags[i], line)
				}
			}
		}
	})
}

func firstDifference(a, b []string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("%q and %q", a[i], b[i])
		}
	}
	return fmt.Sprintf("%d and %d messages", len(a), len(b))
}
