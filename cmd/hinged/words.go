// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/desk"
)

func wordsCommand() *cobra.Command {
	var path, account string
	var asJSON bool
	var most int
	c := &cobra.Command{
		Use:   "words [WORD…]",
		Short: "Show the weights of words and senders",
		Long: `Show the weights of each WORD wherever a message can contain it: in the subject,
the text, a quotation, and so on. WORD may also be two words, an address, a
domain, a mailing list, a header or a path. A weight above zero pulls towards
important, one below zero towards ordinary.

Without WORD, list the largest weights in both directions. Features that name
nobody, such as how a message is addressed, always have a name. Other features
get their names from learnt messages: only if at least three of them have the
feature, and only if it doesn't look like a code or a number. With names = false
in the configuration, words and addresses have no names.

With a kernel, a word's weight depends on the rest of the message. words shows
what it weighs by itself; "hinged explain" shows its effect in one message.`,
		Example: `  $ hinged words invoice ann@example.org
  invoice
    +0.412  "invoice" in the subject
    -0.038  "invoice" in quoted text
  ann@example.org
    +0.377  from ann@example.org, to you alone`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if most < 1 {
				return cli.Misuse(cmd, "-n is %d, want 1 or more", most)
			}
			for _, word := range args {
				if strings.TrimSpace(word) == "" {
					return cli.Misuse(cmd, "a WORD is empty")
				}
			}
			w, err := ask(cmd.Context(), path, desk.GetWords, account, desk.WordsRequest{Words: args, Most: most})
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), w)
			}
			return printWords(cli.Wrapping(cmd.OutOrStdout()), w)
		},
	}
	configFlag(c, &path)
	accountFlag(c, &account)
	cli.JSONFlag(c, &asJSON, "JSON")
	c.Flags().IntVarP(&most, "number", "n", 20, "how many to show for each word, or in each direction")
	return c
}

func printWords(w io.Writer, words desk.Words) error {
	var b strings.Builder
	list := func(features []desk.WordWeight) {
		for _, f := range features {
			pinned := ""
			if f.Rule != "" {
				pinned = " (your rule: always " + f.Rule + ")"
			}
			fmt.Fprintf(&b, "  %+.3f  %s%s\n", f.Weight, f.Text, pinned)
		}
	}
	for _, word := range words.Words {
		fmt.Fprintln(&b, word.Word)
		list(word.Features)
		switch {
		case len(word.Features) == 0:
			fmt.Fprintln(&b, "  no weight: nothing that was learnt had it")
		case word.More > 0:
			fmt.Fprintf(&b, "  and %d weaker\n", word.More)
		}
	}
	if len(words.Words) == 0 {
		switch words.Supports {
		case 0:
			fmt.Fprintf(&b, "Of %d weights the strongest, towards important:\n", words.Weights)
		default:
			fmt.Fprintf(&b, "Of %d features of %d examples, what weighs most by itself towards important:\n", words.Weights, words.Supports)
		}
		list(words.Important)
		fmt.Fprintln(&b, "Towards ordinary:")
		list(words.Ordinary)
		if len(words.Rules) > 0 {
			fmt.Fprintln(&b, "Your rules, with what they weigh:")
			for _, r := range words.Rules {
				fmt.Fprintf(&b, "  %+.3f  always %s: %s\n", r.Weight, r.Label, r.Match)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
