// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
)

// Broker is what the engine needs of a cluster: a *kafka.Client, by Client.
// Methods are safe for concurrent use.
type Broker interface {
	Run(ctx context.Context, m kafka.Member) error
	Partitions(ctx context.Context, topic string) (int32, error)
	// TopicID is zero if the brokers do not tell ids.
	TopicID(ctx context.Context, topic string) (kafka.TopicID, error)
	Watermarks(ctx context.Context, topic string) ([]kafka.Watermark, error)
	Timestamp(ctx context.Context, topic string, partition int32, offset int64) (time.Time, error)
	EpochEnd(ctx context.Context, topic string, partition, epoch int32) (int64, error)
	CommittedOffsets(ctx context.Context) (map[int32]int64, error)
	CommitOffsets(ctx context.Context, g kafka.Generation, next map[int32]int64) error
	Produce(ctx context.Context, topic string, records []kafka.Record) ([]int64, error)
	// Read reads the topic with the id, or with the zero id whatever topic has the name.
	Read(topic string, id kafka.TopicID, partition int32, from int64) Reader
}

// Reader reads one partition; see kafka.PartitionReader. One goroutine owns it.
type Reader interface {
	Next(ctx context.Context, most, bytes int) (kafka.Batch, error)
	Close()
}

// Client makes a Broker of a client.
func Client(c *kafka.Client) Broker { return client{c} }

type client struct{ *kafka.Client }

func (c client) Read(topic string, id kafka.TopicID, partition int32, from int64) Reader {
	return c.Client.Read(topic, id, partition, from)
}
