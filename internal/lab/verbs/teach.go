// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/lab"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/model/theory"
)

// teaching are the flags of teach.
type teaching struct {
	x                      lab.Experiment
	modified               theory.ModifiedOptions
	generate               lab.Generator
	descent                lab.Descent
	compare                []string
	asJSON                 bool
	learner, zero, mapping *cli.Choice
	loss                   *cli.Choice
}

// zeros are what a score of 0 predicts, by the value of --zero.
var zeros = map[string]model.Zero{"unsure": model.ZeroUnsure, "negative": model.ZeroNegative, "positive": model.ZeroPositive}

// teachCommand makes the verb.
//
// Long: its help and its flags.
func teachCommand() *cobra.Command {
	f := &teaching{x: lab.Experiment{Learner: model.DefaultSpec(), Replay: lab.DefaultReplay()}}
	c := &cobra.Command{
		Use:   "teach FILE",
		Short: "Teach any learner labelled vectors, and compare with the theory",
		Long: `Teach a learner labelled vectors until it makes no mistake in a whole pass, and
compare its mistakes with those that theory allows.

FILE ("-" is standard input) has the format of svmlight.
--generate makes examples instead:

  vempala:N       N vectors that need at least 2^(N-1) mistakes
  blum:K          four vectors that need about K mistakes or more
  separable:M     unit vectors that a hyperplane separates with a margin of M
  noisy:SHARE     the same with a margin of 0.1; this share of the labels is wrong
  drifting:ANGLE  the same with a margin of 0.1; the hyperplane turns by this many
                  degrees from the first example to the last

--map, --lift, --normalise and --force change the vectors, in that order.
--compare runs several learners with the given parameters: all, or some of
` + wrapped(lab.Names()) + `.
Lifted, normalised and quadratic are the perceptron on vectors changed in that way.`,
		Example: `  $ hinged-lab teach --generate blum:10 --learner perceptron
  learner   perceptron
  examples  4, R 1.41421
  result    separated: 185 mistakes in 93 passes
  margin    0.000985281; no weights have more than 0.0499377
  ceiling   at most 193 mistakes in these passes; bound 328.755, gap 0.033
  $ hinged-lab teach --generate vempala:7 --passes 5000 --compare perceptron,lifted,quadratic
  learner     mistakes  passes  wrong in the end  margin   at most  ceiling
  perceptron  5461      2731    0                 0.01353  0.01353  5635
  lifted      54        25      0                 0.1      0.1754   71
  quadratic   13        6       0                 0.2491   0.7071   24
  …
  $ hinged-lab teach --generate noisy:0.1 --compare perceptron,margin,pa-2
  $ hinged-lab teach --map quadratic --lift 1 points.svm`,
		Args: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 1) == (f.generate.What != "") || len(args) > 1 {
				return cli.Misuse(cmd, "%s takes one file of labelled vectors, or --generate", cmd.CommandPath())
			}
			return nil
		},
		RunE: f.run,
	}
	flags := c.Flags()
	flags.StringVar(&f.generate.What, "generate", "", "`what` to make instead of reading a file; see above")
	flags.IntVar(&f.generate.Examples, "examples", 1000, "generate: number of examples, unless the name gives it")
	flags.IntVar(&f.generate.Dimensions, "dimensions", 20, "generate: number of dimensions, unless the name gives it")
	flags.Uint64Var(&f.generate.Seed, "seed", 1, "seed for generated examples and for the modified learner")
	flags.StringSliceVar(&f.compare, "compare", nil, "`names` of several learners, separated by commas, or all")
	f.learner = cli.ChoiceVar(c, "learner", string(f.x.Learner.Kind), "learner", "perceptron", "margin", "passive-aggressive", "dual", "descent", "modified")
	flags.Float64Var(&f.x.Learner.Margin, "margin", f.x.Learner.Margin, "margin: learn unless the score is above this on the right side")
	flags.Float64Var(&f.x.Learner.Aggressiveness, "aggressiveness", f.x.Learner.Aggressiveness, "passive-aggressive: limit of the step of one lesson (C)")
	flags.IntVar(&f.x.Learner.Variant, "variant", f.x.Learner.Variant, "passive-aggressive: 1 (PA-I) or 2 (PA-II)")
	flags.IntVar(&f.x.Replay.Window, "window", f.x.Replay.Window, "dual: replay steps choose among this many of the last lessons;\n0: no replay")
	flags.IntVar(&f.x.Replay.Steps, "steps", f.x.Replay.Steps, "dual: number of replay steps before each lesson")
	f.loss = cli.ChoiceVar(c, "loss", "hinge", "descent: loss", "hinge", "perceptron")
	flags.Float64Var(&f.descent.Rate, "rate", 0.1, "descent: length of a step")
	flags.BoolVar(&f.x.Average, "average", false, "predict with the mean of all weights so far")
	f.zero = cli.ChoiceVar(c, "zero", "unsure", "prediction for a score of 0", "unsure", "negative", "positive")
	flags.IntVar(&f.x.Passes, "passes", 1000, "greatest number of passes")

	flags.IntVar((*int)(&f.x.Kernel), "kernel-degree", 0, "degree d of the kernel (1 + a·b)^d; 0: none")
	flags.IntVar(&f.x.Budget, "budget", 0, "kernel: greatest number of supports; 0: no limit")

	flags.Float64Var(&f.modified.Sigma, "sigma", 0.1, "modified: ignore examples whose cosine with the hyperplane is\nbelow this")
	flags.Float64Var(&f.modified.Delta, "delta", 0.01, "modified: greatest probability of failure")
	flags.BoolVar(&f.modified.NotesRounds, "notes-rounds", false, "modified: log_{4/3}(1/δ) rounds, as in the lecture notes")

	f.mapping = cli.ChoiceVar(c, "map", "none", "map of the vectors", "none", "quadratic", "quadratic-kernel")
	flags.Float64Var(&f.x.Lift, "lift", 0, "add a constant coordinate with this `value`; 0: none")
	flags.BoolVar(&f.x.Normalise, "normalise", false, "scale every vector to length 1")
	flags.Float64Var(&f.x.Force, "force", 0, "give each example a feature of its own with this `value`, which\nmakes them separable; 0: none")
	flags.BoolVar(&f.x.Show, "weights", false, "show the weights found")
	cli.JSONFlag(c, &f.asJSON, "JSON")
	return c
}

func (f *teaching) run(cmd *cobra.Command, args []string) error {
	if err := f.settle(cmd); err != nil {
		return err
	}
	lessons, err := f.lessons(cmd, args)
	if err == nil {
		err = f.perform(cmd, lessons)
	}
	if errors.Is(err, lab.ErrExperiment) {
		return cli.Misuse(cmd, "%w", err)
	}
	return err
}

// settle makes one experiment of the flags.
func (f *teaching) settle(cmd *cobra.Command) error {
	learner, given := f.learner.Value, cmd.Flags().Changed
	switch {
	case f.x.Passes < 1:
		return cli.Misuse(cmd, "--passes is %d, want 1 or more", f.x.Passes)
	case learner == "modified" && f.x.Kernel != 0:
		return cli.Misuse(cmd, "the modified learner has no kernel")
	case learner == "descent" && f.x.Kernel != 0:
		return cli.Misuse(cmd, "descent has no kernel")
	case learner == "dual" && (f.x.Kernel != 0 || f.x.Average) && given("learner"):
		return cli.Misuse(cmd, "the dual learner has neither a kernel nor a mean; passive-aggressive has")
	case f.x.Replay.Window < 0 || f.x.Replay.Steps < 0:
		return cli.Misuse(cmd, "--window is %d and --steps %d, want 0 or more", f.x.Replay.Window, f.x.Replay.Steps)
	case f.x.Average && (learner == "modified" || f.x.Kernel != 0):
		return cli.Misuse(cmd, "--average is for learners that have weights and start from 0")
	case len(f.compare) > 0 && (given("learner") || given("average") || given("kernel-degree") || given("map")):
		return cli.Misuse(cmd, "--compare names the learners itself: it goes without --learner, --average, --kernel-degree and --map")
	}
	if f.mapping.Value != "none" {
		f.x.Map = f.mapping.Value
	}
	f.x.Learner.Zero = zeros[f.zero.Value]
	f.descent.Loss = map[string]theory.Loss{"hinge": theory.LossHinge, "perceptron": theory.LossPerceptron}[f.loss.Value]
	f.modified.Seed = f.generate.Seed
	if len(f.compare) > 0 {
		f.x.Modified, f.x.Descent = &f.modified, &f.descent
		return nil
	}
	switch learner {
	case "modified":
		f.x.Modified = &f.modified
	case "descent":
		f.x.Descent = &f.descent
	default:
		f.x.Learner.Kind = model.Kind(learner)
	}
	if f.x.Learner.Kind == model.KindDual && (f.x.Kernel != 0 || f.x.Average) {
		f.x.Learner.Kind = model.KindPassiveAggressive
	}
	return nil
}

// perform runs the experiment, or each that is to be compared, and prints.
func (f *teaching) perform(cmd *cobra.Command, lessons []model.Lesson) error {
	var out interface{ WriteTable(io.Writer) error }
	if len(f.compare) > 0 {
		experiments, err := f.x.Named(f.compare)
		if err != nil {
			return err
		}
		if out, err = lab.Compare(lessons, experiments); err != nil {
			return err
		}
	} else {
		var err error
		if out, err = f.x.Run(lessons); err != nil {
			return err
		}
	}
	if f.asJSON {
		return cli.PrintJSON(cmd.OutOrStdout(), out)
	}
	return out.WriteTable(cmd.OutOrStdout())
}

func (f *teaching) lessons(cmd *cobra.Command, args []string) ([]model.Lesson, error) {
	if f.generate.What != "" {
		return f.generate.Generate()
	}
	if args[0] == "-" {
		return lab.ReadSVMLight(cmd.InOrStdin(), "standard input")
	}
	file, err := os.Open(args[0])
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return lab.ReadSVMLight(file, args[0])
}

// wrapped lists names, a few a line.
func wrapped(names []string) string {
	var b strings.Builder
	for i, name := range names {
		switch {
		case i == 0:
		case i%6 == 0:
			b.WriteString(",\n")
		default:
			b.WriteString(", ")
		}
		b.WriteString(name)
	}
	return b.String()
}
