package main

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/evaluate"
	"github.com/hinged/hinged/internal/lab"
	"github.com/hinged/hinged/internal/prior"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// evalFlags are the flags of eval; those that an account has too begin with its
// default.
type evalFlags struct {
	account             config.Account
	important, ordinary []string
	labels              string
	rules               []string
	prior               string               // as the key of the configuration
	weights             func(*model.Weights) // gets those in the end; nil is fine
	comparison          comparison
	past, judge         int
	asJSON, markdown    bool
	ask                 int
	heard               float64

	feedback, learner, zero, kernel, forget, threshold, values, shadow *choice
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
                           must be in the archive; they are not judged.
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

--compare teaches several learners the same labels in the same order, and prints
how each did: all, or of
` + wrapped(evaluate.LearnerNames()) + `.`,
		Example: `  $ hinged eval --owner me@example.org mail.mbox.gz
  messages           8592, 1709 of them the owner's own
  examples           6883, 744 of them important (labels from replies, feedback immediate)
  …
  $ hinged eval --important ham --ordinary spam --json
  $ hinged eval --labels labels.tsv --learner perceptron Maildir
  $ hinged eval --owner me@example.org --compare all --plot mistakes.svg mail.mbox.gz`,
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
	f.defineMail(c)
	f.comparison.define(c)
	flags.IntVar(&f.past, "past", 0, "live: how many messages are the past, your own included; 0: 70 %")
	flags.IntVar(&f.judge, "judge", 0, "live: how many messages are judged after the past, your own not counted; 0: all")
	f.shadow = choiceVar(c, "shadow", a.Shadow, "live: when marks are set", "auto", "on", "off")
	flags.BoolVar(&f.markdown, "markdown", false, "compare: print the table as Markdown")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object")

	f.learner = choiceVar(c, "learner", a.Learner.Kind, "how it learns", "dual", "passive-aggressive", "margin", "perceptron")
	flags.Float64Var(&a.Learner.Margin, "margin", a.Learner.Margin, "margin: learn from every score not above this on the right side")
	flags.Float64Var(&a.Learner.Aggressiveness, "aggressiveness", a.Learner.Aggressiveness, "dual, passive-aggressive: how far one lesson may go (C)")
	flags.IntVar(&a.Learner.Variant, "variant", a.Learner.Variant, "passive-aggressive: 1 (PA-I) or 2 (PA-II)")
	flags.IntVar(&a.Learner.Window, "window", a.Learner.Window, "dual: how many of the last lessons are replayed; 0: none")
	flags.IntVar(&a.Learner.Steps, "steps", a.Learner.Steps, "dual: how many of them for each message")
	f.zero = choiceVar(c, "zero", a.Learner.Zero, "what a score of 0 predicts", "unsure", "negative", "positive")

	f.kernel = choiceVar(c, "kernel", a.Learner.Kernel, "whether it weighs features, or by which kernel examples", "linear", "polynomial", "normalised", "gaussian")
	flags.IntVar(&a.Learner.Degree, "degree", a.Learner.Degree, "polynomial, normalised: up to how many features are taken together")
	flags.Float64Var(&a.Learner.Gamma, "gamma", a.Learner.Gamma, "gaussian: exp(−γ‖a − b‖²)")
	flags.IntVar(&a.Learner.MaxSupports, "max-supports", a.Learner.MaxSupports, "with a kernel, the most examples to keep")
	f.forget = choiceVar(c, "forget", a.Learner.Forget, "what is done beyond that", "projectron", "oldest", "weakest", "forgetron")

	f.threshold = choiceVar(c, "threshold", a.Threshold.Mode, "how much is marked", "auto", "budget", "cost", "fixed")
	flags.Float64Var(&a.Threshold.Share, "share", a.Threshold.Share, "budget: share of mail to mark")
	flags.Float64Var(&a.Threshold.Cost, "cost", a.Threshold.Cost, "cost: false alarms that one missed message is worth")
	flags.Float64Var(&a.Threshold.Value, "value", a.Threshold.Value, "fixed: the score above which a message is important")
	flags.Float64Var(&a.Threshold.UnsureShare, "unsure-share", a.Threshold.UnsureShare, "greatest share of mail that is unsure")
	flags.StringArrayVar(&f.rules, "rule", nil, "a `rule` such as from:boss@example.org=important; may be repeated")
	flags.StringVar(&f.prior, "prior", a.Prior, "what the account begins with: default, none, or a `file`")
	flags.IntVar(&a.MinImportant, "min-important", a.MinImportant, "important labels before anything is decided")
	flags.IntVar(&a.MinOrdinary, "min-ordinary", a.MinOrdinary, "ordinary labels before anything is decided")
}

// defineMail adds the flags about the mail and what is important in it.
func (f *evalFlags) defineMail(c *cobra.Command) {
	a, flags := &f.account, c.Flags()
	flags.StringArrayVar(&a.Owner, "owner", nil, "an `address` of the owner; may be repeated")
	flags.StringArrayVar(&f.important, "important", nil, "archive of important mail (`path`); may be repeated")
	flags.StringArrayVar(&f.ordinary, "ordinary", nil, "archive of ordinary mail (`path`); may be repeated")
	flags.StringVar(&f.labels, "labels", "", "label `file`")
	f.feedback = choiceVar(c, "feedback", string(evaluate.Immediate), "when labels come", string(evaluate.Immediate), string(evaluate.Delayed), string(evaluate.Live))
	flags.IntVar(&f.ask, "ask", 0, "delayed, live: how many messages the owner labels each evening, those that teach most")
	flags.Float64Var(&f.heard, "heard", 1, "delayed, live: share of the owner's answers that teach; the other messages count as answered all the same")
	f.values = choiceVar(c, "values", a.Featurize.Values, "what a word counts", "binary", "counts", "log-counts")
	flags.StringVar(&a.Featurize.AuthservID, "authserv-id", "", "`server` whose Authentication-Results are believed")
}

// run plays and prints.
func (f *evalFlags) run(cmd *cobra.Command, args []string) error {
	a := &f.account
	a.Learner.Kind, a.Learner.Zero, a.Threshold.Mode = f.learner.value, f.zero.value, f.threshold.value
	a.Shadow = f.shadow.value
	a.Learner.Kernel, a.Learner.Forget = f.kernel.value, f.forget.value
	if err := f.useless(cmd); err != nil {
		return err
	}
	if err := f.comparison.check(cmd); err != nil {
		return err
	}
	if f.markdown && len(f.comparison.names) == 0 {
		return misuse(cmd, "--markdown is about the table of --compare")
	}
	if len(f.comparison.names) > 0 && cmd.Flags().Changed("learner") {
		return misuse(cmd, "--compare names the learners itself: it goes without --learner")
	}
	if len(f.comparison.names) > 0 || f.comparison.picture != "" {
		return f.compare(cmd, args)
	}
	r, err := f.play(cmd, args, nil)
	switch {
	case err != nil:
		return err
	case f.asJSON:
		return r.WriteJSON(cmd.OutOrStdout())
	default:
		return r.WriteTable(cmd.OutOrStdout())
	}
}

// compare plays once and teaches every learner what was learnt; or draws the one.
func (f *evalFlags) compare(cmd *cobra.Command, args []string) error {
	o, alone := filterOptions(&f.account), len(f.comparison.names) == 0
	experiments := []lab.Experiment{evaluate.Alone(o)}
	if !alone {
		var err error
		if experiments, err = evaluate.Named(o, f.comparison.names); err != nil {
			return misuse(cmd, "%w", err)
		}
	}
	var lessons evaluate.Lessons
	r, err := f.play(cmd, args, lessons.Add)
	if err != nil {
		return err
	}
	looks := 1
	if f.comparison.picture != "" {
		looks = lab.Looks
	}
	bar := newBar(cmd.ErrOrStderr(), "learning")
	c, traces, err := evaluate.Compare(cmd.Context(), lessons, experiments, looks, bar.progress)
	bar.close()
	if err != nil {
		return err
	}
	if f.comparison.picture != "" {
		title := fmt.Sprintf("%d lessons from mail, %d of them important", c.Lessons, c.Important)
		if err := lab.Picture(title, traces, f.comparison.log).Save(f.comparison.picture); err != nil {
			return err
		}
		if n := traces[0].Mistakes(); alone && uint64(n) != r.Mistakes {
			fmt.Fprintf(cmd.ErrOrStderr(), "The picture is of a learner that gives up no weights: it makes %d mistakes.\n", n)
		}
	}
	switch {
	case alone && f.asJSON:
		return r.WriteJSON(cmd.OutOrStdout())
	case alone:
		return r.WriteTable(cmd.OutOrStdout())
	case f.asJSON:
		return printJSON(cmd.OutOrStdout(), c)
	case f.markdown:
		return c.WriteMarkdown(cmd.OutOrStdout())
	default:
		return c.WriteTable(cmd.OutOrStdout())
	}
}

// play plays, and hands every lesson to learnt.
func (f *evalFlags) play(cmd *cobra.Command, args []string, learnt func(model.Lesson, lab.Course)) (*evaluate.Result, error) {
	a := &f.account
	a.Featurize.Values = f.values.value
	for _, address := range a.Owner {
		if _, err := mail.ParseAddress(address); err != nil || strings.ContainsAny(address, "<> ") {
			return nil, misuse(cmd, "--owner %q is not a bare address such as me@example.org", address)
		}
	}
	if err := f.readRules(cmd); err != nil {
		return nil, err
	}
	weights, err := f.priorWeights(cmd)
	if err != nil {
		return nil, err
	}
	play := evaluate.Play{
		Paths: args, Important: f.important, Ordinary: f.ordinary,
		Feedback: evaluate.Feedback(f.feedback.value), Past: f.past, Judge: f.judge,
		Options: filterOptions(a), Learnt: learnt,
		Ask: f.ask, Heard: f.heard,
		Prior: weights, Weights: f.weights,
	}
	if len(f.comparison.names) > 0 {
		// All are to be taught the same, not what the record of one of them made of it.
		play.Options.Dual.Bold = 1
	}
	if err := play.Options.Validate(); err != nil {
		return nil, misuse(cmd, "%w", err)
	}
	if !(f.heard > 0 && f.heard <= 1) {
		return nil, misuse(cmd, "--heard is %v, want a share above 0 and at most 1", f.heard)
	}
	if f.heard == 1 {
		play.Heard = 0 // all
	}
	if f.labels != "" {
		labels, err := readLabels(f.labels)
		if err != nil {
			return nil, err
		}
		play.Labels = labels
	}
	bar := newBar(cmd.ErrOrStderr(), "playing")
	play.Progress = bar.progress
	r, err := play.Run(cmd.Context())
	bar.close()
	switch {
	case errors.Is(err, evaluate.ErrPlay):
		return nil, misuse(cmd, "%w", err)
	case errors.Is(err, context.Canceled):
		return nil, errors.New("interrupted")
	}
	return r, err
}

// priorWeights reads what the account is to begin with. Learners that are compared, and
// those of other tools, begin with nothing.
func (f *evalFlags) priorWeights(cmd *cobra.Command) (store.PackedVector, error) {
	switch {
	case f.prior == "":
		return nil, nil
	case len(f.comparison.names) == 0 && f.comparison.picture == "":
	case cmd.Flags().Changed("prior"):
		return nil, misuse(cmd, "--prior has no part in --compare and --plot, whose learners begin with nothing")
	default:
		return nil, nil
	}
	p, err := prior.Named(f.prior)
	if err != nil {
		return nil, err
	}
	return p.Pack(), nil
}

// useless refuses flags that the others leave without effect, as the
// configuration does.
func (f *evalFlags) useless(cmd *cobra.Command) error {
	compared := len(f.comparison.names) > 0 // whose parameters are of those that are compared
	for _, rule := range []struct{ flag, needs, value, got string }{
		{"margin", "learner", "margin", f.learner.value},
		{"window", "learner", "dual", f.learner.value},
		{"steps", "learner", "dual", f.learner.value},
		{"variant", "learner", "passive-aggressive", f.learner.value},
		{"gamma", "kernel", "gaussian", f.kernel.value},
		{"share", "threshold", "budget", f.threshold.value},
		{"cost", "threshold", "cost", f.threshold.value},
		{"value", "threshold", "fixed", f.threshold.value},
		{"past", "feedback", "live", f.feedback.value},
		{"shadow", "feedback", "live", f.feedback.value},
		{"judge", "feedback", "live", f.feedback.value},
	} {
		if compared && rule.needs == "learner" {
			continue
		}
		if cmd.Flags().Changed(rule.flag) && rule.got != rule.value {
			return misuse(cmd, "--%s has no effect without --%s %s", rule.flag, rule.needs, rule.value)
		}
	}
	for _, rule := range []struct {
		flag string
		has  bool
		want string
	}{
		{"aggressiveness", compared || f.learner.value == "dual" || f.learner.value == "passive-aggressive", "learner dual or passive-aggressive"},
		{"degree", f.kernel.value == "polynomial" || f.kernel.value == "normalised", "kernel polynomial or --kernel normalised"},
		{"max-supports", f.kernel.value != "linear", "kernel polynomial, normalised or gaussian"},
		{"forget", f.kernel.value != "linear", "kernel polynomial, normalised or gaussian"},
	} {
		if cmd.Flags().Changed(rule.flag) && !rule.has {
			return misuse(cmd, "--%s has no effect without --%s", rule.flag, rule.want)
		}
	}
	return nil
}

// readRules puts --rule into the account.
func (f *evalFlags) readRules(cmd *cobra.Command) error {
	f.account.Rules = nil
	if len(f.rules) > 0 && (len(f.comparison.names) > 0 || f.comparison.picture != "") {
		return misuse(cmd, "--rule has no part in --compare and --plot, whose learners keep no rules")
	}
	for _, text := range f.rules {
		i := strings.LastIndexByte(text, '=')
		if i < 0 || text[i+1:] != "important" && text[i+1:] != "ordinary" {
			return misuse(cmd, "--rule %q does not end in =important or =ordinary; it is such as from:boss@example.org=important", text)
		}
		f.account.Rules = append(f.account.Rules, config.Rule{Match: text[:i], Label: text[i+1:]})
	}
	return nil
}

func readLabels(path string) (*evaluate.Labels, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("label file: %w", err)
	}
	defer file.Close()
	return evaluate.ReadLabels(file, path)
}
