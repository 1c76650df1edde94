// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

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

// fetchRequest is a fetch from one partition (KIP-74 and later): version 4 to 11 by the
// topic's name, version 13 by its id.
type fetchRequest struct {
	fetchapi.Request
	id       TopicID // zero: by name
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
	if f.id != (TopicID{}) {
		body, err := exchange(rw, f.byID())
		if err != nil {
			return nil, err
		}
		return parseFetchByID(body)
	}
	if err := protocol.WriteRequest(rw, f.version, onlyRequest, f.clientID, &f.Request); err != nil {
		return nil, err
	}
	body, err := readAnswer(rw)
	if err != nil {
		return nil, err
	}
	return parseFetch(body, f.version)
}

// byID writes the request of version 13, which a broker answers only if the topic that
// has the id is still there; see https://kafka.apache.org/protocol#The_Messages_Fetch.
func (f *fetchRequest) byID() []byte {
	of := &f.Topics[0].Partitions[0]
	w := newRequest(protocol.Fetch, fetchByID, f.clientID, true)
	w.int32(f.ReplicaID)
	w.int32(f.MaxWaitTime)
	w.int32(f.MinBytes)
	w.int32(f.MaxBytes)
	w.b = append(w.b, byte(f.IsolationLevel))
	w.int32(f.SessionID)
	w.int32(f.SessionEpoch)
	w.array(1)
	w.b = append(w.b, f.id[:]...)
	w.array(1)
	w.int32(of.Partition)
	w.int32(of.CurrentLeaderEpoch)
	w.int64(of.FetchOffset)
	w.int32(-1) // the epoch of what was read before counts for followers only
	w.int64(of.LogStartOffset)
	w.int32(of.PartitionMaxBytes)
	w.tags()            // of the partition
	w.tags()            // of the topic
	w.array(0)          // of topics that a session forgets
	w.compactString("") // the rack
	w.tags()
	return w.b
}

// fetchResponse is the answer for one partition.
type fetchResponse struct {
	fetchapi.Response // for kafka-go, to which it is a protocol.Message; empty

	code       int16
	end        int64         // the high watermark
	stable     int64         // the last stable offset
	start      int64         // -1: not told
	throttled  time.Duration // over our quota: without records, and to be asked again no sooner (KIP-219)
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

// uvarint reads a length, or the like, of a flexible version (KIP-482).
func (w *wireReader) uvarint() uint64 {
	v, n := binary.Uvarint(w.b)
	if n <= 0 {
		w.take(len(w.b) + 1) // it is cut off
		return 0
	}
	w.take(n)
	return v
}

// array is how many elements follow; 0 for null.
func (w *wireReader) array() int {
	return int(min(max(w.uvarint(), 1)-1, math.MaxInt32))
}

// compactBytes reads a string or bytes of a flexible version; nil for null.
func (w *wireReader) compactBytes() []byte { return w.take(w.array()) }

// tags passes over what later versions may add.
func (w *wireReader) tags() {
	for n := w.number(); n > 0 && w.err == nil; n-- {
		w.uvarint()
		w.take(w.number())
	}
}

// number reads a count that null is not told by.
func (w *wireReader) number() int { return int(min(w.uvarint(), math.MaxInt32)) }

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
	throttle := time.Duration(w.int32()) * time.Millisecond
	if version >= 7 {
		r.code = w.int16()
		w.int32() // session
	}
	if topics := int(w.int32()); topics != 1 {
		return r.withoutTopic(topics, throttle, w.err)
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

// withoutTopic completes an answer that does not name our topic alone. A broker answers
// without any to whoever is over a quota.
func (r *fetchResponse) withoutTopic(topics int, throttle time.Duration, err error) (*fetchResponse, error) {
	if err == nil && topics == 0 && throttle > 0 {
		r.throttled = throttle
	}
	if err == nil && (r.code != 0 || r.throttled > 0) {
		return r, nil
	}
	return nil, errors.Join(err, fmt.Errorf("the answer to a fetch of one topic names %d", topics))
}

// parseFetchByID reads the answer to version 13.
func parseFetchByID(body []byte) (*fetchResponse, error) {
	w := &wireReader{b: body}
	r := &fetchResponse{start: -1}
	w.tags() // of the header
	throttle := time.Duration(w.int32()) * time.Millisecond
	r.code = w.int16()
	w.int32() // session
	if topics := w.array(); topics != 1 {
		return r.withoutTopic(topics, throttle, w.err)
	}
	w.take(len(TopicID{}))
	if partitions := w.array(); partitions != 1 {
		return nil, errors.Join(w.err, fmt.Errorf("the answer to a fetch of one partition names %d", partitions))
	}
	w.int32() // the partition's number
	if code := w.int16(); code != 0 {
		r.code = code
	}
	r.end, r.stable, r.start = w.int64(), w.int64(), w.int64()
	for n := w.array(); n > 0 && w.err == nil; n-- {
		r.aborted = append(r.aborted, abortedTransaction{producer: w.int64(), first: w.int64()})
		w.tags()
	}
	w.int32() // preferred replica
	r.recordSets = w.compactBytes()
	return r, w.err
}

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
func (c *Client) fetch(ctx context.Context, topic string, id TopicID, partition int32, from int64, how fetchHow) (*fetchResponse, error) {
	for {
		r, err := c.fetchOnce(ctx, topic, id, partition, from, how)
		if err != nil || r.throttled == 0 {
			return r, err
		}
		c.log.Debug("the broker throttles reading", "topic", topic, "partition", partition, "for", r.throttled)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(r.throttled):
		}
	}
}

func (c *Client) fetchOnce(ctx context.Context, topic string, id TopicID, partition int32, from int64, how fetchHow) (*fetchResponse, error) {
	ctx, cancel, err := c.bounded(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	m, err := c.transport.RoundTrip(ctx, c.client.Addr, &fetchRequest{
		id: id, clientID: c.o.ClientID,
		Request: fetchapi.Request{
			ReplicaID:      -1,
			MaxWaitTime:    int32(how.wait.Milliseconds()),
			MinBytes:       1,
			MaxBytes:       int32(how.bytes),
			IsolationLevel: int8(how.level),
			SessionEpoch:   -1, // no fetch session (KIP-227)
			Topics: []fetchapi.RequestTopic{{
				Topic: topic,
				Partitions: []fetchapi.RequestPartition{{
					Partition:          partition,
					CurrentLeaderEpoch: -1,
					FetchOffset:        from,
					LogStartOffset:     -1,
					PartitionMaxBytes:  int32(how.bytes),
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
