// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/testkit"
)

// cluster is a Kafka of a few lines, for tests: topics in memory, and one group.
type cluster struct {
	mu         sync.Mutex
	topics     map[string][]*log
	members    []*member
	published  map[int32]int64
	generation int32
	dealing    sync.Mutex // held while partitions are dealt out
	// mindful: nothing is to be forgotten, which takes old snapshots back at once.
	mindful bool
	// frequent: twice as many records are no mail.
	frequent bool
}

// log is one partition.
type log struct {
	id      kafka.TopicID // of its topic
	first   int64
	records []kafka.Record
	end     int64
	markers map[int64]bool // offsets that a control marker takes
	open    int64          // offset at which an open transaction begins; 0: there is none
	leaders []int64        // where each leader after the first began
}

// epoch is of the leader that took what is at an offset.
func (l *log) epoch(offset int64) int32 {
	for i, began := range slices.Backward(l.leaders) {
		if began <= offset {
			return int32(i) + 2
		}
	}
	return 1
}

// stable is the last stable offset.
func (l *log) stable() int64 {
	if l.open > 0 {
		return l.open
	}
	return l.end
}

var testTopics = kafka.Topics{Input: "in", Decisions: "decisions", DeadLetters: "dead", Snapshots: "snapshots"}

func newCluster(partitions int) *cluster {
	c := &cluster{topics: map[string][]*log{}, published: map[int32]int64{}}
	for _, name := range testTopics.All() {
		for range partitions {
			c.topics[name] = append(c.topics[name], newLog(name, 0))
		}
	}
	return c
}

// anew is a cluster with the input of c, of which nothing was read yet.
func (c *cluster) anew() *cluster {
	own := newCluster(len(c.marks(testTopics.Input)))
	c.mu.Lock()
	defer c.mu.Unlock()
	own.topics[testTopics.Input] = c.topics[testTopics.Input]
	return own
}

// newLog makes a partition of a topic that was created again so many times.
func newLog(topic string, generation byte) *log {
	l := &log{markers: map[int64]bool{}}
	copy(l.id[:], topic)
	l.id[15] = generation + 1
	return l
}

// recreate deletes a topic and creates it again, empty. As Kafka does, it forgets the
// offsets that a group has published for it.
func (c *cluster) recreate(topic string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	logs := make([]*log, len(c.topics[topic]))
	for i, l := range c.topics[topic] {
		logs[i] = newLog(topic, l.id[15])
	}
	c.topics[topic] = logs
	if topic == testTopics.Input {
		clear(c.published)
	}
}

// put appends a record and returns its offset.
func (c *cluster) put(topic string, r kafka.Record) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.topics[topic]
	if r.Partition == kafka.ByKey {
		r.Partition = kafka.Partition(r.Key, int32(len(all)))
	}
	return all[r.Partition].add(r)
}

// add appends a record. The caller holds the cluster's lock.
func (l *log) add(r kafka.Record) int64 {
	r.Offset = l.end
	if r.Time.IsZero() {
		r.Time = time.Now() // as clients do
	}
	l.end++
	l.records = append(l.records, r)
	return r.Offset
}

// marker appends a control marker.
func (c *cluster) marker(topic string, partition int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.topics[topic][partition]
	l.markers[l.end] = true
	l.end++
}

// cut drops what lies before an offset, as retention does.
func (c *cluster) cut(topic string, partition int, first int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.topics[topic][partition]
	l.first = first
	l.records = slices.DeleteFunc(l.records, func(r kafka.Record) bool { return r.Offset < first })
}

// lose drops what lies from an offset on, as an unclean election of a leader does; others are what
// the new leader has instead.
func (c *cluster) lose(topic string, partition int, end int64, others ...kafka.Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.topics[topic][partition]
	l.end = end
	l.leaders = append(l.leaders, end)
	l.records = slices.DeleteFunc(l.records, func(r kafka.Record) bool { return r.Offset >= end })
	for _, r := range others {
		l.add(r)
	}
}

// compact keeps the last record of each key, and no tombstones.
func (c *cluster) compact(topic string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.topics[topic] {
		last := map[string]int64{}
		for _, r := range l.records {
			last[string(r.Key)] = r.Offset
		}
		l.records = slices.DeleteFunc(l.records, func(r kafka.Record) bool {
			return last[string(r.Key)] != r.Offset || r.Value == nil
		})
	}
}

// all returns the records of a topic by partition and offset.
func (c *cluster) all(topic string) []kafka.Record {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []kafka.Record
	for _, l := range c.topics[topic] {
		out = append(out, l.records...)
	}
	return out
}

func (c *cluster) marks(topic string) []kafka.Watermark {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []kafka.Watermark
	for _, l := range c.topics[topic] {
		out = append(out, kafka.Watermark{First: l.first, End: l.stable(), High: l.end})
	}
	return out
}

// member is one process in the group.
type member struct {
	m      kafka.Member
	ctx    context.Context
	cancel context.CancelFunc // of its generation
	done   chan struct{}      // closed when its generation has returned
	zombie bool               // it does not hear that the generation is over
}

// join takes part until ctx is done.
func (c *cluster) join(ctx context.Context, m kafka.Member) {
	me := &member{m: m, ctx: ctx}
	c.mu.Lock()
	c.members = append(c.members, me)
	c.mu.Unlock()
	c.rebalance()
	<-ctx.Done()
	c.mu.Lock()
	c.members = slices.DeleteFunc(c.members, func(o *member) bool { return o == me })
	done := me.done
	c.mu.Unlock()
	if done != nil {
		<-done
	}
	c.rebalance()
}

// bury makes the nth member a zombie: it goes on with what it has, and the others
// share it.
func (c *cluster) bury(n int) {
	c.mu.Lock()
	c.members[n].zombie = true
	c.mu.Unlock()
	c.rebalance()
}

// rebalance ends all generations and deals the partitions out anew.
func (c *cluster) rebalance() {
	c.dealing.Lock()
	defer c.dealing.Unlock()
	c.mu.Lock()
	live := slices.DeleteFunc(slices.Clone(c.members), func(m *member) bool { return m.zombie || m.ctx.Err() != nil })
	c.mu.Unlock()
	for _, m := range live {
		if m.cancel != nil {
			m.cancel()
			<-m.done
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
	parts := len(c.topics[testTopics.Input])
	for i, m := range live {
		g := kafka.Generation{ID: c.generation}
		for p := range parts {
			if p*len(live)/parts == i {
				g.Partitions = append(g.Partitions, int32(p))
			}
		}
		ctx, cancel := context.WithCancel(m.ctx)
		done := make(chan struct{})
		m.cancel, m.done = cancel, done
		go func() {
			defer close(done)
			m.m.Generation(ctx, g)
			<-ctx.Done()
		}()
	}
}

// broker is one process's way to the cluster, with what can go wrong on it.
type broker struct {
	c *cluster
	// produce is called before a call of Produce and again after its records were
	// written; its error is that call's. nil: all goes well.
	produce func(topic string, records []kafka.Record, written bool) error
	// slow is how long an answer to a fetch takes.
	slow time.Duration
	// read is asked before each fetch.
	read func(topic string, partition int32) error
	// asked is asked before the ends of logs are told. nil: all goes well.
	asked func() error
}

func (b *broker) Run(ctx context.Context, m kafka.Member) error {
	b.c.join(ctx, m)
	return nil
}

func (b *broker) Partitions(_ context.Context, topic string) (int32, error) {
	return int32(len(b.c.marks(topic))), nil
}

func (b *broker) TopicID(_ context.Context, topic string) (kafka.TopicID, error) {
	b.c.mu.Lock()
	defer b.c.mu.Unlock()
	return b.c.topics[topic][0].id, nil
}

func (b *broker) Watermarks(_ context.Context, topic string) ([]kafka.Watermark, error) {
	if b.asked != nil {
		if err := b.asked(); err != nil {
			return nil, err
		}
	}
	return b.c.marks(topic), nil
}

func (b *broker) Timestamp(_ context.Context, topic string, partition int32, offset int64) (time.Time, error) {
	b.c.mu.Lock()
	defer b.c.mu.Unlock()
	l := b.c.topics[topic][partition]
	if offset < l.first {
		return time.Time{}, fmt.Errorf("offset %d of a log that begins at %d", offset, l.first)
	}
	for _, r := range l.records {
		if r.Offset >= offset {
			return r.Time, nil
		}
	}
	return time.Time{}, nil
}

func (b *broker) EpochEnd(_ context.Context, topic string, partition, epoch int32) (int64, error) {
	b.c.mu.Lock()
	defer b.c.mu.Unlock()
	l := b.c.topics[topic][partition]
	return slices.Min(slices.Concat(l.leaders[epoch-1:], []int64{l.end})), nil
}

func (b *broker) CommittedOffsets(context.Context) (map[int32]int64, error) {
	b.c.mu.Lock()
	defer b.c.mu.Unlock()
	out := map[int32]int64{}
	for p, at := range b.c.published {
		out[p] = at
	}
	return out, nil
}

func (b *broker) CommitOffsets(_ context.Context, _ kafka.Generation, next map[int32]int64) error {
	b.c.mu.Lock()
	defer b.c.mu.Unlock()
	for p, at := range next {
		b.c.published[p] = at
	}
	return nil
}

func (b *broker) Produce(ctx context.Context, topic string, records []kafka.Record) ([]int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if b.produce != nil {
		if err := b.produce(topic, records, false); err != nil {
			return nil, err
		}
	}
	var out []int64
	for _, r := range records {
		out = append(out, b.c.put(topic, r))
	}
	if b.produce != nil {
		if err := b.produce(topic, records, true); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (b *broker) Read(topic string, id kafka.TopicID, partition int32, from int64) Reader {
	return &memoryReader{b: b, topic: topic, id: id, partition: partition, at: from}
}

type memoryReader struct {
	b         *broker
	topic     string
	id        kafka.TopicID
	partition int32
	at        int64
}

func (r *memoryReader) Close() {}

func (r *memoryReader) Next(ctx context.Context, most, bytes int) (kafka.Batch, error) {
	if r.b.slow > 0 {
		time.Sleep(r.b.slow)
	}
	for pause := time.Millisecond; pause < 64*time.Millisecond; pause *= 2 {
		if err := ctx.Err(); err != nil { // as a real one: it begins nothing any more
			return kafka.Batch{}, err
		}
		if r.b.read != nil {
			if err := r.b.read(r.topic, r.partition); err != nil {
				return kafka.Batch{}, err
			}
		}
		if b, err := r.take(most, bytes); err != nil || len(b.Records)+b.Markers > 0 {
			return b, err
		}
		select {
		case <-ctx.Done():
			return kafka.Batch{}, ctx.Err()
		case <-time.After(pause):
		}
	}
	return r.take(0, 0)
}

func (r *memoryReader) take(most, bytes int) (kafka.Batch, error) {
	c := r.b.c
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.topics[r.topic][r.partition]
	if !sameLog(r.id, l.id) {
		return kafka.Batch{}, &kafka.RecreatedError{Topic: r.topic, Was: r.id, Is: l.id}
	}
	if r.at < l.first || r.at > l.end {
		return kafka.Batch{}, &kafka.OffsetError{Topic: r.topic, Partition: r.partition, Position: r.at, First: l.first, End: l.end}
	}
	b := kafka.Batch{First: l.first, End: l.stable(), High: l.end}
	i, _ := slices.BinarySearchFunc(l.records, r.at, func(rec kafka.Record, at int64) int { return cmp.Compare(rec.Offset, at) })
	for ; i < len(l.records) && l.records[i].Offset < l.stable() && len(b.Records) < most && bytes > 0; i++ {
		b.Records = append(b.Records, l.records[i])
		b.Records[len(b.Records)-1].Epoch = l.epoch(l.records[i].Offset)
		bytes -= len(l.records[i].Value)
	}
	from := r.at
	r.at = l.stable()
	if i < len(l.records) {
		r.at = min(r.at, l.records[i].Offset)
	}
	for at := from; at < r.at; at++ {
		if l.markers[at] {
			b.Markers++
		}
	}
	if b.Next = r.at; b.Next > from {
		b.Epoch = l.epoch(b.Next - 1)
	}
	return b, nil
}

var errRefused = errors.New("not enough replicas")

// eventually waits for f to find nothing wrong.
func eventually(t *testing.T, f func() error) {
	t.Helper()
	for began := time.Now(); ; testkit.Pause(began) {
		err := f()
		if err == nil {
			return
		}
		if time.Since(began) > 5*time.Minute { // it may be a slow and busy machine
			t.Fatal(err)
		}
	}
}
