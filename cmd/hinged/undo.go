// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
)

type undoQuery struct {
	Marks    bool          `flag:"marks" usage:"remove the marks that hinged set"`
	Since    *time.Time    `flag:"since" usage:"with --marks: those set since a TIME: 7d, 2026-03-01, 2026-03-01T09:00:00Z"`
	Message  string        `flag:"message" usage:"with --marks: those on one MESSAGE" file:"key"`
	Wait     time.Duration `flag:"wait,,1m" usage:"with --marks: how long to wait without a confirmation from the server"`
	Learning *time.Time    `flag:"learning" usage:"take back what was learnt since a TIME"`
	DryRun   bool          `flag:"dry-run" usage:"say what would be taken back, and change nothing"`
	Yes      bool          `flag:"yes,y" usage:"with --learning: don't ask"`
}

// Wrong and Asks implement what verb says.
func (q *undoQuery) Wrong() error {
	switch {
	case q.Marks == (q.Learning != nil):
		return errors.New("hinged undo needs --marks or --learning, and not both")
	case q.Learning != nil && (q.Since != nil || q.Message != ""):
		return errors.New("--since and --message are for --marks")
	case q.Marks && q.Yes:
		return errors.New("--marks doesn't ask; --yes is for --learning")
	}
	return nil
}
func (q *undoQuery) Asks() bool { return q.Learning != nil }

var undo = verb{
	Help: desk.Help{
		Group: desk.ToCorrect,
		Use:   "undo --marks | --learning TIME",
		Short: "Take back the marks that hinged set, or what it learnt",
		Long: `With --marks, remove every mark that hinged set, or only those since a given
time or those on one message, in whichever watched mailbox the message is now.
A message is named by its Message-ID or its key, as ledger prints it. A mark that you or
another program set stays, even if you removed hinged's mark and set it again;
the companion keyword that hinged set with its mark is removed. hinged learns
nothing from this, forgets nothing, and never marks those messages again.

A copy (mark_copy) is deleted for good if it is as hinged put it there and the
message is elsewhere, too. Otherwise it stays and is listed.

The running daemon does this. If none runs, or if the account is paused, undo
connects by itself, removes the marks and disconnects. It waits until the server
has confirmed each removal. What the server hasn't confirmed stays in the ledger
as "undoing", and hinged continues at its next start. If there is such a mark,
or one that the server refused to remove, the exit code is 1.

Afterwards hinged marks new mail as before, unless you stop it.

With --learning, take back what hinged has learnt since a given time: weights,
counts and threshold become what they would be without those lessons. hinged
doesn't learn again from what you have done with your mail since, but it learns
from what you do from now on. Messages, marks and the ledger stay. It can go back
as far as the lessons are kept; for an earlier time it changes nothing and names
the earliest possible one.`,
		Example: `  $ hinged undo --marks --dry-run
  me: 12 marks would be taken back: Archive 2, INBOX 10
  $ hinged undo --marks
  me: 12 marks taken back: Archive 2, INBOX 10
    1 left alone: you or another program set it
  me marks new mail as before; ` + "`hinged pause`" + ` stops that, and shadow = "on" in the
  configuration lets it decide without marking
  $ hinged undo --marks --message 'abc123@example.org'
  me: 1 mark taken back: INBOX 1
  $ hinged undo --learning 2d --yes
  me: 37 lessons taken back (4 important, 33 ordinary); 812 stay
    learnt from 2026-03-01 09:12:44 to 2026-03-02 22:40:13
    marks: yes: $Important`,
		Question: "Take these lessons back?",
	},
	request: undoQuery{}, prints: []any{desk.UndoneMarks{}, desk.UnlearntLessons{}},
	do: func(c *call, q any) (any, error) {
		u := q.(*undoQuery)
		if u.Marks {
			return ask(c.Context(), c.config, desk.UndoMarks, c.account, desk.UndoMarksRequest{Since: u.Since, Message: u.Message, Patience: u.Wait, DryRun: u.DryRun})
		}
		return ask(c.Context(), c.config, desk.Unlearn, c.account, desk.UnlearnRequest{To: *u.Learning, DryRun: u.DryRun})
	},
	text: func(w io.Writer, a any) error {
		if u, ok := a.(desk.UndoneMarks); ok {
			return desk.UndoMarks.Text(w, u)
		}
		return desk.Unlearn.Text(w, a.(desk.UnlearntLessons))
	},
	problem: func(a any) error {
		u, _ := a.(desk.UndoneMarks)
		if left := u.Waiting + u.Failed; left > 0 && !u.DryRun {
			stand := "stand"
			if left == 1 {
				stand = "stands"
			}
			return fmt.Errorf("%s of hinged still %s", desk.Count(left, "mark"), stand)
		}
		return nil
	},
}
