// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// reloads is how often the configuration is read again in the test below.
const reloads = 25

// reloadMessages is how much mail comes meanwhile.
const reloadMessages = 400

// rewrite changes the configuration by replacing its last line, which is the
// poll_interval.
func (s *site) rewrite(change func(string) string) {
	s.t.Helper()
	text, err := os.ReadFile(s.config)
	if err == nil {
		// As an editor does it, so that nobody reads half a file.
		if err = os.WriteFile(s.config+".new", []byte(change(string(text))), 0o600); err == nil {
			err = os.Rename(s.config+".new", s.config)
		}
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// hangUp sends SIGHUP.
func (s *site) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		s.t.Error(err)
	}
}

// logged counts lines of the log that have all the words.
func (s *site) logged(words ...string) (n int) {
	for line := range strings.Lines(s.log.String()) {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
			n++
		}
	}
	return n
}

// untilLogged waits for a line of the log with all the words: what the daemon writes may
// come later than its answer.
func (s *site) untilLogged(words ...string) {
	s.t.Helper()
	testkit.Until(s.t, func() bool { return s.logged(words...) > 0 }, "the log never has ", words)
}

// TestAReloadLosesAndDoublesNothing plays the same owner against two daemons, each with a
// Dovecot of its own. One is left alone, the other is given another configuration again
// and again while mail flows. At the end both have the same digests and marks.
func TestAReloadLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	account := withoutMidnight()
	calm, shaken := newSite(t, account), newSite(t, account)
	calm.start()
	shaken.start()
	calmEnd, shakenEnd := make(chan []string, 1), make(chan []string, 1)
	for s, end := range map[*site]chan []string{calm: calmEnd, shaken: shakenEnd} {
		go func() {
			defer close(end) // also when the script fails the test
			end <- scriptedOwner(s, 11, reloadMessages, 0)
		}()
	}
	rng := rand.New(rand.NewPCG(3, 3))
	done := 0
	const before = `poll_interval = "1s"`
	reload := func(text string) {
		shaken.rewrite(func(old string) string {
			old, _, _ = strings.Cut(old, "poll_interval")
			return old + text + "\n"
		})
		shaken.hangUp()
		done++
		shaken.until(fmt.Sprintf("reload %d", done), func(desk.AccountStatus) bool {
			return shaken.logged("the configuration was read again", "unchanged=0") == done || t.Failed()
		})
	}
	var flags []string
	for flags == nil && !t.Failed() {
		pause := time.Duration(rng.IntN(400)) * time.Millisecond
		if due := 1 + reloads*int(shaken.delivered.Load())/reloadMessages; done < due {
			pause %= 20 * time.Millisecond
		}
		select {
		case flags = <-shakenEnd:
		case <-time.After(pause):
			if done < reloads {
				reload(fmt.Sprintf("%s\nidle_restart = \"%dm\"", before, 1+done%20))
			}
		}
	}
	calmFlags := <-calmEnd
	if t.Failed() {
		return
	}
	if done < reloads {
		t.Errorf("only %d reloads", done)
	}
	sameEnd(t, calm, shaken, calmFlags, flags)
	calm.pin(calmFlags)
	if marks := marksIn(flags); marks == 0 {
		t.Error("nothing was marked: the test says nothing about marks")
	}
}
