// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/cli"
	"github.com/hinged/hinged/internal/replay"
	"github.com/hinged/hinged/internal/stream"
	"github.com/hinged/hinged/store/boltfile"
)

func replayCommand() *cobra.Command {
	var path, into string
	var asJSON bool
	c := &cobra.Command{
		Use:   "replay --into FILE",
		Short: "Rebuild a store from Kafka",
		Long: `Rebuild a store from the topics of [kafka], up to their present end. Each
partition begins at its first record if the log still has it, otherwise at its
newest complete snapshot. The output says which.

replay joins no consumer group, produces nothing and changes nothing but FILE
and the directory FILE.partitions, which must not exist yet. A daemon may run.
The digests are those that "hinged digest" prints for a daemon that has read as
far: the same records in the same order give the same state, bit for bit. With
another configuration they differ.

FILE is a store. If you lost yours, put FILE and the directory in its place; then
the daemon needn't read everything again.`,
		Example: `  $ hinged replay --into rebuilt.db
  partition 0: from its first record, 1207 records
  partition 1: from the snapshot at 20000, 1733 records
  rebuilt.db: 2940 records, 2811 of them messages, 1 unusable
    kafka:ann@example.org: model 5d1f0c… state 90ab4e…`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if into == "" {
				return cli.Misuse(cmd, "%s needs --into and the file to create", cmd.CommandPath())
			}
			c, err := loadStream(path, "there is nothing to replay")
			if err != nil {
				return err
			}
			client, o, err := streamOptions(c.Kafka, slog.New(slog.DiscardHandler))
			if err != nil {
				return err
			}
			defer client.Close()
			b := cli.NewBar(cmd.ErrOrStderr(), "replaying")
			defer b.Close()
			done, err := replay.Run(cmd.Context(), replay.Options{
				Broker: stream.Client(client), Engine: o, Into: into, Store: boltfile.Options{}, Progress: b.Progress,
			})
			if err != nil {
				return err
			}
			b.Close()
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), done)
			}
			_, err = io.WriteString(cli.Wrapping(cmd.OutOrStdout()), replayedText(done))
			return err
		},
	}
	configFlag(c, &path)
	cli.JSONFlag(c, &asJSON, "JSON")
	c.Flags().StringVar(&into, "into", "", "the store to create")
	return c
}

func replayedText(r replay.Replayed) string {
	var out strings.Builder
	for _, p := range r.Partitions {
		from := "its first record"
		if p.From == replay.FromSnapshot {
			from = fmt.Sprintf("the snapshot at %d", p.Offset)
		}
		fmt.Fprintf(&out, "partition %d: from %s, %s\n", p.Partition, from, number(p.Next-p.Offset, "record"))
	}
	fmt.Fprintf(&out, "%s: %s, %d of them messages, %d unusable\n", r.File, number(int64(r.Records), "record"), r.Messages, r.DeadLetters)
	for _, a := range r.Accounts {
		fmt.Fprintf(&out, "  %s: model %s state %s\n", a.Account, a.Model, a.State)
	}
	if len(r.Accounts) == 0 {
		out.WriteString("  no account yet\n")
	}
	return out.String()
}

func number(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
