// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"fmt"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

// Watermark says what the log of a partition holds: First up to, not including,
// End. A compacted log may hold nothing at First.
type Watermark struct {
	// First and End are offsets. End is the last stable offset: what lies behind it can't
	// be read before a transaction of a producer ends.
	First, End int64
	// High is the high watermark: the offset behind all that every replica has, in open
	// transactions or not. It is not below End.
	High int64
}

// Partitions returns how many partitions a topic has, as far as we know by
// Options.MetadataAge. A topic that is not there is ErrNoTopic.
func (c *Client) Partitions(ctx context.Context, topic string) (int32, error) {
	ctx, cancel, err := c.bounded(ctx)
	if err != nil {
		return 0, err
	}
	defer cancel()
	res, err := c.client.Metadata(ctx, &kafkago.MetadataRequest{Topics: []string{topic}})
	if err != nil {
		return 0, fmt.Errorf("partitions of topic %s: %w", topic, err)
	}
	for _, t := range res.Topics {
		switch {
		case t.Name != topic:
		case isCode(t.Error, kafkago.UnknownTopicOrPartition):
			return 0, fmt.Errorf("%w: %s", ErrNoTopic, topic)
		case t.Error != nil:
			return 0, fmt.Errorf("partitions of topic %s: %w", topic, t.Error)
		case len(t.Partitions) > 0:
			return int32(len(t.Partitions)), nil
		}
	}
	return 0, fmt.Errorf("%w: %s", ErrNoTopic, topic)
}

// Watermarks returns what the log of each partition of a topic holds, by the
// number of the partition.
func (c *Client) Watermarks(ctx context.Context, topic string) ([]Watermark, error) {
	n, err := c.Partitions(ctx, topic)
	if err != nil {
		return nil, err
	}
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	return c.watermarks(ctx, topic, all)
}

// watermarks does it for some partitions, in their order.
func (c *Client) watermarks(ctx context.Context, topic string, partitions []int32) ([]Watermark, error) {
	ctx, cancel, err := c.bounded(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	stable, err := c.listOffsets(ctx, topic, partitions, kafkago.ReadCommitted)
	if err != nil {
		return nil, err
	}
	high, err := c.listOffsets(ctx, topic, partitions, kafkago.ReadUncommitted)
	if err != nil {
		return nil, err
	}
	for i := range stable {
		stable[i].High = max(stable[i].End, high[i].End)
	}
	return stable, nil
}

// listOffsets returns the ends of logs for who reads them with an isolation level, in the
// order of the partitions, as First and End.
func (c *Client) listOffsets(ctx context.Context, topic string, partitions []int32, level kafkago.IsolationLevel) ([]Watermark, error) {
	at := make(map[int]int, len(partitions))
	req := &kafkago.ListOffsetsRequest{Topics: map[string][]kafkago.OffsetRequest{}, IsolationLevel: level}
	for i, p := range partitions {
		at[int(p)] = i
		req.Topics[topic] = append(req.Topics[topic], kafkago.FirstOffsetOf(int(p)), kafkago.LastOffsetOf(int(p)))
	}
	res, err := c.client.ListOffsets(ctx, req)
	if err != nil {
		return nil, c.stale(fmt.Errorf("offsets of topic %s: %w", topic, err))
	}
	out := make([]Watermark, len(partitions))
	found := 0
	for _, p := range res.Topics[topic] {
		i, ok := at[p.Partition]
		if !ok {
			continue
		}
		if p.Error != nil {
			return nil, c.stale(fmt.Errorf("offsets of topic %s, partition %d: %w", topic, p.Partition, p.Error))
		}
		out[i] = Watermark{First: p.FirstOffset, End: p.LastOffset}
		found++
	}
	if found != len(partitions) {
		return nil, fmt.Errorf("offsets of topic %s: the answer names %d of %d partitions", topic, found, len(partitions))
	}
	return out, nil
}

// timestampBytes is how much is asked for to learn a timestamp: the head of a batch. A
// broker sends the whole batch all the same.
const timestampBytes = 1

// Timestamp returns the timestamp of the first record of the batch that lies at an offset
// of a partition, or next behind it, in an open transaction or not; the zero time if there
// is none.
func (c *Client) Timestamp(ctx context.Context, topic string, partition int32, offset int64) (time.Time, error) {
	res, err := c.fetch(ctx, topic, TopicID{}, partition, offset, fetchHow{level: kafkago.ReadUncommitted, bytes: timestampBytes, wait: time.Millisecond})
	if err != nil {
		return time.Time{}, c.stale(fmt.Errorf("timestamp of topic %s, partition %d, offset %d: %w", topic, partition, offset, err))
	}
	whole, _, ok, err := cutBatch(res.RecordBatches)
	if err != nil || !ok {
		return time.Time{}, err
	}
	return batchTime(whole), nil
}
