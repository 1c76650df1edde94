// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/ingest/imap"
	"github.com/hinged/hinged/internal/control"
)

// Show is how a Checker shows the marks on a message: the owner sees for themselves where
// they appear. Nothing is set without consent, and all that is set is taken off again.
type Show struct {
	// Message is the Message-ID of the message; "" takes the newest in INBOX that was
	// read and has none of the marks.
	Message string
	// Agree asks whether these flags may be set on the message.
	Agree func(ctx context.Context, on imap.Candidate, flags []string) bool
	// Look returns when the owner has seen enough, or ctx ends.
	Look func(ctx context.Context)
}

// noteLeft tells of marks that an interrupted check left behind, and takes them off.
func (c *Checker) noteLeft(ctx context.Context, a *config.Account, o imap.Options) {
	dir := filepath.Dir(c.StorePath)
	if c.NoWrite {
		if _, left, _ := readNote(dir, a.Name); left {
			c.add(Warn, a.Name, "shown", "check again without --no-write, or start hinged: both take it off", "a mark that was shown is still on a message")
		}
		return
	}
	switch taken, err := TakeOffShown(ctx, dir, a.Name, o); {
	case err != nil:
		c.add(Fail, a.Name, "shown", "check again; if that does not help, take it off by hand and remove "+notePath(dir, a.Name), "%v", err)
	case taken:
		c.add(OK, a.Name, "shown", "", "a mark that an earlier check left on a message is off")
	}
}

// watched says why the marks can't be shown now: a daemon that sees a mark come and go
// takes both for the owner's word. "": they can.
func (c *Checker) watched(account string) (why, mend string) {
	if c.busy {
		return "another process has the store", "stop it first"
	}
	if c.status == nil {
		return "", ""
	}
	for _, s := range c.status.Accounts {
		if s.Account == account && s.Paused {
			return "", ""
		}
	}
	return "hinged is running, and would take it for your own word", "hinged pause --account " + account + "; check again; then hinged resume"
}

// started reports whether a daemon runs now that did not when the check began. One that
// starts later finds the note.
func (c *Checker) started(ctx context.Context) bool {
	if c.status != nil {
		return false
	}
	client, err := control.Dial(ctx, c.Config.Socket)
	if err == nil {
		_ = client.Close()
	}
	return !errors.Is(err, control.ErrNotRunning)
}

// show shows the marks of an account on one message. It has a connection of its own,
// which lives as long as the owner looks.
func (c *Checker) show(ctx context.Context, a *config.Account, o imap.Options) {
	if why, mend := c.watched(a.Name); why != "" {
		c.add(Warn, a.Name, "shown", mend, "not shown: %s", why)
		return
	}
	if len(a.Mark) == 0 {
		c.add(Warn, a.Name, "shown", `look into the folder that mark_copy names`, "not shown: the account sets no mark, only copies")
		return
	}
	p, err := imap.Reach(ctx, o)
	if err == nil {
		defer p.Close()
		err = p.Login(ctx)
	}
	if err != nil {
		c.add(Fail, a.Name, "shown", mendWire(err), "not shown: %v", err)
		return
	}
	box := markBox(a)
	on, err := p.Candidate(box, c.Show.Message, a.Mark)
	switch {
	case errors.Is(err, imap.ErrNoCandidate) && c.Show.Message == "":
		c.add(Warn, a.Name, "shown", "read a message first, or name one", "not shown: %s has no message that was read and has no mark", box)
		return
	case errors.Is(err, imap.ErrNoCandidate), errors.Is(err, imap.ErrMarked):
		c.add(Warn, a.Name, "shown", "name another", "not shown: %v", err)
		return
	case err != nil:
		c.add(Fail, a.Name, "shown", mendWire(err), "not shown: %v", err)
		return
	}
	flags, err := c.toShow(p, a, &on)
	if err != nil {
		c.add(Fail, a.Name, "shown", mendWire(err), "not shown: %v", err)
		return
	}
	if len(flags) == 0 {
		c.add(Warn, a.Name, "shown", "see the test marks", "not shown: %s keeps none of the marks", box)
		return
	}
	if !c.Show.Agree(ctx, on, flags) {
		c.add(OK, a.Name, "shown", "", "not shown: you did not want it")
		return
	}
	c.showOn(ctx, a, p, on, flags)
}

// toShow returns the marks that the mailbox keeps and, beside them, the companion, which
// tells every other hinged that they are no word of the owner's.
func (c *Checker) toShow(p *imap.Probe, a *config.Account, on *imap.Candidate) ([]string, error) {
	opened, err := p.Open(on.Place.Mailbox, false)
	if err != nil {
		return nil, err
	}
	var flags []string
	for _, m := range a.Mark {
		if opened.Keeps(m) {
			flags = append(flags, m)
		}
	}
	if len(flags) > 0 && a.Companion != "" && opened.Keeps(a.Companion) && !hasMark(on.Flags, a.Companion) {
		flags = append(flags, a.Companion)
	}
	return flags, nil
}

// showOn sets the flags, lets the owner look, and takes them off, whatever happens.
func (c *Checker) showOn(ctx context.Context, a *config.Account, p *imap.Probe, on imap.Candidate, flags []string) {
	dir := filepath.Dir(c.StorePath)
	note := shownNote{on.Place.Mailbox, on.Place.UIDValidity, on.Place.UID, flags}
	// Before the flags: there is no moment at which they are on the message and a start
	// after a kill does not know of them.
	if err := note.write(dir, a.Name); err != nil {
		c.add(Fail, a.Name, "shown", "look at state_dir", "not shown: %v", err)
		return
	}
	if c.started(ctx) {
		c.add(Warn, a.Name, "shown", "hinged pause --account "+a.Name+"; check again; then hinged resume", "not shown: hinged has just started")
		_ = removeNote(dir, a.Name) // one that stays says of flags that are not there
		return
	}
	refused, err := p.PutOn(on, flags)
	if err == nil && refused == "" {
		c.Show.Look(ctx)
	}
	at := fmt.Sprintf("UID %d in %s", on.Place.UID, on.Place.Mailbox)
	list := strings.Join(flags, ", ")
	off := error(nil)
	if !errors.Is(err, imap.ErrChanged) { // then nothing was set
		off = p.TakeOff(ctx, on.Place, flags...)
	}
	if off == nil {
		off = removeNote(dir, a.Name)
	}
	switch {
	case off != nil:
		c.add(Fail, a.Name, "shown", "check again, or start hinged: both take it off; or do it by hand", "%s MAY STILL BE ON %s: %v", list, at, off)
	case err != nil:
		c.add(Fail, a.Name, "shown", "check again", "not shown: %v; nothing is left behind", err)
	case refused != "":
		c.add(Fail, a.Name, "shown", "see the test flag", "%s was not kept on %s: %s", list, at, refused)
	default:
		c.add(OK, a.Name, "shown", "", "%s was on %s and is off again", list, at)
	}
}
