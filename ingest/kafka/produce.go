// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"fmt"
	"slices"
	"sync"

	kafkago "github.com/segmentio/kafka-go"
	"golang.org/x/sync/errgroup"
)

// produceParallel is to how many partitions one call of Produce writes at once.
const produceParallel = 8

// Produce writes records to a topic, once, and waits until all replicas in sync
// have them. Records of one partition keep their order; those of different
// partitions have none. Each batch is compressed as Options say, but for snapshots,
// which are compressed already.
//
// The offsets are in the order of the records, -1 where a record was not
// acknowledged; then the error is a *ProduceError, unless nothing was tried. A
// record that was not acknowledged may still have been written: trying again can
// write it twice. When one record is larger than the broker accepts, the others of
// its batch are written and only it fails, with ErrTooLarge. Safe for concurrent
// use; the records are not changed.
func (c *Client) Produce(ctx context.Context, topic string, records []Record) ([]int64, error) {
	if len(records) == 0 {
		return nil, nil
	}
	partitions, err := c.Partitions(ctx, topic)
	if err != nil {
		return nil, c.stale(fmt.Errorf("produce to topic %s: %w", topic, err))
	}
	of := make([][]int, partitions) // by partition, places in records
	for i, r := range records {
		p := r.Partition
		if p == ByKey {
			p = Partition(r.Key, partitions)
		}
		if p < 0 || p >= partitions {
			return nil, fmt.Errorf("produce to topic %s: there is no partition %d of %d", topic, p, partitions)
		}
		of[p] = append(of[p], i)
	}
	p := &producing{c: c, topic: topic, records: records, offsets: make([]int64, len(records))}
	for i := range p.offsets {
		p.offsets[i] = -1
	}
	var group errgroup.Group
	group.SetLimit(produceParallel)
	for partition, places := range of {
		if len(places) > 0 {
			group.Go(func() error {
				p.partition(ctx, int32(partition), places)
				return nil
			})
		}
	}
	_ = group.Wait() // errors are collected by record
	return p.result()
}

// producing is one call of Produce.
type producing struct {
	c       *Client
	topic   string
	records []Record
	offsets []int64

	mu       sync.Mutex
	tooLarge []int
	first    error // that is not ErrTooLarge
}

// codec is how the batches are compressed. A new owner reads gigabytes of chunks
// that are compressed in themselves, and would unpack each of them twice.
func (p *producing) codec() kafkago.Compression {
	if p.topic == p.c.o.Topics.Snapshots {
		return codecs[None]
	}
	return codecs[p.c.o.Compression]
}

func (p *producing) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first == nil {
		p.first = err
	}
}

// partition writes the records at places, batch after batch. After an error the
// rest is not tried: it would overtake what failed.
func (p *producing) partition(ctx context.Context, partition int32, places []int) {
	for len(places) > 0 {
		n, size := 0, 0
		for n < len(places) {
			size += p.records[places[n]].size()
			if n > 0 && size > p.c.o.BatchBytes {
				break
			}
			n++
		}
		if !p.batch(ctx, partition, places[:n]) {
			return
		}
		places = places[n:]
	}
}

// batch writes one batch, and in halves what the broker finds too large until
// only the record is left that is. It reports whether to go on.
func (p *producing) batch(ctx context.Context, partition int32, places []int) bool {
	base, err := p.send(ctx, partition, places)
	switch {
	case err == nil:
		for i, at := range places {
			p.offsets[at] = base + int64(i)
		}
		return true
	case isCode(err, kafkago.MessageSizeTooLarge, kafkago.RecordListTooLarge):
		if len(places) == 1 {
			p.mu.Lock()
			p.tooLarge = append(p.tooLarge, places[0])
			p.mu.Unlock()
			return true
		}
		half := len(places) / 2
		return p.batch(ctx, partition, places[:half]) && p.batch(ctx, partition, places[half:])
	default:
		p.fail(p.c.stale(fmt.Errorf("produce to topic %s, partition %d: %w", p.topic, partition, err)))
		return false
	}
}

// send makes one request and returns the offset of the first record.
func (p *producing) send(ctx context.Context, partition int32, places []int) (int64, error) {
	ctx, cancel, err := p.c.bounded(ctx)
	if err != nil {
		return 0, err
	}
	defer cancel()
	batch := make([]kafkago.Record, len(places))
	for i, at := range places {
		batch[i] = p.records[at].encode()
	}
	res, err := p.c.client.Produce(ctx, &kafkago.ProduceRequest{
		Topic: p.topic, Partition: int(partition), RequiredAcks: kafkago.RequireAll,
		Compression: p.codec(), Records: kafkago.NewRecordReader(batch...),
	})
	if err == nil {
		err = res.Error
	}
	if err != nil {
		return 0, err
	}
	return res.BaseOffset, nil
}

// result says what became of the records.
func (p *producing) result() ([]int64, error) {
	e := &ProduceError{TooLarge: p.tooLarge, Err: p.first}
	slices.Sort(e.TooLarge)
	for i, offset := range p.offsets {
		if offset < 0 {
			e.Failed = append(e.Failed, i)
		}
	}
	if len(e.Failed) == 0 {
		return p.offsets, nil
	}
	if e.Err == nil {
		e.Err = fmt.Errorf("produce to topic %s: %w", p.topic, ErrTooLarge)
	}
	return p.offsets, e
}
