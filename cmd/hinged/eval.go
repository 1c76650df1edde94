// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/measure/evaluate"
	"github.com/hinged/hinged/internal/measure/whatif"
)

type evalFlags struct {
	archive   cli.Archive
	account   string
	differing int
	asJSON    bool
}

func evalCommand() *cobra.Command {
	f := &evalFlags{}
	c := &cobra.Command{
		Use:   "eval [FILE…]",
		Short: "Judge the decisions on your mail, also with other settings",
		Long: `Without FILE, replay what the store keeps of your mail and of what you did with
it, once with today's settings and once with those of --set, and compare. It works
while the daemon runs. With FILE, play archives of mail in order of date as if they
arrived now, and judge each decision before its label is learnt. Nothing is
written, neither in your mailbox nor in what was learnt.

--set takes keys of the configuration: those of learner and threshold, and prior;
with FILE also the others that say how mail is judged, rules among them.

From the store, a message counts as marked if it was decided important, whether or
not marks were set at that time. It was wrong to mark a message that you took the
mark off, threw away or called ordinary (taken off), and not to mark an important
one (missed). A marked message with which you did nothing for the days of silence
is left alone. hinged calls settings better only if they find more important
messages or mark fewer ordinary ones than chance explains, and are not worse in the
other respect. docs/whatif.md has the rule, and what can be replayed.

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
"live", the first 70 % of the archive are the past that bootstrap would read. After
that, marks are set, and the owner answers as in the archive and removes one wrong
mark in five.

An archive with rules is played once more without them, to show how they change the
decisions on all other mail. The built-in prior was made from the mailing lists
linux-mtd and linux-mips (docs/prior.md), so don't judge it on these two.`,
		Example: `  $ hinged eval --set learner.kind=perceptron --set threshold.mode=auto
  me: 868 messages from 2026-02-13 to 2026-03-13
                   today  what if
  marked              91       94
  …
  Keep today's settings. The other settings would mark 10.8 % of the mail …
  $ hinged eval --owner me@example.org mail.mbox.gz
  messages           8592, 1709 of them the owner's own
  examples           6883, 744 of them important (labels from replies, feedback immediate)
  …
  $ hinged eval --important ham --ordinary spam --json
  $ hinged eval --labels l.tsv --set 'rule=[{match="from:ann@example.org", label="important"}]' mail`,
		RunE: f.run,
	}
	f.archive.Define(c)
	accountFlag(c, &f.account)
	c.Flags().IntVarP(&f.differing, "number", "n", 5, "store: list this many of the messages that differ")
	cli.JSONFlag(c, &f.asJSON, "one JSON object")
	return c
}

// run plays archives where there are any, and otherwise what the store keeps.
func (f *evalFlags) run(cmd *cobra.Command, args []string) error {
	archives := len(args)+len(f.archive.Important)+len(f.archive.Ordinary) > 0
	without, needless := "without archives", []string{"owner", "labels", "feedback"}
	if archives {
		without, needless = "with archives", []string{"config", "account", "number"}
	}
	for _, name := range needless {
		if cmd.Flags().Changed(name) {
			return cli.Misuse(cmd, "--%s has no effect %s", name, without)
		}
	}
	if !archives {
		return f.fromStore(cmd)
	}
	collectSeldom()
	o, begin, err := f.archive.Settings(cmd, config.DefaultAccount().Prior)
	if err != nil {
		return err
	}
	r, err := f.archive.Play(cmd, args, evaluate.Play{Options: o, Prior: begin})
	switch {
	case err != nil:
		return err
	case f.asJSON:
		return r.WriteJSON(cmd.OutOrStdout())
	default:
		return r.WriteTable(cmd.OutOrStdout())
	}
}

func (f *evalFlags) fromStore(cmd *cobra.Command) error {
	switch {
	case f.differing < 0:
		return cli.Misuse(cmd, "-n is %d, want 0 or more", f.differing)
	case len(f.archive.Set) == 0:
		return cli.Misuse(cmd, "%s needs archives of mail, or a setting to change, such as --set learner.kind=perceptron", cmd.CommandPath())
	}
	s, err := f.settings(cmd)
	if err != nil {
		return err
	}
	bar := cli.NewBar(cmd.ErrOrStderr(), "replaying")
	defer bar.Close()
	r, err := with(cmd.Context(), configOf(cmd), func(at *control.At) (whatif.Run, error) {
		return replayWith(cmd.Context(), at, f.account, s, bar)
	})
	bar.Close()
	switch {
	case err != nil:
		return err
	case f.asJSON:
		return cli.PrintJSON(cmd.OutOrStdout(), r)
	default:
		return printWhatIf(cli.Wrapping(cmd.OutOrStdout()), &r, f.differing)
	}
}

func (f *evalFlags) settings(cmd *cobra.Command) (s whatif.Settings, err error) {
	c, err := config.Load(configOf(cmd))
	if err != nil {
		return s, err
	}
	if _, err := configured(c, f.account); err != nil && c.Kafka == nil {
		return s, err
	}
	today := *judgingOf(c, f.account)
	given, err := today.Set(f.archive.Set)
	if err != nil {
		return s, cli.Misuse(cmd, "%v", err)
	}
	return whatif.SettingsOf(given)
}
