// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/hinged/hinged/internal/desk"
)

// StreamSummary is the additional result of a demo through Kafka.
type StreamSummary struct {
	// Partitions is the number of partitions of each topic.
	Partitions int `json:"partitions"`
	// Mailboxes is the number of mailboxes whose mail came through the topic.
	Mailboxes int `json:"mailboxes"`
	// Records counts the records written to the input topic: messages and feedback.
	Records int `json:"records"`
	// Decisions counts the decisions read, each once.
	Decisions int `json:"decisions"`
	// Repeated counts decisions that were produced again.
	Repeated int `json:"repeated"`
	// Unequal counts repeated decisions whose bytes differ. Anything but 0 is an error.
	Unequal int `json:"unequal"`
	// TakenOver lists the partitions that were taken over by a process with an empty
	// store.
	TakenOver []Takeover `json:"taken_over"`
	// SameDigests reports whether a replay of the topic gives the digests of the
	// remaining process.
	SameDigests bool `json:"same_digests"`
}

// Takeover is one partition that moved to another process.
type Takeover struct {
	// Partition is the number of the partition.
	Partition int32 `json:"partition"`
	// Process is the process that has the partition now.
	Process string `json:"process"`
	// Why is "joined" if the process was new, "killed" if the previous process was
	// killed.
	Why string `json:"why"`
	// Offset is the position of the snapshot that the process continued from.
	Offset int64 `json:"offset"`
}

// streamTally keeps what was decided and done in the live part.
type streamTally struct {
	tally
	takeovers []Takeover
	same      bool
}

func (t *streamTally) add(e *entry) {
	e.decided = true
	t.entries = append(t.entries, e)
	t.order = append(t.order, e)
	t.wrong = append(t.wrong, e.wrong())
	t.act(e)
}

// has reports whether a takeover of a partition was told.
func (t *streamTally) has(partition int32) bool {
	return slices.ContainsFunc(t.takeovers, func(o Takeover) bool { return o.Partition == partition })
}

// compare waits for the second process to have everything, and compares its
// digests with those of a replay.
func (f *flow) compare(ctx context.Context) error {
	w := f.workers[1]
	if err := f.tookOver(w, "killed"); err != nil {
		return err
	}
	live, err := ask(ctx, w, desk.GetDigests)
	if err != nil {
		return fmt.Errorf("demo: the digests of process %s: %w", w.name, err)
	}
	again, err := f.o.Replay(ctx, w.config, filepath.Join(f.dir, "replayed.db"))
	if err != nil {
		return err
	}
	f.tally.same = len(live) == len(f.boxes) && slices.Equal(live, again)
	if f.tally.same {
		f.screen.line(fmt.Sprintf("A replay of the input topic gives the digests of process %s for all %d mailboxes.", w.name, len(live)))
	}
	return nil
}

func (f *flow) summary(where string) *Summary {
	t := &f.tally
	d := f.heard
	d.mu.Lock()
	defer d.mu.Unlock()
	sum := &Summary{
		Seed: f.o.Seed, Server: where, Seconds: time.Since(f.began).Round(100 * time.Millisecond).Seconds(), Messages: len(t.order),
		Corrections: t.corrections, OwnMarks: t.marked, Unmarked: t.unmarked, Starred: t.starred, Answered: t.answered, Junked: t.junked, Discarded: t.thrown,
		Baselines: []Baseline{},
		Kafka: &StreamSummary{
			Partitions: streamPartitions, Mailboxes: len(f.boxes), Records: f.sent, Decisions: len(d.values),
			Repeated: d.repeated, Unequal: d.unequal, TakenOver: t.takeovers, SameDigests: t.same,
		},
	}
	if sum.Kafka.TakenOver == nil {
		sum.Kafka.TakenOver = []Takeover{}
	}
	var ours, never confusion
	for _, e := range t.order {
		ours.add(e.outcome == "important", e.m.Important)
		never.add(false, e.m.Important)
		if e.outcome == "unsure" {
			sum.Unsure++
		}
	}
	sum.Important, sum.Marked = ours.right+ours.missed, ours.right+ours.falsely
	sum.Precision, sum.Recall = ours.precision(), ours.recall()
	sum.Baselines = append(sum.Baselines, Baseline{"call nothing important", never.wrong(), 0, 0})
	n := len(t.wrong)
	for i := range sum.Thirds {
		part := t.wrong[i*n/3 : (i+1)*n/3]
		sum.Thirds[i] = Third{Messages: len(part), Wrong: count(part)}
	}
	return sum
}

func (f *flow) print(sum *Summary) error {
	t, k := sum.Thirds, sum.Kafka
	_, err := fmt.Fprintf(f.screen.body(), `  messages         %d in %.0f s; %d mattered, %d were called important, %d unsure
  corrections      %d
  wrong decisions  %d of the first %d, %d of the next %d, %d of the last %d
  records          %d into the topic, %d decisions out of it
  said again       %d decisions, %d of them in other bytes
  taken over       %d of %d partitions, from snapshots
  replay           the same digests: %v
`, sum.Messages, sum.Seconds, sum.Important, sum.Marked, sum.Unsure, sum.Corrections,
		t[0].Wrong, t[0].Messages, t[1].Wrong, t[1].Messages, t[2].Wrong, t[2].Messages,
		k.Records, k.Decisions, k.Repeated, k.Unequal, len(k.TakenOver), k.Partitions, k.SameDigests)
	return err
}

// check returns an error that wraps ErrLoop when the demo did not show what it is
// there to show.
func (f *flow) check(sum *Summary) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	k := sum.Kafka
	errs = append(errs, sum.better())
	if sum.Corrections == 0 {
		bad("the owners corrected nothing")
	}
	if k.Unequal > 0 {
		bad("%d decisions were said again in other bytes", k.Unequal)
	}
	if !k.SameDigests {
		bad("a replay gives other digests")
	}
	if len(k.TakenOver) != k.Partitions {
		bad("%d of %d partitions were taken over", len(k.TakenOver), k.Partitions)
	}
	for _, t := range k.TakenOver {
		if t.Offset == 0 {
			bad("partition %d was taken over without a snapshot", t.Partition)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w: %w", ErrLoop, err)
	}
	return nil
}
