// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"log/slog"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
)

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
		t := time.NewTimer(e.pause(n))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return nil
		}
	}
}
