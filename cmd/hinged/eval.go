// SPDX-License-Identifier: Apache-2.0

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
	ceiling     bool
	asJSON      bool

	learner, threshold, shadow *cli.Choice
}

func evalCommand() *cobra.Command {
	f := &evalFlags{account: config.DefaultAccount()}
	c := &cobra.Command{
		Use:   "eval --owner ADDRESS FILE…",
		Short: "Play an archive as if it arrived now, and judge the decisions",
		Long: `Play archives of mail through the filter, in order of date, and judge each
decision before its label is learnt. Nothing is written.

FILE is an mbox (plain, gzip or zstd), a Maildir or MH folder, a Thunderbird
profile, an Apple Mail folder, any other folder of messages or mboxes, or one
message. Files that hold no message are passed over in folders and refused
otherwise. eval learns which messages were important in one of four ways:

  --owner                  the messages that the owner answered: a message from
                           the owner names them in In-Reply-To. The archive must
                           contain the owner's own messages; they are not
                           judged. eval believes what From says.
  --important, --ordinary  archives that contain mail of one kind only.
  --labels                 a file with one message in each line: its Message-ID
                           or path, a tab, then "important" or "ordinary".
  --labels from-flags      what is flagged, starred, answered or called important
                           in the archive: by the flags of Maildir, MH, mbox,
                           Thunderbird and Apple Mail, and the labels of Google
                           Takeout. --owner names whose own messages are not
                           judged.

--feedback says when the label arrives: "immediate" is right after the decision;
"delayed" is when the owner's answer arrives, or after a week without one. With
"live", the first part of the archive is the past that bootstrap would read.
After that, marks are set, and the owner answers as in the archive and removes
one wrong mark in five. --past says how many messages are the past, and --judge
how many are judged after it.

With --ask 3, the owner labels three messages at the end of each day: those that
teach most, as "hinged learn" lists them. With --heard 0.25, only every fourth
answer of the owner teaches, as if hinged didn't see the others; the messages
still count as answered.

With --rule, the owner's rules decide the messages that they match, as in the
configuration (docs/rules.md). The archive is then played once more without
them, to show how they change the decisions on all other mail.

With --prior, the account begins with other weights than the built-in ones, or
with none. The built-in ones were made from the mailing lists linux-mtd and
linux-mips (docs/prior.md), so don't judge them on these two lists.

"hinged-lab mail" teaches several learners the same lessons and draws the
results.`,
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
	flags.IntVar(&f.past, "past", 0, "live: number of messages that are the past, including the\nowner's own; 0: 70 %")
	flags.IntVar(&f.judge, "judge", 0, "live: number of messages to judge after the past, without\nthe owner's own; 0: all")
	f.shadow = cli.ChoiceVar(c, "shadow", a.Shadow, "live: whether marks are held back", "auto", "on", "off")
	flags.BoolVar(&f.ceiling, "ceiling", true, "search for a ceiling on the mistakes; without it (=false) a\nrun takes a sixth less processor time")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object")

	f.learner = cli.ChoiceVar(c, "learner", a.Learner.Kind, "learner", "dual", "passive-aggressive", "margin", "perceptron")
	flags.Float64Var(&a.Learner.Margin, "margin", a.Learner.Margin, "margin: learn unless the score is above this on the right side")
	flags.Float64Var(&a.Learner.Aggressiveness, "aggressiveness", a.Learner.Aggressiveness, "dual, passive-aggressive: limit of the step of one lesson (C)")
	flags.IntVar(&a.Learner.Window, "window", a.Learner.Window, "dual: replay steps choose among this many of the last lessons;\n0: no replay")
	flags.IntVar(&a.Learner.Steps, "steps", a.Learner.Steps, "dual: number of replay steps for each message")

	flags.IntVar(&a.Learner.KernelDegree, "kernel-degree", a.Learner.KernelDegree, "degree of the kernel; 0: none, each feature has a weight")
	flags.IntVar(&a.Learner.MaxSupports, "max-supports", a.Learner.MaxSupports, "with a kernel, the greatest number of examples to keep")

	f.threshold = cli.ChoiceVar(c, "threshold", a.Threshold.Mode, "how to choose the threshold", "auto", "missed", "budget", "cost", "fixed")
	flags.Float64Var(&a.Threshold.Precision, "precision", a.Threshold.Precision, "auto: share of the marked mail that must be important")
	flags.Float64Var(&a.Threshold.Missed, "missed", a.Threshold.Missed, "missed: greatest share of the important mail that may go\nunmarked")
	flags.Float64Var(&a.Threshold.Share, "share", a.Threshold.Share, "budget: share of mail to mark")
	flags.Float64Var(&a.Threshold.Cost, "cost", a.Threshold.Cost, "cost: one missed message counts as many false alarms as this")
	flags.Float64Var(&a.Threshold.Value, "value", a.Threshold.Value, "fixed: the score above which a message is important")
	flags.Float64Var(&a.Threshold.UnsureShare, "unsure-share", a.Threshold.UnsureShare, "greatest share of mail that may be unsure")
	flags.StringArrayVar(&f.rules, "rule", nil, "a `rule` such as from:boss@example.org=important; may be repeated")
	flags.StringVar(&a.Prior, "prior", a.Prior, "weights to begin with: default, none, zero, or a `file`")
	flags.IntVar(&a.KeepDays, "keep-days", a.KeepDays, "remember messages for this many days, and those of the\nwindow; 0: all. As for mail from Kafka: 30")
	flags.IntVar(&a.MaxWeights, "max-weights", a.MaxWeights, "greatest number of weights. As for mail from Kafka: 131072")
}

// run plays and prints.
func (f *evalFlags) run(cmd *cobra.Command, args []string) error {
	collectSeldom()
	a := &f.account
	a.Learner.Kind, a.Threshold.Mode = f.learner.Value, f.threshold.Value
	a.Shadow = f.shadow.Value
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
	r, err := f.archive.Play(cmd, args, evaluate.Play{Options: filterOptions(a), Past: f.past, Judge: f.judge, Prior: weights, NoCeiling: !f.ceiling})
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
		{"precision", "threshold", "auto", f.threshold.Value},
		{"missed", "threshold", "missed", f.threshold.Value},
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
		{"max-supports", f.account.Learner.KernelDegree != 0, "kernel-degree"},
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
			return cli.Misuse(cmd, "--rule %q does not end in =important or =ordinary; an example is from:boss@example.org=important", text)
		}
		f.account.Rules = append(f.account.Rules, config.Rule{Match: text[:i], Label: text[i+1:]})
	}
	return nil
}
