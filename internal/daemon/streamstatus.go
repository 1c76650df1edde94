// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"slices"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/desk"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/stream"
	"github.com/hinged/hinged/store/boltfile"
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
	names, err := d.stream.Accounts()
	if err != nil {
		return err
	}
	now.Accounts = len(names)
	s.Stream = &now
	if len(names) > showStreamed {
		return nil
	}
	return d.stream.Look(ctx, names, func(name string, f *filter.Filter) {
		a := desk.SummariseStreamed(name, f)
		a.Connected = now.Connected
		s.Accounts = append(s.Accounts, a)
	})
}

// storedStream is what a store alone tells of a stream; nil: nothing.
func storedStream(s *boltfile.Store, names []string) (*stream.Status, error) {
	all, err := s.Partitions()
	lost, why := s.Lost()
	if err != nil || len(all)+len(lost) == 0 {
		return nil, err
	}
	out := &stream.Status{
		Topic: slices.Concat(all, lost)[0].Topic, Doing: "stopped", Counts: stream.Counts{DeadLetters: map[kafka.Reason]uint64{}}, Partitions: []stream.PartitionStatus{},
		Accounts: len(slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !stream.IsAccount(n) })),
	}
	for _, id := range all {
		info, _, err := s.PartitionInfo(id)
		if err != nil {
			return nil, err
		}
		p := stream.Stored(id.Number, &info.LogPosition)
		p.Restoring = len(info.Pending)
		out.Partitions = append(out.Partitions, p)
	}
	for i, id := range lost {
		out.Partitions = append(out.Partitions, stream.PartitionStatus{Partition: id.Number, Position: -1, End: -1, Problem: why[i].Error()})
	}
	return out, nil
}
