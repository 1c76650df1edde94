// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/prior"
	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/measure/evaluate"
	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store/boltfile"
)

// fewLessons of a class are too few for what an account learnt to be of use to others.
const fewLessons = 20

func priorCommand() *cobra.Command {
	var owner, notes []string
	var stores, average bool
	c := &cobra.Command{
		Use:   "prior {--owner ADDRESS | --stores | --average} FILE…",
		Short: "Make the weights that new accounts begin with",
		Long: `Make a prior and print it. A prior is the set of weights with which a new
account begins, until its own lessons outweigh them. It contains only weights of
features that name nobody: how a message is addressed, its place in the thread,
its shape, and the history of its sender and thread. It contains no address, no
name and no word of mail.

There are three ways:

  --owner    plays archives of one owner's mail with the prior "none", as
             "hinged eval --feedback delayed" does, and takes the final weights.
  --stores   takes the mean of the accounts in stores or backups that have learnt
             enough to decide. If such an account began with a prior, that is
             included. No daemon may have a store open; its backups may be read.
  --average  takes the mean of existing priors; each counts the same.

To use it, save it to a file and name that in the configuration, as in prior =
"team.prior". docs/prior.md says when that is worthwhile.`,
		Example: `  $ hinged-lab prior --owner ann@example.org ann.mbox.gz > ann.prior
  $ hinged-lab prior --average ann.prior ben.prior > team.prior
  $ hinged-lab prior --stores --note "made of our own accounts" hinged.backup > ours.prior`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Misuse(cmd, "%s needs files", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			way, ways := func() (*prior.Prior, error) { return ofArchives(cmd, owner, args) }, min(1, len(owner))
			if stores {
				way, ways = func() (*prior.Prior, error) { return ofStores(cmd, args) }, ways+1
			}
			if average {
				way, ways = func() (*prior.Prior, error) { return ofPriors(args) }, ways+1
			}
			if ways != 1 {
				return cli.Misuse(cmd, "say one of --owner, --stores and --average")
			}
			p, err := way()
			if err != nil {
				return err
			}
			p.Notes = append(notes, p.Notes...)
			return p.Write(cmd.OutOrStdout())
		},
	}
	flags := c.Flags()
	flags.StringArrayVar(&owner, "owner", nil, "an `address` of the owner of the archives; may be repeated")
	flags.BoolVar(&stores, "stores", false, "make it from the accounts in stores or backups")
	flags.BoolVar(&average, "average", false, "make it from existing priors")
	flags.StringArrayVar(&notes, "note", nil, "a `line` to write at its top; may be repeated")
	return c
}

func ofArchives(cmd *cobra.Command, owner, files []string) (*prior.Prior, error) {
	var mean prior.Mean
	archive := cli.Archive{}
	archive.Define(&cobra.Command{}) // whose flags keep their defaults
	archive.Owner, archive.Feedback.Value = owner, string(evaluate.Delayed)
	o, begin, err := archive.Settings(cmd, prior.NameNone)
	if err != nil {
		return nil, err
	}
	r, err := archive.Play(cmd, files, evaluate.Play{Options: o, Prior: begin, Weights: func(w *model.Weights) { mean.Add(w) }})
	if err != nil {
		return nil, err
	}
	p := mean.Prior()
	p.Notes = []string{fmt.Sprintf("From the answers of 1 owner: %d messages, %d of them important; %d lessons, learner %s, feedback delayed.",
		r.Examples, r.Important, r.Lessons, r.Learner)}
	return p, nil
}

func ofPriors(files []string) (*prior.Prior, error) {
	var mean prior.Mean
	var notes []string
	for _, path := range files {
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

// learnt adds up what accounts have learnt.
type learnt struct {
	prior.Mean
	skipped            int // accounts with too few labels, or with a kernel, whose weights are no weights of features
	lessons, important uint64
}

func ofStores(cmd *cobra.Command, files []string) (*prior.Prior, error) {
	var sum learnt
	for _, path := range files {
		if err := sum.addStore(path); err != nil {
			return nil, err
		}
	}
	if sum.Owners() == 0 {
		return nil, errors.New("no account has learnt enough to make a prior of")
	}
	if sum.skipped > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "Left out %d accounts that have too few labels or a kernel.\n", sum.skipped)
	}
	p := sum.Prior()
	p.Notes = []string{fmt.Sprintf("The mean over %d accounts, which learnt %d lessons, %d of them important.", p.Owners, sum.lessons, sum.important)}
	return p, nil
}

func (l *learnt) addStore(path string) (err error) {
	s, err := boltfile.OpenReadOnly(path, boltfile.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	names, err := s.Accounts()
	if err != nil {
		return err
	}
	for _, name := range names {
		w, err := writer.Open(s, name)
		if err != nil {
			return fmt.Errorf("account %s: %w", name, err)
		}
		f := w.Filter()
		a := f.State().Account
		if min(a.Important, a.Ordinary) < fewLessons || f.Options().Kernel != (filter.Kernel{}) {
			l.skipped++
			continue
		}
		l.Add(f.Explainer.Alone())
		l.lessons += a.Important + a.Ordinary
		l.important += a.Important
	}
	return nil
}
