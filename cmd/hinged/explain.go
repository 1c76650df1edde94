// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/ingest/archive"
	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/desk"
)

func explainCommand() *cobra.Command {
	var path, account string
	var asJSON, all bool
	c := &cobra.Command{
		Use:   "explain MESSAGE",
		Short: "Say which words and facts made a message important or not",
		Long: `Explain a message's score with the weights as they are now. The first lines say in
a few words what speaks for the message and what against it. Then come the parts
that raise or lower the score, and by how much. The parts add up to the score;
small ones are summed up by what they are about, and --all shows each. The next
lines name the lessons that the score comes from: earlier messages like it, and
what you did with them.
The last lines say what would have changed the decision: the fewest parts without
which it would be different, and what your label would do to the score. All of
this is computed, not guessed.

MESSAGE is a Message-ID, the key of a message or its first 8 digits or more, or
a file with a message, which need not be known ("-" is standard input).`,
		Example: `  $ hinged explain 'abc123@example.org'
  important, score +1.274, threshold +0.801
  7 in 10 such messages mattered
  for it: you answered 8 of 9 messages from ann@example.org; only to you
  against it: the word "newsletter"

    *  +0.412  from ann@example.org, to you alone
    *  +0.377  "invoice" in the subject
       -0.101  "newsletter" in the text
       +0.386  24 facts about the sender
       +0.200  120 words of the text
       +1.274  score

  Because of these:
    +0.523  you answered "invoice roof" from ann@example.org, 2026-03-02
    +0.288  you starred "invoice" from bob@example.net, 2026-02-19
    +0.463  all else that it has learnt

  Without the 2 parts marked * the score would be +0.485: ordinary.
  Called ordinary by you, it would have the score +0.310: ordinary.
  To say so: hinged learn --ordinary 0f3b8c1de2a4`,
		Args: cli.OneArg("a Message-ID, the key of a message, or a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := messageAt(cmd, args[0])
			if err != nil {
				return err
			}
			ex, err := ask(cmd.Context(), path, desk.Explain, account, desk.ExplainRequest{Message: m})
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), ex)
			}
			_, err = io.WriteString(cli.Wrapping(cmd.OutOrStdout()), explanationText(ex, args[0], all))
			return err
		},
	}
	configFlag(c, &path)
	accountFlag(c, &account)
	cli.JSONFlag(c, &asJSON, "JSON, with every part")
	c.Flags().BoolVar(&all, "all", false, "show every part and every lesson, also those of no weight")
	return c
}

// messageAt names a known message, or has one in a file read.
func messageAt(cmd *cobra.Command, message string) (m desk.Message, err error) {
	m.Name = message
	if !isFile(message) {
		return m, nil
	}
	// An empty file is an empty message here: it was named to be explained.
	m.Content = new([]byte{})
	n := 0
	err = eachMessage(message, cmd.InOrStdin(), func(found *archive.Message) error {
		if n++; n > 1 {
			return fmt.Errorf("%s holds more than one message; explain one at a time", message)
		}
		*m.Content = append(*m.Content, found.Raw...) // the reader uses it again
		return nil
	})
	return m, err
}
