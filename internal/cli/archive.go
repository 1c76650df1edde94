// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/evaluate"
)

// Archive are the flags of verbs that play archives of mail: what was important in them,
// when the labels come, and how the mail is read.
type Archive struct {
	Owner, Important, Ordinary []string
	Labels                     string
	Ask                        int
	Heard                      float64
	AuthservID                 string
	Feedback                   *Choice
}

// fromFlags in place of a label file has the flags in the archive give the labels.
const fromFlags = "from-flags"

// Define adds the flags to those of c, with the defaults of an account.
func (a *Archive) Define(c *cobra.Command) {
	flags := c.Flags()
	flags.StringArrayVar(&a.Owner, "owner", nil, "an `address` of the owner; may be repeated")
	flags.StringArrayVar(&a.Important, "important", nil, "archive of important mail (`path`); may be repeated")
	flags.StringArrayVar(&a.Ordinary, "ordinary", nil, "archive of ordinary mail (`path`); may be repeated")
	flags.StringVar(&a.Labels, "labels", "", "label `file`, or \"from-flags\"")
	a.Feedback = ChoiceVar(c, "feedback", string(evaluate.Immediate), "when labels arrive", string(evaluate.Immediate), string(evaluate.Delayed), string(evaluate.Live))
	flags.IntVar(&a.Ask, "ask", 0, "delayed, live: number of messages that the owner labels each\nevening: those that teach most")
	flags.Float64Var(&a.Heard, "heard", 1, "delayed, live: share of the owner's answers that teach; the\nothers still count as answers")
	flags.StringVar(&a.AuthservID, "authserv-id", "", "believe the Authentication-Results of this `server`")
}

// Play plays the archives in paths as the flags say, with a bar on standard error. What
// they don't say, the options of the filter for one, is p's.
func (a *Archive) Play(cmd *cobra.Command, paths []string, p evaluate.Play) (*evaluate.Result, error) {
	for _, address := range a.Owner {
		if _, err := mail.ParseAddress(address); err != nil || strings.ContainsAny(address, "<> ") {
			return nil, Misuse(cmd, "--owner %q is not a bare address such as me@example.org", address)
		}
	}
	read := &p.Options.Featurize
	read.Owner, read.AuthServID = a.Owner, a.AuthservID
	if err := p.Options.Validate(); err != nil {
		return nil, Misuse(cmd, "%w", err)
	}
	p.Paths, p.Important, p.Ordinary = paths, a.Important, a.Ordinary
	p.Feedback, p.Ask = evaluate.Feedback(a.Feedback.Value), a.Ask
	if !(a.Heard > 0 && a.Heard <= 1) {
		return nil, Misuse(cmd, "--heard is %v, want a share above 0 and at most 1", a.Heard)
	}
	if a.Heard < 1 {
		p.Heard = a.Heard
	}
	if p.FromFlags = a.Labels == fromFlags; a.Labels != "" && !p.FromFlags {
		var err error
		if p.Labels, err = readLabels(a.Labels); err != nil {
			return nil, err
		}
	}
	bar := NewBar(cmd.ErrOrStderr(), "playing")
	p.Progress = bar.Progress
	r, err := p.Run(cmd.Context())
	bar.Close()
	switch {
	case errors.Is(err, evaluate.ErrPlay):
		return nil, Misuse(cmd, "%w", err)
	case errors.Is(err, context.Canceled):
		return nil, errors.New("interrupted")
	}
	return r, err
}

func readLabels(path string) (*evaluate.Labels, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("label file: %w", err)
	}
	defer file.Close()
	return evaluate.ReadLabels(file, path)
}
