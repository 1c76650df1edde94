// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/ingest/archive"
	"github.com/hinged/hinged/ingest/imap"
	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/program/bootstrap"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

type bootstrapFlags struct {
	account            string
	months, show, last int
	archives           []string
	dry, asJSON        bool
}

func bootstrapCommand() *cobra.Command {
	f := &bootstrapFlags{}
	c := &cobra.Command{
		Use:   "bootstrap",
		Short: "Learn from what the mailbox already shows",
		Long: `Read the mail that the watched mailboxes already hold, in order of arrival, and
learn from what you did with it: what you answered, starred, marked, junked, threw
away unread or left alone. hinged decides each message before it learns what you
did with it. So the report at the end says how good its decisions would have been.
It compares them with simple rules: marking all mail from people you write to, all
mail, or none.

bootstrap writes nothing to the mailbox, and no message becomes read. You can
interrupt it; if you call it again, it continues. "hinged run" takes over where it
ends, and learns nothing twice.

At the end it asks about the two or three messages whose label would teach it most,
as "hinged learn" does.

With --dry-run it keeps nothing: it shows which of your last messages it would
have marked, and why.`,
		Example: `  $ hinged bootstrap --dry-run
  of your last 500 messages it would have marked 41; 20 of the clearest:

  ines.duarte@harbour.example, 12 messages, of them:
    2026-03-02  Crane 4 inspection (you: important)
                you answered 8 of their 9 messages; only to you; asks a question
  …
  $ hinged bootstrap
  read 8592 messages from 2025-11-21 to 2026-11-21, 1709 of them your own
  …
  It is better than each of these rules.
  Next: hinged run; it marks from the next new message on.`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	accountFlag(c, &f.account)
	cli.JSONFlag(c, &f.asJSON, "one JSON object; no address or subject is in it")
	flags := c.Flags()
	flags.IntVar(&f.months, "months", 12, "read the last so many months; 0: everything")
	flags.StringArrayVar(&f.archives, "archive", nil, "read this `FILE`, such as the mbox of Google Takeout, instead of the mailbox; repeatable")
	flags.BoolVar(&f.dry, "dry-run", false, "keep nothing; show what would have been marked")
	flags.IntVarP(&f.show, "show", "n", 20, "dry run: how many messages to show")
	flags.IntVar(&f.last, "last", 500, "dry run: of the last so many messages")
	return c
}

func (f *bootstrapFlags) run(cmd *cobra.Command) error {
	for _, n := range []struct {
		flag  string
		value int
	}{{"months", f.months}, {"show", f.show}, {"last", f.last}} {
		if n.value < 0 {
			return cli.Misuse(cmd, "--%s is %d; it must be 0 or more", n.flag, n.value)
		}
	}
	for _, flag := range []string{"show", "last"} {
		if !f.dry && cmd.Flags().Changed(flag) {
			return cli.Misuse(cmd, "--%s has no effect without --dry-run", flag)
		}
	}
	past := imap.HistoryOptions{}
	if f.months > 0 {
		past.Since = time.Now().AddDate(0, -f.months, 0)
	}
	// What the daemon logs of its life is no news here.
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	o, err := pastOptions(configOf(cmd), f.account, past, log)
	if err != nil {
		return err
	}
	if len(f.archives) > 0 {
		o.NewSource = func([]ingest.Known) (bootstrap.PastSource, error) { return archive.NewPast(f.archives, past.Since) }
	}
	bar := cli.NewBar(cmd.ErrOrStderr(), "reading")
	bar.Lines, bar.Count = 10*time.Second, true
	o.Progress = func(done, total int) { bar.Progress(int64(done), int64(total)) }
	run, words := bootstrap.Run, printBootstrapped
	if f.dry {
		run, words = func(ctx context.Context, o bootstrap.Options) (bootstrap.Report, error) {
			return bootstrap.DryRun(ctx, o, f.last, f.show)
		}, printTried
	}
	r, err := run(cmd.Context(), o)
	bar.Close()
	return f.finish(cmd, &r, err, words)
}

// pastOptions says what to read of an account of the configuration at path, and into which
// store.
func pastOptions(path, account string, past imap.HistoryOptions, log *slog.Logger) (o bootstrap.Options, err error) {
	c, err := config.Load(path)
	if err != nil {
		return o, err
	}
	a, err := configured(c, account)
	if err != nil {
		return o, err
	}
	source, err := imapOptions(a, log)
	var weights store.PackedVector
	if err == nil {
		weights, err = cli.PriorWeights(&a.Judging)
	}
	if err != nil {
		return o, &cli.ExitError{Code: cli.ExitConfig, Err: fmt.Errorf("account %s: %w", a.Name, err)}
	}
	return bootstrap.Options{
		StorePath: storePath(c), Store: boltfile.Options{Logger: log}, Logger: log,
		Account: a.Name, Filter: filterOptions(a), Prior: weights, AddressBook: addressBook(a.AddressBook),
		NewSource: func(known []ingest.Known) (bootstrap.PastSource, error) { return imap.NewHistory(source, past, known) },
	}, nil
}

func (f *bootstrapFlags) finish(cmd *cobra.Command, r *bootstrap.Report, err error, words func(io.Writer, *bootstrap.Report)) error {
	kept := "; what was read is kept: call it again to go on"
	if f.dry {
		kept = ""
	}
	switch {
	case err != nil && !errors.Is(err, context.Canceled):
		return err
	case !r.Complete:
		return errors.New("interrupted" + kept)
	case f.asJSON:
		for i := range r.Questions {
			r.Questions[i].From, r.Questions[i].Subject = "", nil
		}
		return cli.PrintJSON(cmd.OutOrStdout(), r)
	}
	var b strings.Builder
	words(&b, r)
	if len(r.Questions) > 0 {
		after := "Your answers teach it most about:"
		if f.dry {
			after = "Your answers would teach it most about these, once hinged bootstrap has kept what it read:"
		}
		fmt.Fprintf(&b, "\n%s\n\n", after)
		asked := desk.Questions{Questions: r.Questions, Threshold: r.Threshold}
		if err := printAsked(&b, asked, f.account, time.Now()); err != nil {
			return err
		}
	}
	if _, err = io.WriteString(cli.Wrapping(cmd.OutOrStdout()), b.String()); err != nil || f.dry {
		return err
	}
	return answerNow(cmd, configOf(cmd), f.account, desk.Questions{Questions: r.Questions})
}

func configured(c *config.Config, name string) (*config.Account, error) {
	var names []string
	for i := range c.Accounts {
		if a := &c.Accounts[i]; a.Name == name || name == "" && len(c.Accounts) == 1 {
			return a, nil
		}
		names = append(names, c.Accounts[i].Name)
	}
	switch {
	case len(names) == 0:
		return nil, fmt.Errorf("%w: the configuration has no [[account]] with a mailbox", desk.ErrNoAccount)
	case name == "":
		return nil, fmt.Errorf("%w: there are several; name one of %s with --account", desk.ErrNoAccount, strings.Join(names, ", "))
	}
	return nil, fmt.Errorf("%w: %s is not one of %s", desk.ErrNoAccount, name, strings.Join(names, ", "))
}

func printBootstrapped(w io.Writer, r *bootstrap.Report) {
	printReport(w, r)
	fmt.Fprintf(w, "Next: hinged run; ")
	if r.InShadow {
		fmt.Fprintf(w, "it decides and learns, and marks nothing yet.\n")
	} else if strings.HasPrefix(r.Marking, "yes") {
		fmt.Fprintf(w, "it marks from the next new message on.\nTo let it watch without marking first, set shadow = \"on\" in the configuration.\n")
	} else {
		fmt.Fprintf(w, "marking: %s.\n", r.Marking)
	}
	if r.InShadow {
		fmt.Fprintf(w, "  marking      %s\n", r.Marking)
		if r.EndOfShadow != "" {
			fmt.Fprintf(w, "  to end that  %s\n", r.EndOfShadow)
		}
	}
}

func printReport(w io.Writer, r *bootstrap.Report) {
	for _, part := range r.Hidden {
		fmt.Fprintf(w, "WARNING: %s.\n\n", part)
	}
	if r.Messages == 0 {
		fmt.Fprintf(w, "there is no mail to learn from\n")
		return
	}
	fmt.Fprintf(w, "read %d messages", r.Messages)
	if r.From != nil && r.To != nil {
		fmt.Fprintf(w, " from %s to %s", r.From.Format(time.DateOnly), r.To.Format(time.DateOnly))
	}
	fmt.Fprintf(w, ", %d of them your own\n", r.Own)
	j := &r.Judgement
	fmt.Fprintf(w, "For %d of them your actions show what you thought: %d important, %d ordinary; for the other %d not yet.\n",
		r.Labelled, r.Important, r.Labelled-r.Important, r.Open)
	fmt.Fprintf(w, "%d of these came before enough was learnt to decide.\n\n", r.Early)
	if !r.SentFolder {
		fmt.Fprintf(w, "WARNING: no folder of sent mail was found. Your answers are known only where a mail program set "+
			"\\Answered, so mail that you answered may count as ordinary here. Name the folder with sent = \"…\" "+
			"in [account.imap] (hinged check lists the folders), and begin anew.\n\n")
	}
	if j.Messages == 0 {
		return
	}
	fmt.Fprintf(w, "Had hinged decided the others as they arrived, knowing only earlier mail: %s.\n\n", j.Words())
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\tF1\tprecision\trecall\tfound\tmissed\tfalse alarms\t\n")
	line := func(name string, f *desk.Figures) {
		fmt.Fprintf(t, "%s\t%.2f\t%.2f\t%.2f\t%d\t%d\t%d\t\n", name, f.F1, f.Precision, f.Recall, f.Found, f.Missed, f.FalseAlarms)
	}
	line("hinged", &j.Figures)
	for i := range j.Baselines {
		line(j.Baselines[i].Rule, &j.Baselines[i].Figures)
	}
	_ = t.Flush() // w is a buffer
	fmt.Fprintln(w)
	switch {
	case !r.SentFolder:
		fmt.Fprintf(w, "What that is worth is not known without the folder of sent mail.\n")
	case j.Better:
		fmt.Fprintf(w, "It is better than each of these rules.\n")
	case j.Important == 0:
		fmt.Fprintf(w, "Nothing was important, so there is nothing to be better at yet.\n")
	default:
		fmt.Fprintf(w, "It is not better than each of these rules.\n")
	}
}

func printTried(w io.Writer, r *bootstrap.Report) {
	switch t := r.DryRun; {
	case t.WouldMark == 0:
		fmt.Fprintf(w, "of your last %d messages it would have marked none\n\n", t.Last)
	case len(t.WouldMarked) < t.WouldMark:
		fmt.Fprintf(w, "of your last %d messages it would have marked %d; %d of the clearest:\n\n", t.Last, t.WouldMark, len(t.WouldMarked))
	default:
		fmt.Fprintf(w, "of your last %d messages it would have marked these %d:\n\n", t.Last, t.WouldMark)
	}
	printWouldMarked(w, r.DryRun.WouldMarked)
	fmt.Fprintln(w)
	printReport(w, r)
	fmt.Fprintf(w, "This was a dry run: nothing was kept, and nothing written to the mailbox.\nNext: hinged bootstrap, without --dry-run.\n")
}

func printWouldMarked(w io.Writer, list []bootstrap.WouldMark) {
	bySender := map[string][]bootstrap.WouldMark{}
	var senders []string
	for _, m := range list {
		if bySender[m.From] == nil {
			senders = append(senders, m.From)
		}
		bySender[m.From] = append(bySender[m.From], m)
	}
	for _, sender := range senders {
		of := bySender[sender]
		head := desk.OneLine(cmp.Or(sender, "no sender"), 60)
		if n := of[0].OfSender; n > len(of) {
			head += fmt.Sprintf(", %d messages, of them:", n)
		}
		fmt.Fprintln(w, desk.Clip(head, screenColumns))
		for _, m := range of {
			you := ""
			if m.Label != "" {
				you = " (you: " + m.Label + ")"
			}
			subject := desk.Clip(desk.OneLine(m.Subject, 200), screenColumns-len("  2006-01-02  ")-len(you))
			fmt.Fprintf(w, "  %s  %s%s\n", m.Arrived.Local().Format(time.DateOnly), subject, you)
			if len(m.Reasons) > 0 {
				fmt.Fprintln(w, desk.Clip("              "+desk.OneLine(strings.Join(m.Reasons, "; "), 200), screenColumns))
			}
		}
	}
}
