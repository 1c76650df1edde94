// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// The size of the run. The long run for `make soak` raises both.
var (
	killMessages = fromEnv("HINGED_KILL_MESSAGES", 2000)
	killTimes    = fromEnv("HINGED_KILL_TIMES", 24)
)

func fromEnv(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
		return n
	}
	return otherwise
}

const perStep = 40

// scriptedOwner delivers mail step by step and reacts to it, waiting each time
// until status shows that the step was absorbed. Everything it does is a
// function of seed, and of what is marked on the server, which must not depend
// on crashes either. It returns the flags of every message at the end.
func scriptedOwner(s *site, seed uint64, most int) []string {
	s.t.Helper()
	mail := testkit.NewMail(seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	owner := s.imap.Owner(s.t)
	defer owner.Close()
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
		absorbed(fmt.Sprintf("step %d delivered", step))

		// The owner corrects what was decided wrongly, and now and then junks what
		// was rightly left alone.
		marked := map[uint32]bool{}
		for _, m := range owner.All("INBOX") {
			marked[m.UID] = slices.Contains(m.Flags, "$important")
		}
		for _, m := range fresh {
			switch {
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

// TestKillAtRandomPoints plays the same owner against two daemons, each with a
// Dovecot of its own. One is left alone, the other is killed with -9 at random
// moments. After each kill the state on disk must be that of a replay of the
// input journal; at the end both must have the same digest and the same marks.
func TestKillAtRandomPoints(t *testing.T) {
	t.Parallel()
	killAtRandomPoints(t, "", killMessages, killTimes)
}

// TestKillAKernelAccount does so, on less mail, where supports are what is learnt.
func TestKillAKernelAccount(t *testing.T) {
	t.Parallel()
	const learner = "[account.learner]\nkernel = \"normalised\"\nmax_supports = 40\n"
	killAtRandomPoints(t, learner, killMessages/10, killTimes/6)
}

func killAtRandomPoints(t *testing.T, learner string, messages, times int) {
	// The settle window is short, so that pending labels are among what a kill
	// interrupts.
	account := "settle = \"100ms\"\nsilence = \"0d\"\n" + learner
	calm, shaken := newSite(t, account), newSite(t, account)
	calm.start()
	shaken.start()

	const seed = 11
	calmEnd, shakenEnd := make(chan []string, 1), make(chan []string, 1)
	for s, end := range map[*site]chan []string{calm: calmEnd, shaken: shakenEnd} {
		go func() {
			defer close(end) // also when the script fails the test
			end <- scriptedOwner(s, seed, messages)
		}()
	}

	rng := rand.New(rand.NewPCG(5, 5))
	kills := 0
	var shakenFlags []string
	for shakenFlags == nil && !t.Failed() {
		// Often soon after the start, when a scan or unsettled intents are under
		// way; sometimes much later.
		pause := time.Duration(rng.IntN(1500)) * time.Millisecond
		if rng.IntN(4) == 0 {
			pause = time.Duration(rng.IntN(8000)) * time.Millisecond
		}
		if due := 1 + times*int(shaken.delivered.Load())/messages; kills < due {
			pause %= 100 * time.Millisecond // a fast machine would be done before it was killed often enough
		}
		select {
		case shakenFlags = <-shakenEnd:
			continue
		case <-time.After(pause):
		}
		if kills >= times {
			continue
		}
		shaken.kill()
		kills++
		shaken.wantReplay(fmt.Sprintf("after kill %d", kills))
		shaken.start()
	}
	calmFlags := <-calmEnd
	if t.Failed() {
		return
	}
	if kills < times*5/6 {
		t.Errorf("only %d kills; at least %d are wanted", kills, times*5/6)
	}
	for _, s := range []*site{calm, shaken} {
		if err := s.stop(15); err != nil {
			t.Errorf("SIGTERM: %v\n%s", err, tail(s.log.String()))
		}
		s.wantReplay("at the end")
	}
	if c, s := calm.digests(), shaken.digests(); c != s {
		t.Errorf("undisturbed\n%s\nkilled %d times\n%s\n%s", c, kills, s, differences(t, calm, shaken))
	}
	if !slices.Equal(calmFlags, shakenFlags) {
		t.Errorf("flags on the server differ:\n%s", firstDifference(calmFlags, shakenFlags))
	}
	marks := 0
	for _, f := range shakenFlags {
		if strings.Contains(f, "$important") {
			marks++
		}
	}
	t.Logf("%d messages, %d kills, %d marks on the server at the end", len(shakenFlags), kills, marks)
	if marks == 0 {
		t.Error("nothing was marked: the test says nothing about marks")
	}
}

func firstDifference(a, b []string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("%q and %q", a[i], b[i])
		}
	}
	return fmt.Sprintf("%d and %d messages", len(a), len(b))
}
