// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/deadletters"
)

// deadLettersFlags are the flags of dead-letters.
type deadLettersFlags struct {
	config, reason, topic         string
	play, all, again, dryRun, raw bool
	json                          bool
}

func deadLettersCommand() *cobra.Command {
	f := &deadLettersFlags{}
	c := &cobra.Command{
		Use:   "dead-letters [ID...]",
		Short: "List the records from Kafka that could not be used, and play them again",
		Long: `List the dead letters of [kafka] by reason, or only those with an ID: the
partition and offset of the record, and the first digits of a hash of it. The
digits are needed only if several letters have the rest.

With --play, put their records into the input topic again: those with an ID, those
with a --reason, or --all. Key, value and headers are as they were; the timestamp is
the present time, and the partition is the one where the key belongs. First try
--dry-run, which writes nothing. Play letters after the cause is mended: the message
for some feedback has arrived, a producer uses another partitioner, hinged is newer.

A letter is not played twice without --again, even if playing was interrupted: the
topic of dead letters records what was intended and what was done, and the next run
looks into the input topic for the rest. Within a minute of an interruption, and while
another run plays the same letters, --play refuses. A letter can't be played if part
of it was left out because it was too large, or if it has no account.`,
		Example: `  $ hinged dead-letters
  unknown-message: 2 letters
    3/1207-9f2c1a7b  2026-03-02 08:00  ann@example.org  412 bytes
    5/88-03d1e0aa    2026-03-02 09:30  bob@example.org  97 bytes, played 2026-03-04 10:12
  $ hinged dead-letters --play --reason unknown-message --dry-run
  3/1207-9f2c1a7b would be played
  1 would be played, 1 was played before
  $ hinged dead-letters --play 3/1207
  3/1207-9f2c1a7b played
  1 played`,
		RunE: func(cmd *cobra.Command, ids []string) error { return f.run(cmd, ids) },
	}
	configFlag(c, &f.config)
	c.Flags().StringVar(&f.reason, "reason", "", "only letters with this `word` as their reason")
	c.Flags().StringVar(&f.topic, "topic", "", "only letters from this `topic` (default for --play: the input of the configuration)")
	c.Flags().BoolVar(&f.play, "play", false, "put the records into the input again")
	c.Flags().BoolVar(&f.all, "all", false, "with --play: all letters")
	c.Flags().BoolVar(&f.again, "again", false, "with --play: also letters that were played before")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "with --play: write nothing, only say what would be played")
	c.Flags().BoolVar(&f.raw, "raw", false, "print the value of one letter, byte for byte")
	cli.JSONFlag(c, &f.json, "JSON")
	return c
}

// wrong returns what is wrong with the flags.
func (f *deadLettersFlags) wrong(cmd *cobra.Command, ids []string) error {
	switch {
	case f.reason != "" && !slices.Contains(kafka.Reasons(), kafka.Reason(f.reason)):
		var words []string
		for _, r := range kafka.Reasons() {
			words = append(words, string(r))
		}
		return cli.Misuse(cmd, "--reason is %q; the reasons are %s", f.reason, strings.Join(words, ", "))
	case !f.play && (f.all || f.again || f.dryRun):
		return cli.Misuse(cmd, "--all, --again and --dry-run are for --play")
	case f.play && len(ids) == 0 && f.reason == "" && !f.all:
		return cli.Misuse(cmd, "--play needs IDs, --reason or --all")
	case f.all && (len(ids) > 0 || f.reason != ""):
		return cli.Misuse(cmd, "--all excludes IDs and --reason")
	case f.raw && (len(ids) != 1 || f.play || f.json):
		return cli.Misuse(cmd, "--raw prints one letter: it needs one ID, and no --play or --json")
	}
	return nil
}

func (f *deadLettersFlags) run(cmd *cobra.Command, ids []string) error {
	if err := f.wrong(cmd, ids); err != nil {
		return err
	}
	conf, err := loadStream(f.config, "there are no dead letters")
	if err != nil {
		return err
	}
	o, err := kafkaOptions(conf.Kafka, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	o.MaxRecord = max(o.MaxRecord, 64<<20) // what is there is to be played
	client, err := kafka.New(o)
	if err != nil {
		return err
	}
	defer client.Close()
	s := deadletters.Selection{Topic: f.topic, Reason: kafka.Reason(f.reason), IDs: ids}
	if f.play {
		return f.playAgain(cmd, client, s)
	}
	found, err := deadletters.List(cmd.Context(), client, s)
	switch {
	case err != nil:
		return err
	case f.raw:
		r, err := deadletters.Read(cmd.Context(), client, &found.Letters[0])
		if err == nil {
			_, err = cmd.OutOrStdout().Write(r.Value)
		}
		return err
	case f.json:
		return cli.PrintJSON(cmd.OutOrStdout(), found)
	}
	_, err = io.WriteString(cli.Wrapping(cmd.OutOrStdout()), lettersText(found, f.reason == "" && len(ids) == 0))
	return err
}

func (f *deadLettersFlags) playAgain(cmd *cobra.Command, client *kafka.Client, s deadletters.Selection) error {
	if s.Topic == "" {
		s.Topic = client.Options().Topics.Input
	}
	b := cli.NewBar(cmd.ErrOrStderr(), "playing")
	defer b.Close()
	played, err := deadletters.Play(cmd.Context(), client, s, deadletters.PlayOptions{DryRun: f.dryRun, Again: f.again, Progress: b.Progress})
	b.Close()
	if err != nil {
		return err
	}
	if f.json {
		return cli.PrintJSON(cmd.OutOrStdout(), played)
	}
	_, err = io.WriteString(cli.Wrapping(cmd.OutOrStdout()), playedText(played))
	return err
}

// mostLetters is how many letters of one reason are listed unless they are asked for.
const mostLetters = 10

func minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }

// lettersText lists letters by reason, of each only some if brief.
func lettersText(found deadletters.Listing, brief bool) string {
	of := map[kafka.Reason][]deadletters.Letter{}
	for _, l := range found.Letters {
		of[l.Reason] = append(of[l.Reason], l)
	}
	var out strings.Builder
	for _, reason := range append(kafka.Reasons(), unknownReasons(of)...) {
		letters := of[reason]
		if len(letters) == 0 {
			continue
		}
		fmt.Fprintf(&out, "%s: %s\n", reason, number(int64(len(letters)), "letter"))
		for i, l := range letters {
			if brief && i == mostLetters {
				fmt.Fprintf(&out, "  and %d more: hinged dead-letters --reason %s\n", len(letters)-i, reason)
				break
			}
			fmt.Fprintf(&out, "  %s  %s  %s  %s", l.ID, minute(l.Since), printable(l.Account, 60), number(int64(l.Bytes), "byte"))
			if l.Played != nil {
				fmt.Fprintf(&out, ", played %s", minute(*l.Played))
			}
			out.WriteString("\n")
			if !brief {
				fmt.Fprintf(&out, "    %s\n", printable(l.Detail, 400))
				if l.Unplayable != "" {
					fmt.Fprintf(&out, "    It can't be played: %s.\n", l.Unplayable)
				}
			}
		}
	}
	if len(found.Letters) == 0 {
		fmt.Fprintf(&out, "no dead letters in %s\n", found.Topic)
	}
	if found.Others > 0 {
		fmt.Fprintf(&out, "%s there that are no dead letters of hinged\n", number(int64(found.Others), "record"))
	}
	return out.String()
}

// unknownReasons are those of a newer hinged.
func unknownReasons(of map[kafka.Reason][]deadletters.Letter) (out []kafka.Reason) {
	for reason := range of {
		if !slices.Contains(kafka.Reasons(), reason) {
			out = append(out, reason)
		}
	}
	slices.Sort(out)
	return out
}

func playedText(p deadletters.Played) string {
	var out strings.Builder
	word := "played"
	if p.DryRun {
		word = "would be played"
	}
	for _, l := range p.Played {
		fmt.Fprintf(&out, "%s %s\n", l.ID, word)
	}
	for _, l := range p.Unplayable {
		fmt.Fprintf(&out, "%s can't be played: %s\n", l.ID, l.Unplayable)
	}
	fmt.Fprintf(&out, "%d %s", len(p.Played), word)
	if n := len(p.Before); n == 1 {
		out.WriteString(", 1 was played before")
	} else if n > 1 {
		fmt.Fprintf(&out, ", %d were played before", n)
	}
	if n := len(p.Unplayable); n > 0 {
		fmt.Fprintf(&out, ", %d can't be played", n)
	}
	out.WriteString("\n")
	return out.String()
}
