// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/ingest/archive"
	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/control"
	"github.com/hinged/hinged/internal/desk"
)

// Bounds of what learn hands over at a time.
const (
	teachMessages = 200
	teachBytes    = 16 << 20
)

func learnCommand() *cobra.Command {
	var path, account string
	var important, ordinary, asJSON bool
	c := &cobra.Command{
		Use:   "learn --important|--ordinary MESSAGE…",
		Short: "Label messages important or ordinary",
		Long: `Label each MESSAGE as important or ordinary. The label counts at once, more than
anything else you do with a message, and changes the score of all similar
messages.

MESSAGE is a Message-ID, the key of a message or its first 8 digits or more, a
file with a message, an mbox, a folder of mail in the forms that eval reads, or
"-" for standard input. The messages of an mbox or folder are learnt in order of
date. hinged needn't know a message that is in a file. hinged doesn't mark a
message because you label it.

Giving the same label twice changes nothing. Giving the other label is a new
lesson. The exit code is 1 if hinged couldn't learn a message.`,
		Example: `  $ hinged learn --important 'abc123@example.org'
  abc123@example.org: learnt as important, score -0.412 → +0.118
  $ hinged learn --ordinary newsletters.mbox
  newsletters.mbox: learnt as ordinary, score +0.207 → -0.331
  newsletters.mbox#2: learnt as ordinary, score -0.630 → -0.711
  2 messages: 2 learnt as ordinary, 1 of them a mistake`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case important == ordinary:
				return cli.Misuse(cmd, "%s needs --important or --ordinary, and not both", cmd.CommandPath())
			case len(args) == 0:
				return cli.Misuse(cmd, "%s needs a Message-ID, the key of a message, or a file", cmd.CommandPath())
			}
			label := "important"
			if ordinary {
				label = "ordinary"
			}
			show := func(l desk.Lesson) error {
				_, err := fmt.Fprintln(cli.Wrapping(cmd.OutOrStdout()), lessonWords(l, label))
				return err
			}
			if asJSON {
				show = func(desk.Lesson) error { return nil }
			}
			sum, err := with(cmd.Context(), path, func(at *control.At) (desk.Lessons, error) {
				t := teacher{at: at, account: account, label: label, show: show}
				from := &reading{stdin: cmd.InOrStdin(), order: archive.ByDate}
				err := t.all(cmd.Context(), args, from)
				from.note(cmd.ErrOrStderr())
				return t.sum, err
			})
			if err != nil {
				return err
			}
			if asJSON {
				err = cli.PrintJSON(cmd.OutOrStdout(), sum)
			} else if len(sum.Lessons) > 1 {
				err = printLessonSum(cli.Wrapping(cmd.OutOrStdout()), sum)
			}
			if err == nil && sum.Refused > 0 {
				err = fmt.Errorf("%d of %d messages were not learnt", sum.Refused, len(sum.Lessons))
			}
			return err
		},
	}
	configFlag(c, &path)
	accountFlag(c, &account)
	cli.JSONFlag(c, &asJSON, "JSON")
	c.Flags().BoolVar(&important, "important", false, "they are important")
	c.Flags().BoolVar(&ordinary, "ordinary", false, "they are ordinary")
	return c
}

// teacher hands messages over, some at a time.
type teacher struct {
	at             *control.At
	account, label string
	show           func(desk.Lesson) error
	sum            desk.Lessons
	batch          []desk.Message
	bytes          int
}

func (t *teacher) all(ctx context.Context, messages []string, from *reading) error {
	for _, message := range messages {
		if _, err := os.Stat(message); err != nil && message != "-" {
			if err := t.add(ctx, desk.Message{Name: message}); err != nil {
				return err
			}
			continue
		}
		n := 0
		err := from.each(message, func(m *archive.Message) error {
			n++
			content := append([]byte{}, m.Raw...) // the reader uses it again
			return t.add(ctx, desk.Message{Name: nameOf(m), Content: &content})
		})
		if err == nil && n == 0 {
			err = fmt.Errorf("%s holds no message", message)
		}
		if err != nil {
			return errors.Join(t.flush(ctx), err)
		}
	}
	return t.flush(ctx)
}

func (t *teacher) add(ctx context.Context, h desk.Message) error {
	t.batch = append(t.batch, h)
	if h.Content != nil {
		t.bytes += len(*h.Content)
	}
	if len(t.batch) < teachMessages && t.bytes < teachBytes {
		return nil
	}
	return t.flush(ctx)
}

func (t *teacher) flush(ctx context.Context) error {
	if len(t.batch) == 0 {
		return nil
	}
	done, err := control.Ask(ctx, t.at, desk.Label, t.account, desk.LabelRequest{Label: t.label, Messages: t.batch})
	t.batch, t.bytes = nil, 0
	if err != nil {
		return err
	}
	t.sum.Add(done)
	for _, l := range done.Lessons {
		if err := t.show(l); err != nil {
			return err
		}
	}
	return nil
}

// lessonWords puts into words what one message taught.
func lessonWords(l desk.Lesson, label string) string {
	if others := othersWords(l.Message, l.Others); others != "" {
		l.Name += " (" + others + ")"
	}
	mark, again := "", "; nothing changed"
	if l.MarkChanged {
		mark = "; " + l.MarkWords()
		again = mark
	}
	switch l.Result {
	case desk.LessonLearnt:
		return fmt.Sprintf("%s: learnt as %s, score %+.3f → %+.3f%s", l.Name, label, l.Before, l.After, mark)
	case desk.LessonKnown:
		return fmt.Sprintf("%s: learnt as %s before%s, score %+.3f", l.Name, label, again, l.After)
	case desk.LessonSent:
		return fmt.Sprintf("%s: handed to the input topic, to be learnt as %s in its turn", l.Name, label)
	default:
		return fmt.Sprintf("%s: not learnt: %s", l.Name, l.Why)
	}
}

func printLessonSum(w io.Writer, sum desk.Lessons) error {
	s := fmt.Sprintf("%d messages: %d learnt as %s", len(sum.Lessons), sum.Learnt, sum.Label)
	if sum.Sent > 0 {
		s += fmt.Sprintf(", %d handed to the input topic", sum.Sent)
	}
	if sum.Known > 0 {
		s += fmt.Sprintf(", %d learnt before", sum.Known)
	}
	if sum.Refused > 0 {
		s += fmt.Sprintf(", %d not learnt", sum.Refused)
	}
	_, err := fmt.Fprintln(w, s)
	return err
}
