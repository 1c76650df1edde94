// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/run/pipeline"
	"github.com/hinged/hinged/internal/run/stream"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

var (
	_ desk.Account = (*streamed)(nil)
	_ desk.Sender  = (*streamed)(nil)
)

// streamed is an account of the stream, for one request. It is looked at as of its
// last commit, beside its writer.
type streamed struct {
	d      *Daemon
	name   string
	file   *boltfile.Store // that it is in
	filter *filter.Filter  // as looked at before; nil: not yet
}

// Look implements desk.Account.
func (s *streamed) Look(ctx context.Context, fn func(*desk.Desk) error) error {
	if s.d.stream == nil {
		return fmt.Errorf("%w: %s; this daemon has no stream", desk.ErrNoAccount, s.name)
	}
	if s.filter == nil {
		file, f, err := s.d.stream.View(ctx, s.name)
		if errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("%w: %s; no record of it has arrived", desk.ErrNoAccount, s.name)
		}
		if err != nil {
			return err
		}
		s.file, s.filter = file, f
	}
	return fn(deskOf(s.file, s.name, s.filter))
}

// deskOf is an account of a store that is only looked at.
func deskOf(s *boltfile.Store, name string, f *filter.Filter) *desk.Desk {
	d := &desk.Desk{Account: name, Filter: f, Past: desk.Past{Store: s, Account: name}, Alone: true}
	if f != nil {
		d.Now = newClock(time.Now, f.State().Account.Clock).now
	}
	return d
}

// Change implements desk.Account.
func (s *streamed) Change(context.Context, func(*desk.Desk) error) error {
	return fmt.Errorf("account %s: %w", s.name, desk.ErrStreamAccount)
}

// Undo implements desk.Account.
func (s *streamed) Undo(ctx context.Context, _ desk.MarkUndo) (string, error) {
	return "", s.Change(ctx, nil)
}

// Send implements desk.Sender.
func (s *streamed) Send(ctx context.Context, events ...kafka.Event) error {
	return s.d.stream.Send(ctx, s.name, events...)
}

// Status implements desk.Account.
func (s *streamed) Status(ctx context.Context) (st desk.AccountStatus, err error) {
	err = s.Look(ctx, func(d *desk.Desk) error {
		st = desk.SummariseStreamed(d.Account, d.Filter)
		return nil
	})
	return st, err
}

// Reader implements desk.Account.
func (s *streamed) Reader(ctx context.Context) (r *pipeline.Reader, err error) {
	err = s.Look(ctx, func(d *desk.Desk) error {
		r, err = s.d.mail.Reader(d.Filter.Options().Featurize)
		return err
	})
	return r, err
}

// eachStreamed calls fn for every account of the stream that is ours, in order of
// name. None of them is kept.
func (d *Daemon) eachStreamed(ctx context.Context, fn func(*desk.Desk) error) error {
	if d.stream == nil {
		return nil
	}
	names, err := d.stream.Accounts()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err // there may be a hundred thousand
		}
		var failed error
		err := (&streamed{d: d, name: name}).Look(ctx, func(at *desk.Desk) error { failed = fn(at); return nil })
		if errors.Is(err, stream.ErrElsewhere) || errors.Is(err, desk.ErrNoAccount) {
			continue // the partitions are being dealt out anew
		}
		if err = errors.Join(err, failed); err != nil {
			return err
		}
	}
	return nil
}

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
