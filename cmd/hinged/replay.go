// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/run/replay"
	"github.com/hinged/hinged/internal/run/stream"
	"github.com/hinged/hinged/store/boltfile"
)

type replayQuery struct {
	Into string `arg:"FILE"`
}

var kafkaReplay = of(desk.Help{
	Use:   "replay FILE",
	Short: "Rebuild a store from Kafka",
	Long: `Rebuild a store from the topics of [kafka], up to their present end. Each
partition begins at its first record if the log still has it, otherwise at its
newest complete snapshot. The output says which.

It joins no consumer group, produces nothing and changes nothing but FILE
and the directory FILE.partitions, which must not exist yet. A daemon may run.
The digests are those that "hinged verify" prints for a daemon that has read as
far: the same records in the same order give the same state, bit for bit. With
another configuration they differ.

FILE is a store. If you lost yours, put FILE and the directory in its place; then
the daemon needn't read everything again.`,
	Example: `  $ hinged kafka replay rebuilt.db
  partition 0: from its first record, 1207 records
  partition 1: from the snapshot at 20000, 1733 records
  rebuilt.db: 2940 records, 2811 of them messages, 1 unusable
    kafka:ann@example.org: model 5d1f0c… state 90ab4e…`,
	All: true,
}, replayInto, printReplayed)

func replayInto(c *call, q *replayQuery) (done replay.Replayed, err error) {
	conf, err := loadStream(c.config, "there is nothing to replay")
	if err != nil {
		return done, err
	}
	client, o, err := streamOptions(conf.Kafka, slog.New(slog.DiscardHandler))
	if err != nil {
		return done, err
	}
	defer client.Close()
	b := cli.NewBar(c.ErrOrStderr(), "replaying")
	defer b.Close()
	return replay.Run(c.Context(), replay.Options{
		Broker: stream.Client(client), Engine: o, Into: q.Into, Store: boltfile.Options{}, Progress: b.Progress,
	})
}

func printReplayed(w io.Writer, r replay.Replayed) error {
	for _, p := range r.Partitions {
		from := "its first record"
		if p.From == replay.FromSnapshot {
			from = fmt.Sprintf("the snapshot at %d", p.Offset)
		}
		fmt.Fprintf(w, "partition %d: from %s, %s\n", p.Partition, from, desk.Count(p.Next-p.Offset, "record"))
	}
	fmt.Fprintf(w, "%s: %s, %d of them messages, %d unusable\n", r.File, desk.Count(r.Records, "record"), r.Messages, r.DeadLetters)
	for _, a := range r.Accounts {
		fmt.Fprintf(w, "  %s: model %s state %s\n", a.Account, a.Model, a.State)
	}
	if len(r.Accounts) == 0 {
		fmt.Fprintln(w, "  no account yet")
	}
	return nil
}
