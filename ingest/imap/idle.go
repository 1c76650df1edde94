// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"bytes"
	"errors"
	"fmt"
	"time"
)

// What an IDLE can come to while the connection lives.
var (
	errIdleRefused = errors.New("the server offers IDLE but refuses it")
	errIdleEnded   = errors.New("the server ended IDLE by itself")
	errIdleLate    = errors.New("the server reported a change only when asked, not by IDLE")
)

// idle runs wait while the server may speak at any time (RFC 2177). wait may look at
// idleOver. An error that is errIdleRefused or errIdleEnded leaves the connection as
// it was.
func (s *session) idle(wait func()) error {
	select {
	case <-s.idleOver:
	default:
	}
	s.idling.Store(true)
	s.begin()
	cmd, err := s.client.Idle()
	s.guard.end()
	if err != nil {
		over := s.idleIsOver()
		if no := saidNo(err); s.guard.why() == nil && (no != nil || over) {
			return fmt.Errorf("%w: %w", errIdleRefused, wireError(err, nil))
		}
		return s.fail("IDLE", err)
	}
	if len(s.idleOver) == 0 {
		wait()
	}
	over := s.idleIsOver()
	s.begin()
	defer s.guard.end()
	if over {
		// The end of an IDLE that is over would be a command that does not exist.
		s.guard.amending(withoutDone)
		defer s.guard.amending(nil)
	}
	if err := cmd.Close(); err != nil {
		err = s.fail("end IDLE", err) // the connection is closed, or Wait would wait for what was never asked
		_ = cmd.Wait()
		return err
	}
	err = cmd.Wait()
	if over && s.guard.why() == nil && (err == nil || saidNo(err) != nil) {
		return errIdleEnded
	}
	if err != nil {
		return s.fail("end IDLE", err)
	}
	return nil
}

func withoutDone(line []byte) []byte { return bytes.TrimSuffix(line, []byte("DONE\r\n")) }

// idleEnds is called by the reader when a command ends.
func (s *session) idleEnds() {
	if !s.idling.Load() {
		return
	}
	select {
	case s.idleOver <- struct{}{}:
	default:
	}
}

// idleIsOver ends the watch for the end of IDLE and reports whether it came.
func (s *session) idleIsOver() bool {
	s.idling.Store(false)
	return len(s.idleOver) > 0
}

const (
	// idleStrikes is how often in a row IDLE must fail before it counts as bad. Once
	// or twice the network may be to blame, or a message that came in the very moment
	// of the check.
	idleStrikes = 3
	// idleRetry is how long IDLE that is bad is left alone. Servers are mended.
	idleRetry = 24 * time.Hour
	// idleShort is how long a connection must last in IDLE for its end to be no fault
	// of IDLE.
	idleShort = time.Minute
)

// idleTrust is what is known of a server's IDLE. Not every server that offers it
// has it work: some refuse it, some end it at once or hang up, and some speak up a
// minute late (QUIRK: Courier without a file monitor). So IDLE is checked by asking,
// at first often; what IDLE itself says earns it longer and longer trust, and
// what only the check finds costs it.
type idleTrust struct {
	proven  bool
	strikes int
	until   time.Time // IDLE is not used before this
}

// usable reports whether IDLE may be used at now.
func (t *idleTrust) usable(now time.Time) bool { return !now.Before(t.until) }

// good notes that the server spoke up in IDLE.
func (t *idleTrust) good() { t.proven, t.strikes = true, 0 }

// strike notes that IDLE failed once more, and reports whether it is bad now.
func (t *idleTrust) strike(now time.Time) (bad bool) {
	t.proven = false
	if t.strikes++; t.strikes < idleStrikes {
		return false
	}
	t.reject(now)
	return true
}

// reject notes that IDLE is of no use.
func (t *idleTrust) reject(now time.Time) {
	*t = idleTrust{until: now.Add(idleRetry)}
}
