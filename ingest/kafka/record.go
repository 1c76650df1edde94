// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

// Header is one header of a record. Names may repeat.
type Header struct {
	Key   string
	Value []byte
}

// ByKey as a Record's Partition means: where the key puts it.
const ByKey int32 = -1

// Record is one record of a topic, read or to be produced.
type Record struct {
	Partition int32 // ByKey when produced: Partition of its key
	Offset    int64 // when read; ignored when produced
	// Time is the timestamp, in whole milliseconds. The zero time when produced
	// means the moment at which it is sent.
	Time time.Time
	Key  []byte // nil: none
	// Value is nil for a tombstone, which is not the same as an empty value.
	Value   []byte
	Headers []Header
	// TooLarge is the size in bytes of a record whose value is above
	// Options.MaxRecord, whose key or one of whose headers is above 64 KiB, or which
	// has more than 1,000 headers. Value and Headers were not kept then, nor was the
	// key if it was the one too large. 0 otherwise.
	TooLarge int64
}

// Header returns the value of the first header of that name.
func (r Record) Header(name string) (value []byte, ok bool) {
	for _, h := range r.Headers {
		if h.Key == name {
			return h.Value, true
		}
	}
	return nil, false
}

// size estimates how many bytes the record takes in a batch.
func (r Record) size() int {
	n := 32 + len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		n += 10 + len(h.Key) + len(h.Value)
	}
	return n
}

// Partition returns where a key belongs among n partitions: murmur2, as the Java
// client does it by default. Other clients must be told to (librdkafka:
// partitioner=murmur2_random). n must be above 0.
func Partition(key []byte, n int32) int32 {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return int32(kafkago.Murmur2Balancer{Consistent: true}.Balance(kafkago.Message{Key: key}, all...))
}
