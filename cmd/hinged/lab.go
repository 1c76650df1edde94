package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/lab"
	"github.com/hinged/hinged/model"
)

// labFlags are the flags of lab.
type labFlags struct {
	x                                    lab.Experiment
	kernel                               model.Kernel
	modified                             model.ModifiedOptions
	generate                             string
	asJSON                               bool
	learner, zero, mapping, kind, forget *choice
}

func labCommand() *cobra.Command {
	f := &labFlags{x: lab.Experiment{Learner: model.DefaultSpec()}}
	c := &cobra.Command{
		Use:   "lab FILE",
		Short: "Run any learner on labelled vectors, and see the theory at work",
		Long: `Teach a learner labelled vectors, pass after pass, until one makes no mistake, and
compare its mistakes with what theory allows. Nothing of it has to do with mail.

FILE ("-" is standard input) has svmlight's form or Vowpal Wabbit's; --generate
makes hard examples instead. The vectors are raw: --map, --lift, --normalise and
--force change them, in that order.`,
		Example: `  $ hinged lab --generate blum:10 --learner perceptron
  learner   perceptron
  examples  4, R 1.41421
  result    separated: 185 mistakes in 93 passes
  margin    0.000985281; no weights have more than 0.0499377
  ceiling   at most 193 mistakes in these passes; bound 328.755, gap 0.033
  $ hinged lab --map quadratic --lift 1 points.svm`,
		Args: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 1) == (f.generate != "") || len(args) > 1 {
				return misuse(cmd, "%s takes one file of labelled vectors, or --generate", cmd.CommandPath())
			}
			return nil
		},
		RunE: f.run,
	}
	flags := c.Flags()
	flags.StringVar(&f.generate, "generate", "", "`what` to make instead of reading a file: vempala:N or blum:K")
	f.learner = choiceVar(c, "learner", string(f.x.Learner.Kind), "how it learns", "perceptron", "margin", "passive-aggressive", "modified")
	flags.Float64Var(&f.x.Learner.Margin, "margin", f.x.Learner.Margin, "margin: learn from every score not above this on the right side")
	flags.Float64Var(&f.x.Learner.Aggressiveness, "aggressiveness", f.x.Learner.Aggressiveness, "passive-aggressive: how far one lesson may go (C)")
	flags.IntVar(&f.x.Learner.Variant, "variant", f.x.Learner.Variant, "passive-aggressive: 1 (PA-I) or 2 (PA-II)")
	f.zero = choiceVar(c, "zero", "unsure", "what a score of 0 predicts", "unsure", "negative", "positive")
	flags.IntVar(&f.x.Passes, "passes", 1000, "most passes")

	f.kind = choiceVar(c, "kernel", "none", "kernel", "none", "polynomial", "gaussian")
	flags.IntVar(&f.kernel.Degree, "degree", 2, "polynomial: the degree")
	flags.BoolVar(&f.kernel.Normalised, "normalised", false, "polynomial: divide by √(K(a,a)·K(b,b))")
	flags.Float64Var(&f.kernel.Gamma, "gamma", 1, "gaussian: exp(−γ‖a − b‖²)")
	flags.IntVar(&f.x.Budget, "budget", 0, "kernel: most supports; 0 is no limit")
	f.forget = choiceVar(c, "forget", "oldest", "kernel: which support goes", "oldest", "weakest")

	flags.Float64Var(&f.modified.Sigma, "sigma", 0.1, "modified: what is nearer than this to the hyperplane, by the cosine, is let be")
	flags.Float64Var(&f.modified.Delta, "delta", 0.01, "modified: the probability of failing that is allowed")
	flags.Uint64Var(&f.modified.Seed, "seed", 1, "modified: of the random starts")
	flags.BoolVar(&f.modified.NotesRounds, "notes-rounds", false, "modified: log_{4/3}(1/δ) rounds, as the lecture notes have it")

	f.mapping = choiceVar(c, "map", "none", "map of the vectors", "none", "quadratic", "quadratic-kernel")
	flags.Float64Var(&f.x.Lift, "lift", 0, "`value` of a constant coordinate; 0 is none")
	flags.BoolVar(&f.x.Normalise, "normalise", false, "scale every vector to length 1")
	flags.Float64Var(&f.x.Force, "force", 0, "`value` of a feature of its own for each example, which makes them separable; 0 is none")
	flags.BoolVar(&f.x.Count, "count", false, "count the learner's operations; the modified learner has no counts")
	jsonFlag(c, &f.asJSON, "JSON")
	return c
}

func (f *labFlags) run(cmd *cobra.Command, args []string) error {
	if f.x.Passes < 1 {
		return misuse(cmd, "--passes is %d, want 1 or more", f.x.Passes)
	}
	f.x.Forget = model.Forgetting(f.forget.value)
	if f.mapping.value != "none" {
		f.x.Map = f.mapping.value
	}
	switch {
	case f.learner.value == "modified" && f.kind.value != "none":
		return misuse(cmd, "the modified learner has no kernel")
	case f.learner.value == "modified" && f.x.Count:
		return misuse(cmd, "the operations of the modified learner are not counted")
	case f.learner.value == "modified":
		f.x.Modified = &f.modified
	default:
		f.x.Learner.Kind = model.Kind(f.learner.value)
		f.x.Learner.Zero = map[string]model.Zero{"unsure": model.ZeroUnsure, "negative": model.ZeroNegative, "positive": model.ZeroPositive}[f.zero.value]
	}
	if f.kind.value != "none" {
		f.kernel.Kind = model.KernelKind(f.kind.value)
		f.x.Kernel = &f.kernel
	}
	lessons, err := f.lessons(cmd, args)
	if errors.Is(err, lab.ErrExperiment) {
		return misuse(cmd, "%w", err)
	}
	if err != nil {
		return err
	}
	r, err := f.x.Run(lessons)
	switch {
	case errors.Is(err, lab.ErrExperiment):
		return misuse(cmd, "%w", err)
	case err != nil:
		return err
	case f.asJSON:
		return printJSON(cmd.OutOrStdout(), r)
	default:
		return r.WriteTable(cmd.OutOrStdout())
	}
}

func (f *labFlags) lessons(cmd *cobra.Command, args []string) ([]model.Lesson, error) {
	if f.generate != "" {
		return lab.Generate(f.generate)
	}
	if args[0] == "-" {
		return lab.ReadVectors(cmd.InOrStdin(), "standard input")
	}
	file, err := os.Open(args[0])
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return lab.ReadVectors(file, args[0])
}
