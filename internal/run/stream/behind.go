// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"fmt"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

const (
	// watchEvery is how often a process asks how far the logs go of those of its partitions
	// that hear nothing of it while they read: they are stopped, have no room for more, or
	// can't reach their broker.
	watchEvery = 2 * time.Second
	// stale is after how long what was heard is not known any more.
	stale = 10 * time.Second
)

// waiting is a record that waits.
type waiting struct {
	offset int64
	time   time.Time // of the record; zero: not known
}

// heard notes what the log holds.
func (s *partitionState) heard(log kafka.Watermark, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first, s.stable, s.lastHeard = log.First, log.End, now
	s.status.End = max(log.End, log.High)
}

// stands notes the position that the store has before it is certain that it can be gone
// on from.
func (s *partitionState) stands(at *store.LogPosition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stand(at)
}

// behind says how much waits, and for how long. held is the timestamp of the oldest record
// that was read; zero: none is held. s.mu is held.
func (s *partitionState) behind(out *PartitionStatus, held, now time.Time) {
	if s.foreign || out.Position < 0 || out.End < 0 || now.Sub(s.lastHeard) > stale || out.Position > out.End {
		return // unknown is not 0
	}
	lag := out.End - out.Position
	out.Lag = &lag
	out.InTransaction = max(0, out.End-max(s.stable, out.Position))
	oldest := held
	if oldest.IsZero() && s.oldest.offset == out.Position {
		oldest = s.oldest.time
	}
	if lag > 0 && oldest.IsZero() {
		return
	}
	age := 0.0
	if lag > 0 {
		age = max(0, now.Sub(oldest).Seconds())
	}
	out.OldestSeconds = &age
}

// Waits says in words how many records wait, and for how long.
func (s *Status) Waits() string { return waits(s.Lag, s.InTransaction, s.OldestSeconds) }

// Waits says in words how many records wait, and for how long.
func (p *PartitionStatus) Waits() string { return waits(p.Lag, p.InTransaction, p.OldestSeconds) }

func waits(lag *int64, inTransaction int64, oldest *float64) string {
	switch {
	case lag == nil:
		return "unknown how many records"
	case *lag == 0:
		return "nothing waits"
	}
	text := fmt.Sprintf("%d records", *lag)
	if oldest != nil {
		text += fmt.Sprintf(", the oldest for %s", seconds(*oldest))
	}
	if inTransaction > 0 {
		text += fmt.Sprintf("; %d of them wait for the end of a producer's transaction", inTransaction)
	}
	return text
}

// seconds puts a span into words, no finer than it is of use.
func seconds(n float64) string {
	d := time.Duration(n * float64(time.Second))
	if d > time.Minute {
		return d.Round(time.Second).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// silent reports whether nothing was heard of the log lately.
func (s *partitionState) silent(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return now.Sub(s.lastHeard) >= watchEvery
}

// unread returns the offset at which the partition waits, and that of the oldest record
// that is left from there on, if there is one and its timestamp is not known.
func (s *partitionState) unread(now time.Time) (position, left int64, ok bool) {
	p := s.get(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	return p.Position, max(p.Position, s.first), p.Lag != nil && *p.Lag > 0 && p.OldestSeconds == nil
}

// waitsAt notes the timestamp of the record at an offset.
func (s *partitionState) waitsAt(offset int64, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.oldest = waiting{offset, at}
}

// watch finds out what waits in partitions that can't tell, until ctx is done.
func (e *Engine) watch(ctx context.Context, ours []*partition) {
	ticks := time.NewTicker(watchEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			e.lookBehind(ctx, ours)
		}
	}
}

// lookBehind asks the brokers once. What they don't answer stays unknown.
func (e *Engine) lookBehind(ctx context.Context, ours []*partition) {
	ask := false
	for _, p := range ours {
		ask = ask || p.state.silent(e.o.Now())
	}
	if ask {
		marks, err := e.o.Broker.Watermarks(ctx, e.o.Topics.Input)
		if err != nil {
			e.log.Debug("how far the logs go is unknown", "error", err)
			return
		}
		for _, p := range ours {
			if n := p.id.Number; int(n) < len(marks) && p.state.silent(e.o.Now()) {
				p.reached(marks[n])
			}
		}
	}
	for _, p := range ours {
		position, left, ok := p.state.unread(e.o.Now())
		if !ok {
			continue
		}
		at, err := e.o.Broker.Timestamp(ctx, p.id.Topic, p.id.Number, left)
		if err != nil {
			e.log.Debug("since when records wait is unknown", "partition", p.id.Number, "error", err)
			continue
		}
		p.state.waitsAt(position, at)
	}
}

// Stored is the status of a partition as far as the store alone knows it.
func Stored(info *boltfile.PartitionInfo, damaged []string) PartitionStatus {
	at := &info.LogPosition
	s := PartitionStatus{Partition: info.Partition.Number, Position: at.Next, End: -1, Restoring: len(info.Pending)}
	s.damaged(damaged)
	return s
}

// damaged notes the damaged files of the partition.
func (p *PartitionStatus) damaged(files []string) {
	if n := len(files); n > 0 {
		p.DamagedFile = files[n-1]
	}
}
