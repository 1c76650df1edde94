// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"encoding/json"
	"fmt"
	"time"
)

// Part is what one feature of a message added to its score.
type Part struct {
	// Feature is a word with the field in which it stands, as in subject:invoice.
	Feature string `json:"feature"`
	// Part is what it added to the score.
	Part float64 `json:"part"`
}

// Decision is the value of a record of the decisions topic. Its bytes are a
// function of its fields, and so of the input up to its message: a decision that
// is produced again after a crash is the same record again.
type Decision struct {
	// Account is the key of the message's record.
	Account string `json:"account"`
	// MessageID is the Message-ID without angle brackets; absent when the message
	// has none.
	MessageID string `json:"message_id,omitempty"`
	// Key names the message in feedback: 32 hexadecimal digits.
	Key string `json:"key"`

	// Decision is important, unsure or ordinary.
	Decision string `json:"decision" jsonschema:"enum=important,enum=unsure,enum=ordinary"`
	// Mark says whether the message is to be marked. An important one is not while
	// the account is in its trial period, nor when a limit of marks is reached.
	Mark bool `json:"mark"`
	// Score of the message.
	Score float64 `json:"score"`
	// Threshold is the score from which the message would have been important.
	Threshold float64 `json:"threshold"`
	// Reason says why the decision, or the missing mark, is not the threshold's doing
	// alone.
	Reason string `json:"reason,omitempty"`
	// Because lists the features that pulled hardest, the strongest first.
	Because []Part `json:"because,omitempty"`

	// Topic in which the message's record is.
	Topic string `json:"topic"`
	// Partition of that topic.
	Partition int32 `json:"partition"`
	// Offset in that partition.
	Offset int64 `json:"offset"`
	// Arrived is the timestamp of the message's record.
	Arrived time.Time `json:"arrived"`
}

// ID is the ce_id: the topic, partition and offset of the message's record.
func (d Decision) ID() string { return identity(d.Topic, d.Partition, d.Offset) }

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
