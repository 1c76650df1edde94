package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/daemon"
)

func explainCommand() *cobra.Command {
	var path, account string
	var asJSON bool
	var parts int
	c := &cobra.Command{
		Use:   "explain MESSAGE",
		Short: "Say which words and facts made a message important or not",
		Long: `Take a message's score apart, with the weights as they are now: which features
pull which way, by how much. The parts add up to the score.

MESSAGE is a Message-ID, the key of a message or its first 8 digits or more, or
a file with a message, which need not be known ("-" is standard input).`,
		Example: `  $ hinged explain --config hinged.toml 'abc123@example.org'
  important, score +1.274, threshold +0.801
  learnt as important (mark)
    +0.412  from:ann@example.org
    -0.101  body:newsletter
    +0.963  in 211 smaller parts
    +1.274  score`,
		Args: oneArg("a Message-ID, the key of a message, or a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if parts < 1 {
				return misuse(cmd, "--parts is %d, want 1 or more", parts)
			}
			ex, err := ask(cmd.Context(), path, func(b daemon.Backend) (daemon.Explanation, error) {
				return explainMessage(cmd, b, account, args[0])
			})
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), ex)
			}
			return printExplanation(cmd.OutOrStdout(), ex, parts)
		},
	}
	configFlag(c, &path)
	accountFlag(c, &account)
	jsonFlag(c, &asJSON, "JSON, with every part")
	c.Flags().IntVarP(&parts, "parts", "n", 20, "how many parts to show")
	return c
}

// explainMessage explains a known message, or one in a file.
func explainMessage(cmd *cobra.Command, b daemon.Backend, account, message string) (daemon.Explanation, error) {
	if message != "-" {
		if info, err := os.Stat(message); err != nil || info.IsDir() {
			return b.Explain(cmd.Context(), account, message)
		}
	}
	var ex daemon.Explanation
	err := classifyAll(cmd.Context(), b, account, []string{message}, cmd.InOrStdin(), func(d daemon.Classified) error {
		if ex.Message != "" {
			return fmt.Errorf("%s holds more than one message; explain one at a time", message)
		}
		ex = daemon.Explanation{
			Account: account, Message: d.File, Outcome: d.Outcome, Reason: d.Reason,
			ScoreThen: d.Score, Threshold: d.Threshold, Score: d.Score, Now: d.Threshold, Parts: d.Parts,
		}
		return nil
	})
	return ex, err
}

// printExplanation shows the greatest parts and sums the others up.
func printExplanation(w io.Writer, ex daemon.Explanation, most int) error {
	var b strings.Builder
	fmt.Fprintln(&b, daemon.Verdict(ex.Outcome, ex.Reason, ex.ScoreThen, ex.Threshold))
	if ex.Score != ex.ScoreThen || ex.Now != ex.Threshold {
		fmt.Fprintf(&b, "that was at its arrival; now the score is %+.3f, the threshold %+.3f\n", ex.Score, ex.Now)
	}
	if ex.Label != "" {
		fmt.Fprintf(&b, "learnt as %s (%s)\n", ex.Label, ex.Source)
	}
	rest := 0.0
	for i, p := range ex.Parts {
		if i >= most {
			rest += p.Amount
			continue
		}
		name := p.Name
		if name == "" {
			name = "(a word that is not kept)"
		}
		fmt.Fprintf(&b, "  %+.3f  %s\n", p.Amount, name)
	}
	if more := len(ex.Parts) - most; more > 0 {
		fmt.Fprintf(&b, "  %+.3f  in %d smaller parts\n", rest, more)
	}
	fmt.Fprintf(&b, "  %+.3f  score\n", ex.Score)
	_, err := io.WriteString(w, b.String())
	return err
}
