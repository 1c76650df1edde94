// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/repartition"
)

func repartitionCommand() *cobra.Command {
	var path, input, snapshots string
	var partitions int32
	var dryRun, asJSON bool
	c := &cobra.Command{
		Use:   "repartition --input TOPIC --snapshots TOPIC",
		Short: "Move the accounts to Kafka topics with more partitions, or fewer",
		Long: `Move what was learnt to a new input topic with another number of partitions.
Don't add partitions to the old one: most accounts would then belong to another
partition, without what hinged knows about them.

repartition rebuilds the state of all accounts from the old topics, those of the
configuration, as "hinged replay" does. Then it writes each account into the new
snapshots topic, in the partition where its key belongs. With the new topics in the
configuration, hinged goes on from there: nothing is lost, and nothing is learnt
twice. The old topics are left as they are.

First have all producers write to the new input topic, wait until no record is
waiting in the old one, and stop all processes. repartition creates the new topics if
they are missing, and refuses if something is not ready. If it is interrupted, start
it again; until then, hinged refuses the new topics.`,
		Example: `  $ hinged repartition --input hinged.input-2 --snapshots hinged.snapshots-2 --partitions 32
  1207 accounts moved from hinged.input (8 partitions) to hinged.input-2 (32 partitions)
  Set this in the configuration of all processes, and start them:
    [kafka.topics]
    input = "hinged.input-2"
    snapshots = "hinged.snapshots-2"`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if input == "" || snapshots == "" {
				return cli.Misuse(cmd, "%s needs --input and --snapshots: the names of the new topics", cmd.CommandPath())
			}
			if partitions < 1 {
				return cli.Misuse(cmd, "--partitions is %d, want 1 or more", partitions)
			}
			conf, err := loadStream(path, "there are no partitions")
			if err != nil {
				return err
			}
			from, engine, err := streamOptions(conf.Kafka, slog.New(slog.DiscardHandler))
			if err != nil {
				return err
			}
			defer from.Close()
			o := from.Options()
			o.Topics.Input, o.Topics.Snapshots = input, snapshots
			to, err := kafka.New(o)
			if err != nil {
				return err
			}
			defer to.Close()
			if err := os.MkdirAll(conf.StateDir, 0o700); err != nil {
				return err
			}
			b := cli.NewBar(cmd.ErrOrStderr(), "reading")
			defer b.Close()
			moved, err := repartition.Run(cmd.Context(), repartition.Options{
				From: from, Engine: engine, To: to, Partitions: partitions, Dir: conf.StateDir, DryRun: dryRun, Progress: b.Progress,
			})
			b.Close()
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), moved)
			}
			_, err = io.WriteString(cli.Wrapping(cmd.OutOrStdout()), movedText(moved))
			return err
		},
	}
	configFlag(c, &path)
	cli.JSONFlag(c, &asJSON, "JSON")
	c.Flags().StringVar(&input, "input", "", "the new `topic` for the input")
	c.Flags().StringVar(&snapshots, "snapshots", "", "the new `topic` for snapshots")
	c.Flags().Int32Var(&partitions, "partitions", 16, "how many partitions new topics get; topics that exist keep theirs")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "write nothing, only say whether everything is ready")
	return c
}

func movedText(m repartition.Moved) string {
	var out strings.Builder
	topic := func(t repartition.Topic) string {
		return fmt.Sprintf("%s (%s)", t.Topic, number(int64(t.Partitions), "partition"))
	}
	if m.DryRun {
		fmt.Fprintf(&out, "ready to move the accounts from %s to %s\n", topic(m.From), topic(m.To))
		return out.String()
	}
	fmt.Fprintf(&out, "%s moved from %s to %s\n", number(int64(m.Accounts), "account"), topic(m.From), topic(m.To))
	out.WriteString("Set this in the configuration of all processes, and start them:\n")
	fmt.Fprintf(&out, "  [kafka.topics]\n  input = %q\n  snapshots = %q\n", m.To.Topic, m.Snapshots)
	return out.String()
}
