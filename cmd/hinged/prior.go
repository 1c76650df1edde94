// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/desk"
	"github.com/hinged/hinged/internal/evaluate"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/prior"
	"github.com/hinged/hinged/model"
)

// priorFlags are the flags of prior.
type priorFlags struct {
	config            string
	owner, notes      []string
	accounts, average bool
}

func priorCommand() *cobra.Command {
	f := &priorFlags{}
	c := &cobra.Command{
		Use:   "prior {--owner ADDRESS | --accounts | --average} [FILE…]",
		Short: "Make the weights that new accounts begin with",
		Long: `Make a prior and print it. A prior is the set of weights with which a new
account begins, until its own lessons outweigh them. It contains only weights of
features that name nobody: how a message is addressed, its place in the thread,
its shape, and the history of its sender and thread. It contains no address, no
name and no word of mail.

There are three ways:

  --owner     plays archives of one owner's mail with the prior "none", as
              "hinged eval --feedback delayed" does, and takes the final weights.
  --accounts  takes the mean of those accounts in this configuration that have
              learnt enough to decide. If such an account began with a prior,
              that is included.
  --average   takes the mean of existing priors; each counts the same.

To use it, save it to a file and name that in the configuration, as in prior =
"team.prior". docs/prior.md says when that is worthwhile.`,
		Example: `  $ hinged prior --owner ann@example.org ann.mbox.gz > ann.prior
  $ hinged prior --average ann.prior ben.prior > team.prior
  $ hinged prior --accounts --note "made of our own accounts" > ours.prior`,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := f.make(cmd, args)
			if err != nil {
				return err
			}
			p.Notes = append(f.notes, p.Notes...)
			return p.Write(cmd.OutOrStdout())
		},
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.owner, "owner", nil, "an `address` of the owner of the archives; may be repeated")
	flags.BoolVar(&f.accounts, "accounts", false, "make it from the accounts in this configuration")
	flags.BoolVar(&f.average, "average", false, "make it from existing priors")
	flags.StringArrayVar(&f.notes, "note", nil, "a `line` to write at its top; may be repeated")
	configFlag(c, &f.config)
	return c
}

func (f *priorFlags) make(cmd *cobra.Command, args []string) (*prior.Prior, error) {
	ways := 0
	for _, way := range []bool{len(f.owner) > 0, f.accounts, f.average} {
		if way {
			ways++
		}
	}
	switch {
	case ways != 1:
		return nil, cli.Misuse(cmd, "say one of --owner, --accounts and --average")
	case f.accounts && len(args) > 0:
		return nil, cli.Misuse(cmd, "--accounts takes no files, got %q", args[0])
	case !f.accounts && len(args) == 0:
		return nil, cli.Misuse(cmd, "%s needs files", cmd.CommandPath())
	case !f.accounts && cmd.Flags().Changed("config"):
		return nil, cli.Misuse(cmd, "--config has no effect without --accounts")
	case f.accounts:
		return f.ofAccounts(cmd)
	case f.average:
		return ofPriors(args)
	default:
		return f.ofArchives(cmd, args)
	}
}

func (f *priorFlags) ofArchives(cmd *cobra.Command, args []string) (*prior.Prior, error) {
	var mean prior.Mean
	archive := cli.Archive{}
	archive.Define(&cobra.Command{}) // whose flags keep their defaults
	archive.Owner, archive.Feedback.Value = f.owner, string(evaluate.Delayed)
	r, err := archive.Play(cmd, args, evaluate.Play{Options: filter.DefaultOptions(), Prior: prior.None().Pack(), Weights: func(w *model.Weights) { mean.Add(w) }})
	if err != nil {
		return nil, err
	}
	p := mean.Prior()
	p.Notes = []string{fmt.Sprintf("From the answers of 1 owner: %d messages, %d of them important; %d lessons, learner %s, feedback delayed.",
		r.Examples, r.Important, r.Lessons, r.Learner)}
	return p, nil
}

func ofPriors(paths []string) (*prior.Prior, error) {
	var mean prior.Mean
	var notes []string
	for _, path := range paths {
		p, err := prior.Load(path)
		if err != nil {
			return nil, err
		}
		mean.AddPrior(p)
		notes = append(notes, p.Notes...)
	}
	p := mean.Prior()
	p.Notes = append([]string{fmt.Sprintf("The mean over %d owners:", p.Owners)}, notes...)
	return p, nil
}

func (f *priorFlags) ofAccounts(cmd *cobra.Command) (*prior.Prior, error) {
	got, err := ask(cmd.Context(), f.config, desk.GetPrior, "", desk.None{})
	switch {
	case err != nil:
		return nil, err
	case got.Accounts == 0:
		return nil, errors.New("no account has learnt enough to make a prior of")
	}
	if got.Skipped > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "Left out %d accounts that have too few labels or a kernel.\n", got.Skipped)
	}
	p := &prior.Prior{Owners: got.Accounts}
	for _, w := range got.Weights {
		p.Weights = append(p.Weights, prior.Weight{Name: w.Feature, Value: w.Weight})
	}
	p.Notes = []string{fmt.Sprintf("The mean over %d accounts, which learnt %d lessons, %d of them important.", got.Accounts, got.Lessons, got.Important)}
	return p, nil
}
