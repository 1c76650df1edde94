// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/run/stream"
)

type recoverQuery struct {
	Partition string `arg:"PARTITION"`
	From      string `flag:"from" usage:"what to recover from" jsonschema:"enum=snapshot,enum=start,enum=empty"`
	DryRun    bool   `flag:"dry-run" usage:"say what would be lost, and change nothing"`
	Yes       bool   `flag:"yes,y" usage:"don't ask"`

	number int32
}

// Wrong and Asks implement what verb says.
func (q *recoverQuery) Wrong() error {
	if q.From == "" && (q.DryRun || q.Yes) {
		return errors.New("hinged kafka recover needs --from: snapshot, start or empty")
	}
	if q.Partition == "" {
		if q.From != "" {
			return errors.New("hinged kafka recover --from needs the number of a partition")
		}
		return nil
	}
	n, err := strconv.ParseInt(q.Partition, 10, 32)
	if err != nil || n < 0 {
		return fmt.Errorf("%s: not the number of a partition; they are counted from 0", q.Partition)
	}
	q.number = int32(n)
	return nil
}
func (q *recoverQuery) Asks() bool { return q.From != "" }

// conditionList is how partitions stand, with what each way of recovery would do.
type conditionList struct {
	Conditions []stream.Condition
	choices    [][]stream.Recovery
}

// MarshalJSON implements json.Marshaler.
func (l conditionList) MarshalJSON() ([]byte, error) { return json.Marshal(l.Conditions) }

var kafkaRecover = of(desk.Help{
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
	Example: `  $ hinged kafka recover 1 --from snapshot
  partition 1 would be recovered from its snapshot at offset 1300, and continue at
  offset 0 of the new topic
    kept: 12 accounts with 340 lessons
    lost: the records of the old topic from offset 1300 on, if there were any
  Recover it? [y/N] y

  partition 1 is recovered from its snapshot at offset 1300, and continues at
  offset 0 of the new topic`,
	All:      true,
	Question: "Recover it?",
}, func(c *call, q *recoverQuery) (any, error) {
	client, topics, err := kafkaClient(c.config, "there is no partition to recover")
	if err != nil {
		return nil, err
	}
	defer client.Close()
	r := &stream.Recoverer{Broker: stream.Client(client), Topics: topics}
	if q.From == "" {
		return conditions(c.Context(), r, q)
	}
	return r.Recover(c.Context(), q.number, q.From, q.DryRun)
}, func(w io.Writer, a any) error {
	if all, ok := a.(conditionList); ok {
		return printConditions(w, all)
	}
	_, err := io.WriteString(w, recoveryText(a.(stream.Recovery)))
	return err
}, []stream.Condition{}, stream.Recovery{})

// conditions says how one partition stands or, if none is named, how all of them do.
func conditions(ctx context.Context, r *stream.Recoverer, q *recoverQuery) (all conditionList, err error) {
	first, end := q.number, q.number+1
	if q.Partition == "" {
		first = 0
		if end, err = r.Broker.Partitions(ctx, r.Topics.Input); err != nil {
			return all, err
		}
	}
	all.Conditions = []stream.Condition{}
	for n := first; n < end; n++ {
		c, err := r.Examine(ctx, n)
		if err != nil {
			return all, err
		}
		all.Conditions = append(all.Conditions, c)
		if !c.Stopped {
			all.choices = append(all.choices, nil)
			continue
		}
		var looks []stream.Recovery
		for _, from := range []string{stream.FromSnapshot, stream.FromStart, stream.FromNothing} {
			look, err := r.Recover(ctx, n, from, true)
			if errors.Is(err, stream.ErrNoSnapshot) {
				continue
			}
			if err != nil {
				return all, err
			}
			looks = append(looks, look)
		}
		all.choices = append(all.choices, looks)
	}
	return all, nil
}

func printConditions(w io.Writer, all conditionList) (err error) {
	for i, c := range all.Conditions {
		snapshot := "no snapshot yet"
		if s := c.Snapshot; s != nil {
			snapshot = fmt.Sprintf("its newest snapshot is at %d", s.Offset)
		}
		if !c.Stopped {
			_, err = fmt.Fprintf(w, "partition %d needs no recovery: the log has offsets %d to %d, %s\n", c.Partition, c.First, c.End, snapshot)
			continue
		}
		_, err = fmt.Fprintf(w, "partition %d is stopped: %s\n", c.Partition, c.Problem)
		for _, look := range all.choices[i] {
			_, err = fmt.Fprintf(w, "  hinged kafka recover %d --from %s\n%s", c.Partition, look.From, effects(look, "    "))
		}
	}
	return err
}

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

func effects(r stream.Recovery, indent string) string {
	text := ""
	line := func(format string, args ...any) { text += indent + fmt.Sprintf(format, args...) + "\n" }
	learnt := func(accounts int, lessons uint64) string {
		return desk.Count(accounts, "account") + " with " + desk.Count(lessons, "lesson")
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
		line("no decision: up to %s, %s", desk.Count(r.Unread, "record"), what)
	}
	return text
}
