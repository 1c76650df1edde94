// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"errors"
	"fmt"
)

// What can be wrong with a position.
var (
	// ErrBelowStart: the records from the position on are no longer in the log.
	ErrBelowStart = errors.New("position below the start of the log")
	// ErrAboveEnd: the log ends before the position. It lost records, or the topic
	// was made anew.
	ErrAboveEnd = errors.New("position above the end of the log")
)

// ErrRecreated says that the topic was deleted and created again: its positions are of
// another log than the one that was read.
var ErrRecreated = errors.New("the topic was deleted and created again")

// RecreatedError is an ErrRecreated with both ids.
type RecreatedError struct {
	Topic   string
	Was, Is TopicID
}

func (e *RecreatedError) Error() string {
	return fmt.Sprintf("%v: topic %s had the id %s, now it has %s", ErrRecreated, e.Topic, e.Was, e.Is)
}

// Unwrap is ErrRecreated.
func (e *RecreatedError) Unwrap() error { return ErrRecreated }

// What can be wrong with the topics.
var (
	// ErrNoTopic: a topic that we need is not there.
	ErrNoTopic = errors.New("topic is missing")
	// ErrUnfit: a topic is there and not as we need it.
	ErrUnfit = errors.New("topic has wrong settings")
)

// What can be wrong with a record.
var (
	// ErrTooLarge: the broker takes no record of that size.
	ErrTooLarge = errors.New("record is larger than the broker accepts")
	// ErrCorrupt: what the broker sent cannot be read. The same bytes will come
	// again.
	ErrCorrupt = errors.New("record batch is damaged")
)

// What can be wrong with the connection.
var (
	// ErrClosed: the Client was closed.
	ErrClosed = errors.New("kafka client is closed")
	// ErrNoPassword: SASL.Password gave none.
	ErrNoPassword = errors.New("can't get the password")
	// ErrOldBroker: the broker speaks only versions of the protocol from before
	// Kafka 0.11, without headers.
	ErrOldBroker = errors.New("the broker is too old")
)

// OffsetError says that a partition cannot be read from a position. It is
// ErrBelowStart or ErrAboveEnd.
type OffsetError struct {
	Topic     string
	Partition int32
	Position  int64
	First     int64 // the first offset in the log
	End       int64 // the offset that the next record will get
}

func (e *OffsetError) Error() string {
	return fmt.Sprintf("%v: topic %s, partition %d: the position is %d, the log has offsets %d to %d (exclusive)",
		e.Unwrap(), e.Topic, e.Partition, e.Position, e.First, e.End)
}

// Unwrap tells on which side the position is.
func (e *OffsetError) Unwrap() error {
	if e.Position < e.First {
		return ErrBelowStart
	}
	return ErrAboveEnd
}

// ProduceError says which records of one call of Produce were not acknowledged.
// Those may or may not have been written.
type ProduceError struct {
	// Failed are their places in the slice given, ascending.
	Failed []int
	// TooLarge are those of them that the broker will never take, ascending.
	TooLarge []int
	// Err is the first error that was not about a record being too large, or
	// ErrTooLarge when there was no other.
	Err error
}

func (e *ProduceError) Error() string {
	if len(e.TooLarge) > 0 && !errors.Is(e.Err, ErrTooLarge) {
		return fmt.Sprintf("%d records not acknowledged, %d of them too large: %v", len(e.Failed), len(e.TooLarge), e.Err)
	}
	return fmt.Sprintf("%d records not acknowledged: %v", len(e.Failed), e.Err)
}

func (e *ProduceError) Unwrap() error { return e.Err }
