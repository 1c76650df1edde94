// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/desk"
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
	names, err := d.stream.Accounts()
	if err != nil {
		return err
	}
	now.Accounts = len(names)
	s.Stream = &now
	if len(names) > showStreamed {
		return nil
	}
	for _, name := range names {
		_, f, err := d.stream.View(ctx, name)
		if errors.Is(err, stream.ErrElsewhere) || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrDamaged) {
			continue // the partitions are being dealt out anew, or its status says so
		}
		if err != nil {
			return err
		}
		a := desk.SummariseStreamed(name, f)
		a.Connected = now.Connected
		s.Accounts = append(s.Accounts, a)
	}
	return nil
}

// storedStream is what a store alone tells of a stream; nil: nothing.
func storedStream(files *stream.Files) (*stream.Status, error) {
	all, broken, damaged := files.All(), files.Broken(), files.Damaged()
	if len(all)+len(broken) == 0 {
		return nil, nil
	}
	out := &stream.Status{Doing: "stopped", Counts: stream.Counts{DeadLetters: map[kafka.Reason]uint64{}}, Partitions: []stream.PartitionStatus{}}
	for _, s := range all {
		info, err := s.PartitionInfo()
		if err != nil {
			return nil, err
		}
		names, err := s.Accounts()
		if err != nil {
			return nil, err
		}
		out.Topic, out.Accounts = info.Partition.Topic, out.Accounts+len(names)
		out.Partitions = append(out.Partitions, stream.Stored(&info, damaged[info.Partition]))
	}
	for _, id := range slices.SortedFunc(maps.Keys(broken), store.Partition.Compare) {
		out.Topic = id.Topic
		out.Partitions = append(out.Partitions, stream.PartitionStatus{Partition: id.Number, Position: -1, End: -1, Problem: broken[id].Error()})
	}
	return out, nil
}
