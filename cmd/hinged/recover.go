// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/stream"
)

func recoverCommand() *cobra.Command {
	var path, from string
	var dryRun, yes, asJSON bool
	c := &cobra.Command{
		Use:   "recover [PARTITION]",
		Short: "Have a stopped Kafka partition continue",
		Long: `Show the state of each partition of the input topic, or make a stopped partition
continue. hinged stops a partition if the topic was deleted and created again, or if
the log no longer has the records that come next. Other partitions are not affected.

--from snapshot keeps what was learnt. If the topic was created again, hinged
reads all of the new one; otherwise it continues at the nearest record that the
log still has.
--from start drops what was learnt from this partition, and reads all records
that the log still has.
--from empty drops what was learnt from this partition, and reads only records
that are produced from now on.

Before recover changes anything, it says what would be lost, and asks. Without
--from it says this for each of the three. It needs only the brokers, so it works on
any machine: it writes one snapshot into the snapshots topic, and every process of
the group obeys it. A running hinged continues the partition within seconds, a
stopped one when it starts. Let hinged run before you recover a partition: a process
that stops a partition first writes all that it has learnt into the snapshots topic.`,
		Example: `  $ hinged recover 1 --from snapshot
  partition 1 would be recovered from its snapshot at offset 1300, and continue at
  offset 0 of the new topic
    kept: 12 accounts with 340 lessons
    lost: the records of the old topic from offset 1300 on, if there were any
  Recover partition 1? [y/N] y

  partition 1 is recovered from its snapshot at offset 1300, and continues at
  offset 0 of the new topic`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			partition, err := partitionArg(cmd, args, from, dryRun || yes)
			if err != nil {
				return err
			}
			r, hangUp, err := newRecoverer(path)
			if err != nil {
				return err
			}
			defer func() { _ = hangUp() }() // it returns nothing
			if from == "" {
				return showConditions(cmd, r, partition, asJSON)
			}
			do := func(dryRun bool) (stream.Recovery, error) {
				return r.Recover(cmd.Context(), partition, from, dryRun)
			}
			show := func(done stream.Recovery) error {
				if asJSON {
					return cli.PrintJSON(cmd.OutOrStdout(), done)
				}
				_, err := io.WriteString(cli.Wrapping(cmd.OutOrStdout()), recoveryText(done))
				return err
			}
			some := func(stream.Recovery) bool { return true }
			return doOnceConfirmed(cmd, yes, dryRun, asJSON, fmt.Sprintf("Recover partition %d?", partition), do, some, show)
		},
	}
	configFlag(c, &path)
	cli.JSONFlag(c, &asJSON, "JSON")
	c.Flags().StringVar(&from, "from", "", "recover from `what`: snapshot, start or empty")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "say what would be lost, and change nothing")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	return c
}

// everyPartition stands for no partition named.
const everyPartition = -1

func partitionArg(cmd *cobra.Command, args []string, from string, does bool) (int32, error) {
	switch from {
	case "", stream.FromSnapshot, stream.FromStart, stream.FromNothing:
	default:
		return 0, cli.Misuse(cmd, "--from %s: a partition is recovered from %s, %s or %s", from, stream.FromSnapshot, stream.FromStart, stream.FromNothing)
	}
	if from == "" && does {
		return 0, cli.Misuse(cmd, "%s needs --from: %s, %s or %s", cmd.CommandPath(), stream.FromSnapshot, stream.FromStart, stream.FromNothing)
	}
	if len(args) == 0 {
		if from != "" {
			return 0, cli.Misuse(cmd, "%s --from needs the number of a partition", cmd.CommandPath())
		}
		return everyPartition, nil
	}
	n, err := strconv.ParseInt(args[0], 10, 32)
	if err != nil || n < 0 {
		return 0, cli.Misuse(cmd, "%s: not the number of a partition; they are counted from 0", args[0])
	}
	return int32(n), nil
}

// newRecoverer connects to the brokers of the configuration.
func newRecoverer(path string) (r *stream.Recoverer, hangUp func() error, err error) {
	c, err := loadStream(path, "there is no partition to recover")
	if err != nil {
		return nil, nil, err
	}
	o, err := kafkaOptions(c.Kafka, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, nil, fmt.Errorf("kafka: %w", err)
	}
	client, err := kafka.New(o)
	if err != nil {
		return nil, nil, err
	}
	return &stream.Recoverer{Broker: stream.Client(client), Topics: o.Topics}, client.Close, nil
}

// showConditions prints how one partition stands, or all of them do.
func showConditions(cmd *cobra.Command, r *stream.Recoverer, partition int32, asJSON bool) error {
	first, end := partition, partition+1
	if partition == everyPartition {
		n, err := r.Broker.Partitions(cmd.Context(), r.Topics.Input)
		if err != nil {
			return err
		}
		first, end = 0, n
	}
	all := []stream.Condition{}
	for n := first; n < end; n++ {
		c, err := r.Examine(cmd.Context(), n)
		if err != nil {
			return err
		}
		all = append(all, c)
	}
	if asJSON {
		return cli.PrintJSON(cmd.OutOrStdout(), all)
	}
	w := cli.Wrapping(cmd.OutOrStdout())
	for _, c := range all {
		if err := printCondition(cmd.Context(), w, r, c); err != nil {
			return err
		}
	}
	return nil
}

func printCondition(ctx context.Context, w io.Writer, r *stream.Recoverer, c stream.Condition) error {
	snapshot := "no snapshot yet"
	if s := c.Snapshot; s != nil {
		snapshot = fmt.Sprintf("its newest snapshot is at %d", s.Offset)
	}
	if !c.Stopped {
		_, err := fmt.Fprintf(w, "partition %d needs no recovery: the log has offsets %d to %d, %s\n", c.Partition, c.First, c.End, snapshot)
		return err
	}
	if _, err := fmt.Fprintf(w, "partition %d is stopped: %s\n", c.Partition, c.Problem); err != nil {
		return err
	}
	for _, from := range []string{stream.FromSnapshot, stream.FromStart, stream.FromNothing} {
		look, err := r.Recover(ctx, c.Partition, from, true)
		if errors.Is(err, stream.ErrNoSnapshot) {
			continue
		}
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "  hinged recover %d --from %s\n", c.Partition, from); err != nil {
			return err
		}
		if _, err := io.WriteString(w, effects(look, "    ")); err != nil {
			return err
		}
	}
	return nil
}

// recoveryText says what a recovery does, or did.
func recoveryText(r stream.Recovery) string {
	verb, goes := "is recovered", "continues"
	if r.DryRun {
		verb, goes = "would be recovered", "continue"
	}
	from := "with nothing learnt"
	if r.From == stream.FromSnapshot {
		from = fmt.Sprintf("from its snapshot at offset %d", r.Snapshot.Offset)
	}
	log := ""
	if r.OtherLog {
		log = " of the new topic"
	}
	text := fmt.Sprintf("partition %d %s %s, and %s at offset %d%s\n", r.Partition, verb, from, goes, r.Next, log)
	if r.DryRun {
		text += effects(r, "  ")
	}
	return text
}

// effects lists what is kept and what is lost.
func effects(r stream.Recovery, indent string) string {
	text := ""
	line := func(format string, args ...any) { text += indent + fmt.Sprintf(format, args...) + "\n" }
	learnt := func(accounts int, lessons uint64) string {
		return number(int64(accounts), "account") + " with " + number(int64(lessons), "lesson")
	}
	line("continues at offset %d", r.Next)
	switch {
	case r.From == stream.FromSnapshot:
		line("kept: %s", learnt(r.Snapshot.Accounts, r.Snapshot.Lessons))
	case r.Snapshot != nil:
		line("lost: %s", learnt(r.LostAccounts, r.LostLessons))
	default:
		line("lost: what the accounts of this partition had learnt; there is no snapshot that says how much")
	}
	if r.OtherLog {
		line("lost: the records of the old topic from offset %d on, if there were any", r.Snapshot.Offset)
	}
	if r.Unread > 0 {
		what := "which are no longer in the log"
		if r.From == stream.FromNothing {
			what = "which are passed over"
		}
		line("no decision: up to %s, %s", number(r.Unread, "record"), what)
	}
	return text
}
