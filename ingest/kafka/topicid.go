// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	metadataapi "github.com/segmentio/kafka-go/protocol/metadata"
)

// TopicID names one generation of a topic: a topic that is deleted and created again
// has the same name and another id (KIP-516). The zero value is no id: the broker does
// not tell it.
type TopicID [16]byte

// String is the id as Kafka's own tools print it: 22 characters of base64url.
func (t TopicID) String() string {
	if t == (TopicID{}) {
		return "unknown"
	}
	return base64.RawURLEncoding.EncodeToString(t[:])
}

// Versions of the protocol that know ids, both since Kafka 3.1: Metadata tells them,
// and Fetch asks by them. kafka-go speaks neither, so these two are written here.
const (
	metadataByID = 12
	fetchByID    = 13
)

// TopicID asks a broker for the id of a topic. It is the zero TopicID if the brokers are
// older than Kafka 3.1, ErrNoTopic if there is no such topic. It does not come from what
// is known of the cluster, however fresh.
func (c *Client) TopicID(ctx context.Context, topic string) (TopicID, error) {
	ctx, cancel, err := c.bounded(ctx)
	if err != nil {
		return TopicID{}, err
	}
	defer cancel()
	m, err := c.transport.RoundTrip(ctx, c.client.Addr, &topicIDRequest{topic: topic, clientID: c.o.ClientID})
	if err != nil {
		return TopicID{}, fmt.Errorf("id of topic %s: %w", topic, err)
	}
	r := m.(*topicIDResponse)
	switch code := kafkago.Error(r.code); code {
	case 0:
		return r.id, nil
	case kafkago.UnknownTopicOrPartition:
		return TopicID{}, fmt.Errorf("%w: %s", ErrNoTopic, topic)
	default:
		return TopicID{}, c.stale(fmt.Errorf("id of topic %s: %w", topic, code))
	}
}

// recreated returns the *RecreatedError of a topic that has another id than id by now,
// or cause if it has not.
func (c *Client) recreated(ctx context.Context, topic string, id TopicID, cause error) error {
	now, err := c.TopicID(ctx, topic)
	if err != nil {
		return err
	}
	if now != id && now != (TopicID{}) {
		return &RecreatedError{Topic: topic, Was: id, Is: now}
	}
	// The broker that was asked knows less than the one that answered now, or more.
	return c.stale(cause)
}

// topicIDRequest asks for the metadata of one topic, with its id.
type topicIDRequest struct {
	metadataapi.Request // for kafka-go, to which it is a protocol.Message; empty

	topic    string
	clientID string
}

// Required says that the exchange is always ours.
func (*topicIDRequest) Required(map[protocol.ApiKey]int16) bool { return true }

// topicIDResponse is the answer.
type topicIDResponse struct {
	metadataapi.Response // as in the request

	code int16
	id   TopicID
}

// RawExchange asks for the versions that the broker speaks, as kafka-go tells only those
// that it speaks itself, and then for the id.
func (r *topicIDRequest) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	versions, err := versionsOf(rw, r.clientID)
	if err != nil {
		return nil, err
	}
	if versions[protocol.Metadata] < metadataByID || versions[protocol.Fetch] < fetchByID {
		return &topicIDResponse{}, nil
	}
	w := newRequest(protocol.Metadata, metadataByID, r.clientID, true)
	w.array(1)
	w.b = append(w.b, make([]byte, len(TopicID{}))...) // it is named, so it needs no id
	w.compactString(r.topic)
	w.tags()
	w.b = append(w.b, 0, 0) // asking creates no topic; what we may do with it does not count
	w.tags()
	body, err := exchange(rw, w.b)
	if err != nil {
		return nil, err
	}
	return parseTopicID(body, r.topic)
}

// parseTopicID reads the body of an answer of version 12; see
// https://kafka.apache.org/protocol#The_Messages_Metadata for the fields.
func parseTopicID(body []byte, topic string) (*topicIDResponse, error) {
	w := &wireReader{b: body}
	w.tags() // of the header
	w.int32()
	for n := w.array(); n > 0 && w.err == nil; n-- { // brokers
		w.int32()
		w.compactBytes() // host
		w.int32()
		w.compactBytes() // rack
		w.tags()
	}
	w.compactBytes() // the cluster's id
	w.int32()        // the controller
	n := w.array()
	r := &topicIDResponse{code: w.int16()}
	name := string(w.compactBytes())
	copy(r.id[:], w.take(len(r.id)))
	if w.err != nil {
		return nil, w.err
	}
	if n != 1 || name != topic {
		return nil, fmt.Errorf("the answer about topic %s names %d topics, the first %q", topic, n, name)
	}
	return r, nil
}

// versionsOf asks a broker for the latest version of each request that it speaks.
func versionsOf(rw io.ReadWriter, clientID string) (map[protocol.ApiKey]int16, error) {
	body, err := exchange(rw, newRequest(protocol.ApiVersions, 0, clientID, false).b)
	if err != nil {
		return nil, err
	}
	w := &wireReader{b: body}
	if code := w.int16(); code != 0 {
		return nil, fmt.Errorf("versions of the protocol: %w", kafkago.Error(code))
	}
	out := map[protocol.ApiKey]int16{}
	for n := w.int32(); n > 0 && w.err == nil; n-- {
		key := w.int16()
		w.int16() // the earliest
		out[protocol.ApiKey(key)] = w.int16()
	}
	return out, w.err
}

// wireWriter builds a request.
type wireWriter struct{ b []byte }

// onlyRequest is the number of every request of ours: there is one at a time on a
// connection, so any number will do.
const onlyRequest = 1

// newRequest begins a request with its header; flexible ones have tags (KIP-482).
func newRequest(key protocol.ApiKey, version int16, clientID string, flexible bool) *wireWriter {
	w := &wireWriter{b: make([]byte, 4, 128)} // for the size
	w.int16(int16(key))
	w.int16(version)
	w.int32(onlyRequest)
	w.bytes16(clientID)
	if flexible {
		w.tags()
	}
	return w
}

func (w *wireWriter) int16(v int16)    { w.b = binary.BigEndian.AppendUint16(w.b, uint16(v)) }
func (w *wireWriter) int32(v int32)    { w.b = binary.BigEndian.AppendUint32(w.b, uint32(v)) }
func (w *wireWriter) int64(v int64)    { w.b = binary.BigEndian.AppendUint64(w.b, uint64(v)) }
func (w *wireWriter) bytes16(s string) { w.int16(int16(len(s))); w.b = append(w.b, s...) }
func (w *wireWriter) uvarint(v uint64) { w.b = binary.AppendUvarint(w.b, v) }

// array begins an array of n; it is never null.
func (w *wireWriter) array(n int) { w.uvarint(uint64(n) + 1) }

func (w *wireWriter) compactString(s string) {
	w.array(len(s))
	w.b = append(w.b, s...)
}

// tags writes none.
func (w *wireWriter) tags() { w.b = append(w.b, 0) }

// exchange writes a request whose first four bytes are left for its size, and reads the
// answer up to the number of the request, which it returns without.
func exchange(rw io.ReadWriter, request []byte) ([]byte, error) {
	binary.BigEndian.PutUint32(request, uint32(len(request)-4))
	if _, err := rw.Write(request); err != nil {
		return nil, err
	}
	return readAnswer(rw)
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
