// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kmsg"
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
// and Fetch asks by them. kafka-go speaks neither.
const (
	metadataByID = 12
	fetchByID    = 13
)

// TopicID asks a broker for the id of a topic. It is the zero TopicID if the brokers are
// older than Kafka 3.1, ErrNoTopic if there is no such topic. It does not come from what
// is known of the cluster, however fresh.
func (c *Client) TopicID(ctx context.Context, topic string) (TopicID, error) {
	name := kmsg.NewMetadataRequestTopic()
	name.Topic = &topic
	req := kmsg.NewPtrMetadataRequest() // asking creates no topic
	req.Topics = []kmsg.MetadataRequestTopic{name}
	res := kmsg.NewPtrMetadataResponse()
	known := true
	err := c.askAny(ctx, func(w *wire) error {
		versions, err := w.latest()
		if err != nil {
			return err
		}
		if known = versions[protocol.Metadata] >= metadataByID && versions[protocol.Fetch] >= fetchByID; !known {
			return nil
		}
		return w.ask(metadataByID, req, res)
	})
	if err == nil && known && (len(res.Topics) != 1 || res.Topics[0].Topic == nil || *res.Topics[0].Topic != topic) {
		err = errors.New("the answer is about something else")
	}
	if err != nil {
		return TopicID{}, fmt.Errorf("id of topic %s: %w", topic, err)
	}
	if !known {
		return TopicID{}, nil
	}
	switch code := kafkago.Error(res.Topics[0].ErrorCode); code {
	case 0:
		return res.Topics[0].TopicID, nil
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
