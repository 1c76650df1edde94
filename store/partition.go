// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Partition names one partition of a topic that is read into accounts. An
// account belongs to one partition or to none, for good, and whatever changes an
// account of a partition is committed with the position of the partition.
type Partition struct {
	Topic  string `cbor:"1,keyasint"` // 1 to 249 bytes, none of them 0
	Number int32  `cbor:"2,keyasint"` // from 0
}

func (p Partition) String() string { return fmt.Sprintf("partition %d of topic %s", p.Number, p.Topic) }

// Compare orders partitions by topic and then by number.
func (p Partition) Compare(q Partition) int {
	return cmp.Or(cmp.Compare(p.Topic, q.Topic), cmp.Compare(p.Number, q.Number))
}

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

// LogPosition says up to where the log of a partition was read, and which log that was. Rows that
// embed it have their own fields from number 20 on.
type LogPosition struct {
	// Next is the offset of the next record to read: what the accounts of the
	// partition hold is what all records before it did.
	Next int64 `cbor:"1,keyasint"`
	// Epoch is that of the leader that took what was read last, plus 1; 0: not known. By it a
	// log is told from one that lost records and has others under their offsets.
	Epoch int32 `cbor:"2,keyasint,omitempty"`
	// Partitions is how many partitions the topic had when this one was begun.
	Partitions int32 `cbor:"3,keyasint"`
	// TopicID is the id of the topic (KIP-516), by which one that was deleted and
	// created again is another one. Zero: the brokers do not tell it.
	TopicID [16]byte `cbor:"4,keyasint,omitzero"`
	// Recovered says how the partition was recovered, if it ever was since its accounts
	// were empty: then they may hold something else than the records of the log before
	// Next did. Empty: it never was.
	Recovered string `cbor:"5,keyasint,omitempty"`
	// Era counts how many times the line of positions was broken: the log lost its end, or
	// somebody recovered the partition. Of two positions of one log that of the later era
	// counts, however far the other got.
	Era int64 `cbor:"6,keyasint,omitempty"`
	// Stopped: the log once ended below Next, so it lost records, and others may have their
	// offsets by now. Nothing is read on from here.
	Stopped bool `cbor:"7,keyasint,omitempty"`
	// Cuts are where the log ended each time that it lost its end, in the order in which
	// that was noticed. From there on offsets name other records than before.
	Cuts []int64 `cbor:"8,keyasint,omitempty"`
	// Forgot is the Next of the position at which something was forgotten last: what was
	// saved before knows it still. 0: nothing ever was.
	Forgot int64 `cbor:"9,keyasint,omitempty"`
}

// Stop returns the position with a note that the log lost its end, and where it ended then.
func (at LogPosition) Stop(cut int64) LogPosition {
	at.Stopped = true
	return at.Lose(cut)
}

// Lose returns the position as one from which reading may go on after the log lost its end.
func (at LogPosition) Lose(cut int64) LogPosition {
	at.Era++
	at.Cuts = append(slices.Clone(at.Cuts), cut)
	return at
}

// Reach is the offset before which those of the log are known to be in use.
func (at LogPosition) Reach() int64 {
	if n := len(at.Cuts); at.Stopped && n > 0 {
		return at.Cuts[n-1] // what lies from there on by now was not read
	}
	return at.Next
}

// Reused counts how often the log lost its end at or before an offset, which then named
// another record.
func (at LogPosition) Reused(offset int64) (n int) {
	for _, cut := range at.Cuts {
		if cut <= offset {
			n++
		}
	}
	return n
}

// Check demands that there may be such a position in p.
func (at LogPosition) Check(p Partition) error {
	if at.Next < 0 || at.Next == math.MaxInt64 || at.Partitions <= p.Number {
		return fmt.Errorf("offset %d of partition %d of %d is none", at.Next, p.Number, at.Partitions)
	}
	if len(at.Recovered) > maxRecovered {
		return fmt.Errorf("the way in which it was recovered has %d bytes; at most %d are kept", len(at.Recovered), maxRecovered)
	}
	if at.Era < 0 || at.Era < int64(len(at.Cuts)) {
		return fmt.Errorf("the log lost its end %d times in %d eras", len(at.Cuts), at.Era)
	}
	if at.Forgot < 0 || at.Forgot > at.Next {
		return fmt.Errorf("something was forgotten at offset %d, behind %d", at.Forgot, at.Next)
	}
	return nil
}

const maxRecovered = 32
