// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"sync"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/stream"
)

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
