// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"fmt"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// kafka-go's own reader decompresses each batch whole, without a bound (1 MB of zstd can
// become 32 GB), and tells neither batches of aborted transactions nor tombstones from the
// rest. So fetches are asked here, and batches are read in batch.go.

// fetched is the answer for one partition. Its record batches are a part of what was read from
// the connection; the last of them is perhaps cut off.
type fetched = kmsg.FetchResponseTopicPartition

// aborted: what this producer wrote from FirstOffset on, up to its next abort marker, does not
// count.
type aborted = kmsg.FetchResponseTopicPartitionAbortedTransaction

// fetchHow says how to fetch.
type fetchHow struct {
	level kafkago.IsolationLevel // ReadCommitted: without the records of open transactions
	bytes int                    // of the answer, but one batch comes whole
	wait  time.Duration          // for something to come
}

// reading is how mail is fetched.
func (c *Client) reading() fetchHow {
	return fetchHow{level: kafkago.ReadCommitted, bytes: c.o.FetchBytes, wait: c.o.MaxWait}
}

// fetch asks for the records of a partition from an offset on. With an id it asks only the
// topic that has it. While a broker finds us over a quota, fetch waits and asks again.
func (c *Client) fetch(ctx context.Context, topic string, id TopicID, partition int32, from int64, how fetchHow) (*fetched, error) {
	for {
		r, err := c.fetchOnce(ctx, topic, id, partition, from, how)
		if err != nil {
			return nil, err
		}
		of, throttled, err := partitionOf(r)
		if err != nil || throttled == 0 {
			return of, err
		}
		c.log.Debug("the broker throttles reading", "topic", topic, "partition", partition, "for", throttled)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(throttled):
		}
	}
}

// fetchOnce asks by the topic's name (KIP-74 and later), or by its id.
func (c *Client) fetchOnce(ctx context.Context, topic string, id TopicID, partition int32, from int64, how fetchHow) (*kmsg.FetchResponse, error) {
	req := kmsg.NewPtrFetchRequest() // of no fetch session (KIP-227)
	req.MaxWaitMillis = int32(how.wait.Milliseconds())
	req.MinBytes, req.MaxBytes = 1, int32(how.bytes)
	req.IsolationLevel = int8(how.level)
	of := kmsg.NewFetchRequestTopicPartition()
	of.Partition, of.FetchOffset, of.PartitionMaxBytes = partition, from, int32(how.bytes)
	req.Topics = []kmsg.FetchRequestTopic{{Topic: topic, TopicID: id, Partitions: []kmsg.FetchRequestTopicPartition{of}}}
	res := kmsg.NewPtrFetchResponse()
	err := c.askLeader(ctx, topic, partition, func(w *wire) error {
		version := w.versions[protocol.Fetch]
		if version < 4 {
			return fmt.Errorf("%w: it speaks version %d of fetch, 4 is needed (Kafka 0.11)", ErrOldBroker, version)
		}
		if id != (TopicID{}) {
			version = fetchByID
		}
		return w.ask(version, req, res)
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

// partitionOf is the one partition of the answer to a fetch. throttled: we are over our quota,
// so the answer is without records, and to be asked for again no sooner (KIP-219).
func partitionOf(r *kmsg.FetchResponse) (of *fetched, throttled time.Duration, err error) {
	if r.ErrorCode != 0 {
		return nil, 0, kafkago.Error(r.ErrorCode)
	}
	if len(r.Topics) == 0 && r.ThrottleMillis > 0 {
		return nil, time.Duration(r.ThrottleMillis) * time.Millisecond, nil
	}
	if len(r.Topics) != 1 {
		return nil, 0, fmt.Errorf("the answer to a fetch of one topic names %d", len(r.Topics))
	}
	if n := len(r.Topics[0].Partitions); n != 1 {
		return nil, 0, fmt.Errorf("the answer to a fetch of one partition names %d", n)
	}
	of = &r.Topics[0].Partitions[0]
	if of.ErrorCode != 0 {
		return nil, 0, kafkago.Error(of.ErrorCode)
	}
	return of, 0, nil
}
