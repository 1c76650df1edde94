// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	goimap "github.com/emersion/go-imap/v2"

	"github.com/hinged/hinged/ingest"
)

// ErrEmptyMailbox is returned by Try where there is no message to try it on.
var ErrEmptyMailbox = errors.New("the mailbox is empty")

// The second attempt to take a tried keyword off again, on a connection of its own, may
// take restoreTimeout. When the caller has gone it is made as well, but ends after
// stopTimeout: a program that was asked to stop ends within 8 seconds, and must still say
// where the keyword may be.
const (
	restoreTimeout = 20 * time.Second
	stopTimeout    = 6 * time.Second
)

// Trial is how a keyword was set on one message and taken off again.
type Trial struct {
	Place       ingest.Place
	Conditional bool // set only if the message was unchanged (RFC 7162)
	// Kept: it was there after the mailbox was opened anew. When it was not,
	// Words may say why.
	Kept  bool
	Words string // the server's, when it said no
	// Leftover: the keyword was on the message already, from a trial that was cut
	// short. It is off now.
	Leftover bool
}

// RestoreError says that a keyword which was tried may still be on a message.
type RestoreError struct {
	Place   ingest.Place
	Keyword string
	Err     error
}

func (e *RestoreError) Error() string {
	return fmt.Sprintf("%s may still be on the message with UID %d in %s: %v", e.Keyword, e.Place.UID, e.Place.Mailbox, e.Err)
}

func (e *RestoreError) Unwrap() error { return e.Err }

// Try sets a keyword on one message of a mailbox, its oldest, opens the mailbox
// anew to see whether it was kept, takes it off again and looks once more. No
// other flag is touched. Once the keyword may be on the message it is taken off
// whatever happens, over a second connection if need be and also when ctx has
// ended; a *RestoreError says that not even this worked.
func (p *Probe) Try(ctx context.Context, mailbox, keyword string) (t Trial, err error) {
	if err := ValidFlag(keyword); err != nil || strings.HasPrefix(keyword, `\`) {
		return t, fmt.Errorf("%q is not a keyword", keyword)
	}
	m, err := p.subject(mailbox)
	if err != nil {
		return t, err
	}
	t.Place = ingest.Place{Mailbox: mailbox, UIDValidity: p.open.UIDValidity, UID: m.uid}
	defer func() {
		// From here on the keyword may be there.
		if failed := p.takeOff(ctx, t.Place, keyword); failed != nil {
			err = errors.Join(err, &RestoreError{t.Place, keyword, failed})
		}
	}()
	if t.Leftover = holds(m.words, keyword); t.Leftover {
		if err := p.clear(t.Place, keyword); err != nil {
			return t, err
		}
		if _, err := p.Open(mailbox, false); err != nil {
			return t, err
		}
		if m, _, err = p.flags(m.uid); err != nil {
			return t, err
		}
	}
	t.Conditional = p.cond && m.modseq != 0
	if t.Words, err = p.setWord(m, keyword, t.Conditional); err != nil || t.Words != "" {
		return t, err
	}
	if _, err = p.Open(mailbox, true); err != nil {
		return t, err
	}
	m, there, err := p.flags(m.uid)
	t.Kept = holds(m.words, keyword)
	if err == nil && !there {
		t.Words = "the message disappeared meanwhile"
	}
	return t, err
}

// setWord sets the keyword on a message; refused says why the server
// would not.
func (p *Probe) setWord(m fetched, keyword string, conditional bool) (refused string, err error) {
	for range storeTries {
		if !conditional {
			m.modseq = 0
		}
		late, err := p.s.store(m.uid, goimap.StoreFlagsAdd, []goimap.Flag{goimap.Flag(keyword)}, m.modseq)
		if status, no := isStatus(err); no {
			return status.Error(), nil
		}
		if err != nil {
			return "", err
		}
		if m, _, err = p.flags(m.uid); err != nil || !late {
			return "", err
		}
	}
	return "the message changed again and again", nil
}

// subject opens a mailbox and returns its oldest message and its flags.
func (p *Probe) subject(mailbox string) (m fetched, err error) {
	if _, err := p.Open(mailbox, false); err != nil {
		return m, err
	}
	found, err := p.search(&goimap.SearchCriteria{}) // all: some servers know no sequence numbers (RFC 9586)
	if err != nil {
		return m, err
	}
	if len(found) == 0 {
		return m, ErrEmptyMailbox
	}
	m, there, err := p.flags(found[0].first)
	if err == nil && !there {
		err = fmt.Errorf("the message with UID %d in %s disappeared", found[0].first, mailbox)
	}
	return m, err
}

// holds reports whether a flag, in any spelling, is among those of a message.
func holds(words []string, flag string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return ingest.CanonicalFlag(w) == ingest.CanonicalFlag(flag) })
}

// takeOff makes sure that a keyword is off a message, over a second connection if need
// be and also when ctx has ended. A message that is gone has none.
func (p *Probe) takeOff(ctx context.Context, at ingest.Place, keyword string) error {
	if ctx.Err() == nil {
		if err := p.clear(at, keyword); err == nil {
			return nil
		}
	}
	here, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(p.o.stopTimeout, cancel) })()
	again, err := Reach(here, p.o)
	if err != nil {
		return err
	}
	defer again.Close()
	if err := again.Login(here); err != nil {
		return err
	}
	return again.clear(at, keyword)
}

// clear takes a keyword off the message and looks whether it is off. A message that is
// gone has none.
func (p *Probe) clear(at ingest.Place, keyword string) error {
	// Opened anew, so that what is read is what the server stored.
	if _, err := p.Open(at.Mailbox, false); err != nil {
		return err
	}
	if p.open.UIDValidity != at.UIDValidity {
		return fmt.Errorf("%s was renumbered meanwhile", at.Mailbox)
	}
	m, there, err := p.flags(at.UID)
	if err != nil || !there || !holds(m.words, keyword) {
		return err
	}
	if _, err := p.s.store(at.UID, goimap.StoreFlagsDel, []goimap.Flag{goimap.Flag(keyword)}, 0); err != nil {
		return err
	}
	if _, err := p.Open(at.Mailbox, true); err != nil {
		return err
	}
	m, _, err = p.flags(at.UID)
	if err == nil && holds(m.words, keyword) {
		err = errors.New("the server accepted the removal but did not remove it")
	}
	return err
}
