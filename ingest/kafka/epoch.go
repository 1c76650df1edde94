// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"errors"
	"fmt"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Each leader of a partition has a number, its epoch, and stamps it on every batch that it
// takes. Who is leader without having all that its predecessor had drops the rest. So a
// position is told from another one by offset and epoch together (KIP-320). An Epoch in this
// package is the leader's plus 1; 0: it is not known.

// epochVersion is the version of OffsetForLeaderEpoch that is spoken, since Kafka 2.3.
const epochVersion = 3

// EpochEnd asks the leader of a partition where what was written by an epoch, or before it,
// ends in the log: a position behind that is of records that the log has lost. It is -1 if the
// broker does not tell, or is older than Kafka 2.3.
func (c *Client) EpochEnd(ctx context.Context, topic string, partition, epoch int32) (int64, error) {
	of := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	of.Partition, of.LeaderEpoch = partition, epoch-1
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{of}}}
	res := kmsg.NewPtrOffsetForLeaderEpochResponse()
	known := true
	err := c.askLeader(ctx, topic, partition, func(w *wire) error {
		versions, err := w.latest()
		if err != nil {
			return err
		}
		if known = versions[protocol.OffsetForLeaderEpoch] >= epochVersion; !known {
			return nil
		}
		return w.ask(epochVersion, req, res)
	})
	switch {
	case err != nil:
	case !known:
		return -1, nil
	case len(res.Topics) != 1 || res.Topics[0].Topic != topic || len(res.Topics[0].Partitions) != 1:
		err = errors.New("the answer is about something else")
	case res.Topics[0].Partitions[0].ErrorCode != 0:
		err = kafkago.Error(res.Topics[0].Partitions[0].ErrorCode)
	default:
		return res.Topics[0].Partitions[0].EndOffset, nil
	}
	return 0, c.stale(fmt.Errorf("end of a leader's epoch in topic %s, partition %d: %w", topic, partition, err))
}
