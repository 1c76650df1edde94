package daemon

import (
	"context"
	"slices"
	"time"

	"github.com/hinged/hinged/internal/desk"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/stream"
	"github.com/hinged/hinged/store"
)

// showStreamed is up to how many accounts of a stream status shows one by one.
const showStreamed = 20

// streamStatus adds to s how the stream is doing, and its accounts while they are
// few.
func (d *Daemon) streamStatus(ctx context.Context, s *desk.Status) error {
	if d.stream == nil {
		return nil
	}
	now := d.stream.Status()
	c := now.Counts
	out := &desk.StreamStatus{
		Topic: d.opts.Stream.Topics.Input, Connected: now.Member, Problem: now.Problem, Rebalances: now.Rebalances,
		Records: c.Records, Messages: c.Messages, Own: c.Own, Repeated: c.Repeated,
		Important: c.Important, Unsure: c.Unsure, Ordinary: c.Ordinary, Feedback: c.Feedback, Lessons: c.Lessons, Rewritten: c.Rewritten,
		Markers: c.Markers, Aborted: c.Aborted, DeadLetters: map[string]uint64{}, Partitions: []desk.StreamPartition{},
	}
	for why, n := range c.Dead {
		out.DeadLetters[string(why)] = n
	}
	age := func(t time.Time) float64 {
		if t.IsZero() {
			return 0
		}
		return max(0, d.now().Sub(t).Seconds())
	}
	stopped := 0
	for _, p := range now.Partitions {
		one := desk.StreamPartition{
			Partition: p.Partition, Position: p.Position, End: p.End, Lag: p.Lag(), HeldBytes: p.Held,
			OldestSeconds: age(p.Oldest), Snapshots: p.Snapshots, Restoring: p.Restoring, Stopped: p.Stopped, Problem: p.Problem,
		}
		if !p.Newest.IsZero() {
			t := p.Newest.UTC()
			one.LastRecord = &t
		}
		if p.Stopped {
			stopped++
		}
		out.Lag += one.Lag
		out.OldestSeconds = max(out.OldestSeconds, one.OldestSeconds)
		out.Partitions = append(out.Partitions, one)
	}
	names, err := d.stream.Accounts()
	if err != nil {
		return err
	}
	out.Accounts = len(names)
	out.Doing = desk.StreamDoing(out, stopped)
	s.Stream = out
	if len(names) > showStreamed {
		return nil
	}
	return d.stream.Look(ctx, names, func(name string, f *filter.Filter) {
		a := desk.SummariseStreamed(name, f)
		a.Connected = now.Member
		s.Accounts = append(s.Accounts, a)
	})
}

// now is the time by which ages are told.
func (d *Daemon) now() time.Time {
	if d.opts.Now != nil {
		return d.opts.Now()
	}
	return time.Now()
}

// storedStream is what a store alone tells of a stream; nil: nothing.
func storedStream(s *store.Store, names []string) (*desk.StreamStatus, error) {
	all, err := s.Partitions()
	if err != nil || len(all) == 0 {
		return nil, err
	}
	out := &desk.StreamStatus{
		Topic: all[0].Topic, Doing: "stopped", DeadLetters: map[string]uint64{}, Partitions: []desk.StreamPartition{},
		Accounts: len(slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !stream.IsAccount(n) })),
	}
	for _, id := range all {
		info, _, err := s.PartitionInfo(id)
		if err != nil {
			return nil, err
		}
		out.Partitions = append(out.Partitions, desk.StreamPartition{Partition: id.Number, Position: info.Next, End: -1, Restoring: len(info.Pending)})
	}
	return out, nil
}
