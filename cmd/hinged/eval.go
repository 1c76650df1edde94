package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/evaluate"
)

// evalFlags are the flags of eval; those that an account has too begin with its
// default.
type evalFlags struct {
	account     config.Account
	archive     cli.Archive
	rules       []string
	past, judge int
	asJSON      bool

	learner, zero, kernel, forget, threshold, shadow *cli.Choice
}

func evalCommand() *cobra.Command {
	f := &evalFlags{account: config.DefaultAccount()}
	c := &cobra.Command{
		Use:   "eval --owner ADDRESS FILE…",
		Short: "Play an archive as if it arrived now, and judge the decisions",
		Long: `Play archives of mail through the filter, in order of date, and judge each
decision before its label is learnt. Nothing is written.

FILE is an mbox (plain, gzip or zstd), a Maildir, a folder of messages or one
message. What was important, eval learns in one of three ways:

  --owner                  what the owner answered: some message from the owner
                           names it in In-Reply-To. The owner's own messages
                           must be in the archive; they are not judged. Who wrote
                           a message is what its From says.
  --important, --ordinary  archives whose mail is all of one kind.
  --labels                 a file with one message a line: its Message-ID or
                           path, a tab, then "important" or "ordinary".

--feedback says when the label comes: right after the decision, or, for labels
from answers, when the answer arrives, or a week has passed without one. With
live, the first part of the stream is the past that bootstrap would read; then
marks are set, and the owner answers as the stream says and takes one wrong mark
in five off. --past says how many messages the past has, --judge how many are
judged after it.

With --ask 3, the owner labels three messages at the end of each day, those that
teach most, as hinged ask lists them. With --heard 0.25, only every fourth answer
of the owner's teaches, as if the others were given where hinged does not see them;
the messages count as answered all the same.

With --rule, or several in their order, rules of the owner's decide what they
match, as in the configuration (docs/rules.md). The archive is then played once
more without them, to show what they change for the mail that they don't match.

With --prior, the account begins with other weights than those of the program, or
with none. Those of the program were made of the mailing lists linux-mtd and
linux-mips (docs/prior.md): on these two they are judged by what they were made of.

"hinged-lab mail" teaches several learners what eval learns, and draws them.`,
		Example: `  $ hinged eval --owner me@example.org mail.mbox.gz
  messages           8592, 1709 of them the owner's own
  examples           6883, 744 of them important (labels from replies, feedback immediate)
  …
  $ hinged eval --important ham --ordinary spam --json
  $ hinged eval --labels labels.tsv --learner perceptron Maildir`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, args)
		},
	}
	f.define(c)
	return c
}

// define adds the flags. Defaults are those of an account in the configuration.
func (f *evalFlags) define(c *cobra.Command) {
	a, flags := &f.account, c.Flags()
	f.archive.Define(c)
	flags.IntVar(&f.past, "past", 0, "live: how many messages are the past, your own included; 0: 70 %")
	flags.IntVar(&f.judge, "judge", 0, "live: how many messages are judged after the past, your own not counted; 0: all")
	f.shadow = cli.ChoiceVar(c, "shadow", a.Shadow, "live: when marks are set", "auto", "on", "off")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object")

	f.learner = cli.ChoiceVar(c, "learner", a.Learner.Kind, "how it learns", "dual", "passive-aggressive", "margin", "perceptron")
	flags.Float64Var(&a.Learner.Margin, "margin", a.Learner.Margin, "margin: learn from every score not above this on the right side")
	flags.Float64Var(&a.Learner.Aggressiveness, "aggressiveness", a.Learner.Aggressiveness, "dual, passive-aggressive: how far one lesson may go (C)")
	flags.IntVar(&a.Learner.Variant, "variant", a.Learner.Variant, "passive-aggressive: 1 (PA-I) or 2 (PA-II)")
	flags.IntVar(&a.Learner.Window, "window", a.Learner.Window, "dual: how many of the last lessons are replayed; 0: none")
	flags.IntVar(&a.Learner.Steps, "steps", a.Learner.Steps, "dual: how many of them for each message")
	f.zero = cli.ChoiceVar(c, "zero", a.Learner.Zero, "what a score of 0 predicts", "unsure", "negative", "positive")

	f.kernel = cli.ChoiceVar(c, "kernel", a.Learner.Kernel, "whether it weighs features, or by which kernel examples", "linear", "polynomial", "normalised", "gaussian")
	flags.IntVar(&a.Learner.Degree, "degree", a.Learner.Degree, "polynomial, normalised: up to how many features are taken together")
	flags.Float64Var(&a.Learner.Gamma, "gamma", a.Learner.Gamma, "gaussian: exp(−γ‖a − b‖²)")
	flags.IntVar(&a.Learner.MaxSupports, "max-supports", a.Learner.MaxSupports, "with a kernel, the most examples to keep")
	f.forget = cli.ChoiceVar(c, "forget", a.Learner.Forget, "what is done beyond that", "projectron", "oldest", "weakest", "forgetron")

	f.threshold = cli.ChoiceVar(c, "threshold", a.Threshold.Mode, "how much is marked", "auto", "budget", "cost", "fixed")
	flags.Float64Var(&a.Threshold.Share, "share", a.Threshold.Share, "budget: share of mail to mark")
	flags.Float64Var(&a.Threshold.Cost, "cost", a.Threshold.Cost, "cost: false alarms that one missed message is worth")
	flags.Float64Var(&a.Threshold.Value, "value", a.Threshold.Value, "fixed: the score above which a message is important")
	flags.Float64Var(&a.Threshold.UnsureShare, "unsure-share", a.Threshold.UnsureShare, "greatest share of mail that is unsure")
	flags.StringArrayVar(&f.rules, "rule", nil, "a `rule` such as from:boss@example.org=important; may be repeated")
	flags.StringVar(&a.Prior, "prior", a.Prior, "what the account begins with: default, none, or a `file`")
	flags.IntVar(&a.MinImportant, "min-important", a.MinImportant, "important labels before anything is decided")
	flags.IntVar(&a.MinOrdinary, "min-ordinary", a.MinOrdinary, "ordinary labels before anything is decided")
}

// run plays and prints.
func (f *evalFlags) run(cmd *cobra.Command, args []string) error {
	a := &f.account
	a.Learner.Kind, a.Learner.Zero, a.Threshold.Mode = f.learner.Value, f.zero.Value, f.threshold.Value
	a.Shadow = f.shadow.Value
	a.Learner.Kernel, a.Learner.Forget = f.kernel.Value, f.forget.Value
	if err := f.useless(cmd); err != nil {
		return err
	}
	if err := f.readRules(cmd); err != nil {
		return err
	}
	weights, err := priorWeights(&a.Judging)
	if err != nil {
		return err
	}
	r, err := f.archive.Play(cmd, args, evaluate.Play{Options: filterOptions(a), Past: f.past, Judge: f.judge, Prior: weights})
	switch {
	case err != nil:
		return err
	case f.asJSON:
		return r.WriteJSON(cmd.OutOrStdout())
	default:
		return r.WriteTable(cmd.OutOrStdout())
	}
}

// useless refuses flags that the others leave without effect, as the
// configuration does.
func (f *evalFlags) useless(cmd *cobra.Command) error {
	for _, rule := range []struct{ flag, needs, value, got string }{
		{"margin", "learner", "margin", f.learner.Value},
		{"window", "learner", "dual", f.learner.Value},
		{"steps", "learner", "dual", f.learner.Value},
		{"variant", "learner", "passive-aggressive", f.learner.Value},
		{"gamma", "kernel", "gaussian", f.kernel.Value},
		{"share", "threshold", "budget", f.threshold.Value},
		{"cost", "threshold", "cost", f.threshold.Value},
		{"value", "threshold", "fixed", f.threshold.Value},
		{"past", "feedback", "live", f.archive.Feedback.Value},
		{"shadow", "feedback", "live", f.archive.Feedback.Value},
		{"judge", "feedback", "live", f.archive.Feedback.Value},
	} {
		if cmd.Flags().Changed(rule.flag) && rule.got != rule.value {
			return cli.Misuse(cmd, "--%s has no effect without --%s %s", rule.flag, rule.needs, rule.value)
		}
	}
	for _, rule := range []struct {
		flag string
		has  bool
		want string
	}{
		{"aggressiveness", f.learner.Value == "dual" || f.learner.Value == "passive-aggressive", "learner dual or passive-aggressive"},
		{"degree", f.kernel.Value == "polynomial" || f.kernel.Value == "normalised", "kernel polynomial or --kernel normalised"},
		{"max-supports", f.kernel.Value != "linear", "kernel polynomial, normalised or gaussian"},
		{"forget", f.kernel.Value != "linear", "kernel polynomial, normalised or gaussian"},
	} {
		if cmd.Flags().Changed(rule.flag) && !rule.has {
			return cli.Misuse(cmd, "--%s has no effect without --%s", rule.flag, rule.want)
		}
	}
	return nil
}

// readRules puts --rule into the account.
func (f *evalFlags) readRules(cmd *cobra.Command) error {
	f.account.Rules = nil
	for _, text := range f.rules {
		i := strings.LastIndexByte(text, '=')
		if i < 0 || text[i+1:] != "important" && text[i+1:] != "ordinary" {
			return cli.Misuse(cmd, "--rule %q does not end in =important or =ordinary; it is such as from:boss@example.org=important", text)
		}
		f.account.Rules = append(f.account.Rules, config.Rule{Match: text[:i], Label: text[i+1:]})
	}
	return nil
}
