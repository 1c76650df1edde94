// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"log/slog"
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

// Ensured makes a Broker of a client, like Client, that looks at the topics
// before it joins the group: it makes what is missing where w says so, and waits
// with a problem while something is missing or unfit. log may be nil.
func Ensured(c *kafka.Client, w kafka.Wanted, log *slog.Logger) Broker {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &ensured{client{c}, w, log, pause}
}

type ensured struct {
	client
	wanted kafka.Wanted
	log    *slog.Logger
	pause  func(n int) time.Duration
}

// Run implements Broker.
func (e *ensured) Run(ctx context.Context, m kafka.Member) error {
	for n := 1; ; n++ {
		created, _, err := e.EnsureTopics(ctx, e.wanted)
		for _, topic := range created {
			e.log.Info("topic created", "topic", topic, "partitions", e.wanted.Partitions)
		}
		if err == nil {
			return e.client.Run(ctx, m)
		}
		if m.Problem != nil && ctx.Err() == nil {
			m.Problem(err)
		}
		if wait(ctx, e.pause(n)) != nil {
			return nil //nolint:nilerr // ctx is done
		}
	}
}
