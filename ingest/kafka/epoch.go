// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	fetchapi "github.com/segmentio/kafka-go/protocol/fetch"
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
	ctx, cancel, err := c.bounded(ctx)
	if err != nil {
		return 0, err
	}
	defer cancel()
	r := &epochRequest{topic: topic, partition: partition, epoch: epoch, clientID: c.o.ClientID}
	r.Topics = []fetchapi.RequestTopic{{Topic: topic, Partitions: []fetchapi.RequestPartition{{Partition: partition}}}}
	m, err := c.transport.RoundTrip(ctx, c.client.Addr, r)
	if err == nil {
		res := m.(*epochResponse)
		if res.code == 0 {
			return res.end, nil
		}
		err = kafkago.Error(res.code)
	}
	return 0, c.stale(fmt.Errorf("end of a leader's epoch in topic %s, partition %d: %w", topic, partition, err))
}

// epochRequest asks for it, of the broker that a fetch would ask.
type epochRequest struct {
	fetchapi.Request // for kafka-go, which finds the leader by it

	topic            string
	partition, epoch int32
	clientID         string
}

// Required says that the exchange is always ours.
func (*epochRequest) Required(map[protocol.ApiKey]int16) bool { return true }

// epochResponse is the answer.
type epochResponse struct {
	fetchapi.Response // as in the request

	code int16
	end  int64
}

// RawExchange asks, if the broker knows how to answer; see
// https://kafka.apache.org/protocol#The_Messages_OffsetForLeaderEpoch for the fields.
func (r *epochRequest) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	versions, err := versionsOf(rw, r.clientID)
	if err != nil || versions[protocol.OffsetForLeaderEpoch] < epochVersion {
		return &epochResponse{end: -1}, err
	}
	w := newRequest(protocol.OffsetForLeaderEpoch, epochVersion, r.clientID, false)
	w.int32(-1) // we are no follower
	w.int32(1)
	w.bytes16(r.topic)
	w.int32(1)
	w.int32(r.partition)
	w.int32(-1) // the epoch that the leader has by now is not known
	w.int32(r.epoch - 1)
	body, err := exchange(rw, w.b)
	if err != nil {
		return nil, err
	}
	return parseEpoch(body, r.topic)
}

// parseEpoch reads the body of the answer about one partition.
func parseEpoch(body []byte, topic string) (*epochResponse, error) {
	w := &wireReader{b: body}
	w.int32() // throttle time
	topics := w.int32()
	name := string(w.take(int(w.int16())))
	partitions := w.int32()
	r := &epochResponse{code: w.int16()}
	w.int32() // the partition's number
	w.int32() // the last epoch that is not later
	r.end = w.int64()
	if w.err == nil && (topics != 1 || name != topic || partitions != 1) {
		w.err = errors.New("it is about something else")
	}
	if w.err != nil {
		return nil, fmt.Errorf("the answer about the end of an epoch: %w", w.err)
	}
	return r, nil
}
