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
	config, reason, topic string
	raw, json             bool
}

func deadLettersCommand() *cobra.Command {
	f := &deadLettersFlags{}
	c := &cobra.Command{
		Use:   "dead-letters [ID...]",
		Short: "List the records from Kafka that could not be used",
		Long: `List the dead letters of [kafka] by reason, or only those with an ID: the
partition and offset of the record, and the first digits of a hash of it. The
digits are needed only if several letters have the rest.

To have hinged try a record again after you have mended the cause, produce it again
with its key, its value and its own headers; --raw prints the value.`,
		Example: `  $ hinged dead-letters
  unknown-message: 2 letters
    3/1207-9f2c1a7b  2026-03-02 08:00  ann@example.org  412 bytes
    5/88-03d1e0aa    2026-03-02 09:30  bob@example.org  97 bytes`,
		RunE: func(cmd *cobra.Command, ids []string) error { return f.run(cmd, ids) },
	}
	configFlag(c, &f.config)
	c.Flags().StringVar(&f.reason, "reason", "", "only letters with this `word` as their reason")
	c.Flags().StringVar(&f.topic, "topic", "", "only letters from this `topic`")
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
	case f.raw && (len(ids) != 1 || f.json):
		return cli.Misuse(cmd, "--raw prints one letter: it needs one ID, and no --json")
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
	o.MaxRecord = max(o.MaxRecord, 64<<20) // what is there is to be listed
	client, err := kafka.New(o)
	if err != nil {
		return err
	}
	defer client.Close()
	s := deadletters.Selection{Topic: f.topic, Reason: kafka.Reason(f.reason), IDs: ids}
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
			out.WriteString("\n")
			if !brief {
				fmt.Fprintf(&out, "    %s\n", printable(l.Detail, 400))
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
