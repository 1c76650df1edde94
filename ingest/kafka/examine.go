// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// Settings returns settings of a topic by name, as its broker has them, defaults
// included: "retention.ms" and the like. It needs the right DescribeConfigs.
func (c *Client) Settings(ctx context.Context, topic string, names ...string) (map[string]string, error) {
	ctx, cancel, err := c.bounded(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	res, err := c.client.DescribeConfigs(ctx, &kafkago.DescribeConfigsRequest{
		Resources: []kafkago.DescribeConfigRequestResource{{
			ResourceType: kafkago.ResourceTypeTopic, ResourceName: topic, ConfigNames: names,
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("settings of topic %s: %w", topic, err)
	}
	out := map[string]string{}
	for _, r := range res.Resources {
		if r.Error != nil {
			return nil, fmt.Errorf("settings of topic %s: %w", topic, r.Error)
		}
		for _, e := range r.ConfigEntries {
			if slices.Contains(names, e.ConfigName) {
				out[e.ConfigName] = e.ConfigValue
			}
		}
	}
	return out, nil
}

// MayRead asks whether we may read a topic, by reading where nothing is yet.
// An error for which IsDenied holds says no; any other says nothing.
func (c *Client) MayRead(ctx context.Context, topic string) error {
	marks, err := c.Watermarks(ctx, topic)
	if err != nil {
		return err
	}
	_, err = c.Read(topic, TopicID{}, 0, marks[0].End).Next(ctx, 1, 1)
	return err
}

// MayWrite asks whether we may write to a topic. It writes nothing: it sends a
// batch that says of itself that it holds no record, which a broker refuses once
// it has found that we may write. The errors are as in MayRead.
func (c *Client) MayWrite(ctx context.Context, topic string) error {
	ctx, cancel, err := c.bounded(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	res, err := c.client.RawProduce(ctx, &kafkago.RawProduceRequest{
		Topic: topic, Partition: 0, RequiredAcks: kafkago.RequireAll,
		RawRecords: protocol.RawRecordSet{Reader: bytes.NewReader(noRecords())},
	})
	if err == nil {
		err = res.Error
	}
	if err == nil || isCode(err, kafkago.InvalidRecord, kafkago.InvalidMessage) {
		return nil
	}
	return fmt.Errorf("write to topic %s: %w", topic, err)
}

// MayJoin asks whether we may be a member of the group. It joins nothing and leaves
// nothing behind: it publishes an offset as a member that there never was, which a
// broker refuses once it has found that we may. What CommittedOffsets needs
// (Describe) is less than what a member needs (Read). The errors are as in MayRead.
func (c *Client) MayJoin(ctx context.Context) error {
	// Not by a heartbeat: kafka-go reads the answer in the wrong order.
	err := c.CommitOffsets(ctx, Generation{ID: math.MaxInt32, member: "hinged-check"}, map[int32]int64{0: 0})
	if isCode(err, kafkago.UnknownMemberId, kafkago.IllegalGeneration, kafkago.RebalanceInProgress) {
		return nil
	}
	return err
}

// noRecords is the header of a record batch (version 2) without a record.
func noRecords() []byte {
	const length, crcAt = 61, 17
	b := make([]byte, length)
	binary.BigEndian.PutUint32(b[8:], length-12) // what follows this field
	b[16] = 2                                    // the version
	for _, at := range []int{43, 51} {           // producer's id; epoch and first number
		binary.BigEndian.PutUint64(b[at:], math.MaxUint64)
	}
	binary.BigEndian.PutUint32(b[53:], math.MaxUint32)
	binary.BigEndian.PutUint32(b[57:], 0) // the number of records
	binary.BigEndian.PutUint32(b[crcAt:], crc32.Checksum(b[crcAt+4:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// IsDenied reports whether an error says that we lack a right, or that we could
// not log in.
func IsDenied(err error) bool {
	return isCode(err, kafkago.TopicAuthorizationFailed, kafkago.GroupAuthorizationFailed, kafkago.ClusterAuthorizationFailed) || IsLogin(err)
}

// IsLogin reports whether an error says that the broker did not let us in.
func IsLogin(err error) bool {
	return errors.Is(err, ErrNoPassword) ||
		isCode(err, kafkago.SASLAuthenticationFailed, kafkago.UnsupportedSASLMechanism, kafkago.IllegalSASLState)
}
