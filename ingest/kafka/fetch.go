// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	fetchapi "github.com/segmentio/kafka-go/protocol/fetch"
)

// kafka-go finds the leader, connects, logs in and writes the request; the
// answer is read here. Its own reader decompresses each batch whole, without a
// bound (1 MB of zstd can become 32 GB), and tells neither batches of aborted
// transactions nor tombstones from the rest.

// maxFrame bounds the answer to one fetch, in bytes. It is one batch at least,
// so a topic's max.message.bytes must be below it.
const maxFrame = 256 << 20

// fetchRequest is a fetch from one partition (KIP-74 and later, version 4 to 11).
type fetchRequest struct {
	fetchapi.Request
	version  int16
	clientID string
}

// Required is called with the versions that both sides speak. It is always us
// who read the answer.
func (f *fetchRequest) Required(versions map[protocol.ApiKey]int16) bool {
	f.version = versions[protocol.Fetch]
	return true
}

// RawExchange writes the request and reads the answer.
func (f *fetchRequest) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	if f.version < 4 {
		return nil, fmt.Errorf("%w: it speaks version %d of fetch, 4 is needed (Kafka 0.11)", ErrOldBroker, f.version)
	}
	// There is one request at a time on a connection, so any number will do.
	const correlation = 1
	if err := protocol.WriteRequest(rw, f.version, correlation, f.clientID, &f.Request); err != nil {
		return nil, err
	}
	var head [8]byte
	if _, err := io.ReadFull(rw, head[:]); err != nil {
		return nil, err
	}
	size := int64(int32(binary.BigEndian.Uint32(head[:]))) - 4
	if size < 0 || size > maxFrame {
		return nil, fmt.Errorf("%w: an answer of %d bytes; the greatest is %d", ErrCorrupt, size, maxFrame)
	}
	if got := int32(binary.BigEndian.Uint32(head[4:])); got != correlation {
		return nil, fmt.Errorf("the broker answered request %d, not %d", got, correlation)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(rw, body); err != nil {
		return nil, err
	}
	return parseFetch(body, f.version)
}

// fetchResponse is the answer for one partition.
type fetchResponse struct {
	fetchapi.Response // for kafka-go, to which it is a protocol.Message; empty

	code       int16
	end        int64 // the high watermark
	stable     int64 // the last stable offset
	start      int64 // -1: not told
	aborted    []abortedTransaction
	recordSets []byte // record batches, the last of them perhaps cut off
}

// abortedTransaction: what this producer wrote from first on, up to its next
// abort marker, does not count.
type abortedTransaction struct{ producer, first int64 }

// wireReader reads the big-endian fields of an answer. The first error stays.
type wireReader struct {
	b   []byte
	err error
}

func (w *wireReader) take(n int) []byte {
	if w.err != nil || n < 0 || n > len(w.b) {
		if w.err == nil {
			w.err = errors.New("the answer to a fetch is too short")
		}
		return nil
	}
	head := w.b[:n:n]
	w.b = w.b[n:]
	return head
}

func (w *wireReader) int16() int16 {
	if b := w.take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (w *wireReader) int32() int32 {
	if b := w.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (w *wireReader) int64() int64 {
	if b := w.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// parseFetch reads the body of the answer to a fetch of one partition. See
// https://kafka.apache.org/protocol#The_Messages_Fetch for the fields.
func parseFetch(body []byte, version int16) (*fetchResponse, error) {
	w := &wireReader{b: body}
	r := &fetchResponse{start: -1}
	w.int32() // throttle time
	if version >= 7 {
		r.code = w.int16()
		w.int32() // session
	}
	if topics := w.int32(); topics != 1 {
		if w.err == nil && r.code != 0 {
			return r, nil
		}
		return nil, errors.Join(w.err, fmt.Errorf("the answer to a fetch of one topic names %d", topics))
	}
	w.take(int(w.int16())) // the topic's name
	if partitions := w.int32(); partitions != 1 {
		return nil, errors.Join(w.err, fmt.Errorf("the answer to a fetch of one partition names %d", partitions))
	}
	w.int32() // the partition's number
	if code := w.int16(); code != 0 {
		r.code = code
	}
	r.end = w.int64()
	r.stable = w.int64()
	if version >= 5 {
		r.start = w.int64()
	}
	for n := w.int32(); n > 0 && w.err == nil; n-- {
		r.aborted = append(r.aborted, abortedTransaction{producer: w.int64(), first: w.int64()})
	}
	if version >= 11 {
		w.int32() // preferred replica
	}
	if size := w.int32(); size > 0 {
		r.recordSets = w.take(int(size))
	}
	return r, w.err
}

// fetch asks for the records of a partition from an offset on, without those of
// open transactions.
func (c *Client) fetch(ctx context.Context, topic string, partition int32, from int64) (*fetchResponse, error) {
	ctx, cancel, err := c.bounded(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	m, err := c.transport.RoundTrip(ctx, c.client.Addr, &fetchRequest{
		clientID: c.o.ClientID,
		Request: fetchapi.Request{
			ReplicaID:      -1,
			MaxWaitTime:    int32(c.o.MaxWait.Milliseconds()),
			MinBytes:       1,
			MaxBytes:       int32(c.o.FetchBytes),
			IsolationLevel: int8(kafkago.ReadCommitted),
			SessionEpoch:   -1, // no fetch session (KIP-227)
			Topics: []fetchapi.RequestTopic{{
				Topic: topic,
				Partitions: []fetchapi.RequestPartition{{
					Partition:          partition,
					CurrentLeaderEpoch: -1,
					FetchOffset:        from,
					LogStartOffset:     -1,
					PartitionMaxBytes:  int32(c.o.FetchBytes),
				}},
			}},
		},
	})
	if err != nil {
		return nil, err
	}
	r := m.(*fetchResponse)
	if r.code != 0 {
		return nil, kafkago.Error(r.code)
	}
	return r, nil
}
