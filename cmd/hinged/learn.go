// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/ingest/archive"
	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
)

// Bounds of what learn hands over at a time.
const (
	teachMessages = 200
	teachBytes    = 16 << 20
)

type learning struct {
	account, since            string
	most                      int
	important, ordinary, json bool
}

func learnCommand() *cobra.Command {
	l := &learning{}
	c := &cobra.Command{
		Use:   "learn [--important|--ordinary MESSAGE…]",
		Short: "Label messages, or list those whose label teaches most",
		Long: `Label each MESSAGE as important or ordinary. The label counts at once, more than
anything else you do with a message, and changes the score of all similar
messages.

MESSAGE is a Message-ID, the key of a message or its first 8 digits or more, a
file with a message, an mbox, a folder of mail in the forms that eval reads, or
"-" for standard input. The messages of an mbox or folder are learnt in order of
date. hinged needn't know a message that is in a file. hinged doesn't mark a
message because you label it.

Giving the same label twice changes nothing. Giving the other label is a new
lesson. The exit code is 1 if hinged couldn't learn a message.

Without MESSAGE, list the few messages of the last four weeks whose label would
teach hinged most, if you have done nothing with them yet. As long as it has learnt
little, these are of different senders: what is probably important, mail of which
you get much, and what hinged is least certain about. Later they are the least
certain ones. Three answers a day are enough for marks within a week. On a terminal,
it offers to take your answers at once. hinged doesn't ask about a message again
that you have labelled.

hinged keeps no subjects. It describes a message by its sender, how it was
addressed, and words of its subject, perhaps in another order. With names =
false in the configuration, it shows only the score.`,
		Example: `  $ hinged learn
  AGE  SCORE   CALLED    MESSAGE       WHAT
  2h   +0.772  ordinary  0f3b8c1de2a4  ann@example.org, to you alone: invoice for the roof
       for it: only to you; the word "invoice"
       against it: the first message from this sender
  5h   +0.655  ordinary  77d1e0b3c1aa  bob@example.com, to you and others: minutes of the meeting
       for it: you answered 8 of their 9 messages

  Scores above +0.801 are important. To answer:
    hinged learn --important MESSAGE…
    hinged learn --ordinary MESSAGE…
  $ hinged learn --important 0f3b8c1de2a4
  0f3b8c1de2a4: learnt as important, score +0.772 → +0.951
  $ hinged learn --ordinary newsletters.mbox
  newsletters.mbox: learnt as ordinary, score +0.207 → -0.331
  newsletters.mbox#2: learnt as ordinary, score -0.630 → -0.711
  2 messages: 2 learnt as ordinary, 1 of them a mistake`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case l.important && l.ordinary:
				return cli.Misuse(cmd, "%s takes --important or --ordinary, and not both", cmd.CommandPath())
			case len(args) == 0 && (l.important || l.ordinary):
				return cli.Misuse(cmd, "%s needs a Message-ID, the key of a message, or a file", cmd.CommandPath())
			case len(args) == 0:
				return l.ask(cmd)
			case !l.important && !l.ordinary:
				return cli.Misuse(cmd, "%s needs --important or --ordinary", cmd.CommandPath())
			}
			return l.learn(cmd, args)
		},
	}
	accountFlag(c, &l.account)
	flags := c.Flags()
	flags.BoolVar(&l.json, "json", false, "print JSON")
	flags.BoolVar(&l.important, "important", false, "they are important")
	flags.BoolVar(&l.ordinary, "ordinary", false, "they are ordinary")
	flags.StringVar(&l.since, "since", fmt.Sprintf("%dd", desk.AskDays), "list only messages that arrived since a `time`: 7d, 2026-03-01,\n2026-03-01T09:00:00Z")
	flags.IntVarP(&l.most, "number", "n", 3, "how many to list")
	return c
}

func (l *learning) learn(cmd *cobra.Command, args []string) error {
	label := "important"
	if l.ordinary {
		label = "ordinary"
	}
	show := func(l desk.Lesson) error {
		_, err := fmt.Fprintln(cli.Wrapping(cmd.OutOrStdout()), l.Words(label))
		return err
	}
	if l.json {
		show = func(desk.Lesson) error { return nil }
	}
	sum, err := with(cmd.Context(), configOf(cmd), func(at *control.At) (desk.Lessons, error) {
		t := teacher{at: at, account: l.account, label: label, show: show}
		from := &reading{stdin: cmd.InOrStdin(), order: archive.ByDate}
		err := t.all(cmd.Context(), args, from)
		from.note(cmd.ErrOrStderr())
		return t.sum, err
	})
	if err != nil {
		return err
	}
	if l.json {
		err = cli.PrintJSON(cmd.OutOrStdout(), sum)
	} else if len(sum.Lessons) > 1 {
		_, err = fmt.Fprintln(cli.Wrapping(cmd.OutOrStdout()), sum.Words())
	}
	if err == nil && sum.Refused > 0 {
		err = fmt.Errorf("%d of %d messages were not learnt", sum.Refused, len(sum.Lessons))
	}
	return err
}

func (l *learning) ask(cmd *cobra.Command) error {
	if l.most < 1 {
		return cli.Misuse(cmd, "-n is %d, want 1 or more", l.most)
	}
	now := time.Now()
	t, err := timeAgo(l.since, now)
	if err != nil {
		return cli.Misuse(cmd, "--since %s: %w", l.since, err)
	}
	asked, err := ask(cmd.Context(), configOf(cmd), desk.Ask, l.account, desk.AskRequest{Since: t, Most: l.most})
	if err != nil {
		return err
	}
	if l.json {
		return cli.PrintJSON(cmd.OutOrStdout(), asked)
	}
	if err := printAsked(cli.Wrapping(cmd.OutOrStdout()), asked, l.account, now); err != nil {
		return err
	}
	return answerNow(cmd, configOf(cmd), l.account, asked)
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
