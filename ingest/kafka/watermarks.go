// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"fmt"

	kafkago "github.com/segmentio/kafka-go"
)

// Watermark says what the log of a partition holds: First up to, not including,
// End. A compacted log may hold nothing at First.
type Watermark struct{ First, End int64 }

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
// number of the partition. End is the last stable offset: what an open
// transaction wrote lies above it.
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
	at := make(map[int]int, len(partitions))
	req := &kafkago.ListOffsetsRequest{
		Topics:         map[string][]kafkago.OffsetRequest{},
		IsolationLevel: kafkago.ReadCommitted,
	}
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
