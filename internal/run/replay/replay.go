// SPDX-License-Identifier: Apache-2.0

// Package replay rebuilds a store from what Kafka holds: each partition from the
// first record where the log of the input topic still begins there, else from its
// newest whole snapshot.
//
// It is the engine of the daemon on another broker: one that gives it all
// partitions without asking a group, ends every log where it ended at the
// beginning, and produces nothing. So it disturbs nobody, and its digests are
// those of the daemon at the same positions.
package replay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/run/stream"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// Where a partition was rebuilt from.
const (
	FromStart    = "start"    // the first record that there ever was
	FromSnapshot = "snapshot" // the newest whole snapshot, and the records since
)

// Options of Run.
type Options struct {
	Broker stream.Broker // required; nothing is produced through it
	// Engine is as the daemon has it; Broker and Files of it are not used.
	Engine stream.Options
	Into   string           // the new store; neither it nor the directory of its partitions is there yet
	Store  boltfile.Options // of it
	// Progress is told now and then how many records of how many are done, which goes
	// back only if a snapshot turns out to be in pieces; nil is fine.
	Progress func(done, total int64)
}

// Replayed is the result of `hinged kafka replay`.
type Replayed struct {
	// File is the path of the new store.
	File string `json:"file"`
	// Records counts the records that were read.
	Records uint64 `json:"records"`
	// Messages counts the messages among them.
	Messages uint64 `json:"messages"`
	// DeadLetters counts the records that could not be used.
	DeadLetters uint64 `json:"dead_letters"`
	// Partitions are those of the input topic, in ascending order.
	Partitions []Partition `json:"partitions"`
	// Accounts are sorted by name.
	Accounts []Account `json:"accounts"`
}

// Partition says how one partition was rebuilt.
type Partition struct {
	// Partition is the number of the partition in the input topic.
	Partition int32 `json:"partition"`
	// From is start if the log still has its first record, otherwise snapshot.
	From string `json:"from"`
	// Offset is where reading began: 0, or the position of the snapshot.
	Offset int64 `json:"offset"`
	// Next is the offset after the last record of the log.
	Next int64 `json:"next"`
}

// Account is one account that was rebuilt.
type Account struct {
	// Account is the name of the account.
	Account string `json:"account"`
	// Model is the digest of the weights.
	Model string `json:"model"`
	// State is the digest of everything that a decision depends on.
	State string `json:"state"`
}

// Run rebuilds the store. An error leaves no file behind.
func Run(ctx context.Context, o Options) (Replayed, error) {
	out, err := run(ctx, o)
	if err != nil {
		return Replayed{}, fmt.Errorf("replay into %s: %w", o.Into, err)
	}
	return out, nil
}

func run(ctx context.Context, o Options) (out Replayed, err error) {
	for _, path := range []string{o.Into, stream.FilesOf(o.Into)} {
		if _, err := os.Lstat(path); err == nil {
			return out, fmt.Errorf("%w: %s; hinged overwrites nothing", fs.ErrExist, path)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return out, err
		}
	}
	marks, err := o.Broker.Watermarks(ctx, o.Engine.Topics.Input)
	if err != nil {
		return out, err
	}
	draft := o.Into + ".unfinished"
	remove := func() error { return errors.Join(boltfile.Remove(draft), os.RemoveAll(stream.FilesOf(draft))) }
	if err := remove(); err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	s, err := boltfile.Open(draft, o.Store) // for accounts of no partition, of which there are none
	if err != nil {
		return out, err
	}
	if err := s.Close(); err != nil {
		return out, err
	}
	files, err := stream.OpenFiles(draft, o.Store)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	past := newPast(o.Broker, o.Engine.Topics, marks)
	o.Engine.Broker, o.Engine.Files = past, files
	o.Engine.SnapshotEvery, o.Engine.SnapshotInterval = math.MaxInt64, time.Duration(math.MaxInt64)
	o.Engine.FromStart = true
	engine, err := stream.New(o.Engine)
	if err != nil {
		return out, err
	}
	if err := past.play(ctx, engine, o.Progress); err != nil {
		return out, err
	}
	counts := engine.Status().Counts
	out = Replayed{File: o.Into, Records: counts.Records, Messages: counts.Messages, Partitions: past.told(), Accounts: []Account{}}
	for _, n := range counts.DeadLetters {
		out.DeadLetters += n
	}
	if out.Accounts, err = digests(ctx, files); err != nil {
		return out, err
	}
	if err := files.Close(); err != nil {
		return out, err
	}
	// Unlike a rename, a link never replaces a file that has come in between.
	if err := os.Link(draft, o.Into); err != nil {
		return out, err
	}
	if err := os.Rename(stream.FilesOf(draft), stream.FilesOf(o.Into)); err != nil {
		return out, errors.Join(err, os.Remove(o.Into))
	}
	return out, nil
}

func digests(ctx context.Context, files *stream.Files) ([]Account, error) {
	out := []Account{}
	for _, s := range files.All() {
		names, err := s.Accounts()
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			st, err := s.Load(name)
			if err != nil {
				return nil, fmt.Errorf("account %s: %w", name, err)
			}
			a := Account{Account: name}
			a.Model, a.State = store.Digest(st)
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b Account) int { return strings.Compare(a.Account, b.Account) })
	return out, nil
}

const (
	// lookEvery is how often play looks how far the engine is.
	lookEvery = 20 * time.Millisecond
	// idle is how long a log that has ended keeps its reader waiting.
	idle = 100 * time.Millisecond
)

// play runs the engine until every partition is where its log ended.
func (p *past) play(ctx context.Context, e *stream.Engine, progress func(done, total int64)) error {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	err := p.watch(ctx, e, progress)
	cancel()
	return errors.Join(err, <-ended)
}

func (p *past) watch(ctx context.Context, e *stream.Engine, progress func(done, total int64)) error {
	ticks := time.NewTicker(lookEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticks.C:
		}
		status := e.Status()
		ready := len(status.Partitions) == len(p.marks)
		for i := range status.Partitions {
			s := &status.Partitions[i]
			if s.Stopped {
				return errors.New(s.Problem)
			}
			ready = ready && s.Begun && s.Restoring == 0 && p.done(s)
		}
		if progress != nil {
			progress(p.progress(status.Partitions))
		}
		if ready {
			return ctx.Err()
		}
	}
}

// told is where each partition was rebuilt from.
func (p *past) told() []Partition {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []Partition
	for i, w := range p.marks {
		from := FromSnapshot
		if w.First == 0 && !p.carried[i] {
			from = FromStart
		}
		out = append(out, Partition{Partition: int32(i), From: from, Offset: p.began[i], Next: w.End})
	}
	return slices.Clip(out)
}

// past is a broker whose logs ended when it was made.
type past struct {
	stream.Broker
	topics kafka.Topics
	marks  []kafka.Watermark // of the input topic, then

	mu      sync.Mutex
	began   []int64 // where each partition of the input was read from; -1: not yet
	reached []int64 // behind the last record that was handed on; 0: there was none
	passed  []bool  // the end of the log was reached
	carried []bool  // it was recovered, and holds what its log does not
}

func newPast(b stream.Broker, topics kafka.Topics, marks []kafka.Watermark) *past {
	n := len(marks)
	p := &past{Broker: b, topics: topics, marks: marks, began: make([]int64, n), reached: make([]int64, n), passed: make([]bool, n), carried: make([]bool, n)}
	for i := range p.began {
		p.began[i] = -1
	}
	return p
}

// Run gives the member all partitions at once, for good.
func (p *past) Run(ctx context.Context, m kafka.Member) error {
	g := kafka.Generation{ID: 1}
	for i := range p.marks {
		g.Partitions = append(g.Partitions, int32(i))
	}
	m.Generation(ctx, g)
	return nil
}

// CommittedOffsets says that all partitions were read before: where the log does
// not begin with its first record, and no snapshot is there, nothing can be
// rebuilt.
func (p *past) CommittedOffsets(context.Context) (map[int32]int64, error) {
	all := map[int32]int64{}
	for i := range p.marks {
		all[int32(i)] = 0
	}
	return all, nil
}

// CommitOffsets tells nobody.
func (p *past) CommitOffsets(context.Context, kafka.Generation, map[int32]int64) error { return nil }

// Produce produces nothing.
func (p *past) Produce(_ context.Context, _ string, records []kafka.Record) ([]int64, error) {
	return make([]int64, len(records)), nil
}

// Watermarks of the input are those of the beginning.
func (p *past) Watermarks(ctx context.Context, topic string) ([]kafka.Watermark, error) {
	if topic == p.topics.Input {
		return p.marks, nil
	}
	return p.Broker.Watermarks(ctx, topic)
}

// Read reads a partition up to where it ended.
func (p *past) Read(topic string, id kafka.TopicID, partition int32, from int64) stream.Reader {
	r := p.Broker.Read(topic, id, partition, from)
	if topic != p.topics.Input {
		return r
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.began[partition]; b < 0 || from < b { // begun anew, if a snapshot was in pieces
		p.began[partition] = from
	}
	return &reader{Reader: r, of: p, partition: partition, at: from, end: p.marks[partition].End}
}

// reader reads up to end, and then finds nothing more.
type reader struct {
	stream.Reader
	of        *past
	partition int32
	at, end   int64
}

func (r *reader) Next(ctx context.Context, most, bytes int) (kafka.Batch, error) {
	if r.at >= r.end {
		r.of.note(r.partition, 0, true)
		select {
		case <-ctx.Done():
		case <-time.After(idle):
		}
		return kafka.Batch{Next: r.at, First: -1, End: r.end, High: r.end}, nil
	}
	b, err := r.Reader.Next(ctx, most, bytes)
	if err != nil {
		return b, err
	}
	for i := range b.Records {
		if b.Records[i].Offset >= r.end {
			b.Records = b.Records[:i]
			break
		}
	}
	b.Next, b.End, b.High = min(b.Next, r.end), r.end, r.end
	r.at = b.Next
	behind := int64(0)
	if n := len(b.Records); n > 0 {
		behind = b.Records[n-1].Offset + 1
	}
	r.of.note(r.partition, behind, false)
	return b, nil
}

// note keeps how far a partition was read.
func (p *past) note(partition int32, behind int64, passed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reached[partition] = max(p.reached[partition], behind)
	p.passed[partition] = p.passed[partition] || passed
}

// done reports whether all that was read of a partition is committed, and there
// is nothing more.
func (p *past) done(s *stream.PartitionStatus) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.carried[s.Partition] = s.Recovered != "" && s.Recovered != stream.FromStart
	return p.passed[s.Partition] && s.Position >= p.reached[s.Partition]
}

// progress is how many records of all are done.
func (p *past) progress(all []stream.PartitionStatus) (done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, w := range p.marks {
		from := max(p.began[i], w.First)
		total += w.End - from
	}
	for i := range all {
		// Until it is read, nobody knows where a partition begins.
		if n := all[i].Partition; all[i].Begun && p.began[n] >= 0 {
			done += max(0, all[i].Position-p.began[n])
		}
	}
	return done, total
}
