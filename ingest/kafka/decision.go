// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"encoding/json"
	"fmt"
	"time"
)

// Part is the share of one feature in a message's score.
type Part struct {
	// Feature is a word with the field that it occurs in, as in subject:invoice.
	Feature string `json:"feature"`
	// Part is the amount that it added to the score.
	Part float64 `json:"part"`
}

// HeaderState of a record of the decisions topic is the digest of the account's state after the
// decision: 32 hexadecimal digits. Two processes that give it under one ce_id agree. Only some
// decisions have it.
const HeaderState = "x-hinged-state"

// Decision is the value of a record of the decisions topic. Its bytes depend on its
// fields alone, and so only on the input up to its message. A decision that is produced
// again after a crash has the same bytes.
type Decision struct {
	// Account is the key of the message's record.
	Account string `json:"account"`
	// MessageID is the Message-ID without angle brackets; absent if the message has none.
	MessageID string `json:"message_id,omitempty"`
	// Key names the message in feedback: 32 hexadecimal digits.
	Key string `json:"key"`

	// Decision is important, unsure or ordinary.
	Decision string `json:"decision" jsonschema:"enum=important,enum=unsure,enum=ordinary"`
	// Mark says whether the message is to be marked. An important message is not marked
	// while the account is in its trial period or after a limit of marks is reached, nor if
	// it comes again after its owner removed the mark or called it ordinary.
	Mark bool `json:"mark"`
	// Score is the score of the message.
	Score float64 `json:"score"`
	// Threshold is the score at which the message would have been important.
	Threshold float64 `json:"threshold"`
	// Probability is how likely the message is important, by how labels followed such
	// scores of late; absent while too little is known.
	Probability float64 `json:"probability,omitempty"`
	// Reason is set if the threshold alone does not explain the decision or the missing
	// mark.
	Reason string `json:"reason,omitempty" jsonschema:"enum=too few labels yet,enum=within the unsure band,enum=shadow,enum=rule,enum=daily budget spent,enum=the owner had labelled it,enum=the owner removed this mark before,enum=another copy was decided before,enum=it claims to be from the owner,enum=its sender may not be who it seems to be,enum=its sender is new"`
	// Because lists the features with the most influence on the score, strongest first.
	Because []Part `json:"because,omitempty"`

	// Topic is the topic that has the message's record.
	Topic string `json:"topic"`
	// TopicID is the id of that topic: another one if it was deleted and created again.
	// It is absent if the brokers don't tell it.
	TopicID string `json:"topic_id,omitempty"`
	// Partition is the record's partition in that topic.
	Partition int32 `json:"partition"`
	// Offset is the record's offset in that partition.
	Offset int64 `json:"offset"`
	// Reused counts how many times the log of the partition lost its end at or before this
	// offset, so that another record had the offset before; absent if it never did.
	Reused int `json:"reused,omitempty"`
	// Arrived is the timestamp of the message's record.
	Arrived time.Time `json:"arrived"`
}

// ID is the ce_id: the topic, its id, the partition and offset of the message's record,
// and Reused if it is not 0. So no other message ever has it, also after the topic was
// created again, or lost the end of its log.
func (d Decision) ID() string {
	return identity(d.Topic, d.TopicID, d.Partition, d.Offset, d.Reused)
}

// Record makes the record of the decisions topic, keyed by account. Its own
// timestamp is left open: with that of an old message a broker could throw the
// record away at once. Scores must be finite.
func (d Decision) Record() (Record, error) {
	d.Arrived = d.Arrived.UTC()
	value, err := json.Marshal(d)
	if err != nil {
		return Record{}, fmt.Errorf("encode the decision on %s: %w", d.ID(), err)
	}
	return Record{
		Partition: ByKey,
		Key:       []byte(d.Account),
		Value:     value,
		Headers:   envelope(d.ID(), source(d.Topic), TypeDecided, contentJSON, d.Arrived),
	}, nil
}
