// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"math"
	"strings"
)

// Partition names one partition of a topic that is read into accounts. An
// account belongs to one partition or to none, for good, and whatever changes an
// account of a partition is committed with the position of the partition.
type Partition struct {
	Topic  string // 1 to 249 bytes, none of them 0
	Number int32  // from 0
}

func (p Partition) String() string { return fmt.Sprintf("partition %d of topic %s", p.Number, p.Topic) }

// Check demands that there may be such a partition.
func (p Partition) Check() error {
	if p.Topic == "" || len(p.Topic) > maxTopic || strings.Contains(p.Topic, "\x00") {
		return fmt.Errorf("name of a topic must have 1 to %d bytes, none of them 0", maxTopic)
	}
	if p.Number < 0 {
		return fmt.Errorf("there is no partition %d", p.Number)
	}
	return nil
}

const maxTopic = 249 // of Kafka

// LogPosition says up to where the log of a partition was read, and which log that was.
type LogPosition struct {
	// Next is the offset of the next record to read: what the accounts of the
	// partition hold is what all records before it did.
	Next int64
	// Partitions is how many partitions the topic had when this one was begun.
	Partitions int32
	// TopicID is the id of the topic (KIP-516), by which one that was deleted and
	// created again is another one. Zero: the brokers do not tell it.
	TopicID [16]byte
	// Recovered says how the partition was recovered, if it ever was since its accounts
	// were empty: then they may hold something else than the records of the log before
	// Next did. Empty: it never was.
	Recovered string
	// Stopped: the log once ended below Next, so it lost records, and others may have their
	// offsets by now. Nothing is read on from here.
	Stopped bool
	// Cut is where the log ended then, if Stopped.
	Cut int64
}

// Check demands that there may be such a position in p.
func (at LogPosition) Check(p Partition) error {
	if at.Next < 0 || at.Next == math.MaxInt64 || at.Partitions <= p.Number {
		return fmt.Errorf("offset %d of partition %d of %d is none", at.Next, p.Number, at.Partitions)
	}
	if len(at.Recovered) > maxRecovered {
		return fmt.Errorf("the way in which it was recovered has %d bytes; at most %d are kept", len(at.Recovered), maxRecovered)
	}
	return nil
}

const maxRecovered = 32
