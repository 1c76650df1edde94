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

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/measure/evaluate"
	"github.com/hinged/hinged/store"
)

// Archive are the flags of verbs that play archives of mail: what was important in them,
// when the labels come, and the settings.
type Archive struct {
	Owner, Important, Ordinary []string
	Labels                     string
	Feedback                   *Choice
	Set                        []string
}

// fromFlags in place of a label file has the flags in the archive give the labels.
const fromFlags = "from-flags"

// Define adds the flags to those of c.
func (a *Archive) Define(c *cobra.Command) {
	flags := c.Flags()
	flags.StringArrayVar(&a.Owner, "owner", nil, "an `address` of the owner; may be repeated")
	flags.StringArrayVar(&a.Important, "important", nil, "archive of important mail (`path`); may be repeated")
	flags.StringArrayVar(&a.Ordinary, "ordinary", nil, "archive of ordinary mail (`path`); may be repeated")
	flags.StringVar(&a.Labels, "labels", "", "label `file`, or \"from-flags\"")
	a.Feedback = ChoiceVar(c, "feedback", string(evaluate.Immediate), "when labels arrive", string(evaluate.Immediate), string(evaluate.Delayed), string(evaluate.Live))
	SetFlag(c, &a.Set)
}

// SetFlag adds --set; see config.Judging.Set.
func SetFlag(c *cobra.Command, settings *[]string) {
	c.Flags().StringArrayVar(settings, "set", nil, "a setting, `key=value`, as in the configuration; may be\nrepeated")
}

// Settings returns the options of an account with the settings, and what it begins with.
// prior is the key's default.
func (a *Archive) Settings(cmd *cobra.Command, prior string) (o filter.Options, begin store.PackedVector, err error) {
	j := config.DefaultAccount().Judging
	j.Prior = prior
	if _, err := j.Set(a.Set); err != nil {
		return o, nil, Misuse(cmd, "%v", err)
	}
	begin, err = PriorWeights(&j)
	return JudgingOptions(&j, a.Owner), begin, err
}

// Play plays the archives in paths as the flags say, with a bar on standard error. What
// they don't say, the options of the filter for one, is p's.
func (a *Archive) Play(cmd *cobra.Command, paths []string, p evaluate.Play) (*evaluate.Result, error) {
	for _, address := range a.Owner {
		if _, err := mail.ParseAddress(address); err != nil || strings.ContainsAny(address, "<> ") {
			return nil, Misuse(cmd, "--owner %q is not a bare address such as me@example.org", address)
		}
	}
	if err := p.Options.Validate(); err != nil {
		return nil, Misuse(cmd, "%w", err)
	}
	p.Paths, p.Important, p.Ordinary, p.Feedback = paths, a.Important, a.Ordinary, evaluate.Feedback(a.Feedback.Value)
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
