// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	fetchapi "github.com/segmentio/kafka-go/protocol/fetch"
	metadataapi "github.com/segmentio/kafka-go/protocol/metadata"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// kafka-go finds the broker, connects and tells which versions it speaks. What it cannot ask,
// or cannot read safely, is asked here, with the messages of kmsg.

// maxFrame bounds the answer to one request, in bytes. To a fetch it is one batch at least,
// so a topic's max.message.bytes must be below it.
const maxFrame = 256 << 20

// onlyRequest is the number of every request of ours: there is one at a time on a
// connection, so any number will do.
const onlyRequest = 1

// wire is a connection to a broker on which nothing else is under way.
type wire struct {
	io.ReadWriter
	clientID string
	versions map[protocol.ApiKey]int16 // that kafka-go and the broker both speak
}

// ask writes a request of a version and reads its answer.
func (w *wire) ask(version int16, request kmsg.Request, answer kmsg.Response) error {
	request.SetVersion(version)
	answer.SetVersion(version)
	b := kmsg.NewRequestFormatter(kmsg.FormatterClientID(w.clientID)).AppendRequest(nil, request, onlyRequest)
	if _, err := w.Write(b); err != nil {
		return err
	}
	body, err := readAnswer(w)
	if err != nil {
		return err
	}
	return parseAnswer(body, answer)
}

// latest asks a broker for the latest version of each request that it speaks, as kafka-go
// tells only those that it speaks itself.
func (w *wire) latest() (map[protocol.ApiKey]int16, error) {
	var res kmsg.ApiVersionsResponse
	if err := w.ask(0, kmsg.NewPtrApiVersionsRequest(), &res); err != nil {
		return nil, err
	}
	if res.ErrorCode != 0 {
		return nil, fmt.Errorf("versions of the protocol: %w", kafkago.Error(res.ErrorCode))
	}
	out := map[protocol.ApiKey]int16{}
	for _, k := range res.ApiKeys {
		out[protocol.ApiKey(k.ApiKey)] = k.MaxVersion
	}
	return out, nil
}

// readAnswer reads one answer, without its size and number.
func readAnswer(r io.Reader) ([]byte, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size := int64(int32(binary.BigEndian.Uint32(head[:]))) - 4
	if size < 0 || size > maxFrame {
		return nil, fmt.Errorf("%w: an answer of %d bytes; the greatest is %d", ErrCorrupt, size, maxFrame)
	}
	if got := int32(binary.BigEndian.Uint32(head[4:])); got != onlyRequest {
		return nil, fmt.Errorf("the broker answered request %d, not %d", got, onlyRequest)
	}
	body := make([]byte, size)
	_, err := io.ReadFull(r, body)
	return body, err
}

// parseAnswer reads an answer of the version that it has been given.
func parseAnswer(body []byte, answer kmsg.Response) error {
	if answer.RequestKind().IsFlexible() {
		// Its header can have tags (KIP-482), of which none has a meaning yet.
		if len(body) == 0 || body[0] != 0 {
			return fmt.Errorf("%w: the header of an answer", ErrCorrupt)
		}
		body = body[1:]
	}
	return answer.ReadFrom(body)
}

// exchange is what is asked on a connection.
type exchange struct {
	wire
	do func(*wire) error
}

// Required is called by kafka-go with the versions that both sides speak. The exchange is
// always ours.
func (e *exchange) Required(versions map[protocol.ApiKey]int16) bool {
	e.versions = versions
	return true
}

// RawExchange is called by kafka-go. The answer stays with who asked.
func (e *exchange) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	e.ReadWriter = rw
	return nil, e.do(&e.wire)
}

// toAny and toLeader ask any broker, and the leader of a partition.
type (
	toAny struct {
		metadataapi.Request // for kafka-go, to which it is a protocol.Message; empty
		exchange
	}
	toLeader struct {
		fetchapi.Request // for kafka-go, which finds the leader by it
		exchange
	}
)

// askAny calls do on a connection to one of the brokers.
func (c *Client) askAny(ctx context.Context, do func(*wire) error) error {
	return c.exchange(ctx, &toAny{exchange: c.newExchange(do)})
}

// askLeader calls do on a connection to the leader of a partition.
func (c *Client) askLeader(ctx context.Context, topic string, partition int32, do func(*wire) error) error {
	m := &toLeader{exchange: c.newExchange(do)}
	m.Topics = []fetchapi.RequestTopic{{Topic: topic, Partitions: []fetchapi.RequestPartition{{Partition: partition}}}}
	return c.exchange(ctx, m)
}

func (c *Client) newExchange(do func(*wire) error) exchange {
	return exchange{wire: wire{clientID: c.o.ClientID}, do: do}
}

func (c *Client) exchange(ctx context.Context, m protocol.Message) error {
	ctx, cancel, err := c.bounded(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	_, err = c.transport.RoundTrip(ctx, c.client.Addr, m)
	return err
}
