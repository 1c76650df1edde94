// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	kafkago "github.com/segmentio/kafka-go"
)

// CommittedOffsets returns what the group last published for the input topic, by
// partition. A partition for which it never did is not there.
func (c *Client) CommittedOffsets(ctx context.Context) (map[int32]int64, error) {
	n, err := c.Partitions(ctx, c.o.Topics.Input)
	if err != nil {
		return nil, err
	}
	ctx, cancel, err := c.bounded(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	res, err := c.client.OffsetFetch(ctx, &kafkago.OffsetFetchRequest{
		GroupID: c.o.Group,
		Topics:  map[string][]int{c.o.Topics.Input: all},
	})
	if err == nil {
		err = res.Error
	}
	if isCode(err, kafkago.GroupIdNotFound) {
		return map[int32]int64{}, nil // nobody ever joined
	}
	if err != nil {
		return nil, fmt.Errorf("offsets of group %s: %w", c.o.Group, err)
	}
	out := map[int32]int64{}
	for _, p := range res.Topics[c.o.Topics.Input] {
		if p.Error != nil {
			return nil, fmt.Errorf("offset of group %s for partition %d: %w", c.o.Group, p.Partition, p.Error)
		}
		if p.CommittedOffset >= 0 {
			out[int32(p.Partition)] = p.CommittedOffset
		}
	}
	return out, nil
}

// CommitOffsets publishes the offsets that come next in partitions of the input
// topic, for tools that show lag. It is a hint: nothing that we do rests on it.
// The broker refuses it once g is over (IllegalGeneration, UnknownMemberId,
// RebalanceInProgress), which the caller may ignore. The zero Generation
// publishes for a group that has no members just now.
func (c *Client) CommitOffsets(ctx context.Context, g Generation, next map[int32]int64) error {
	if len(next) == 0 {
		return nil
	}
	ctx, cancel, err := c.bounded(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	req := &kafkago.OffsetCommitRequest{GroupID: c.o.Group, GenerationID: int(g.ID), MemberID: g.member}
	if g.member == "" {
		req.GenerationID = -1
	}
	var commits []kafkago.OffsetCommit
	for _, p := range slices.Sorted(maps.Keys(next)) {
		commits = append(commits, kafkago.OffsetCommit{Partition: int(p), Offset: next[p]})
	}
	req.Topics = map[string][]kafkago.OffsetCommit{c.o.Topics.Input: commits}
	res, err := c.client.OffsetCommit(ctx, req)
	if err != nil {
		return fmt.Errorf("publish the offsets of group %s: %w", c.o.Group, err)
	}
	var errs []error
	for _, p := range res.Topics[c.o.Topics.Input] {
		if p.Error != nil {
			errs = append(errs, fmt.Errorf("publish the offset of group %s for partition %d: %w", c.o.Group, p.Partition, p.Error))
		}
	}
	return errors.Join(errs...)
}
