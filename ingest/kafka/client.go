// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	kafkago "github.com/segmentio/kafka-go"
)

// Client is our way to one cluster. It is safe for concurrent use; connections
// are opened when they are needed and shared.
type Client struct {
	o         Options
	log       *slog.Logger
	transport *kafkago.Transport
	client    *kafkago.Client
	settings  settings
	closed    atomic.Bool
	refresh   sync.Mutex // held while what we know of the cluster is thrown away
	refreshed int64      // when that was last done, Unix milliseconds
}

// New returns a Client. It connects to nothing yet.
func New(o Options) *Client {
	o = o.withDefaults()
	c := &Client{o: o, log: o.Logger, settings: settings{digest: digestOf(o.Settings), changed: make(chan struct{})}}
	c.transport = &kafkago.Transport{
		// TLS and SASL are done in dial, for kafka-go's two kinds of connections alike.
		Dial:           newDialer(o).dial,
		DialTimeout:    o.RequestTimeout,
		MetadataTTL:    o.MetadataAge,
		MetadataTopics: o.Topics.All(),
		ClientID:       o.ClientID,
	}
	c.client = &kafkago.Client{
		Addr:      kafkago.TCP(o.Brokers...),
		Transport: c.transport,
		// Without it a broker is told to give a request up after 500 ms.
		Timeout: 2 * o.RequestTimeout,
	}
	return c
}

// Options returns what the Client works with, defaults filled in.
func (c *Client) Options() Options { return c.o }

// Close closes the connections. Calls under way end with an error at the latest
// when their deadline comes; later ones fail with ErrClosed.
func (c *Client) Close() error {
	c.closed.Store(true)
	c.transport.CloseIdleConnections()
	return nil
}

// bounded gives one request its deadline.
func (c *Client) bounded(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if c.closed.Load() {
		return nil, nil, ErrClosed
	}
	ctx, cancel := context.WithTimeout(ctx, c.o.RequestTimeout)
	return ctx, cancel, nil
}
