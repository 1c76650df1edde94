// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/hinged/hinged/internal/desk"
	"github.com/hinged/hinged/internal/stream"
)

// printStream shows the part of a status that is about Kafka.
func printStream(w io.Writer, status desk.Status) error {
	s := status.Stream
	fmt.Fprintf(w, "\nKafka, topic %s: %s\n", s.Topic, s.Doing)
	if s.Problem != "" {
		fmt.Fprintf(w, "  WARNING: %s\n", s.Problem)
	}
	for _, p := range s.Partitions {
		if p.Problem != "" {
			fmt.Fprintf(w, "  WARNING: %s\n", p.Problem)
		}
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(t, "  "+name+"\t"+format+"\n", args...) }
	line("accounts", "%d", s.Accounts)
	if status.Running {
		line("records", "%d read: %d messages (%d of the owners' own, %d came before), %d of feedback", s.Records, s.Messages, s.Own, s.Repeated, s.Feedback)
		line("decided", "%d important, %d unsure, %d ordinary", s.Important, s.Unsure, s.Ordinary)
		line("learnt", "%d lessons", s.Lessons)
		dead := "none"
		if len(s.DeadLetters) > 0 {
			var all []string
			for _, why := range s.Reasons() {
				all = append(all, fmt.Sprintf("%d %s", s.DeadLetters[why], why))
			}
			dead = strings.Join(all, ", ")
		}
		line("dead letters", "%s", dead)
		line("passed over", "%d control markers, %d records of aborted transactions", s.Markers, s.Aborted)
		line("behind", "%s", s.Waits())
		line("rebalances", "%d", s.Rebalances)
	}
	if who := s.Behind(); who != "" {
		line("set aside", "%s", who)
	}
	for i := range s.Partitions {
		line("partition", "%d %s", s.Partitions[i].Partition, partitionText(&s.Partitions[i], status.Running))
	}
	return t.Flush()
}

// partitionText says how one partition stands.
func partitionText(p *stream.PartitionStatus, running bool) string {
	text := "at an unknown offset"
	if p.Position >= 0 {
		text = fmt.Sprintf("at offset %d", p.Position)
	}
	if p.End >= 0 {
		text += fmt.Sprintf(" of %d", p.End)
	}
	if running && (p.Lag == nil || *p.Lag > 0) {
		text += "; behind: " + p.Waits()
	}
	if p.Snapshots > 0 {
		text += fmt.Sprintf("; %d snapshots", p.Snapshots)
	}
	if p.Restoring > 0 {
		text += fmt.Sprintf("; %d accounts still to be fetched out of the snapshot", p.Restoring)
	}
	if p.DamagedFile != "" {
		text += "; its file was damaged and is now " + p.DamagedFile
	}
	if n := len(p.Differs); n > 0 {
		text += fmt.Sprintf("; %d accounts DIFFER from what another process made of the same records, such as %s", n, p.Differs[0])
	}
	if p.Stopped {
		text += "; STOPPED"
	}
	return text
}
